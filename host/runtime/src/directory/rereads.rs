//! Which files are read again though they seem to be as they were: some at each periodic look, in turn, so that a look costs
//! no more than so much, whatever lies in the directories. Synchronous.

use super::file_id::FileId;
use super::plugin_files::KnownFiles;
use super::read_file::FILE_BYTES_MAX;
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

/// Bytes of such files at one look: one of the largest. At a look every 30 s a content that changed under the same times and the
/// same size is found within 30 s where all files have 64 MiB together, and within 2 h 10 min where 256 plugins have
/// files of 64 MiB and configurations of 1 MiB.
const BYTES_A_LOOK: u64 = FILE_BYTES_MAX;

/// Whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Rereads {
    last: Option<FileId>,
}

impl Rereads {
    /// The files for the next periodic look. A file that is read in any case is none of them.
    pub(super) fn next(&mut self, known: &KnownFiles) -> BTreeSet<FileId> {
        let (after, before) = match &self.last {
            Some(last) => (Excluded(last), Some(known.range(..=last))),
            None => (Unbounded, None),
        };
        let in_turn = known.range((after, Unbounded)).chain(before.into_iter().flatten());
        let mut left = BYTES_A_LOOK;
        let (mut chosen, mut last) = (BTreeSet::new(), None);
        for (id, file) in in_turn {
            let Some(fingerprint) = file.fingerprint else { continue };
            // What is known has been read, so one file fits at least.
            let Some(rest) = left.checked_sub(fingerprint.bytes()) else { break };
            (left, last) = (rest, Some(id.clone()));
            chosen.insert(id.clone());
        }
        self.last = last.or(self.last.take());
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::plugin_files::KnownFile;
    use crate::directory::read_file::Fingerprint;

    /// Plugins with files of so many MiB.
    fn known(files: &[(&str, u64)]) -> KnownFiles {
        let of = |(name, mebibytes): &(&str, u64)| {
            let id = FileId::plugin(&name.parse().expect("a name"));
            let fingerprint = Some(Fingerprint::of_size(mebibytes << 20));
            (id, KnownFile { path: (*name).into(), sha256: String::new(), fingerprint })
        };
        files.iter().map(of).collect()
    }

    /// The files of one look after the other.
    #[track_caller]
    fn check(files: &[(&str, u64)], looks: &[&str]) {
        let known = known(files);
        let mut rereads = Rereads::default();
        for expect in looks {
            let chosen = rereads.next(&known);
            let bytes: u64 =
                chosen.iter().filter_map(|id| known[id].fingerprint).map(|it| it.bytes()).sum();
            assert!(bytes <= BYTES_A_LOOK, "{bytes}");
            let names: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            assert_eq!(names.join(" "), *expect, "of {looks:?}");
        }
    }

    #[test]
    fn files_are_read_again_in_turn_and_so_many_bytes_at_a_look() {
        check(&[], &["", ""]);
        check(&[("a", 3), ("b", 3)], &["a b", "a b"]);
        check(&[("a", 64), ("b", 64), ("c", 64)], &["a", "b", "c", "a"]);
        check(&[("a", 30), ("b", 30), ("c", 30)], &["a b", "a c", "b c", "a b"]);
        check(&[("a", 1), ("b", 64), ("c", 1)], &["a", "b", "a c", "b", "a c"]);
    }

    #[test]
    fn every_file_has_its_turn_whoever_comes_and_goes() {
        let mut rereads = Rereads::default();
        assert_eq!(rereads.next(&known(&[("a", 64), ("b", 64)])).len(), 1);
        let names = |chosen: BTreeSet<FileId>| {
            chosen.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(rereads.next(&known(&[("a2", 64), ("b", 64)]))), "a2");
        assert_eq!(names(rereads.next(&known(&[("b", 64)]))), "b");
        assert_eq!(names(rereads.next(&known(&[("a", 64), ("c", 64)]))), "c");
    }

    #[test]
    fn forty_files_of_64_mib_cost_one_of_them_a_look() {
        let names: Vec<String> = (10..50).map(|number| format!("p{number}")).collect();
        let files: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 64)).collect();
        let known = known(&files);
        let mut rereads = Rereads::default();
        let mut read = BTreeSet::new();
        for _ in 0..40 {
            let chosen = rereads.next(&known);
            assert_eq!(chosen.len(), 1);
            read.extend(chosen);
        }
        assert_eq!(read.len(), 40, "after forty looks each was read");
    }
}
