//! Searches for many texts at once while more are added. The result equals that of one search for all, without
//! rebuilding it for each text. Synchronous.
//!
//! Texts are in generations, each with its own automaton. A new text waits until the next search. Then a new
//! generation takes the waiting texts and the generations that are not much larger. So there are few generations, each
//! at least twice as large as the next, and a text is rebuilt few times.

use aho_corasick::{AhoCorasick, BuildError, Input, Match, MatchKind};
use std::cmp::Reverse;
use std::sync::Arc;

/// A text, and its substitute.
type Needle = (Arc<str>, &'static str);

#[derive(Default)]
pub(super) struct Search {
    /// Not in a generation yet.
    waiting: Vec<Needle>,
    /// The largest first.
    generations: Vec<Generation>,
    /// Bytes of all texts in all generations that were ever built.
    #[cfg(test)]
    made: usize,
}

struct Generation {
    needles: Vec<Needle>,
    bytes: usize,
    automaton: AhoCorasick,
}

impl Search {
    /// Adds a text, which must be new and not empty.
    pub(super) fn add(&mut self, text: Arc<str>, hidden: &'static str) {
        self.waiting.push((text, hidden));
    }

    /// Builds the automaton for the waiting texts. Fails if it would have too many states; then the texts are not
    /// searched for.
    pub(super) fn prepare(&mut self) -> Result<(), BuildError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut needles = std::mem::take(&mut self.waiting);
        let mut bytes: usize = needles.iter().map(|(text, _)| text.len()).sum();
        while let Some(last) = self.generations.pop_if(|last| last.bytes <= 2 * bytes) {
            bytes += last.bytes;
            needles.extend(last.needles);
        }
        let mut automaton = AhoCorasick::builder();
        let automaton = automaton.match_kind(MatchKind::LeftmostLongest);
        let automaton = automaton.build(needles.iter().map(|(text, _)| text.as_bytes()))?;
        #[cfg(test)]
        {
            self.made += bytes;
        }
        self.generations.push(Generation { needles, bytes, automaton });
        Ok(())
    }

    /// A text with substitutes for the found texts. At each place the first match counts, and of several the longest.
    /// `None` without a match.
    pub(super) fn replaced(&self, text: &str) -> Option<String> {
        let find = |it: &Generation, at: usize| it.automaton.find(Input::new(text).range(at..));
        let mut next: Vec<Option<Match>> = self.generations.iter().map(|it| find(it, 0)).collect();
        let (mut shown, mut at) = (String::new(), 0);
        while let Some((found, hidden)) = self.first(&next) {
            shown.push_str(&text[at..found.start()]);
            shown.push_str(hidden);
            at = found.end();
            for (generation, next) in self.generations.iter().zip(&mut next) {
                if next.is_some_and(|it| it.start() < at) {
                    *next = find(generation, at);
                }
            }
        }
        (at > 0).then(|| shown + &text[at..])
    }

    fn first(&self, next: &[Option<Match>]) -> Option<(Match, &'static str)> {
        let found =
            self.generations.iter().zip(next).filter_map(|(of, found)| Some((of, (*found)?)));
        let (of, found) = found.min_by_key(|(_, it)| (it.start(), Reverse(it.end())))?;
        Some((found, of.needles[found.pattern().as_usize()].1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same numbers in each run.
    fn numbers() -> impl FnMut(usize) -> usize {
        let mut state = 1_u64;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        }
    }

    fn text(number: &mut impl FnMut(usize) -> usize, bytes: usize) -> String {
        (0..bytes).map(|_| ['a', 'b', 'ä'][number(3)]).collect()
    }

    /// In any order of the texts, the matches equal those of one automaton for all of them.
    #[test]
    fn generations_find_what_one_search_finds() {
        let mut number = numbers();
        let mut hidings = 0;
        for _ in 0..300 {
            let mut search = Search::default();
            let mut all: Vec<String> = Vec::new();
            for _ in 0..number(12) {
                let bytes = 1 + number(5);
                let needle = text(&mut number, bytes);
                if !all.contains(&needle) {
                    search.add(needle.as_str().into(), ["", "?", "<hidden>"][needle.len() % 3]);
                    all.push(needle);
                }
                if number(2) == 0 {
                    search.prepare().expect("it is small");
                }
            }
            search.prepare().expect("it is small");
            let one = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(&all)
                .expect("it is small");
            let hidden: Vec<&str> =
                all.iter().map(|it| ["", "?", "<hidden>"][it.len() % 3]).collect();
            let haystack = text(&mut number, 40);
            let expect = one.is_match(&haystack).then(|| one.replace_all(&haystack, &hidden));
            hidings += usize::from(expect.is_some() && search.generations.len() > 1);
            assert_eq!(search.replaced(&haystack), expect, "{all:?} in {haystack}");
        }
        assert!(hidings > 100, "several generations had something to find: {hidings}");
    }

    #[test]
    fn a_search_after_each_new_text_makes_each_of_them_few_times() {
        let mut search = Search::default();
        let (mut bytes, mut most) = (0, 0);
        for number in 0..2_000 {
            let text = format!("secret-{number}");
            bytes += text.len();
            search.add(text.as_str().into(), "?");
            search.prepare().expect("there is room");
            let found = search.replaced(&text);
            assert_eq!(found.as_deref(), Some("?"), "the newest is found");
            most = most.max(search.generations.len());
        }
        assert_eq!(search.replaced("secret-0."), Some("?.".to_owned()), "and the oldest");
        assert!(search.made <= 15 * bytes, "{} of {bytes}", search.made);
        assert!(most <= 12, "{most} generations");
        let before = search.made;
        search.prepare().expect("there is room");
        assert_eq!(search.made, before, "without a new text nothing is made");
    }
}
