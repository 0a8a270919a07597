//! What differs between the pods of one workload, and between the versions of one pod. Every value has a fixed width, so
//! that a template's length never changes.

use std::ops::Range;

/// 2026-06-01T00:00:00Z; every time shown lies in that month, which keeps writing one cheap.
const MONTH_BEGIN: u64 = 1_780_272_000;
/// Pods are created in the first twenty days.
const CREATED_WITHIN: u64 = 20 * 86_400;
/// Updates show a time in the five days from the twenty-third on.
const UPDATED: Range<u64> = 22 * 86_400..27 * 86_400;

/// One version of one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Which pod: everything about it that is random follows from this number.
    pub pod: u32,
    /// Ten digits.
    pub resource_version: u64,
    /// Nanoseconds since 1970; 19 digits.
    pub stamp: u64,
}

/// What goes into a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The five characters that end a pod's name.
    NameSuffix,
    Uid,
    ResourceVersion,
    Stamp,
    PodIp,
    HostIp,
    NodeName,
    /// Of the container of this number, or of the sandbox (9).
    ContainerId(u8),
    /// The five characters that end the name of the token's volume.
    Token,
    /// A moment of the pod's start, in RFC 3339; [`LAST_UPDATE`] is the newest change.
    TimeText(u8),
    /// The same in seconds since 1970, as protobuf writes a number of that size: in five bytes.
    TimeVarint(u8),
}

/// The number of the time of the newest change.
pub(crate) const LAST_UPDATE: u8 = 9;

/// Fields as a template marks them: a text that stands nowhere else, as wide as the value.
pub(crate) const PLACEHOLDERS: &[(Field, &str)] = &[
    (Field::NameSuffix, "@n~~~"),
    (Field::Uid, "@u~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"),
    (Field::ResourceVersion, "@r~~~~~~~~"),
    (Field::Stamp, "@s~~~~~~~~~~~~~~~~~"),
    (Field::PodIp, "@i~~~~~~~~~~~~"),
    (Field::HostIp, "@h~~~~~~~~~~"),
    (Field::NodeName, "@d~~~~~~~~~~~~~~~~~~~~~~~~~~"),
    (Field::Token, "@t~~~"),
];

/// The placeholder of a container's id: 64 characters.
pub(crate) fn container_id(number: u8) -> String {
    format!("@c{number}{}", "~".repeat(61))
}

/// The placeholder of a time: one that is valid, since other programs read templates, and long past.
pub(crate) fn time(number: u8) -> String {
    format!("2001-01-01T00:00:0{number}Z")
}

/// The same in seconds since 1970.
pub(crate) fn time_seconds(number: u8) -> u64 {
    978_307_200 + u64::from(number)
}

impl Field {
    /// Bytes of every value of it.
    pub fn width(self) -> usize {
        match self {
            Self::ContainerId(_) => 64,
            Self::TimeText(_) => 20,
            Self::TimeVarint(_) => 5,
            field => {
                let known = PLACEHOLDERS.iter().find(|(known, _)| *known == field);
                known.map_or(0, |(_, text)| text.len())
            }
        }
    }

    /// Writes the value for this version of this pod into a hole of that width.
    pub fn fill(self, version: &Version, hole: &mut [u8]) {
        let pod = u64::from(version.pod);
        match self {
            // Coprime to the number of suffixes: no two pods share one.
            Self::NameSuffix => letters(pod * 7_654_321 + 1_234_567, hole),
            Self::Uid => uid(pod, hole),
            Self::ResourceVersion => digits(version.resource_version, hole),
            Self::Stamp => digits(version.stamp, hole),
            Self::PodIp => address("10.".as_bytes(), random(pod, 3), b'.', hole),
            Self::HostIp => address("10.0.".as_bytes(), node(pod), b'.', hole),
            Self::NodeName => {
                hole.copy_from_slice(b"ip-10-0-000-000.ec2.internal");
                address("ip-10-0-".as_bytes(), node(pod), b'-', &mut hole[..15]);
            }
            Self::ContainerId(number) => {
                for (piece, hole) in hole.chunks_exact_mut(16).enumerate() {
                    hex(random(pod, 100 + 10 * u64::from(number) + piece as u64), hole);
                }
            }
            Self::Token => letters(random(pod, 4), hole),
            Self::TimeText(number) => time_text(seconds(version, number), hole),
            Self::TimeVarint(number) => varint(MONTH_BEGIN + seconds(version, number), hole),
        }
    }
}

