//! The known word that an unknown one is nearest to.

/// How near a word has to be to be meant, from 0 to 1.
const NEAR: f64 = 0.7;

/// Bytes of a word that may be a known one with a mistake in it; a longer one is not compared.
const WORD_BYTES_MAX: usize = 128;

/// The known word that somebody who wrote `word` may have meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    let near = |known: &str| strsim::jaro_winkler(word, known);
    let nearest = known.iter().copied().max_by(|a, b| near(a).total_cmp(&near(b)))?;
    (near(nearest) > NEAR).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_mistake_is_near_and_another_word_is_not() {
        let known = ["pods", "nodes", "services"];
        let check = |word: &str, expect: Option<&str>| assert_eq!(nearest(word, &known), expect);
        check("pod", Some("pods"));
        check("service", Some("services"));
        check("zzz", None);
        check(&"pods".repeat(40), None);
        assert_eq!(nearest("pod", &[]), None);
    }
}
