//! The Rust SDK's bindings are generated from the contract and committed. They must match the contract.

use crate::repository::Text;
use sha2::{Digest, Sha256};

const CONTRACT: &str = "plugin-sdk/wit/plugin.wit";
/// The hash of the contract that the bindings were generated from.
const GENERATED_FROM: &str = "plugin-sdk/rust/src/bindings/contract.txt";

/// A complaint about bindings that were generated from another contract.
pub fn stale(texts: &[Text]) -> Option<String> {
    let text = |path: &str| texts.iter().find(|text| text.path == path).map(|text| &text.text);
    let digest = text(CONTRACT).map(|contract| sha256(contract));
    let generated_from = text(GENERATED_FROM).map(|line| line.trim());
    (digest.is_none() || digest.as_deref() != generated_from)
        .then(|| format!("{GENERATED_FROM} is not of {CONTRACT}: run make rust-bindings"))
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(generated_from: &str, is_stale: bool) {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts = [text(CONTRACT, "abc"), text(GENERATED_FROM, generated_from)];
        assert_eq!(stale(&texts).is_some(), is_stale);
    }

    #[test]
    fn bindings_of_another_contract_are_complained_of() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
        check(abc, false);
        check(&abc.replace("ba", "ab"), true);
        check("", true);
    }
}