/// A well-mixed number for a pod and a purpose (splitmix64).
fn random(pod: u64, purpose: u64) -> u64 {
    let mut mixed = (pod << 16 | purpose).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// One of 1,000 nodes.
fn node(pod: u64) -> u64 {
    random(random(pod, 5) % 1_000, 6)
}

/// Seconds since the begin of the month.
fn seconds(version: &Version, number: u8) -> u64 {
    let pod = u64::from(version.pod);
    if number == LAST_UPDATE {
        return UPDATED.start + version.resource_version % (UPDATED.end - UPDATED.start);
    }
    let created = random(pod, 7) % CREATED_WITHIN;
    created + u64::from(number) + random(pod, 8) % (1 + u64::from(number))
}

fn letters(mut number: u64, hole: &mut [u8]) {
    // Kubernetes' own alphabet for generated names, which spells no words.
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    for byte in hole {
        *byte = ALPHABET[(number % ALPHABET.len() as u64) as usize];
        number /= ALPHABET.len() as u64;
    }
}

fn hex(mut number: u64, hole: &mut [u8]) {
    for byte in hole {
        *byte = b"0123456789abcdef"[(number % 16) as usize];
        number /= 16;
    }
}

fn digits(mut number: u64, hole: &mut [u8]) {
    for byte in hole.iter_mut().rev() {
        *byte = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// A UUID of version 4.
fn uid(pod: u64, hole: &mut [u8]) {
    let (high, low) = (random(pod, 9), random(pod, 10));
    for (part, number) in [(0..8, high), (9..13, high >> 32), (14..18, high >> 48)] {
        hex(number, &mut hole[part]);
    }
    for (part, number) in [(19..23, low), (24..36, low >> 16)] {
        hex(number, &mut hole[part]);
    }
    for dash in [8, 13, 18, 23] {
        hole[dash] = b'-';
    }
    hole[14] = b'4';
    hole[19] = b"89ab"[(low % 4) as usize];
}

/// The begin, then numbers between 100 and 250, three digits each.
fn address(begin: &[u8], mut number: u64, separator: u8, hole: &mut [u8]) {
    let (head, rest) = hole.split_at_mut(begin.len());
    head.copy_from_slice(begin);
    for part in rest.chunks_mut(4) {
        digits(100 + number % 151, &mut part[..3]);
        number >>= 8;
        if let Some(last) = part.get_mut(3) {
            *last = separator;
        }
    }
}

fn time_text(seconds: u64, hole: &mut [u8]) {
    hole.copy_from_slice(b"2026-06-00T00:00:00Z");
    digits(1 + seconds / 86_400, &mut hole[8..10]);
    digits(seconds / 3_600 % 24, &mut hole[11..13]);
    digits(seconds / 60 % 60, &mut hole[14..16]);
    digits(seconds % 60, &mut hole[17..19]);
}

/// Protobuf's varint in all of the hole: five bytes for any time between 1978 and 3058.
pub(crate) fn varint(mut number: u64, hole: &mut [u8]) {
    let last = hole.len() - 1;
    for byte in &mut hole[..last] {
        *byte = 0x80 | (number & 0x7f) as u8;
        number >>= 7;
    }
    hole[last] = number as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `shape` has a letter for each character: `a` of the alphabet of names, `x` hexadecimal, `9` a digit.
    #[track_caller]
    fn check(field: Field, shape: &str) {
        let version =
            Version { pod: 7, resource_version: 1_000_000_042, stamp: 1_795_000_000_123_456_789 };
        let mut hole = vec![b'?'; field.width()];
        field.fill(&version, &mut hole);
        let text = String::from_utf8(hole).expect("it is text");
        assert_eq!(text.len(), shape.len(), "{field:?}: {text}");
        let fits = |(found, wanted): (char, char)| match wanted {
            'a' => found.is_ascii_alphanumeric(),
            'x' => found.is_ascii_hexdigit(),
            '9' => found.is_ascii_digit(),
            wanted => found == wanted,
        };
        assert!(text.chars().zip(shape.chars()).all(fits), "{field:?}: {text}");
    }

    #[test]
    fn values_fill_their_holes() {
        check(Field::NameSuffix, "aaaaa");
        check(Field::Uid, "xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx");
        check(Field::ResourceVersion, "1000000042");
        check(Field::Stamp, "1795000000123456789");
        check(Field::PodIp, "10.999.999.999");
        check(Field::HostIp, "10.0.999.999");
        check(Field::NodeName, "ip-10-0-999-999.ec2.internal");
        check(Field::Token, "aaaaa");
        check(Field::ContainerId(2), &"x".repeat(64));
        check(Field::TimeText(0), "2026-06-99T99:99:99Z");
        check(Field::TimeText(LAST_UPDATE), "2026-06-29T99:99:99Z");
    }

    #[test]
    fn time_is_the_same_in_both_forms() {
        let mut hole = [0; 5];
        varint(time_seconds(3), &mut hole);
        let mut number = 0u64;
        for (place, byte) in hole.iter().enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * place);
        }
        assert_eq!(number, 978_307_203);
    }
}
