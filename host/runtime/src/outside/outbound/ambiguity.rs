//! Ambiguous paths: some servers read other segments than the rules do, after one or several decodings, or by mapping
//! characters to slashes and dots.

use percent_encoding::percent_decode;

/// No honest path is encoded so many times.
const DECODED_MAX: usize = 8;
/// Characters that some servers map to slashes, backslashes and dots: full-width and small forms, fractions, leaders,
/// full stops.
const LOOK_ALIKES: [char; 17] = [
    '\\', '\u{2024}', '\u{2025}', '\u{2026}', '\u{2044}', '\u{2215}', '\u{2216}', '\u{29f5}',
    '\u{29f8}', '\u{3002}', '\u{fe52}', '\u{fe68}', '\u{ff0e}', '\u{ff0f}', '\u{ff3c}', '\u{ff61}',
    '\u{fffd}',
];

/// Whether rules cannot decide where the path leads. The check takes some passes over the path, so each path is
/// checked once.
pub(super) fn is_ambiguous(path: &str) -> bool {
    let mut path = path.as_bytes().to_vec();
    let slashes = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
    for _ in 0..DECODED_MAX {
        if has_code_point(&path) {
            return true;
        }
        let decoded: Vec<u8> = percent_decode(&path).collect();
        if slashes(&decoded) != slashes(&path) || reads_otherwise(&decoded) {
            return true;
        }
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

/// `%u002f`, which no standard has, and which some servers decode.
fn has_code_point(path: &[u8]) -> bool {
    path.windows(2).any(|pair| pair.eq_ignore_ascii_case(b"%u"))
}

fn reads_otherwise(path: &[u8]) -> bool {
    // Overlong forms are not UTF-8, but some servers take `%c0%af` for a slash.
    let Ok(text) = str::from_utf8(path) else { return true };
    let is_odd = |c: char| c.is_control() || LOOK_ALIKES.contains(&c);
    text.contains(is_odd) || text.split('/').any(is_like_dots)
}

/// Dots with blanks around or between them, or more than two: some systems drop the extra characters.
fn is_like_dots(segment: &str) -> bool {
    let name = without_parameters(segment);
    name.contains('.') && name.chars().all(|c| c == '.' || c.is_whitespace())
}

/// `.` or `..`, in any encoding of the dots, and with any parameters behind them.
pub(super) fn is_dots(segment: &str) -> bool {
    let name = without_parameters(segment);
    let plain = name.replace("%2e", ".").replace("%2E", ".");
    plain == "." || plain == ".."
}

fn without_parameters(segment: &str) -> &str {
    segment.split(';').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_may_be_another_once_decoded_is_ambiguous() {
        let odd = [
            "/a%2fb",
            "/a%2Fb",
            "/a%5cb",
            "/a%255cb",
            "/a%252fb",
            "/a/%252e%252e/b",
            "/a/%25252e./b",
            "/a%00",
            "/a%0a",
            "/a%C2%85",
        ];
        for path in odd {
            assert!(is_ambiguous(path), "{path}");
        }
        let plain =
            ["/", "/a/b", "/a%20b", "/100%25", "/%C3%A4", "/a%2eb", "/a%", "/a%zz", "/a;b", "/a.."];
        for path in plain {
            assert!(!is_ambiguous(path), "{path}");
        }
        let many = |times: usize| format!("/%{}41", "25".repeat(times));
        assert!(!is_ambiguous(&many(DECODED_MAX - 2)) && is_ambiguous(&many(DECODED_MAX)));
    }

    #[test]
    fn what_some_servers_make_slashes_and_dots_of_is_ambiguous() {
        let overlong =
            ["/a%c0%afb", "/a/%c0%ae%c0%ae/b", "/a%e0%80%afb", "/a%f0%80%80%afb", "/a%25c0%25af"];
        let code_points = ["/a%u002fb", "/a%U2215b", "/a%25u002e"];
        let look_alikes = ["/a%EF%BC%8Fb", "/%EF%BC%8E%EF%BC%8E/b", "/a%E2%88%95b", "/a%EF%BC%BCb"];
        for path in overlong.iter().chain(&code_points).chain(&look_alikes) {
            assert!(is_ambiguous(path), "{path}");
        }
        let dots = ["/a/..%20/b", "/a/%20../b", "/a/.%20./b", "/a/..%09;x/b", "/a/.../b"];
        for path in dots {
            assert!(is_ambiguous(path), "{path}");
        }
        assert!(is_ambiguous("/a%ff"), "nobody knows how it is read");
        assert!(!is_ambiguous("/a%20.b/c%20d") && !is_ambiguous("/%E4%B8%AD"));
    }
}
