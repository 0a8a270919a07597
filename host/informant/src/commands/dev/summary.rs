//! The last lines of `informant dev`: the run's duration, and the work of each plugin.

use informant_runtime::{Counters, PluginStatus};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The number of plugins that have their own line.
const PLUGINS_MAX: usize = 20;

/// The summary, for people. The plugins' names are aligned.
pub(super) fn summary(ran: Duration, plugins: &[PluginStatus]) -> String {
    let plugins: Vec<_> = plugins
        .iter()
        .map(|plugin| (plugin.name.as_str(), &*plugin.counters, plugin.refusal()))
        .collect();
    text(ran, &plugins)
}

/// For each plugin: its name, its work, and the reason for which its last version does not run.
fn text(ran: Duration, plugins: &[(&str, &Counters, Option<&str>)]) -> String {
    let mut text = format!("\nInformant ran for {}.\n", duration(ran));
    let columns = plugins.iter().take(PLUGINS_MAX).map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, counters, refusal) in plugins.iter().take(PLUGINS_MAX) {
        let _ = writeln!(text, "  {name:<columns$}  {}", line(counters, *refusal));
    }
    match plugins.len() {
        0 => text += "  No plugin was loaded.\n",
        count if count > PLUGINS_MAX => {
            let _ = writeln!(text, "  and {} plugins more", count - PLUGINS_MAX);
        }
        _ => {}
    }
    text
}

/// The work of a plugin, and the reason for which its last version does not run. A plugin that never ran has no work.
fn line(counters: &Counters, refusal: Option<&str>) -> String {
    let done = work(counters);
    match refusal {
        None => done,
        Some(why) if done == work(&Counters::default()) => format!("not loaded: {why}"),
        Some(why) => format!("{done}; its last version was not loaded: {why}"),
    }
}

/// Events, reloads and failures are always named. Keys and schedules are named only if there were any.
fn work(counters: &Counters) -> String {
    let sum = |counters: &[&AtomicU64]| counters.iter().map(|it| it.load(Relaxed)).sum::<u64>();
    let handled = [
        count(sum(&[&counters.ok]), "event"),
        count(sum(&[&counters.keys_ok]), "key"),
        count(sum(&[&counters.firings_ok]), "scheduled call"),
    ];
    let handled = handled.into_iter().enumerate();
    let mut parts: Vec<String> = handled
        .filter(|(place, text)| *place == 0 || !text.starts_with("0 "))
        .map(|it| it.1)
        .collect();
    parts.push(count(sum(&[&counters.reloads_ok]), "reload"));
    let refused = sum(&[&counters.reloads_failed]);
    if refused > 0 {
        parts.push(format!("{} refused", count(refused, "version")));
    }
    let ended = counters.restarts().values().sum::<u64>();
    if ended > 0 {
        parts.push(format!("{} lost", count(ended, "instance")));
    }
    let given_up = sum(&[&counters.dead, &counters.keys_dead, &counters.firings_dead]);
    let failed = sum(&[&counters.retry, &counters.keys_retry, &counters.firings_retry]) + given_up;
    parts.push(match (failed, given_up) {
        (0, _) => "no failures".to_owned(),
        (failed, 0) => count(failed, "failed attempt"),
        (failed, given_up) => format!("{}, {given_up} given up", count(failed, "failed attempt")),
    });
    parts.join(", ")
}

/// `1 event`, `1,234 events`
fn count(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let plural = if number == 1 { "" } else { "s" };
    format!("{text} {noun}{plural}")
}

/// `42 s`, `3 min 5 s`, `2 h 3 min`
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: u64, plugins: &[(&str, &Counters, Option<&str>)], expect: &[&str]) {
        let text = text(Duration::from_secs(seconds), plugins);
        assert_eq!(text.trim_start().lines().collect::<Vec<_>>(), expect);
    }

    fn counters(set: impl FnOnce(&mut Counters)) -> Counters {
        let mut counters = Counters::default();
        set(&mut counters);
        counters
    }

    #[test]
    fn each_plugin_has_a_line_with_its_work() {
        let printer = counters(|it| (it.ok, it.reloads_ok) = (1_234.into(), 1.into()));
        let watcher = counters(|it| {
            (it.ok, it.keys_ok, it.firings_ok) = (1.into(), 20.into(), 3.into());
            (it.reloads_failed, it.retry, it.dead) = (2.into(), 8.into(), 1.into());
        });
        let expect = [
            "Informant ran for 3 min 5 s.",
            "  event-printer  1,234 events, 1 reload, no failures",
            "  node-watcher   1 event, 20 keys, 3 scheduled calls, 0 reloads, 2 versions refused, \
             9 failed attempts, 1 given up; its last version was not loaded: it is empty",
            "  quiet          0 events, 0 reloads, 1 version refused, no failures; its last version was not loaded: it is empty",
            "  broken         not loaded: it is empty",
        ];
        let quiet = counters(|it| it.reloads_failed = 1.into());
        let idle = Counters::default();
        let plugins = [
            ("event-printer", &printer, None),
            ("node-watcher", &watcher, Some("it is empty")),
            ("quiet", &quiet, Some("it is empty")),
            ("broken", &idle, Some("it is empty")),
        ];
        check(185, &plugins, &expect);
    }

    #[test]
    fn no_plugin_and_many_plugins_are_said() {
        check(42, &[], &["Informant ran for 42 s.", "  No plugin was loaded."]);
        let idle = Counters::default();
        let many = vec![("p", &idle, None); PLUGINS_MAX + 2];
        let mut expect = vec!["Informant ran for 2 h 3 min."];
        expect.extend(vec!["  p  0 events, 0 reloads, no failures"; PLUGINS_MAX]);
        expect.push("  and 2 plugins more");
        check(7_401, &many, &expect);
    }
}
