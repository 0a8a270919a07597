//! Fuzz targets: bodies of lists and watches, in pieces of any size.

use super::body::Gunzip;
use super::discovery::Document;
use super::lines::{Line, Lines};
use super::list_body::{ListBody, ListItem, ListMeta};
use super::watch_event::{decode_any_frame, watch_event};
use crate::list_watch::{ListWatchError, WatchEvent};
use crate::object::fuzz::{has_repeated_keys, is_beyond_a_tree};
use crate::object::{LastApplied, Object, TypeMeta};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use informant_apimachinery::Status;
use informant_fuzz::Target;
use serde_json::Value;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

/// Words of frames and lists.
const WORDS: &[&str] = &[
    "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}}",
    "\"type\":\"DELETED\"",
    "\"type\":\"BOOKMARK\"",
    "\"type\":\"ERROR\"",
    "\"object\":{}",
    "\"code\":410",
    "\"reason\":\"Expired\"",
    "\"kind\":\"PodList\"",
    "\"kind\":\"Table\"",
    "\"apiVersion\":\"v1\"",
    "\"apiVersion\":\"meta.k8s.io/v1\"",
    "\"items\":[]",
    "\"items\":null",
    "{\"metadata\":{\"name\":\"b\"}}",
    "\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"x\"}",
    "\"x\":1",
    "\r\n",
];

fn target(name: &'static str) -> Target {
    Target::new(env!("CARGO_MANIFEST_DIR"), name).words(WORDS)
}

