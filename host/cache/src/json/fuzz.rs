//! Fuzz target: projections, against serde_json's tree as the oracle.

use super::Projection;
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
        let Ok(tree) = serde_json::from_slice::<Value>(json) else { return };
        for (pointer, found) in pointers.iter().zip(found) {
            let value = found.map(serde_json::from_slice::<Value>);
            let value = value.transpose().expect("what is found is JSON");
            assert_eq!(value.as_ref(), tree.pointer(pointer), "{pointer}: {found:?}");
        }
    });
}
