//! Names that Kubernetes generates: the next object has another name, so a rule for this name would be useless. A name
//! alone does not prove that, so this module compares its form. After an error, an advised rule names one object too
//! few or too many.

/// The letters of random ends and of hashes: no vowels, and no similar letters (`k8s.io/apimachinery/pkg/util/rand`).
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";
/// The length of the end that `generateName` adds.
const RANDOM_LENGTH: usize = 5;
/// One in five of these ends has no digit, and hardly any word has only these letters. These words do, and count as
/// words.
const WORDS: [&str; 5] = ["grpcs", "https", "mqtts", "smtps", "xmpps"];
/// The hash of a template has up to ten letters. Fewer than these are rare, and may be another word.
const HASH_LENGTHS: std::ops::RangeInclusive<usize> = 6..=10;
/// Minutes since 1970, from 2017 to 2046: no date has these eight digits.
const MINUTES: std::ops::RangeInclusive<u32> = 25_000_000..=40_000_000;
/// The lengths of the parts of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Whether a name ends like a generated one.
pub(super) fn is_generated(name: &str) -> bool {
    let end = name.rsplit_once('-').map_or("", |(_, end)| end);
    is_random(end) || is_hash(end) || is_minute(end) || ends_with_uuid(name)
}

/// The end of `generateName`: most Pods, and objects made from a template. Digits alone are a number.
fn is_random(end: &str) -> bool {
    let is_word = || WORDS.contains(&end) || end.bytes().all(|letter| letter.is_ascii_digit());
    end.len() == RANDOM_LENGTH && is_of(end, RANDOM) && !is_word()
}

/// The hash of a ReplicaSet or a ControllerRevision. Digits alone are a number, and letters alone a word.
fn is_hash(end: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| end.as_bytes().iter().any(kind);
    HASH_LENGTHS.contains(&end.len())
        && is_of(end, RANDOM)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}

/// The end of a CronJob's Job.
fn is_minute(end: &str) -> bool {
    end.parse().is_ok_and(|minutes| MINUTES.contains(&minutes))
}

/// The end of a volume that is provisioned for a claim.
fn ends_with_uuid(name: &str) -> bool {
    let mut parts = name.rsplit('-');
    let is_hex =
        |part: &str| part.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'));
    UUID.iter().rev().all(|length| parts.next().is_some_and(|it| it.len() == *length && is_hex(it)))
}

fn is_of(end: &str, letters: &str) -> bool {
    end.chars().all(|letter| letters.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expect: bool) {
        for name in names {
            assert_eq!(is_generated(name), expect, "{name}");
        }
    }

    #[test]
    fn what_a_controller_made_up_is_generated() {
        check(
            &[
                "web-7d4b9c8f5-xkqzt",
                "web-7d4b9c8f5",
                "hello-lwchbjpj8n",
                "fluentd-x2k9z",
                "fluentd-xkqzt",
            ],
            true,
        );
        check(&["backup-29012345", "backup-29012345-4tz8x"], true);
        let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
        check(&[&format!("pvc-{uuid}"), uuid], true);
    }

    #[test]
    fn what_people_and_stateful_sets_name_is_not() {
        check(&["", "web", "web-0", "web-frontend", "app-https", "proxy-grpcs", "x2k9z"], false);
        check(
            &[
                "web-v2",
                "web-12345",
                "build-24567",
                "release-456789",
                "backup-20240131",
                "backup-1616157600",
            ],
            false,
        );
        check(
            &["pvc-0f8fad5b-d9cb-469f-a165-70867728950", "web-bcdfbcdf", "web-7d4b9c8f5bcdf"],
            false,
        );
    }
}
