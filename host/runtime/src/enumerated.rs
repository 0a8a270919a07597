//! Lists of words in a sentence, and of texts on a page.

use crate::one_line::one_line;
use std::borrow::Borrow;

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn enumerated<T: Borrow<str>>(words: &[T]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.borrow().to_owned(),
        Some((last, others)) => format!("{} and {}", others.join(", "), last.borrow()),
    }
}

/// The first texts of a list, each on one line of at most so many bytes, and the number of the others: `(936 more)`. The
/// lists of a plugin may have thousands of entries, and a page has the lists of all plugins.
pub fn first_texts<T: AsRef<str>>(
    mut all: impl ExactSizeIterator<Item = T>,
    most: usize,
    bytes_max: usize,
) -> Vec<String> {
    let first = all.by_ref().take(most);
    let mut texts: Vec<String> =
        first.map(|text| one_line(text.as_ref(), bytes_max).into_owned()).collect();
    if all.len() > 0 {
        texts.push(format!("({} more)", all.len()));
    }
    texts
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

    #[test]
    fn a_list_of_texts_is_as_long_as_it_may_be() {
        let check = |texts: &[&str], expect: &[&str]| {
            assert_eq!(first_texts(texts.iter(), 2, 3), expect);
        };
        check(&[], &[]);
        check(&["a", "b"], &["a", "b"]);
        check(&["a", "b", "c", "d"], &["a", "b", "(2 more)"]);
        check(&["abcd"], &["abc … (1 bytes more)"]);
    }
}
