//! `status` and `scale`.

use serde_json::json;

use crate::bench::{deployment, fact, pod};
use informant_e2e::api::{Patch, resource_version};

#[test]
fn status_is_written_through_its_subresource_only() {
    fact(async |bench| {
        let path = bench.core("pods/web-1");
        let mut object = bench.create(&bench.core("pods"), &pod("web-1")).await;
        object["status"]["phase"] = json!("Running");
        let updated = bench.api.update(&path, &object).await.expect(200);
        assert_eq!(updated["status"]["phase"], "Pending", "a plain update leaves the status alone");

        object["metadata"]["labels"] = json!({"ignored": "here"});
        let updated = bench.api.update(&format!("{path}/status"), &object).await.expect(200);
        assert_eq!(updated["status"]["phase"], "Running");
        assert_eq!(bench.api.get(&path).await.expect(200)["status"]["phase"], "Running");
    });
}

#[test]
fn status_update_leaves_the_spec_and_its_generation_alone() {
    fact(async |bench| {
        let path = bench.apps("deployments/web");
        bench.create(&bench.apps("deployments"), &deployment("web", 1)).await;
        let patch =
            json!({"spec": {"replicas": 7}, "status": {"observedGeneration": 1, "replicas": 1}});
        let status = format!("{path}/status");
        let patched = bench.api.patch(&status, Patch::Merge, &patch).await.expect(200);
        assert_eq!(patched["spec"]["replicas"], 1);
        assert_eq!(patched["status"]["replicas"], 1);
        assert_eq!(patched["metadata"]["generation"], 1);
    });
}

#[test]
fn status_can_be_read() {
    fact(async |bench| {
        let created = bench.create(&bench.core("pods"), &pod("web-1")).await;
        let read = bench.api.get(&bench.core("pods/web-1/status")).await.expect(200);
        assert_eq!(read, created);
    });
}

#[test]
fn scale_is_read_and_written() {
    fact(async |bench| {
        let scale = bench.apps("deployments/web/scale");
        bench.create(&bench.apps("deployments"), &deployment("web", 2)).await;
        let mut read = bench.api.get(&scale).await.expect(200);
        assert_eq!(
            (&read["kind"], &read["apiVersion"]),
            (&json!("Scale"), &json!("autoscaling/v1"))
        );
        assert_eq!(read["spec"]["replicas"], 2);
        assert_eq!(read["status"]["selector"], "app=web");
        read["spec"]["replicas"] = json!(5);
        let written = bench.api.update(&scale, &read).await.expect(200);
        assert_eq!(written["spec"]["replicas"], 5);
        assert!(resource_version(&written) > resource_version(&read));

        let deployment = bench.api.get(&bench.apps("deployments/web")).await.expect(200);
        assert_eq!(deployment["spec"]["replicas"], 5);
        assert_eq!(deployment["metadata"]["generation"], 2);
        let patch = json!({"spec": {"replicas": 1}});
        let patched = bench.api.patch(&scale, Patch::Merge, &patch).await.expect(200);
        assert_eq!(patched["spec"]["replicas"], 1);
    });
}

#[test]
fn scale_with_an_old_resource_version_conflicts() {
    fact(async |bench| {
        let scale = bench.apps("deployments/web/scale");
        bench.create(&bench.apps("deployments"), &deployment("web", 2)).await;
        let mut read = bench.api.get(&scale).await.expect(200);
        let patch = json!({"spec": {"replicas": 3}});
        bench.api.patch(&scale, Patch::Merge, &patch).await.expect(200);
        read["spec"]["replicas"] = json!(5);
        bench.api.update(&scale, &read).await.expect_status(409, "Conflict");
    });
}

#[test]
fn subresource_of_a_missing_object_is_not_found() {
    fact(async |bench| {
        bench.api.get(&bench.apps("deployments/nobody/scale")).await.expect_status(404, "NotFound");
        bench.api.get(&bench.core("pods/nobody/status")).await.expect_status(404, "NotFound");
    });
}

#[test]
fn unknown_subresource_is_not_found() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        assert_eq!(bench.api.get(&bench.core("pods/web-1/petals")).await.status, 404);
    });
}