/// The body after the first byte, in pieces whose sizes follow from that byte.
fn pieces(input: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let Some((first, body)) = input.split_first() else { return (Vec::new(), input) };
    let mut rng = fastrand::Rng::with_seed(u64::from(*first));
    let size_max = 1 << rng.u32(..8);
    let mut pieces = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rng.usize(..=size_max).min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    (pieces, body)
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Words of discovery.
const DISCOVERY: &[&str] = &[
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"pods\"}]}",
    "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\",\"versions\":[{\"version\":\"v1\"}]}]}",
    "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}",
    "\"kind\":\"Status\"",
    "\"resources\":[]",
    "\"groups\":null",
];

/// Only a whole document of the right kind shows that a resource is missing.
#[test]
fn discovery() {
    let target = Target::new(env!("CARGO_MANIFEST_DIR"), "discovery").words(DISCOVERY);
    target.run(|input| {
        let Ok(document) = Document::read(input) else { return };
        let tree: Value = serde_json::from_slice(input).expect("it was read as JSON");
        let has = |kind: &str, list: &str| tree["kind"] == kind && tree[list].is_array();
        if document.has_resource("pods").is_ok() {
            assert!(has("APIResourceList", "resources"), "{document:?}");
        }
        if document.has_version("", "v1").is_ok() {
            assert!(has("APIVersions", "versions"), "{document:?}");
        }
        if document.has_version("apps", "v1").is_ok() {
            assert!(has("APIGroupList", "groups"), "{document:?}");
        }
    });
}

#[test]
fn watch_lines() {
    const LIMIT: usize = 40;
    target("watch_lines").run(|input| {
        let (pieces, body) = pieces(input);
        let mut lines = Lines::new(LIMIT);
        let mut found = Vec::new();
        for piece in pieces {
            lines.feed(Bytes::copy_from_slice(piece));
            while let Some(line) = lines.next_line() {
                found.push(line);
            }
        }
        let mut expected: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
        let rest = expected.pop().unwrap_or_default();
        let expected = expected.iter().filter(|line| line.len() > LIMIT || !is_blank(line));
        let expected: Vec<Line> = expected
            .map(|line| match line.len() > LIMIT {
                true => Line::TooLong,
                false => Line::Complete(Bytes::copy_from_slice(line)),
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(lines.is_within_line(), rest.len() > LIMIT || !is_blank(rest));
    });
}

/// The parts of an object that were read, and the outcome of other events.
fn shown(event: Result<WatchEvent, ListWatchError>) -> String {
    match event {
        Ok(WatchEvent::Changed(change, object, _)) => format!("{change:?} {:?}", object.json()),
        Ok(WatchEvent::Malformed(_)) => "malformed".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn watch_frames() {
    target("watch_frames").run(|input| {
        let now = Instant::now();
        let line = Line::Complete(Bytes::copy_from_slice(input));
        let found = shown(watch_event(&line, now, LastApplied::Kept));
        let malformed = |error| WatchEvent::Malformed(Arc::new(error));
        let careful = decode_any_frame(input, now, |object| Object::decode(object, None))
            .map(|event| event.unwrap_or_else(malformed));
        assert_eq!(found, shown(careful), "the quick way reads what the careful one does");
        // A frame of another type than the five, or without an object, is unreadable, or is a Status that ends the
        // watch.
        let Ok(frame) = serde_json::from_slice::<Value>(input) else { return };
        let known = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"];
        let word = frame["type"].as_str().unwrap_or_default();
        if !known.contains(&word) || !frame["object"].is_object() {
            assert!(found == "malformed" || found.starts_with("Err("), "{found}");
        }
        if let Ok(error) = serde_json::from_value::<Status>(frame["object"].clone()) {
            let expired = error.code == 410 && frame["object"]["details"].is_null();
            let read = found != "malformed" && !found.starts_with("Err(Unreadable");
            if word == "ERROR" && read && expired {
                assert!(found.starts_with("Err(Expired"), "{found}");
            }
        }
    });
}

/// The items, those of an unnamed type last, and the metadata.
type Outcome = Result<(Vec<String>, String, String), String>;

fn read(pieces: &[&[u8]]) -> Outcome {
    let mut list = ListBody::new(LastApplied::Kept);
    let mut items = Vec::new();
    for piece in pieces {
        list.feed(piece, &mut items).map_err(|error| error.to_string())?;
    }
    let meta = list.finish(&mut items).map_err(|error| error.to_string())?;
    let mut items: Vec<String> = items.into_iter().map(item).collect();
    items.sort_unstable();
    Ok((items, meta.resource_version, meta.continue_token))
}

fn item(item: ListItem) -> String {
    match item {
        Ok(object) => {
            let tree: Value = serde_json::from_slice(&object.json()).unwrap_or_default();
            format!("{} {} {}", tree["apiVersion"], tree["kind"], object.key())
        }
        Err(_) => "malformed".to_owned(),
    }
}

/// The result from the tree of the whole body; `None` if it is not a list.
fn expected(tree: &Value) -> Option<(Vec<String>, String, String)> {
    let list = tree.as_object()?;
    let text = |key: &str| match list.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text.as_str())),
        Some(_) => None,
    };
    let (kind, api_version) = (text("kind")?, text("apiVersion")?);
    let is_table = kind == Some("Table");
    if is_table && api_version.is_some_and(|version| version.starts_with("meta.k8s.io/")) {
        return None;
    }
    let of_items = kind.and_then(|kind| kind.strip_suffix("List"));
    let items = match list.get("items") {
        Some(Value::Array(items)) => items.as_slice(),
        Some(Value::Null) => &[],
        None if of_items.is_some() => &[],
        _ => return None,
    };
    let type_meta = api_version.zip(of_items).map(|(api_version, kind)| TypeMeta {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    });
    let mut found = Vec::new();
    for one in items {
        one.as_object()?;
        let json = one.to_string();
        let decoded = Object::decode(json.as_bytes(), type_meta.as_ref());
        found.push(item(decoded.map_err(Arc::new)));
    }
    found.sort_unstable();
    let meta = list.get("metadata").cloned().unwrap_or_default();
    let meta = serde_json::from_value::<Option<ListMeta>>(meta).ok()?;
    let meta = meta.unwrap_or_default();
    Some((found, meta.resource_version, meta.continue_token))
}

#[test]
fn list_bodies() {
    target("list_bodies").run(|input| {
        let (pieces, body) = pieces(input);
        let found = read(&pieces);
        assert_eq!(found, read(&[body]), "the pieces do not matter");
        let tree = match serde_json::from_slice::<Value>(body) {
            Ok(tree) => tree,
            Err(error) => {
                // Damage within an item belongs to that item; a skipped part may be one that no tree can hold.
                let has_items = found.as_ref().is_ok_and(|(items, _, _)| !items.is_empty());
                let is_no_text = error.to_string().contains("unicode code point");
                let is_skipped = is_beyond_a_tree(&error) || is_no_text;
                let read = found.is_err() || has_items || is_skipped;
                return assert!(read, "no list: {found:?}, and {error}");
            }
        };
        // Duplicate keys have no agreed meaning.
        if has_repeated_keys(body, &tree) {
            return;
        }
        match (found, expected(&tree)) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected),
            (Err(_), None) => {}
            (found, expected) => panic!("{found:?}, expected {expected:?}"),
        }
    });
}

fn member(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).expect("it is written to memory");
    encoder.finish().expect("it is written to memory")
}

#[test]
fn gzip_members() {
    let line = b"{\"type\":\"ADDED\",\"object\":{}}\n";
    let one = [b"1", &member(line)[..]].concat();
    let several = [b"2", &member(line)[..], &member(b""), &member(b"abc")].concat();
    target("gzip_members").inputs([one, several]).run(|input| {
        let (pieces, body) = pieces(input);
        let mut gzip = Gunzip::new();
        let mut found = Vec::new();
        let mut outcome = Ok(());
        for piece in pieces {
            gzip.feed(Bytes::copy_from_slice(piece));
            outcome = loop {
                match gzip.next() {
                    Ok(Some(plain)) => found.extend_from_slice(&plain),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            if outcome.is_err() {
                break;
            }
        }
        let ended = outcome.is_ok() && !gzip.is_within_member();
        let mut expected = Vec::new();
        let whole = MultiGzDecoder::new(body).read_to_end(&mut expected);
        if body.is_empty() {
            return assert!(ended && found.is_empty(), "an empty body has no member");
        }
        assert_eq!(ended, whole.is_ok(), "{outcome:?}, expected {whole:?}");
        if ended {
            assert_eq!(found, expected);
        }
    });
}
