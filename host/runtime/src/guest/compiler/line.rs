//! Chooses the file that is checked and compiled next. Synchronous, without I/O.
//!
//! There are two lanes, each with room for one file at a time. Small files have their own lane with little memory and
//! little time, so no file delays them for long. All other files, and small ones that need more, use the other lane.
//! In a lane, the plugin that has used the least time lately is first, then the smallest file. A plugin whose files
//! take long, again and again, lets the other plugins pass. Every second place goes to the file that has waited for
//! longest: files under ever new names, which have used no time, keep no other file out.

use crate::plugin_name::PluginName;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a plugin's used time counts.
const USED_COUNTS_FOR: Duration = Duration::from_secs(600);
/// The number of plugins with a noted time: more than a host takes. With more, the plugin with the least time is
/// forgotten.
const USERS_MAX: usize = 1_024;

/// The lane in which a file waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileLane {
    /// Little memory, little time.
    Small,
    /// All memory and time.
    Large,
}

/// The number of a waiting or served file.
pub(super) type Ticket = u64;

/// The lanes, and the time that plugins have used.
#[derive(Debug, Default)]
pub(super) struct CompileLine {
    waiting: Vec<WaitingFile>,
    served: [Option<Served>; 2],
    /// Whether the next place of a lane goes to the file that has waited for longest.
    is_by_age: [bool; 2],
    used: HashMap<PluginName, UsedTime>,
    tickets: Ticket,
}

#[derive(Debug)]
struct WaitingFile {
    ticket: Ticket,
    lane: FileLane,
    plugin: PluginName,
    bytes: usize,
}

#[derive(Debug)]
struct Served {
    ticket: Ticket,
    plugin: PluginName,
    since: Instant,
}

#[derive(Debug)]
struct UsedTime {
    time: Duration,
    until: Instant,
}

impl CompileLine {
    /// Adds a file of so many bytes. [`next`](Self::next) returns its ticket when it is served.
    pub(super) fn wait(&mut self, lane: FileLane, plugin: &PluginName, bytes: usize) -> Ticket {
        self.tickets += 1;
        let ticket = self.tickets;
        self.waiting.push(WaitingFile { ticket, lane, plugin: plugin.clone(), bytes });
        ticket
    }

    /// The next file to serve, if a lane is free and a file waits for it. Call this until it returns `None`.
    pub(super) fn next(&mut self, now: Instant) -> Option<Ticket> {
        let lanes = [FileLane::Small, FileLane::Large];
        let index = lanes.into_iter().find_map(|lane| self.first(lane))?;
        let WaitingFile { ticket, lane, plugin, .. } = self.waiting.swap_remove(index);
        self.is_by_age[lane as usize] ^= true;
        self.served[lane as usize] = Some(Served { ticket, plugin, since: now });
        Some(ticket)
    }

    /// The index of the next file of a lane that is free.
    fn first(&self, lane: FileLane) -> Option<usize> {
        if self.served[lane as usize].is_some() {
            return None;
        }
        let used =
            |plugin| self.used.get(plugin).map_or(Duration::ZERO, |used: &UsedTime| used.time);
        let waiting = self.waiting.iter().enumerate().filter(|(_, it)| it.lane == lane);
        let first = match self.is_by_age[lane as usize] {
            true => waiting.min_by_key(|(_, it)| it.ticket),
            false => waiting.min_by_key(|(_, it)| (used(&it.plugin), it.bytes, it.ticket)),
        };
        first.map(|(index, _)| index)
    }

    /// Removes a file that is done or no longer wanted.
    pub(super) fn leave(&mut self, ticket: Ticket, now: Instant) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
        for served in &mut self.served {
            if let Some(served) = served.take_if(|served| served.ticket == ticket) {
                let time = now.saturating_duration_since(served.since);
                note(&mut self.used, served.plugin, time, now);
            }
        }
    }
}

