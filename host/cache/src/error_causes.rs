//! An error's text with its causes, for logs and answers. The outermost error alone often says only that something
//! failed.

use std::error::Error;

/// `error: cause: cause of that`. A cause that its error already ends with is not repeated.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let mut text = String::new();
    for cause in causes.map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = if text.is_empty() { cause } else { format!("{text}: {cause}") };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Caused {
        text: &'static str,
        source: Option<Box<Self>>,
    }

    #[track_caller]
    fn check(texts: &[&'static str], expect: &str) {
        let caused =
            texts.iter().rev().fold(None, |source, text| Some(Box::new(Caused { text, source })));
        assert_eq!(with_causes(&*caused.expect("an error")), expect);
    }

    #[test]
    fn causes_follow_their_error_once() {
        check(&["no answer"], "no answer");
        check(&["no answer", "connection refused"], "no answer: connection refused");
        check(
            &["no answer: refused", "refused", "os error 111"],
            "no answer: refused: os error 111",
        );
    }
}
