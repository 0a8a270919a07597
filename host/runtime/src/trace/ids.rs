//! The ids of traces and spans, their texts, and the sampler.

use std::fmt;

/// The id of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// An id of no change.
    pub(super) fn random() -> Self {
        Self(fastrand::u128(1..).to_be_bytes())
    }

    /// The id of a change with these two hashes.
    pub(super) fn of(first: u64, second: u64) -> Self {
        Self((u128::from(first) << 64 | u128::from(second)).to_be_bytes())
    }

    /// The id of a change's first span: the first half, because the sampler reads the other one.
    pub fn root(self) -> SpanId {
        let [id @ .., _, _, _, _, _, _, _, _] = self.0;
        SpanId(id)
    }

    /// The number that the sampler compares: the last 63 bits, as other programs with a sampler by ratio read them.
    pub(super) fn sample(self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1
    }
}

impl SpanId {
    pub(crate) fn random() -> Self {
        Self(fastrand::u64(1..).to_be_bytes())
    }
}

/// The number below which a trace is sampled.
pub(super) fn threshold(ratio: f64) -> u64 {
    const ALL: u64 = 1 << 63;
    match ratio {
        ratio if ratio >= 1.0 => ALL,
        ratio if ratio > 0.0 => (ratio * ALL as f64) as u64,
        _ => 0,
    }
}

/// The header of W3C's Trace Context for a request that this span stands for.
pub(super) fn traceparent(trace: TraceId, span: SpanId, is_sampled: bool) -> String {
    format!("00-{trace}-{span}-{:02x}", u8::from(is_sampled))
}

fn hexadecimal(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ratio: f64, last_bytes: u64, is_sampled: bool) {
        let trace = TraceId(u128::from(last_bytes).to_be_bytes());
        assert_eq!(trace.sample() < threshold(ratio), is_sampled, "{ratio} {last_bytes:x}");
    }

    #[test]
    fn a_ratio_samples_that_part_of_all_ids() {
        for (ratio, is_sampled) in [(0.0, false), (-1.0, false), (f64::NAN, false), (1.0, true)] {
            check(ratio, 0, is_sampled);
            check(ratio, u64::MAX, is_sampled);
        }
        check(2.0, u64::MAX, true);
        check(0.25, u64::MAX / 4, true);
        check(0.25, u64::MAX / 4 + 2, false);
    }

    #[test]
    fn ids_are_written_as_the_w3c_says() {
        let trace = TraceId(*b"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36");
        let span = SpanId(*b"\x00\xf0\x67\xaa\x0b\xa9\x02\xb7");
        let expect = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0";
        assert_eq!(traceparent(trace, span, true), format!("{expect}1"));
        assert_eq!(traceparent(trace, span, false), format!("{expect}0"));
    }
}
