//! Lists of words in a sentence.

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn enumerated<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
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