fn note(
    used: &mut HashMap<PluginName, UsedTime>,
    plugin: PluginName,
    time: Duration,
    now: Instant,
) {
    used.retain(|_, used| used.until > now);
    let until = now + USED_COUNTS_FOR;
    let before = used.get(&plugin).map_or(Duration::ZERO, |used| used.time);
    used.insert(plugin, UsedTime { time: before + time, until });
    if used.len() > USERS_MAX {
        let least = used.iter().min_by_key(|(_, used)| used.time);
        if let Some(least) = least.map(|(plugin, _)| plugin.clone()) {
            used.remove(&least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a script: `a:small:10` waits, `.` serves the next file, `-a` ends a's file after a second, and `!a` gives
    /// up a's place. Shows the served files, in order.
    #[track_caller]
    fn check(script: &str, expect: &str) {
        let (mut line, mut now) = (CompileLine::default(), Instant::now());
        let mut tickets: HashMap<&str, Ticket> = HashMap::new();
        let mut served = Vec::new();
        for word in script.split_whitespace() {
            if let Some(name) = word.strip_prefix('-') {
                now += Duration::from_secs(1);
                line.leave(tickets[name], now);
            } else if let Some(name) = word.strip_prefix('!') {
                line.leave(tickets[name], now);
            } else if word == "." {
                while let Some(ticket) = line.next(now) {
                    let who = tickets.iter().find(|(_, it)| **it == ticket).expect("it waits");
                    served.push((*who.0).to_owned());
                }
            } else {
                let [name, lane, bytes] = word.split(':').collect::<Vec<_>>()[..] else {
                    panic!("{word}")
                };
                let lane = if lane == "small" { FileLane::Small } else { FileLane::Large };
                let plugin = name.trim_end_matches(|it: char| it.is_ascii_digit());
                let plugin = plugin.parse().expect("a name");
                tickets.insert(name, line.wait(lane, &plugin, bytes.parse().expect("a number")));
            }
        }
        assert_eq!(served.join(" "), expect, "{script}");
    }

    #[test]
    fn a_lane_serves_one_at_a_time_and_the_smallest_first() {
        check("a:large:3 b:large:1 c:large:2 . -b . -a .", "b a c");
        check("a:small:5 b:small:5 . -a .", "a b");
    }

    #[test]
    fn small_files_do_not_wait_for_large_ones() {
        check("a:large:9 . b:small:1 . c:large:1 . -b .", "a b");
    }

    #[test]
    fn a_plugin_that_used_much_time_lets_others_pass() {
        check("a1:large:1 . b:large:9 a2:large:1 -a1 . -b .", "a1 b a2");
        check("a1:small:1 . -a1 . a2:large:1 b:large:9 .", "a1 b");
    }

    #[test]
    fn every_second_place_is_of_the_file_that_has_waited_for_longest() {
        // Each newcomer has used no time and is smaller.
        let newcomers =
            "a1:large:9 . -a1 a2:large:9 b:large:1 c:large:1 . d:large:1 -a2 . e:large:1 -b .";
        check(newcomers, "a1 a2 b c");
    }

    #[test]
    fn a_place_that_is_given_up_holds_nobody_up() {
        check("a:small:1 b:small:2 . !a .", "a b");
        check("a:small:1 b:small:2 c:small:3 . !b -a .", "a c");
        check("a:small:1 !a .", "");
    }

    #[test]
    fn what_was_used_is_forgotten_after_a_while_and_bounded() {
        let (mut used, now) = (HashMap::new(), Instant::now());
        let name = |index: usize| format!("p{index}").parse::<PluginName>().expect("a name");
        for index in 0..USERS_MAX + 5 {
            note(&mut used, name(index), Duration::from_secs(index as u64), now);
        }
        assert_eq!(used.len(), USERS_MAX);
        assert!(!used.contains_key(&name(0)) && used.contains_key(&name(USERS_MAX + 4)));
        note(&mut used, name(0), Duration::ZERO, now + USED_COUNTS_FOR);
        assert_eq!(used.len(), 1);
    }
}
