//! Fuzz target: projections, and readers with several look-ups in sequence, against serde_json's tree as the oracle.

use super::{JsonReader, Projection};
use bytes::Bytes;
use informant_fuzz::Target;
use serde_json::Value;

/// An input is pointers with a blank between, a line break and JSON.
#[test]
fn projection() {
    let words =
        &["/spec/nodeName", " /a", "/0", "/01", "/-", "~0", "~1", "\"a\":", "{\"a\":1}", "\n"];
    Target::new(env!("CARGO_MANIFEST_DIR"), "projection").words(words).run(|input| {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return };
        let (pointers, json) = (&input[..end], &input[end + 1..]);
        let Ok(pointers) = std::str::from_utf8(pointers) else { return };
        let pointers: Vec<&str> = pointers.split(' ').collect();
        let found = Projection::new(&pointers).values(json);
        assert_eq!(found.len(), pointers.len());
        let mut reader = JsonReader::new(Bytes::copy_from_slice(json));
        let kept = Projection::new(&pointers).kept(json);
        let read = pointers.iter().map(|pointer| reader.values(&[pointer])[0].map(<[u8]>::to_vec));
        let read: Vec<Option<Vec<u8>>> = read.collect();
        let Ok(tree) = serde_json::from_slice::<Value>(json) else { return };
        serde_json::from_slice::<Value>(&kept).expect("what is kept is JSON");
        for ((pointer, found), read) in pointers.iter().zip(found).zip(read) {
            assert_eq!(read.as_deref(), found, "{pointer}");
            let value = found.map(serde_json::from_slice::<Value>);
            let value = value.transpose().expect("what is found is JSON");
            assert_eq!(value.as_ref(), tree.pointer(pointer), "{pointer}: {found:?}");
        }
    });
}
