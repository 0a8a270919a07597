//! `informant get` shows the objects of the cache with kubectl's words, columns and exit codes.

use std::process::Output;

use informant_e2e::host::{Host, run_to_end};
use informant_e2e::kubectl::Kubectl;
use serde_json::Value;

use crate::bench::{deployment, labelled_pod};
use crate::host::bench::{HostBench, host_fact};
use crate::host::running::RunningCommand;

/// `informant get` with these arguments.
fn get(bench: &HostBench<'_>, host: &Host, arguments: &[&str]) -> Output {
    let socket = host.admin_socket().display().to_string();
    let arguments = [&["get"], arguments, &["--admin-socket", &socket]].concat();
    run_to_end(&bench.program, &arguments).expect("it runs")
}

/// The output of a command that succeeds.
#[track_caller]
fn shown(bench: &HostBench<'_>, host: &Host, arguments: &[&str]) -> String {
    let output = get(bench, host, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("it is text").trim_end().to_owned()
}

/// The command fails as kubectl does: with 1, and with this text alone.
#[track_caller]
fn check_refused(bench: &HostBench<'_>, host: &Host, arguments: &[&str], expect: &str) {
    let output = get(bench, host, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(error.starts_with(expect), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

/// A host, with a Pod with a label and a Deployment.
async fn with_objects(bench: &HostBench<'_>) -> Host {
    let pod = labelled_pod("web", &[("app", "web")]);
    bench.api.create(&bench.pods(), &pod).await.expect(201);
    bench.api.create(&bench.pods(), &labelled_pod("db", &[("app", "db")])).await.expect(201);
    let deployments = format!("/apis/apps/v1/namespaces/{}/deployments", bench.namespace);
    bench.api.create(&deployments, &deployment("front", 1)).await.expect(201);
    bench.start(&[]).await
}

#[test]
fn objects_of_the_cache_are_shown_in_the_formats_of_kubectl() {
    host_fact(async |bench| {
        let host = with_objects(&bench).await;
        let namespace = bench.namespace.as_str();
        let shown = |arguments: &[&str]| shown(&bench, &host, arguments);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();

        let table = shown(&["po", "web", "-n", namespace]);
        assert_eq!(shown(&["po", &format!("{namespace}/web")]), table);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(words(lines[0]), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
        assert_eq!(words(lines[1])[..2], ["web", "0/1"]);
        let wide = shown(&["pods", "-n", namespace, "-o", "wide"]);
        assert!(wide.starts_with("NAME ") && wide.contains("NOMINATED NODE"), "{wide}");
        let everywhere = shown(&["pods", "-A", "-l", "app=db"]);
        assert_eq!(words(&everywhere)[0], "NAMESPACE");
        assert!(everywhere.contains(namespace) && !everywhere.contains("web"), "{everywhere}");

        assert_eq!(
            shown(&["deploy", "front", "-n", namespace, "-o", "name"]),
            "deployment.apps/front"
        );
        let field = ["pods", "-n", namespace, "--field-selector", "metadata.name=db", "-o", "name"];
        assert_eq!(shown(&field), "pod/db");
        let one: Value = serde_json::from_str(&shown(&["pod/web", "-n", namespace, "-o", "json"]))
            .expect("JSON");
        assert_eq!((&one["kind"], &one["metadata"]["name"]), (&"Pod".into(), &"web".into()));
        let list: Value = serde_json::from_str(&shown(&["v1/pods", "-n", namespace, "-o", "json"]))
            .expect("JSON");
        assert_eq!(list["kind"], "List");
        assert_eq!(list["items"][0]["apiVersion"], "v1");
        assert_eq!(list["items"].as_array().map(Vec::len), Some(2));
        let yaml = shown(&["deployments.apps", "front", "-n", namespace, "-o", "yaml"]);
        assert!(yaml.starts_with("apiVersion: apps/v1\nkind: Deployment\nmetadata:"), "{yaml}");
        // Without objects the answer is no failure.
        assert_eq!(shown(&["pods", "-n", namespace, "-l", "app=none"]), "");
    });
}

#[test]
fn refusals_have_the_words_and_the_exit_code_of_kubectl() {
    host_fact(async |bench| {
        let host = with_objects(&bench).await;
        let check = |arguments: &[&str], expect: &str| {
            check_refused(&bench, &host, arguments, expect);
        };
        check(&["pod", "none"], "Error from server (NotFound): pods \"none\" not found");
        check(
            &["deploy", "none"],
            "Error from server (NotFound): deployments.apps \"none\" not found",
        );
        check(&["pod", "none", "-w"], "Error from server (NotFound): pods \"none\" not found");
        check(&["secrets"], "Error from server (Forbidden): secrets");
        check(
            &["podz"],
            "error: the server doesn't have a resource type \"podz\"; did you mean pod?",
        );
        check(&["pods", "-l", "a in"], "Error from server (BadRequest): ");
        check(&["pods", "web", "-A"], "error: a resource cannot be retrieved by name across all");
        check(&["pods", "web", "-l", "a=b"], "error: name cannot be provided when a selector");
    });
}

#[test]
fn a_watch_goes_on_with_the_changes() {
    host_fact(async |bench| {
        let host = with_objects(&bench).await;
        let arguments = ["get", "pods", "-n", &bench.namespace, "-l", "app=web", "-w"];
        let watch = RunningCommand::start(&bench, &host, &arguments);
        assert_eq!(watch.next_words()[..2], ["NAME", "READY"]);
        assert_eq!(watch.next_words()[0], "web");
        let late = labelled_pod("web-2", &[("app", "web")]);
        bench.api.create(&bench.pods(), &late).await.expect(201);
        assert_eq!(watch.next_words()[0], "web-2");
        bench.api.delete(&format!("{}/web", bench.pods())).await.expect(200);
        while watch.next_words()[0] != "web" {}
    });
}

/// The same command line for both programs, over the same host.
#[test]
fn a_table_is_that_of_kubectl() {
    if !Kubectl::is_installed() {
        return;
    }
    host_fact(async |bench| {
        let host = with_objects(&bench).await;
        let kubectl = Kubectl::with(&["--server", &format!("http://{}", host.address())]);
        for arguments in [
            ["pods", "-A", "-o", "wide"],
            ["deploy", "-n", &bench.namespace, "--output=wide"],
            ["nodes", "-A", "-o", "name"],
        ] {
            // Ages differ by a second.
            let columns = |text: &str| {
                let lines = text.lines().map(|line| {
                    let words = line.split_whitespace();
                    words.filter(|word| !word.ends_with('s')).collect::<Vec<_>>().join(" ")
                });
                lines.collect::<Vec<_>>()
            };
            let expect = kubectl.run(&[&["get"], &arguments[..]].concat());
            assert_eq!(columns(&shown(&bench, &host, &arguments)), columns(&expect));
        }
    });
}
