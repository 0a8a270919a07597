//! Ticks of a logarithmic axis: 1, 2 and 5 of each power of ten, and their labels.

use std::ops::Range;

/// The ticks within the range that are round numbers of the unit.
pub(super) fn ticks(range: &Range<f64>, unit: f64) -> Vec<f64> {
    let power = |value: f64| (value / unit).log10().floor() as i32;
    let steps = |power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power) * unit);
    let all = (power(range.start)..=power(range.end)).flat_map(steps);
    all.filter(|tick| range.contains(tick)).collect()
}

/// `50 µs`, `2 ms`, `1 s`: for round numbers.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.999e-3 => format!("{:.0} µs", seconds * 1e6),
        seconds if seconds < 0.999 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(range: Range<f64>, unit: f64, shown: fn(f64) -> String, expect: &[&str]) {
        let ticks: Vec<String> = ticks(&range, unit).into_iter().map(shown).collect();
        assert_eq!(ticks, expect);
    }

    #[test]
    fn ticks_are_few_and_round() {
        let mib = |bytes: f64| format!("{} MiB", bytes / f64::from(1 << 20));
        check(4e-4..1.2e-2, 1.0, time, &["500 µs", "1 ms", "2 ms", "5 ms", "10 ms"]);
        check(0.15..3.0, 1.0, time, &["200 ms", "500 ms", "1 s", "2 s"]);
        let expect = ["50 MiB", "100 MiB", "200 MiB", "500 MiB", "1000 MiB"];
        check(5e7..1.5e9, f64::from(1 << 20), mib, &expect);
    }
}
