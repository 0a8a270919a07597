//! Several values of one object in one answer, for `event-data` and for `indexer`.

use crate::guest::call_deadline::CallDeadline;
use informant_cache::JsonReader;
use std::time::Instant;

/// The most pointers in one call. Any number of them takes at most a few passes over the object's bytes. A guest that
/// wants more values should read the object.
pub(crate) const POINTERS_MAX: usize = 256;

/// The reason for which there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FieldsError {
    /// The request exceeds an answer's bound; the text is for the plugin's author.
    TooMuch(String),
    /// The call's time is over.
    DeadlineExceeded,
}

/// The value at each pointer. Together they may have `bytes_max` bytes, or as many as the whole object if that is
/// larger.
pub(super) fn fields(
    reader: &mut JsonReader,
    pointers: &[String],
    bytes_max: usize,
    clock: &CallDeadline,
) -> Result<Vec<Option<String>>, FieldsError> {
    let asked = pointers.len();
    if asked > POINTERS_MAX {
        let text =
            format!("fields of {asked} pointers were asked for, at most {POINTERS_MAX} at once");
        return Err(FieldsError::TooMuch(text));
    }
    if clock.expired(Instant::now()) {
        return Err(FieldsError::DeadlineExceeded);
    }
    let bytes_max = bytes_max.max(reader.json().len());
    let found = reader.values(pointers);
    let bytes: usize = found.iter().flatten().map(|value| value.len()).sum();
    if bytes > bytes_max {
        let text = format!(
            "fields of more than {bytes_max} bytes were asked for; ask for the object instead"
        );
        return Err(FieldsError::TooMuch(text));
    }
    Ok(found.into_iter().map(|value| value.map(text)).collect())
}

/// The text of a value. An object's JSON is text, and so is every value of it.
fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(value).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::Pace;
    use std::time::Duration;

    const JSON: &[u8] = br#"{"a":"0123456789","b":1}"#;

    #[track_caller]
    fn check(pointers: &[&str], limit: Duration, expect: Result<&[Option<&str>], FieldsError>) {
        let now = Instant::now();
        let clock = CallDeadline::new(now, Pace::default());
        clock.arm(now, limit, Duration::ZERO);
        let pointers: Vec<String> = pointers.iter().map(|&pointer| pointer.to_owned()).collect();
        let expect = expect
            .map(|values| values.iter().map(|value| value.map(str::to_owned)).collect::<Vec<_>>());
        let mut reader = JsonReader::new(JSON.into());
        assert_eq!(fields(&mut reader, &pointers, 30, &clock), expect);
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn each_pointer_has_its_place() {
        check(&["/b", "/c", "/a"], LONG, Ok(&[Some("1"), None, Some("\"0123456789\"")]));
        check(&[], LONG, Ok(&[]));
    }

    #[test]
    fn pointers_are_bounded() {
        check(&["/c"; POINTERS_MAX], LONG, Ok(&[None; POINTERS_MAX]));
        let text = "fields of 257 pointers were asked for, at most 256 at once";
        let error = FieldsError::TooMuch(text.to_owned());
        check(&["/c"; POINTERS_MAX + 1], LONG, Err(error));
    }

    #[test]
    fn bytes_are_bounded() {
        check(
            &["/a", "/a", "/b"],
            LONG,
            Ok(&[Some("\"0123456789\""), Some("\"0123456789\""), Some("1")]),
        );
        let text = "fields of more than 30 bytes were asked for; ask for the object instead";
        check(&["/a", "/a", "/a"], LONG, Err(FieldsError::TooMuch(text.to_owned())));
    }

    #[test]
    fn nothing_is_looked_up_when_time_is_over() {
        check(&["/b"], Duration::ZERO, Err(FieldsError::DeadlineExceeded));
    }
}
