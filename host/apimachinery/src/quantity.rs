//! Quantities as Kubernetes writes them: `64Mi`, `1.5Gi`, `10k`, `100m`, `12e3` (`resource.ParseQuantity` of apimachinery). None is negative.

const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Digits after the point: more than the finest suffix has are beyond what is written.
const FRACTION_DIGITS_MAX: usize = 9;
/// Of a text that an error shows.
const SHOWN_CHARACTERS: usize = 64;

/// The text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no quantity, such as 64Mi, 10M or 4096: {problem}")]
pub struct ParseQuantityError {
    text: String,
    problem: &'static str,
}

/// Reads a quantity that is a whole number, 0 or more.
pub fn parse(text: &str) -> Result<u64, ParseQuantityError> {
    read(text, |numerator, denominator| {
        let whole = numerator.is_multiple_of(denominator).then_some(numerator / denominator);
        whole.ok_or("it is not whole")
    })
}

/// Reads a quantity; a fraction is rounded up, as Kubernetes does it (`Quantity.Value`).
pub fn parse_rounded_up(text: &str) -> Result<u64, ParseQuantityError> {
    read(text, |numerator, denominator| Ok(numerator.div_ceil(denominator)))
}

fn read(
    text: &str,
    whole: impl FnOnce(u128, u128) -> Result<u128, &'static str>,
) -> Result<u64, ParseQuantityError> {
    let number = ratio(text).and_then(|(numerator, denominator)| whole(numerator, denominator));
    let number = number.and_then(|number| u64::try_from(number).map_err(|_| "it is too large"));
    let shown = || text.chars().take(SHOWN_CHARACTERS).collect();
    number.map_err(|problem| ParseQuantityError { text: shown(), problem })
}

/// Numerator and denominator.
fn ratio(text: &str) -> Result<(u128, u128), &'static str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err("it does not begin with a number, or with a negative one");
    }
    let (factor, divisor) = scale(suffix).ok_or("its suffix is not known")?;
    if fraction.len() > FRACTION_DIGITS_MAX || fraction.contains('.') {
        return Err("its fraction is too fine");
    }
    let digits: u128 = format!("0{whole}{fraction}").parse().map_err(|_| "it is too large")?;
    let numerator = digits.checked_mul(factor).ok_or("it is too large")?;
    Ok((numerator, divisor * 10u128.pow(fraction.len() as u32)))
}

/// Numerator and denominator of what a suffix multiplies by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    let place = |names: &[&str]| names.iter().position(|name| *name == suffix);
    match suffix {
        "m" => Some((1, 1_000)),
        "u" => Some((1, 1_000_000)),
        "n" => Some((1, 1_000_000_000)),
        _ => {
            let decimal = place(&DECIMAL).map(|power| 1000u128.pow(power as u32));
            let binary = || place(&BINARY).map(|power| 1024u128.pow(power as u32));
            let exponent = || {
                let digits = suffix.strip_prefix(['e', 'E'])?;
                10u128.checked_pow(digits.parse().ok()?)
            };
            decimal.or_else(binary).or_else(exponent).map(|factor| (factor, 1))
        }
    }
}

/// As it is written: with the largest binary suffix that says it in a whole number.
pub fn show(quantity: u64) -> String {
    let mut suffixes = BINARY.iter().enumerate().skip(1).rev();
    let found =
        suffixes.find(|(power, _)| quantity > 0 && quantity.is_multiple_of(1 << (10 * power)));
    found.map_or(quantity.to_string(), |(power, suffix)| {
        format!("{}{suffix}", quantity >> (10 * power))
    })
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
    fn check(text: &str, expect: Result<u64, &str>) {
        assert_eq!(parse_rounded_up(text).map_err(|error| error.problem), expect, "{text}");
    }

    #[track_caller]
    fn check_whole(text: &str, expect: Option<u64>) {
        assert_eq!(parse(text).ok(), expect, "{text}");
    }

    #[test]
    fn quantities_are_read() {
        check("10M", Ok(10_000_000));
        check("1Gi", Ok(1 << 30));
        check("1.5k", Ok(1_500));
        check("0", Ok(0));
        check("4096", Ok(4_096));
        check("12e3", Ok(12_000));
        check(".5M", Ok(500_000));
        check("9E", Ok(9_000_000_000_000_000_000));
    }

    #[test]
    fn fractions_are_rounded_up() {
        check("1m", Ok(1));
        check("1001m", Ok(2));
        check("1.0000001", Ok(2));
    }

    #[test]
    fn what_has_to_be_whole_has_no_fraction() {
        check_whole("64Mi", Some(64 << 20));
        check_whole("1.5Gi", Some(3 << 29));
        check_whole("1000m", Some(1));
        for wrong in ["0.1", "100m", "-1", "64MB", "99999999Ti"] {
            check_whole(wrong, None);
        }
    }

    #[test]
    fn what_is_no_quantity_is_an_error() {
        let no_number = Err("it does not begin with a number, or with a negative one");
        check("", no_number);
        check("-1M", no_number);
        check("fast", no_number);
        check(".", no_number);
        check("Mi", no_number);
        check("10MB", Err("its suffix is not known"));
        check("10 M", Err("its suffix is not known"));
        check("1e99", Err("its suffix is not known"));
        check("1.2.3", Err("its fraction is too fine"));
        check("99E", Err("it is too large"));
        check(&"9".repeat(60), Err("it is too large"));
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for (quantity, expect) in [
            (0, "0"),
            (1_000, "1000"),
            (1 << 10, "1Ki"),
            (3 << 29, "1536Mi"),
            (1 << 30, "1Gi"),
            (1 << 60, "1Ei"),
        ] {
            assert_eq!(show(quantity), expect);
            assert_eq!(parse(expect), Ok(quantity));
        }
    }
}
