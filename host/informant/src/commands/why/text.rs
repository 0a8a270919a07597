//! The answer for people: the object on one line, each plugin on one line, then the deliveries.

use crate::commands::ask::table;
use informant_runtime::{CachedObject, DeliveryWhy, PluginWhy, Why};
use std::fmt::Write as _;

/// The number of deliveries that are shown for all plugins together, the newest ones.
const DELIVERIES_MAX: usize = 10;

/// `in_full`: shows every question that was answered with no, not only the decisive one.
pub(super) fn text(why: &Why, in_full: bool) -> String {
    let mut text = object(why);
    if why.plugins.is_empty() {
        text.push_str("\n\nno plugins: the host's directories have no plugin file yet");
        return text;
    }
    let rows = why
        .plugins
        .iter()
        .map(|plugin| vec![plugin.name.clone(), plugin.answer.clone(), plugin.because.clone()]);
    push(&mut text, &["PLUGIN", "ANSWER", "BECAUSE"], &rows.collect::<Vec<_>>());
    if in_full {
        push(&mut text, &["SUBSCRIPTION", "QUESTION", "ANSWER"], &subscriptions(why));
    }
    push(&mut text, &["WAITS SINCE", "PLUGIN", "EVENT", "WHY"], &waiting(why));
    let heads = ["AT", "PLUGIN", "EVENT", "END", "WAITED", "TOOK", "DETAIL"];
    push(&mut text, &heads, &deliveries(why));
    text
}

/// Adds a table to the text. Adds nothing without rows.
fn push(text: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    if !rows.is_empty() {
        let _ = write!(text, "\n\n{}", table(heads, rows));
    }
}

fn object(why: &Why) -> String {
    let Why { resource, namespace, name, cache, .. } = why;
    let slash = if namespace.is_empty() { "" } else { "/" };
    let CachedObject { resource_version, informer, message, nearest, .. } = cache;
    let place = match (&*cache.state, resource_version, nearest) {
        ("present", Some(version), _) => format!("is in the cache: resourceVersion {version}"),
        ("left-out", Some(version), _) => format!(
            "exists, and is not cached because no selector wants it: resourceVersion {version}"
        ),
        ("absent", _, Some(near)) => format!("is not in the cache; did you mean {near}?"),
        ("absent", _, None) => "is not in the cache".to_owned(),
        _ => "is of a resource that nothing here watches".to_owned(),
    };
    let informer = match (informer.as_deref(), message) {
        (None | Some("synced"), _) => String::new(),
        (Some(state), Some(message)) => format!("; the informer is {state}: {message}"),
        (Some(state), None) => format!("; the informer is {state}"),
    };
    format!("{resource} {namespace}{slash}{name} {place}{informer}")
}

fn subscriptions(why: &Why) -> Vec<Vec<String>> {
    let subscriptions = why.plugins.iter().flat_map(|plugin| &plugin.subscriptions);
    subscriptions
        .flat_map(|subscription| {
            let row = |question: &str, text: &str| {
                vec![subscription.name.clone(), question.to_owned(), text.to_owned()]
            };
            match subscription.refusals.is_empty() {
                true => vec![row("all", "yes")],
                false => {
                    let refusals = subscription.refusals.iter();
                    refusals.map(|it| row(&it.question, &format!("no: {}", it.text))).collect()
                }
            }
        })
        .collect()
}

fn waiting(why: &Why) -> Vec<Vec<String>> {
    let waiting = why.plugins.iter().flat_map(|plugin| {
        let events = plugin.waiting.iter().map(|event| {
            let told = format!("{} {}", event.change, event.resource_version);
            vec![moment(&event.since, &why.at), plugin.name.clone(), told, event.text.clone()]
        });
        let more = (plugin.waiting_more > 0).then(|| {
            let more = format!("and {} more", plugin.waiting_more);
            vec!["-".to_owned(), plugin.name.clone(), more, "-".to_owned()]
        });
        events.chain(more)
    });
    waiting.collect()
}

fn deliveries(why: &Why) -> Vec<Vec<String>> {
    let of = |plugin: &'_ PluginWhy| {
        let rows = plugin.deliveries.iter();
        let row = |it: &DeliveryWhy| (it.at.clone(), delivery(&plugin.name, it, &why.at));
        rows.map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = why.plugins.iter().flat_map(of).collect();
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let rows = rows.split_off(rows.len().saturating_sub(DELIVERIES_MAX));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn delivery(plugin: &str, delivery: &DeliveryWhy, now: &str) -> Vec<String> {
    let DeliveryWhy { change, resource_version, reason, attempt, .. } = delivery;
    let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
    let details = [&delivery.error, &delivery.wrote].into_iter().flatten();
    let details: Vec<&str> = details.map(String::as_str).collect();
    vec![
        moment(&delivery.at, now),
        plugin.to_owned(),
        format!("{change} {resource_version} ({reason}{attempt})"),
        delivery.end.clone(),
        span(delivery.waited_seconds),
        span(delivery.seconds),
        if details.is_empty() { "-".to_owned() } else { details.join("; ") },
    ]
}

/// The time of a moment on the same day, in UTC; with the date on another day.
fn moment(at: &str, now: &str) -> String {
    match (at.split_once('T'), now.split_once('T')) {
        (Some((day, time)), Some((today, _))) if day == today => time.to_owned(),
        _ => at.to_owned(),
    }
}

/// `0.35 ms`, `12 ms`, `3.1 s`.
fn span(seconds: f64) -> String {
    let milliseconds = seconds * 1_000.0;
    match milliseconds {
        ..10.0 => format!("{milliseconds:.2} ms"),
        ..1_000.0 => format!("{milliseconds:.0} ms"),
        _ => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests;
