//! Chooses the next request of one kind, of all plugins. A free turn goes to the plugin with the fewest requests under
//! way, and the last turns only to a plugin without one. Synchronous.

use std::collections::{BTreeMap, VecDeque};

/// Requests of one kind, of all plugins, under way at once. Others wait.
pub(crate) const AT_ONCE: usize = 32;
/// Of one plugin: a quarter of them. An instance makes one at a time; several shards of one plugin may run at once.
pub(crate) const AT_ONCE_OF_ONE: usize = 8;
/// The last turns, for plugins without a request under way: a quarter of them. So plugins in many shards, however
/// many, leave places for others.
pub(crate) const FOR_OTHERS: usize = 8;

/// The waiting requests, by plugin: at most one for each instance, which are bounded (`shard.rs`).
pub(super) struct TurnLine<W> {
    waiting: VecDeque<(String, W)>,
    /// The number of requests under way, of plugins with any.
    under_way: BTreeMap<String, usize>,
}

impl<W> Default for TurnLine<W> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), under_way: BTreeMap::new() }
    }
}

impl<W> TurnLine<W> {
    pub(super) fn wait(&mut self, plugin: &str, waiter: W) {
        self.waiting.push_back((plugin.to_owned(), waiter));
    }

    /// The next request, if there is a turn for it; it is under way from here on. Drops requests whose callers are
    /// gone.
    pub(super) fn next(&mut self, waits: impl Fn(&W) -> bool) -> Option<(String, W)> {
        self.waiting.retain(|(_, waiter)| waits(waiter));
        let of = |plugin: &str| self.under_way.get(plugin).copied().unwrap_or_default();
        let waiting = self.waiting.iter().map(|(plugin, _)| of(plugin)).enumerate();
        // Of equals, the first.
        let (place, has) = waiting.min_by_key(|(_, has)| *has)?;
        let under_way: usize = self.under_way.values().sum();
        let most = if has == 0 { AT_ONCE } else { AT_ONCE - FOR_OTHERS };
        if under_way >= most || has >= AT_ONCE_OF_ONE {
            return None;
        }
        let next = self.waiting.remove(place)?;
        *self.under_way.entry(next.0.clone()).or_default() += 1;
        Some(next)
    }

    /// A request of this plugin has ended.
    pub(super) fn end(&mut self, plugin: &str) {
        let Some(count) = self.under_way.get_mut(plugin) else { return };
        *count -= 1;
        if *count == 0 {
            self.under_way.remove(plugin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plugins ask (`a`, or `a*9` nine times), requests end (`-a`), and a waiting one gives up (`!a`). Checks the
    /// turns of the last step, and the number of requests under way then.
    #[track_caller]
    fn check(steps: &str, expect: &str, under_way: usize) {
        let mut line = TurnLine::default();
        let mut given = String::new();
        let mut gone: Vec<String> = Vec::new();
        for step in steps.split(' ') {
            let (step, times) = step.split_once('*').unwrap_or((step, "1"));
            for _ in 0..times.parse().expect("a number") {
                match step.split_at(1) {
                    ("-", plugin) => line.end(plugin),
                    ("!", plugin) => gone.push(plugin.to_owned()),
                    _ => line.wait(step, step.to_owned()),
                }
            }
            given.clear();
            while let Some((plugin, _)) = line.next(|waiter| !gone.contains(waiter)) {
                given.push_str(&plugin);
            }
        }
        assert_eq!(given, expect, "{steps}");
        assert_eq!(line.under_way.values().sum::<usize>(), under_way, "{steps}");
    }

    #[test]
    fn one_plugin_has_so_many_under_way_at_once() {
        check("a*9", "aaaaaaaa", 8);
        check("a*9 b", "b", 9);
        check("a*9 -a", "a", 8);
    }

    #[test]
    fn plugins_in_many_shards_leave_turns_for_those_that_have_none() {
        check("a*8 b*8 c*8 d*8", "d", 25);
        check("a*8 b*8 c*8 d*8 e", "e", 26);
        check("a*8 b*8 c*8 d*8 e*2", "e", 26);
        check("a*8 b*8 c*8 d*8 e f g h i j k", "k", 32);
        check("a*8 b*8 c*8 d*8 e f g h i j k l", "", 32);
    }

    #[test]
    fn the_next_turn_is_of_whoever_has_the_fewest() {
        // No turn is free, and plugins with requests under way came first.
        check("a*8 b*8 c*8 d*8 e f g h i j k a m -a", "m", 32);
        check("a*8 b*8 c*8 a*2 b*2 d*2 -a -b", "d", 24);
        check("a*8 b*8 c*7 a b c -a", "a", 24);
    }

    #[test]
    fn who_waits_no_more_gets_no_turn() {
        check("a*9 !a -a", "", 7);
    }
}
