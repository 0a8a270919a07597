//! Mutations of plugin files, on the level of their sections: what a decoder of WebAssembly counts, measures and believes.

use fastrand::Rng;
use informant_fuzz::Mutator;

/// What a file of WebAssembly begins with.
const HEADER_BYTES: usize = 8;
/// Of components: a core module, and another component.
const NESTED: [u8; 2] = [1, 4];
/// No file is larger: most of a siege's time would go into it.
const FILE_BYTES_MAX: usize = 6 << 20;
/// A nest is so deep at most.
const DEPTH_MAX: u32 = 300;
/// Words that mean something in a file.
const WORDS: &[&str] =
    &["informant:plugin/handler@0.1.0", "wasi:io/poll@0.2.0", "\0asm", "name", "producers"];

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutation {
    /// A section stands twice.
    Repeat,
    /// One is gone.
    Remove,
    /// Two change places.
    Swap,
    /// One is shorter, and says so.
    Shorten,
    /// The file ends early.
    CutOff,
    /// A section's length is another than it is.
    Length,
    /// A section's first number, most often how many there are, is another.
    Count,
    /// A section that nobody asked for.
    Custom,
    /// A section of another file.
    Graft,
    /// Some bytes of a section.
    Bytes,
    /// The whole in components, one within the other.
    Nest,
    /// Another version or layer.
    Header,
    /// A module or component within it is changed in one of these ways.
    Within,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Repeat,
        Self::Remove,
        Self::Swap,
        Self::Shorten,
        Self::CutOff,
        Self::Length,
        Self::Count,
        Self::Custom,
        Self::Graft,
        Self::Bytes,
        Self::Nest,
        Self::Header,
        Self::Within,
    ];

    fn any(rng: &mut Rng) -> Self {
        rng.choice(Self::ALL).expect("there are some")
    }

    /// The file after this one change. It may be the same where there is nothing to change.
    pub fn apply(self, file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
        let Some((header, mut sections)) = sections(file) else {
            return changed_bytes(file, other, rng);
        };
        let mut header = header.to_vec();
        let count = sections.len();
        let any = move |rng: &mut Rng| rng.usize(..count);
        match self {
            _ if sections.is_empty() => sections.push(Section::new(0, b"\x01v")),
            Self::Repeat => {
                let times = if rng.u32(..8) == 0 { rng.usize(..5_000) } else { 1 };
                let section = sections[any(rng)].clone();
                let times = times.min(FILE_BYTES_MAX / (section.content.len() + 6));
                let at = any(rng);
                sections.splice(at..at, std::iter::repeat_n(section, times));
            }
            Self::Remove => drop(sections.remove(any(rng))),
            Self::Swap => sections.swap(any(rng), any(rng)),
            Self::Shorten => {
                let at = any(rng);
                let length = sections[at].content.len();
                sections[at].content.truncate(rng.usize(..=length));
            }
            Self::CutOff => return file[..rng.usize(..=file.len())].to_vec(),
            Self::Length => sections[any(rng)].claimed = Some(claim(rng)),
            Self::Count => {
                let at = any(rng);
                recount(&mut sections[at].content, rng);
            }
            Self::Custom => {
                let at = any(rng);
                sections.insert(at, custom(other, rng));
            }
            Self::Graft => {
                let at = any(rng);
                let of_other = self::sections(other).map(|(_, sections)| sections);
                let section = of_other.as_ref().and_then(|sections| rng.choice(sections));
                sections.splice(at..at, section.cloned());
            }
            Self::Bytes => {
                let at = any(rng);
                sections[at].content = changed_bytes(&sections[at].content, other, rng);
            }
            Self::Nest => return nested(file, rng),
            Self::Header => {
                header[4 + rng.usize(..4)] =
                    rng.choice([0, 1, 2, 0x0d, 0xff]).expect("there are some")
            }
            Self::Within => within(&mut sections, other, rng),
        }
        sections.iter().for_each(|section| section.write(&mut header));
        header
    }
}

/// A relative of a file of the corpus.
pub fn file(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let nothing = Vec::new();
    let mut file = rng.choice(corpus).unwrap_or(&nothing).clone();
    let other = rng.choice(corpus).unwrap_or(&nothing);
    for _ in 0..1 << rng.u32(..3) {
        file = Mutation::any(rng).apply(&file, other, rng);
    }
    file.truncate(FILE_BYTES_MAX);
    file
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    id: u8,
    content: Vec<u8>,
    /// The bytes that stand for its length, if they are not its length.
    claimed: Option<Vec<u8>>,
}

impl Section {
    fn new(id: u8, content: &[u8]) -> Self {
        Self { id, content: content.to_vec(), claimed: None }
    }

    fn write(&self, file: &mut Vec<u8>) {
        file.push(self.id);
        let own = || leb(self.content.len() as u64);
        file.extend(self.claimed.clone().unwrap_or_else(own));
        file.extend_from_slice(&self.content);
    }
}

/// The header and the outermost sections; none of what is no WebAssembly. What does not fit at the end is a section, too.
fn sections(file: &[u8]) -> Option<(&[u8], Vec<Section>)> {
    let (header, mut rest) = file.split_at_checked(HEADER_BYTES)?;
    let mut sections = Vec::new();
    while let [id, more @ ..] = rest {
        let (length, after) = number(more)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(after.len());
        let (content, next) = after.split_at(length);
        sections.push(Section::new(*id, content));
        rest = next;
    }
    header.starts_with(b"\0asm").then_some((header, sections))
}

