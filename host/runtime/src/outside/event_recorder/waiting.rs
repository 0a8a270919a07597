//! The queue between plugins and the task that writes Events. Plugins take turns, so that a plugin with many Events
//! delays no other. Synchronous.

use super::Occurrence;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// The most waiting occurrences of all plugins together; each has some kilobytes at most.
pub(super) const WAITING_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct WaitingEvents {
    /// Oldest first; no queue is empty.
    of_plugins: HashMap<String, VecDeque<Occurrence>>,
    /// Each of these plugins once, in the order of their turns.
    turns: VecDeque<String>,
    count: usize,
}

impl WaitingEvents {
    /// Adds an occurrence. If too many wait, drops and returns the newest of the plugin with the most.
    pub(super) fn push(&mut self, occurrence: Occurrence) -> Option<Occurrence> {
        let plugin = occurrence.plugin.clone();
        let own = self.of_plugins.entry(plugin.clone()).or_insert_with(|| {
            self.turns.push_back(plugin.clone());
            VecDeque::new()
        });
        own.push_back(occurrence);
        self.count += 1;
        if self.count <= WAITING_MAX {
            return None;
        }
        let of_plugins = self.of_plugins.iter();
        let most = of_plugins.max_by_key(|(name, waiting)| (waiting.len(), **name == plugin));
        let most = most.map(|(name, _)| name.clone()).expect("many wait");
        let newest = self.of_plugins.get_mut(&most).and_then(VecDeque::pop_back);
        self.count -= 1;
        if self.of_plugins[&most].is_empty() {
            self.of_plugins.remove(&most);
            self.turns.retain(|name| *name != most);
        }
        newest
    }

    /// The oldest occurrence of the plugin with the next turn.
    pub(super) fn pop(&mut self) -> Option<Occurrence> {
        let plugin = self.turns.pop_front()?;
        let waiting = self.of_plugins.get_mut(&plugin).expect("whoever has a turn waits");
        let oldest = waiting.pop_front();
        self.count -= 1;
        if waiting.is_empty() {
            self.of_plugins.remove(&plugin);
        } else {
            self.turns.push_back(plugin);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::occurrence;
    use super::*;

    /// `a1` is an occurrence of the plugin `a`, and `-` takes the next one. Shows the taken ones and, as `!a1`, the
    /// dropped ones. `of_a` occurrences of `a`, from `a0` on, wait from the start.
    #[track_caller]
    fn check(of_a: usize, steps: &str, expect: &str) {
        let mut waiting = WaitingEvents::default();
        let show = |it: Occurrence| format!("{}{}", it.plugin, it.note);
        for number in 0..of_a {
            assert!(waiting.push(occurrence("a", "o", &number.to_string())).is_none());
        }
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            shown.extend(match step {
                "-" => waiting.pop().map(show),
                _ => {
                    let (plugin, note) = step.split_at(1);
                    waiting.push(occurrence(plugin, "o", note)).map(|it| format!("!{}", show(it)))
                }
            });
            let count: usize = waiting.of_plugins.values().map(VecDeque::len).sum();
            assert_eq!((waiting.count, waiting.turns.len()), (count, waiting.of_plugins.len()));
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn plugins_take_turns() {
        check(0, "a1 a2 a3 b1 - - - b2 - - -", "a1 b1 a2 a3 b2");
        check(0, "a1 - - a2 b1 -", "a1 a2");
    }

    #[test]
    fn whoever_has_most_gives_way() {
        check(WAITING_MAX, "a1000 b1 - - -", "!a1000 !a999 a0 b1 a1");
        check(WAITING_MAX - 2, "b1 b2 b3 b4 - - -", "!a997 !a996 a0 b1 a1");
    }
}
