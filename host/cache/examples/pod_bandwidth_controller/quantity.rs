//! Kubernetes' quantities, as far as bandwidths need them: whole bits a second.

use std::fmt;

/// The text is no quantity that could be a bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    text: String,
    problem: &'static str,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a quantity such as 10M or 1.5Gi: {}", self.text, self.problem)
    }
}

impl std::error::Error for ParseQuantityError {}

/// Numerator and denominator of what a suffix multiplies by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
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

/// The quantity in whole units; a fraction is rounded up, as Kubernetes does it.
pub fn parse(text: &str) -> Result<u64, ParseQuantityError> {
    let wrong = |problem| ParseQuantityError { text: text.to_owned(), problem };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(wrong("it does not begin with a number, or with a negative one"));
    }
    let (factor, divisor) = scale(suffix).ok_or_else(|| wrong("its suffix is not known"))?;
    // More digits than the finest suffix has are beyond what is written.
    if fraction.len() > 9 || fraction.contains('.') {
        return Err(wrong("its fraction is too fine"));
    }
    let digits: u128 =
        format!("0{whole}{fraction}").parse().map_err(|_| wrong("it is too large"))?;
    let divisor = divisor * 10u128.pow(fraction.len() as u32);
    let value = digits.checked_mul(factor).map(|value| value.div_ceil(divisor));
    value.and_then(|value| u64::try_from(value).ok()).ok_or_else(|| wrong("it is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<u64, &str>) {
        assert_eq!(parse(text).map_err(|error| error.problem), expect, "{text}");
    }

    #[test]
    fn quantities_are_read() {
        check("10M", Ok(10_000_000));
        check("1Gi", Ok(1 << 30));
        check("1.5k", Ok(1_500));
        check("0", Ok(0));
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
    fn what_is_no_bandwidth_is_an_error() {
        let no_number = Err("it does not begin with a number, or with a negative one");
        check("", no_number);
        check("-1M", no_number);
        check("fast", no_number);
        check(".", no_number);
        check("10MB", Err("its suffix is not known"));
        check("10 M", Err("its suffix is not known"));
        check("1e99", Err("its suffix is not known"));
        check("1.2.3", Err("its fraction is too fine"));
        check("99E", Err("it is too large"));
        check(&"9".repeat(60), Err("it is too large"));
    }
}
