//! Lists of words in a sentence.

use std::borrow::Borrow;

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn enumerated<T: Borrow<str>>(words: &[T]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.borrow().to_owned(),
        Some((last, others)) => format!("{} and {}", others.join(", "), last.borrow()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expect: &str) {
        assert_eq!(enumerated(words), expect);
    }

    #[test]
    fn the_last_word_comes_after_and() {
        check(&[], "");
        check(&["create"], "create");
        check(&["create", "patch"], "create and patch");
        check(&["create", "patch", "delete"], "create, patch and delete");
    }
}
