//! Many pods at once: one line for each change, in order, even if the server restarts meanwhile.

use std::collections::BTreeMap;

use informant_e2e::api::{Api, Watch};

use crate::host::bench::{await_told, host_fact, pod_names, told};

/// The number of pods that are created, labelled and deleted: more than a page of a list has.
const PODS: usize = 600;

/// Each pod is labelled once, and marked once as being deleted.
const UPDATES_MAX: usize = 2;

#[test]
fn burst_of_pods_is_told_exactly_once_and_in_order() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        let path = format!("{}?watch=true", bench.pods());
        let witness = bench.api.watch(&path).await.expect("a watch beside the host's");
        // The watch is read all the time: a server cuts off a watcher that does not read.
        let witness = tokio::spawn(changes(bench.api.clone(), path, witness, PODS));
        let names = pod_names(0..PODS);
        bench.create_pods(&names).await;
        bench.label_pods(&names).await;
        bench.delete_pods(&names).await;
        await_told(&host, &bench.namespace, "deleted", PODS).await;

        let happened = witness.await.expect("the witness sees it all");
        assert_eq!(happened.len(), PODS);
        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        assert_eq!(told.len(), PODS);
        for (name, changes) in told {
            assert_eq!(changes, happened[&name], "{name}");
            assert!(changes.contains(&"updated".to_owned()), "{name} was labelled: {changes:?}");
        }
    });
}

/// The events of a plain watch for each pod, in order, until this number of pods is deleted. A server may end a watch
/// at any time, and does so on a busy machine. Then another watch continues from the same version.
async fn changes(
    api: Api,
    path: String,
    mut watch: Watch,
    deleted_max: usize,
) -> BTreeMap<String, Vec<String>> {
    let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut deleted, mut seen) = (0, None);
    while deleted < deleted_max {
        let Some(event) = watch.next().await else {
            let seen = seen.expect("a watch that says something before it ends");
            let path = format!("{path}&resourceVersion={seen}");
            watch = api.watch(&path).await.expect("the watch goes on where it was");
            continue;
        };
        seen = Some(event.resource_version());
        let change = match event.kind.as_str() {
            "ADDED" => "added",
            "MODIFIED" => "updated",
            "DELETED" => "deleted",
            other => panic!("the witness was told {other}: {}", event.object),
        };
        deleted += usize::from(change == "deleted");
        changes.entry(event.name().to_owned()).or_default().push(change.to_owned());
    }
    changes
}

#[test]
fn pods_are_told_once_across_kills_and_restarts_of_the_server() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        let names = pod_names(0..PODS);
        let (early, late) = names.split_at(PODS / 2);

        bench.create_pods(early).await;
        bench.label_pods(&early[..PODS / 4]).await;
        bench.cluster.kill().await.unwrap();
        bench.cluster.restart().await.unwrap();
        // The host has not noticed the restart yet, so it does not see the next changes at first.
        bench.label_pods(&early[PODS / 4..]).await;
        bench.create_pods(late).await;
        bench.label_pods(late).await;
        await_told(&host, &bench.namespace, "added", PODS).await;

        bench.delete_pods(early).await;
        bench.cluster.kill().await.unwrap();
        bench.cluster.restart().await.unwrap();
        bench.delete_pods(late).await;
        await_told(&host, &bench.namespace, "deleted", PODS).await;

        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        assert_eq!(told.len(), PODS);
        for (name, changes) in told {
            let (added, deleted) = (changes.first(), changes.last());
            assert_eq!(added.map(String::as_str), Some("added"), "{name}: {changes:?}");
            assert_eq!(deleted.map(String::as_str), Some("deleted"), "{name}: {changes:?}");
            let between = &changes[1..changes.len() - 1];
            assert!(between.iter().all(|change| change == "updated"), "{name}: {changes:?}");
            assert!(between.len() <= UPDATES_MAX, "{name}: {changes:?}");
        }
    });
}

#[test]
fn pods_that_were_there_before_the_host_are_told_as_added() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let names = pod_names(0..50);
        bench.create_pods(&names).await;
        let host = bench.start(&[]).await;
        await_told(&host, &bench.namespace, "added", names.len()).await;
        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        assert!(told.values().all(|changes| *changes == ["added"]), "{told:?}");
    });
}
