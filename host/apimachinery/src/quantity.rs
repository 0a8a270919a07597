//! Whole quantities as Kubernetes writes them: `64Mi`, `1.5Gi`, `10k`, `4096`.

/// Suffixes with what they stand for; the two-letter ones first, so that `Mi` is not taken for `M`.
const SUFFIXES: [(&str, u64); 8] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// The text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no size: write it as in Kubernetes, 64Mi, 512Ki or 4096")]
pub struct ParseQuantityError(String);

/// Reads a quantity that is a whole number, 0 or more.
pub fn parse(text: &str) -> Result<u64, ParseQuantityError> {
    let found = SUFFIXES.iter().find_map(|(suffix, of)| Some((text.strip_suffix(suffix)?, *of)));
    let (number, of) = found.unwrap_or((text, 1));
    scaled(number, of).ok_or_else(|| ParseQuantityError(text.chars().take(64).collect()))
}

/// As it is written: with the largest binary suffix that says it in a whole number.
pub fn show(quantity: u64) -> String {
    let fits = |of: &u64| quantity > 0 && quantity.is_multiple_of(*of);
    let found = SUFFIXES[..4].iter().rfind(|(_, of)| fits(of));
    found.map_or(quantity.to_string(), |(suffix, of)| format!("{}{suffix}", quantity / of))
}

/// A decimal number times `of`, if that is whole and can be counted.
pub(crate) fn scaled(number: &str, of: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || number.ends_with('.') {
        return None;
    }
    let divisor = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = digits.checked_mul(u128::from(of))?;
    let whole = product.is_multiple_of(divisor).then_some(product / divisor)?;
    u64::try_from(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(parse(text).ok(), expect, "{text:?}");
    }

    #[test]
    fn quantities_are_written_as_in_kubernetes() {
        check("64Mi", Some(64 << 20));
        check("1.5Gi", Some(3 << 29));
        check("10k", Some(10_000));
        check("0", Some(0));
        check("4096", Some(4_096));
        for wrong in ["", "Mi", "-1", "64MB", "64 Mi", "1.", ".5Gi", "0.1", "100m", "99999999Ti"] {
            check(wrong, None);
        }
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for (quantity, expect) in
            [(0, "0"), (1_000, "1000"), (1 << 10, "1Ki"), (3 << 29, "1536Mi"), (1 << 30, "1Gi")]
        {
            assert_eq!(show(quantity), expect);
            assert_eq!(parse(expect), Ok(quantity));
        }
    }
}
