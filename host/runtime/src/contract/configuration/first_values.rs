//! The first values of a setting, for a page. A page has the settings of all plugins, and each may have a thousand
//! entries in its rules.

use crate::one_line::one_line;
use serde_json::{Map, Value};

/// The entries of one list or object.
const ENTRIES_SHOWN_MAX: usize = 32;
/// The texts, numbers and the like of one setting, and the bytes of each.
const VALUES_SHOWN_MAX: usize = 128;
const TEXT_BYTES_MAX: usize = 512;
/// The key of the number of further keys.
const MORE: &str = "…";

/// A copy of a setting with its first values. Each list or object that is cut ends with the number of its other
/// entries: `(992 more)`.
pub(super) fn first_values(setting: &Value) -> Value {
    first(setting, &mut { VALUES_SHOWN_MAX })
}

fn first(value: &Value, left: &mut usize) -> Value {
    let more = |shown, all| (shown < all).then(|| Value::from(format!("({} more)", all - shown)));
    match value {
        Value::Array(entries) => {
            let mut shown = Vec::new();
            for entry in entries.iter().take(ENTRIES_SHOWN_MAX) {
                if *left == 0 {
                    break;
                }
                shown.push(first(entry, left));
            }
            shown.extend(more(shown.len(), entries.len()));
            shown.into()
        }
        Value::Object(entries) => {
            let mut shown = Map::new();
            for (key, entry) in entries.iter().take(ENTRIES_SHOWN_MAX) {
                if *left == 0 {
                    break;
                }
                shown.insert(key.clone(), first(entry, left));
            }
            let more = more(shown.len(), entries.len());
            shown.extend(more.map(|more| (MORE.to_owned(), more)));
            shown.into()
        }
        value => {
            *left = left.saturating_sub(1);
            match value.as_str() {
                Some(text) if text.len() > TEXT_BYTES_MAX => {
                    one_line(text, TEXT_BYTES_MAX).into_owned().into()
                }
                _ => value.clone(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(setting: &Value, expect: &Value) {
        assert_eq!(first_values(setting), *expect);
    }

    fn numbers(count: usize) -> Vec<Value> {
        (0..count).map(Value::from).collect()
    }

    fn cut(shown: usize, count: usize) -> Vec<Value> {
        [numbers(shown), vec![format!("({} more)", count - shown).into()]].concat()
    }

    #[test]
    fn a_small_setting_is_whole() {
        for setting in [json!("1Gi"), json!(true), json!([]), json!([{"verbs": ["get"]}, {}])] {
            check(&setting, &setting);
        }
        check(&numbers(32).into(), &numbers(32).into());
    }

    #[test]
    fn each_list_and_the_whole_are_cut() {
        check(&numbers(1024).into(), &cut(32, 1024).into());
        let rule = json!({"names": numbers(40), "verbs": ["get"]});
        let shown = json!({"names": cut(32, 40), "verbs": ["get"]});
        check(&json!([rule]), &json!([shown]));
        let rules = json!([rule, rule, rule, rule, rule]);
        // Three rules have 99 values; of the fourth 29 are left.
        let fourth = json!({"names": cut(29, 40), "…": "(1 more)"});
        check(&rules, &json!([shown, shown, shown, fourth, "(1 more)"]));
    }

    #[test]
    fn keys_and_texts_are_cut() {
        let headers = (0..40).map(|number| (format!("h{number:02}"), Value::from(1)));
        let shown = first_values(&Value::Object(headers.collect()));
        assert_eq!((shown["h31"].as_u64(), &shown["h32"]), (Some(1), &Value::Null));
        assert_eq!(shown[MORE], "(8 more)");
        let text = first_values(&"a".repeat(600).into());
        assert!(text.as_str().is_some_and(|text| text.ends_with("a … (88 bytes more)")), "{text}");
    }
}
