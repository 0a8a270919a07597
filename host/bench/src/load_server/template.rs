//! A pod's bytes with holes, in JSON or protobuf.

use crate::load_server::field::{self, Field, PLACEHOLDERS, Version};

/// Times of a pod's start, and the newest change.
const TIMES: std::ops::RangeInclusive<u8> = 0..=field::LAST_UPDATE;

/// A pod of one workload, complete but for what differs between its pods.
#[derive(Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    holes: Vec<(usize, Field)>,
}

impl Template {
    /// Finds the holes of a pod in JSON.
    pub fn of_json(bytes: Vec<u8>) -> Self {
        let mut holes = text_holes(&bytes);
        for number in TIMES {
            let placeholder = field::time(number);
            let found = memchr::memmem::find_iter(&bytes, placeholder.as_bytes());
            holes.extend(found.map(|at| (at, Field::TimeText(number))));
        }
        Self::new(bytes, holes)
    }

    /// Finds the holes of the same pod in protobuf, where texts stand as they are and times are numbers.
    pub fn of_protobuf(bytes: Vec<u8>) -> Self {
        let mut holes = text_holes(&bytes);
        for number in TIMES {
            // Field 1 of a `Timestamp`, a varint of five bytes; field 2 follows.
            let mut placeholder = [0x08, 0, 0, 0, 0, 0, 0x10];
            field::varint(field::time_seconds(number), &mut placeholder[1..6]);
            let found = memchr::memmem::find_iter(&bytes, &placeholder);
            holes.extend(found.map(|at| (at + 1, Field::TimeVarint(number))));
        }
        Self::new(bytes, holes)
    }

    fn new(bytes: Vec<u8>, mut holes: Vec<(usize, Field)>) -> Self {
        // In the order of the bytes, which is the order of the cache lines.
        holes.sort_unstable_by_key(|(at, _)| *at);
        Self { bytes, holes }
    }

    /// Bytes of every pod of it.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many holes it has.
    pub fn holes(&self) -> usize {
        self.holes.len()
    }

    /// Appends this version of a pod.
    pub fn render(&self, version: &Version, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.bytes);
        let pod = &mut out[begin..];
        for (at, field) in &self.holes {
            field.fill(version, &mut pod[*at..*at + field.width()]);
        }
    }
}

fn text_holes(bytes: &[u8]) -> Vec<(usize, Field)> {
    let mut holes = Vec::new();
    let mut find = |field: Field, placeholder: &str| {
        let found = memchr::memmem::find_iter(bytes, placeholder.as_bytes());
        holes.extend(found.map(|at| (at, field)));
    };
    for (field, placeholder) in PLACEHOLDERS {
        find(*field, placeholder);
    }
    for number in 0..=9 {
        find(Field::ContainerId(number), &field::container_id(number));
    }
    holes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_server::workload::{self, Layout};
    use serde_json::Value;
    use std::collections::HashSet;

    const WORKLOADS: usize = 100;

    fn pods(numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
        let template =
            |number| Template::of_json(workload::pod(number, 1, &Layout::default()).into_bytes());
        let templates: Vec<Template> = (0..WORKLOADS).map(template).collect();
        let render = |pod: u32| {
            let version = Version {
                pod,
                resource_version: 1_000_000_000 + u64::from(pod),
                stamp: 1_790_000_000_000_000_000,
            };
            let mut out = b"{".to_vec();
            templates[pod as usize % WORKLOADS].render(&version, &mut out);
            out
        };
        numbers.map(render).collect()
    }

    #[test]
    fn pods_are_json_without_a_hole_left_and_each_its_own() {
        let mut names = HashSet::new();
        let mut uids = HashSet::new();
        for pod in pods(0..5_000) {
            assert!(!pod.contains(&b'~'), "{}", String::from_utf8_lossy(&pod));
            let pod: Value = serde_json::from_slice(&pod).expect("it is JSON");
            let text = |field: &str| pod["metadata"][field].as_str().expect("text").to_owned();
            assert!(names.insert(format!("{}/{}", text("namespace"), text("name"))));
            assert!(uids.insert(text("uid")));
        }
    }

    /// The size that clusters' pods have, with `managedFields` and without.
    #[test]
    fn pods_are_of_ordinary_size() {
        let pods = pods(0..WORKLOADS as u32);
        let without = |pod: &Vec<u8>| {
            let mut pod: Value = serde_json::from_slice(pod).expect("it is JSON");
            let metadata = pod["metadata"].as_object_mut().expect("metadata");
            metadata.remove("managedFields").expect("managedFields");
            pod.to_string().len()
        };
        let mean = pods.iter().map(Vec::len).sum::<usize>() / pods.len();
        let mean_without = pods.iter().map(without).sum::<usize>() / pods.len();
        assert!((6_000..7_000).contains(&mean), "{mean}");
        assert!((4_500..5_000).contains(&mean_without), "{mean_without}");
    }

    #[test]
    fn times_have_holes_in_protobuf() {
        let mut bytes = b"\x0a\x0b\x08\0\0\0\0\0\x10\0 @n~~~".to_vec();
        field::varint(field::time_seconds(2), &mut bytes[3..8]);
        let template = Template::of_protobuf(bytes);
        assert_eq!(template.holes, [(3, Field::TimeVarint(2)), (11, Field::NameSuffix)]);
    }
}
