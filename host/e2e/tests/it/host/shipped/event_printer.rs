//! `plugins/event-printer`: a line for each change of a pod, and for each pod of the initial list.

use informant_e2e::api::Patch;
use serde_json::json;

use super::{shipped_fact, with_config};
use crate::bench::labelled_pod;

#[test]
fn each_change_of_a_pod_is_a_line_after_the_list() {
    let edit = |text: String| with_config(&text, &["list: true"]);
    shipped_fact("event-printer", "rust", edit, async |shipped| {
        shipped.configure("");
        let (api, pods) = (&shipped.bench.api, shipped.bench.pods());
        api.create(&pods, &labelled_pod("first", &[])).await.expect(201);
        let host = shipped.start(&[]).await;
        // No pod changes meanwhile: the list does not wait for an event.
        let listed = format!("namespace: {}, name: first", shipped.bench.namespace);
        shipped.says(&host, &[&listed]).await;
        api.create(&pods, &labelled_pod("web", &[("app", "web")])).await.expect(201);
        let name = format!("pod {}/web", shipped.bench.namespace);
        shipped.says(&host, &[&format!("added {name}")]).await;
        let path = format!("{pods}/web");
        let patch = json!({"metadata": {"labels": {"tier": "front"}}});
        api.patch(&path, Patch::Merge, &patch).await.expect(200);
        shipped.says(&host, &[&format!("updated {name}: labels +tier=front")]).await;
        api.delete_with(&path, &json!({"gracePeriodSeconds": 0})).await.expect(200);
        shipped.says(&host, &[&format!("deleted {name}")]).await;
    });
}
