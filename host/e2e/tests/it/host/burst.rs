//! Many pods at once: one line for each change, in order, whatever the server does meanwhile.

use crate::host::bench::{await_told, host_fact, pod_names, told};

/// The issue's own number: "1,000 pods made, labelled and deleted in a burst".
const PODS: usize = 1000;

#[test]
fn burst_of_pods_is_told_exactly_once_and_in_order() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        let names = pod_names(0..PODS);
        bench.create_pods(&names).await;
        bench.label_pods(&names).await;
        bench.delete_pods(&names).await;
        await_told(&host, &bench.namespace, "deleted", PODS).await;

        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        assert_eq!(told.len(), PODS);
        for (name, changes) in told {
            assert_eq!(changes, ["added", "updated", "deleted"], "{name}");
        }
    });
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
        // The host has not found out yet: what follows happens behind its back at first.
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
            let once = [vec!["added", "updated", "deleted"], vec!["added", "deleted"]];
            assert!(once.iter().any(|once| *once == changes), "{name}: {changes:?}");
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
