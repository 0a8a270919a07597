//! The items of a request's header that is a list.

use axum::http::{HeaderMap, HeaderName};

/// Items that are read. A list of 64 KiB on the threads of events would delay them.
pub(super) const ITEMS_MAX: usize = 64;

/// The first items of a header, without the blanks around them.
pub(super) fn items<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).take(ITEMS_MAX).map(str::trim)
}

/// Whether an item is accepted: a weight of 0 is a refusal (RFC 9110), and so is one that is no number.
pub(super) fn is_accepted(item: &str) -> bool {
    let mut parameters = item.split(';').skip(1).filter_map(|one| one.trim().split_once('='));
    let weight = parameters.find(|(key, _)| key.eq_ignore_ascii_case("q"));
    weight.is_none_or(|(_, weight)| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, header};

    #[test]
    fn the_first_items_of_all_values_are_read() {
        let commas = ",".repeat(60_000);
        let values = ["a, b ;q=1", "", &commas].map(HeaderValue::from_str);
        let values = values.map(|value| (header::ACCEPT, value.expect("a value")));
        let headers: HeaderMap = values.into_iter().collect();
        let found: Vec<&str> = items(&headers, &header::ACCEPT).collect();
        assert_eq!(found[..4], ["a", "b ;q=1", "", ""]);
        assert_eq!(found.len(), ITEMS_MAX);
    }
}