/// A number in LEB128, and what follows it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let value =
        bytes[..end].iter().rev().fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[end..]))
}

fn leb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A number that somebody may believe, at times in more bytes than it takes.
fn claim(rng: &mut Rng) -> Vec<u8> {
    let edges = [
        0,
        1,
        0x7f,
        0x80,
        0x3fff,
        0xffff,
        0x7fff_ffff,
        0xffff_ffff,
        u64::from(u32::MAX) + 1,
        u64::MAX,
    ];
    let edge = rng.choice(edges).expect("there are some");
    let most = 1 << rng.u32(1..40);
    let mut bytes = leb(if rng.bool() { edge } else { rng.u64(..most) });
    if rng.u32(..4) == 0 {
        let last = bytes.len() - 1;
        bytes[last] |= 0x80;
        bytes.extend(std::iter::repeat_n(0x80, rng.usize(..12)));
        bytes.push(0);
    }
    bytes
}

fn within(sections: &mut [Section], other: &[u8], rng: &mut Rng) {
    let is_inner = |section: &&mut Section| {
        NESTED.contains(&section.id) && section.content.len() > HEADER_BYTES
    };
    let inner: Vec<&mut Section> = sections.iter_mut().filter(is_inner).collect();
    let place = rng.usize(..inner.len().max(1));
    if let Some(section) = inner.into_iter().nth(place) {
        section.content = Mutation::any(rng).apply(&section.content, other, rng);
    }
}

fn recount(content: &mut Vec<u8>, rng: &mut Rng) {
    let length = number(content).map_or(0, |(_, rest)| content.len() - rest.len());
    let count = if rng.bool() {
        claim(rng)
    } else {
        number(content).map_or_else(Vec::new, |(count, _)| leb(count.wrapping_add(1)))
    };
    content.splice(..length, count);
}

/// Of a name that tools know, or any, with content that is not what they expect.
fn custom(other: &[u8], rng: &mut Rng) -> Section {
    let name = rng
        .choice([
            "name",
            "producers",
            "dylink.0",
            "component-name",
            "target_features",
            "sourceMappingURL",
            ".debug_info",
            "v",
            "",
        ])
        .expect("there are some");
    let length = if rng.u32(..16) == 0 { rng.usize(..1 << 20) } else { rng.usize(..64) };
    let from = rng.usize(..=other.len());
    let mut content = if rng.u32(..8) == 0 { claim(rng) } else { leb(name.len() as u64) };
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(&other[from..(from + length).min(other.len())]);
    Section { id: 0, content, claimed: None }
}

fn changed_bytes(bytes: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    Mutator { words: WORDS, length_max: FILE_BYTES_MAX }.mutate(bytes, other, rng)
}

fn nested(file: &[u8], rng: &mut Rng) -> Vec<u8> {
    let id = if file.get(6) == Some(&1) { NESTED[1] } else { NESTED[0] };
    let mut whole = file.to_vec();
    for depth in 0..=rng.u32(..DEPTH_MAX) {
        let mut outer = b"\0asm\x0d\0\x01\0".to_vec();
        Section::new(if depth == 0 { id } else { NESTED[1] }, &whole).write(&mut outer);
        whole = outer;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin() -> Vec<u8> {
        let text = r#"(component (core module (func (export "a") (result i32) (i32.const 7)))
            (type (func)) (import "b" (func (type 0))))"#;
        wat::parse_str(text).expect("it assembles")
    }

    fn module() -> Vec<u8> {
        wat::parse_str("(module (memory 1) (data (i32.const 0) \"abc\"))").expect("it assembles")
    }

    #[test]
    fn every_mutation_changes_a_plugin_and_does_so_again_with_the_same_seed() {
        for mutation in Mutation::ALL {
            let apply = |seed| mutation.apply(&plugin(), &module(), &mut Rng::with_seed(seed));
            let changed = (0..40).filter(|seed| apply(*seed) != plugin()).count();
            assert!(changed > 10, "{mutation:?} changed {changed} of 40");
            assert!((0..40).all(|seed| apply(seed) == apply(seed)), "{mutation:?}");
        }
    }

    #[test]
    fn every_mutation_is_tried() {
        let mut rng = Rng::with_seed(1);
        let mut tried: Vec<Mutation> = (0..500).map(|_| Mutation::any(&mut rng)).collect();
        tried.sort_unstable();
        tried.dedup();
        assert_eq!(tried, Mutation::ALL);
    }

    #[test]
    fn a_file_is_its_sections() {
        for file in [plugin(), module()] {
            let (header, sections) = sections(&file).expect("it is one");
            assert!(sections.len() > 1);
            let mut again = header.to_vec();
            sections.iter().for_each(|section| section.write(&mut again));
            assert_eq!(again, file);
        }
        assert_eq!(sections(b"\0asm"), None);
    }

    #[test]
    fn files_of_a_corpus_come_again_with_the_same_seed_and_are_bounded() {
        let corpus = [plugin(), module(), b"no plugin".to_vec(), Vec::new()];
        for seed in 0..300 {
            let file = |corpus: &[Vec<u8>]| super::file(corpus, &mut Rng::with_seed(seed));
            assert_eq!(file(&corpus), file(&corpus));
            assert!(file(&corpus).len() <= FILE_BYTES_MAX);
        }
    }
}
