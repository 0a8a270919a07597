//! What stands around a pod in Kubernetes' protobuf: the `Unknown` with its magic number, lists, and the frames of a
//! watch. A pod's own bytes come from client-go's encoder (`comparators/client-go`, `encode`), once for each template.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::load_server::field::Version;
use crate::load_server::template::Template;

/// What every object but those within others begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Lets client-go's own encoder turn pods in JSON, with type, into protobuf.
pub(crate) fn encode(encoder: &std::path::Path, pods: &[String]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut child = Command::new(encoder)
        .arg("encode")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {}", encoder.display()))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let lines = pods.join("\n");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().context("wait for the encoder")?;
    ensure!(output.status.success(), "the encoder failed: {}", output.status);
    writer.join().expect("it does not panic").context("write to the encoder")?;
    split(&output.stdout, pods.len())
}

/// Each pod comes after its length, four bytes, the highest first.
fn split(mut bytes: &[u8], pods: usize) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut encoded = Vec::with_capacity(pods);
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let pod = rest.get(..length).context("the encoder's answer breaks off")?;
        encoded.push(pod.to_owned());
        bytes = &rest[length..];
    }
    ensure!(encoded.len() == pods, "the encoder answered {} of {pods} pods", encoded.len());
    Ok(encoded)
}

/// A list of these pods.
pub(crate) fn list(
    pods: &[(&Template, Version)],
    resource_version: &str,
    continue_token: &str,
) -> Vec<u8> {
    let mut meta = Vec::new();
    put_bytes(2, resource_version.as_bytes(), &mut meta);
    put_bytes(3, continue_token.as_bytes(), &mut meta);
    let mut raw_begin = Vec::new();
    put_bytes(1, &meta, &mut raw_begin);
    let items: usize = pods.iter().map(|(template, _)| field_len(template.len())).sum();
    let mut out = Vec::with_capacity(items + 100);
    begin_unknown("PodList", raw_begin.len() + items, &mut out);
    out.extend_from_slice(&raw_begin);
    for (template, version) in pods {
        put_tag(2, template.len(), &mut out);
        template.render(version, &mut out);
    }
    out
}

/// A watch's frame around an object of so many bytes, which follow.
pub(crate) fn begin_event(change: &str, kind: &str, length: usize, out: &mut Vec<u8>) {
    let mut unknown = Vec::new();
    begin_unknown(kind, length, &mut unknown);
    let unknown_length = unknown.len() + length;
    let extension_length = field_len(unknown_length);
    let event_length = field_len(change.len()) + field_len(extension_length);
    out.extend_from_slice(&(event_length as u32).to_be_bytes());
    put_bytes(1, change.as_bytes(), out);
    put_tag(2, extension_length, out);
    put_tag(1, unknown_length, out);
    out.extend_from_slice(&unknown);
}

/// A pod that is nothing but its resourceVersion, and whether it ends the initial state.
pub(crate) fn bookmark(resource_version: &str, ends_initial: bool) -> Vec<u8> {
    let mut metadata = Vec::new();
    put_bytes(6, resource_version.as_bytes(), &mut metadata);
    if ends_initial {
        let mut annotation = Vec::new();
        put_bytes(1, b"k8s.io/initial-events-end", &mut annotation);
        put_bytes(2, b"true", &mut annotation);
        put_bytes(12, &annotation, &mut metadata);
    }
    let mut pod = Vec::new();
    put_bytes(1, &metadata, &mut pod);
    let mut out = Vec::new();
    begin_event("BOOKMARK", "Pod", pod.len(), &mut out);
    out.extend_from_slice(&pod);
    out
}

/// The end of a watch whose place in the log is gone.
pub(crate) fn expired(message: &str) -> Vec<u8> {
    let mut status = Vec::new();
    put_bytes(2, b"Failure", &mut status);
    put_bytes(3, message.as_bytes(), &mut status);
    put_bytes(4, b"Expired", &mut status);
    put_key(6, 0, &mut status);
    put_varint(410, &mut status);
    let mut out = Vec::new();
    begin_event("ERROR", "Status", status.len(), &mut out);
    out.extend_from_slice(&status);
    out
}

/// Up to where an object of so many bytes follows.
fn begin_unknown(kind: &str, length: usize, out: &mut Vec<u8>) {
    let mut type_meta = Vec::new();
    put_bytes(1, b"v1", &mut type_meta);
    put_bytes(2, kind.as_bytes(), &mut type_meta);
    out.extend_from_slice(MAGIC);
    put_bytes(1, &type_meta, out);
    put_tag(2, length, out);
}

fn put_bytes(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    put_tag(number, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Up to where so many bytes follow.
fn put_tag(number: u8, length: usize, out: &mut Vec<u8>) {
    put_key(number, 2, out);
    put_varint(length, out);
}

/// A field's number and wire type; one byte for numbers below 16.
fn put_key(number: u8, wire_type: u8, out: &mut Vec<u8>) {
    out.push(number << 3 | wire_type);
}

fn put_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Bytes of a field with so many bytes in it, tag included.
fn field_len(length: usize) -> usize {
    let bits = usize::BITS - (length | 1).leading_zeros();
    1 + bits.div_ceil(7) as usize + length
}
