//! `informant top` shows plugins and informers of a running host.

use crate::host::admin::ask;
use crate::host::bench::{await_told, host_fact, pod_names};

#[test]
fn plugins_and_informers_are_shown_once_without_a_terminal() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        bench.create_pods(&pod_names(0..3)).await;
        await_told(&host, &bench.namespace, "added", 3).await;
        let top = |more: &[&str]| {
            let (success, said) = ask(&bench, &host, &[&["top"], more].concat());
            assert!(success, "{said}");
            said
        };
        let words = |line: Option<&str>| {
            line.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let both = top(&[]);
        let mut lines = both.lines();
        assert_eq!(words(lines.next())[..4], ["NAME", "STATE", "CALLS/S", "FAILED/S"], "{both}");
        assert_eq!(words(lines.next())[..2], ["event-printer", "running"], "{both}");
        assert_eq!(lines.next(), Some(""), "{both}");
        assert_eq!(words(lines.next())[..3], ["RESOURCE", "STATE", "OBJECTS"], "{both}");
        assert!(lines.any(|line| words(Some(line))[..2] == ["v1/pods", "synced"]), "{both}");
        let wide = top(&["plugins", "--sort-by", "memory", "-o", "wide", "--once"]);
        assert!(wide.contains("INSTANCES") && !wide.contains("RESOURCE"), "{wide}");
    });
}
