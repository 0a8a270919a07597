//! The host's port: answers from the cache, health, and refused reads.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::bench::{config_map, deployment, labelled_pod};
use crate::host::bench::{HostBench, LINES_DEADLINE, SECRET, host_fact, pod_names};
use informant_e2e::host::Host;
use informant_e2e::{http, poll};

async fn create_deployments(bench: &HostBench<'_>) {
    let collection = format!("/apis/apps/v1/namespaces/{}/deployments", bench.namespace);
    for (name, labels) in [("coredns", json!({"k8s-app": "kube-dns"})), ("web", json!({}))] {
        let mut object = deployment(name, 1);
        object["metadata"]["labels"] = labels;
        bench.api.create(&collection, &object).await.expect(201);
    }
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    let mut names: Vec<_> =
        items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    names.sort_unstable();
    names
}

#[track_caller]
fn check_status(host: &Host, path: &str, expect: u16) -> Value {
    let answer = host.get(path).unwrap();
    assert_eq!(answer.status, expect, "{path}: {}", answer.body);
    answer.json()
}

#[test]
fn deployments_are_listed_by_label() {
    host_fact(async |bench| {
        create_deployments(&bench).await;
        let host = bench.start(&[]).await;
        let answer = check_status(&host, "/deploy?labels[k8s-app]=kube-dns", 200);
        assert_eq!(names(&answer["data"]), ["coredns"]);
        let answer = check_status(&host, "/deploy?labels%5Bk8s-app%5D=kube-dns", 200);
        assert_eq!(names(&answer["data"]), ["coredns"], "percent-encoded, as browsers send it");
        assert_eq!(names(&check_status(&host, "/deploy", 200)["data"]), ["coredns", "web"]);
        let answer = check_status(&host, "/deploy?labels[k8s-app]=nobody", 200);
        assert_eq!(answer["data"], json!([]));
        let answer = check_status(&host, "/deploy?labels[k8s-app]=not%20a%20value", 400);
        assert!(answer["msg"].is_string(), "{answer}");
    });
}

#[test]
fn any_resource_is_listed_on_first_demand_and_kept_up_to_date() {
    host_fact(async |bench| {
        create_deployments(&bench).await;
        bench.create_pods(&pod_names(0..3)).await;
        let host = bench.start(&[]).await;
        let answer = check_status(&host, "/core/v1/pods", 200);
        assert_eq!(names(&answer["msg"]), ["pod-0000", "pod-0001", "pod-0002"]);
        let pod = &answer["msg"][0];
        assert_eq!((&pod["kind"], &pod["apiVersion"]), (&json!("Pod"), &json!("v1")));
        assert!(pod["metadata"].get("managedFields").is_none(), "{pod}");
        let answer = check_status(&host, "/apps/v1/deployments", 200);
        assert_eq!(names(&answer["msg"]), ["coredns", "web"]);

        bench.delete_pods(&pod_names(0..1)).await;
        let fresh = async || {
            let answer = host.get("/core/v1/pods").ok()?.json();
            (names(&answer["msg"]) == ["pod-0001", "pod-0002"]).then_some(())
        };
        poll::until("the deletion to be seen", LINES_DEADLINE, fresh).await.unwrap();
    });
}

#[test]
fn informers_are_listed_and_the_dashboard_is_served() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..3)).await;
        let host = bench.start(&[]).await;
        host.await_ready().await.unwrap();
        let informers = check_status(&host, "/informers", 200);
        let shown: Vec<_> = informers
            .as_array()
            .into_iter()
            .flatten()
            .map(|informer| {
                (
                    &informer["resource"],
                    &informer["state"],
                    &informer["objects"],
                    &informer["message"],
                )
            })
            .collect();
        let expect = (&json!("v1/pods"), &json!("synced"), &json!(3), &Value::Null);
        assert_eq!(shown, [expect], "{informers}");

        let page = host.get("/ui/").unwrap();
        assert_eq!(page.status, 200, "{}", page.body);
        assert!(
            page.head.contains("content-security-policy: default-src 'none'; "),
            "{}",
            page.head
        );
        assert!(page.body.contains("<title>Informant</title>"), "{}", page.body);
        let there = host.get("/ui").unwrap();
        assert!(there.head.contains("location: /ui/"), "{}", there.head);
        let elsewhere = http::get_with_host(host.address(), "/ui/", "example.com").unwrap();
        assert_eq!(elsewhere.status, 403, "a name of another machine that leads here");
    });
}

/// Checks the names of the pods that this path and query return.
#[track_caller]
fn check_pods(host: &Host, path: &str, expect: &[&str]) {
    assert_eq!(names(&check_status(host, path, 200)["msg"]), expect, "{path}");
}

#[test]
fn objects_are_selected_by_namespace_name_labels_and_fields() {
    host_fact(async |bench| {
        create_deployments(&bench).await;
        for (name, labels) in [
            ("web-1", &[("app", "web"), ("tier", "front")]),
            ("db-1", &[("app", "db"), ("tier", "back")]),
        ] {
            bench.api.create(&bench.pods(), &labelled_pod(name, labels)).await.expect(201);
        }
        let elsewhere = labelled_pod("web-1", &[("app", "web")]);
        bench.api.create("/api/v1/namespaces/default/pods", &elsewhere).await.expect(201);
        let host = bench.start(&[]).await;
        let namespace = &bench.namespace;
        let own = format!("/core/v1/namespaces/{namespace}/pods");
        // The namespace alone, before all namespaces are cached.
        check_pods(&host, &format!("/core/v1/pods?namespace={namespace}"), &["db-1", "web-1"]);
        check_pods(&host, &own, &["db-1", "web-1"]);
        check_pods(&host, &format!("{own}/web-1"), &["web-1"]);
        check_pods(&host, "/core/v1/pods?name=web-1", &["web-1", "web-1"]);
        check_pods(&host, &format!("{own}?name=db-1"), &["db-1"]);
        check_pods(&host, &format!("{own}?labelSelector=app+in+(web,cache),tier"), &["web-1"]);
        check_pods(&host, "/core/v1/pods?labelSelector=!tier", &["web-1"]);
        check_pods(&host, "/core/v1/pods?labels[app]=web&labelSelector=tier!%3Dfront", &["web-1"]);
        check_pods(&host, &format!("{own}?fieldSelector=metadata.name!%3Dweb-1"), &["db-1"]);
        check_pods(&host, "/core/v1/pods?fieldSelector=status.phase%3DRunning", &[]);
        let deployments = format!("/deploy?namespace={namespace}&name=web");
        assert_eq!(names(&check_status(&host, &deployments, 200)["data"]), ["web"]);
    });
}

#[test]
fn a_list_comes_in_pages() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..5)).await;
        let host = bench.start(&[]).await;
        let path = format!("/core/v1/namespaces/{}/pods?limit=2", bench.namespace);
        let mut page = check_status(&host, &path, 200);
        for expect in [&["pod-0000", "pod-0001"], &["pod-0002", "pod-0003"]] {
            assert_eq!(names(&page["msg"]), expect);
            let token = page["continue"].as_str().expect("there is more");
            page = check_status(&host, &format!("{path}&continue={token}"), 200);
        }
        assert_eq!(names(&page["msg"]), ["pod-0004"]);
        assert!(page.get("continue").is_none(), "{page}");
    });
}

#[test]
fn objects_have_the_fields_that_are_asked_for() {
    host_fact(async |bench| {
        let pod = labelled_pod("web-1", &[("app", "web"), ("example.com/tier", "front")]);
        bench.api.create(&bench.pods(), &pod).await.expect(201);
        let host = bench.start(&[]).await;
        let pods = format!("/core/v1/namespaces/{}/pods", bench.namespace);
        let check = |path: &str, expect: Value| {
            assert_eq!(check_status(&host, path, 200), json!({"msg": [expect]}), "{path}");
        };
        let name = json!({"metadata": {"name": "web-1"}});
        check(&format!("{pods}?fields=metadata.name,status.nothing"), name.clone());
        check(&format!("{pods}/web-1?fields=metadata.name"), name);
        let tier = json!({"kind": "Pod", "metadata": {"labels": {"example.com/tier": "front"}}});
        check(&format!("{pods}?fields=kind,metadata.labels[example.com/tier]"), tier);
        let containers = pod["spec"]["containers"].as_array().expect("a list").iter();
        let images: Vec<_> = containers.map(|one| json!({"image": one["image"]})).collect();
        let images = json!({"spec": {"containers": images}});
        check(&format!("{pods}?fields=spec.containers.image"), images);
    });
}

/// The answer to a client that has the answer with this tag.
fn ask_again(host: &Host, path: &str, tag: &str) -> http::Answer {
    let address = host.address();
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nIf-None-Match: {tag}");
    http::exchange(address, &format!("{head}\r\n\r\n")).unwrap()
}

#[test]
fn an_answer_that_has_not_changed_is_not_sent_again() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..2)).await;
        let host = bench.start(&[]).await;
        let pods = format!("/core/v1/namespaces/{}/pods", bench.namespace);
        let [list, fields, one] =
            [pods.clone(), format!("{pods}?fields=kind"), format!("{pods}/pod-0001")];
        let tag = |path: &str| {
            let answer = host.get(path).unwrap();
            answer.header("etag").expect("a tag").to_owned()
        };
        let tags = [&list, &fields, &one].map(|path| tag(path));
        for (path, tag) in [&list, &fields, &one].into_iter().zip(&tags) {
            let answer = ask_again(&host, path, tag);
            assert_eq!((answer.status, answer.body.as_str()), (304, ""), "{path}");
            assert_eq!(answer.header("etag"), Some(tag.as_str()), "{path}");
        }
        assert_eq!(ask_again(&host, &list, &tags[1]).status, 200, "another query");

        bench.delete_pods(&pod_names(0..1)).await;
        let fresh = async || {
            let answer = ask_again(&host, &list, &tags[0]);
            // An API server may show the Pod with its deletion time first.
            (answer.status == 200 && names(&answer.json()["msg"]) == ["pod-0001"]).then_some(())
        };
        poll::until("the deletion to be seen", LINES_DEADLINE, fresh).await.unwrap();
        assert_eq!(ask_again(&host, &one, &tags[2]).status, 304, "another object");
    });
}

#[test]
fn query_that_cannot_be_answered_says_why() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        for (path, status, text) in [
            ("/core/v1/pods?fieldSelector=spec.foo=bar", 400, "supported are metadata.name"),
            ("/deploy?fieldSelector=spec.replicas=1", 400, "apps/v1/deployments cannot"),
            ("/core/v1/pods?labelSelector=a+in+b", 400, "cannot be read"),
            ("/core/v1/pods?labelselector=a", 400, "did you mean labelSelector"),
            ("/core/v1/pods?namespace=../kube-system", 400, "cannot be the name of a namespace"),
            ("/core/v1/pods?limit=0", 400, "limit is \"0\""),
            ("/core/v1/pods?continue=nothing", 400, "continue key is not valid"),
            ("/core/v1/pods?fields=metadata..name", 400, "fields: \"metadata..name\""),
            ("/core/v1/nodes?namespace=default", 400, "has no namespaces"),
            ("/core/v1/namespaces/default/pods/nope", 404, "is not in the namespace default"),
        ] {
            let answer = check_status(&host, path, status);
            assert!(answer["msg"].as_str().is_some_and(|msg| msg.contains(text)), "{answer}");
        }
    });
}

/// Invariant 41.
#[test]
fn secrets_are_never_served() {
    host_fact(async |bench| {
        bench.create_secret().await;
        let host = bench.start(&[]).await;
        for path in [
            "/core/v1/secrets",
            "/core/v1/secrets/",
            "//core/v1/secrets",
            "/core/v1/%73ecrets",
            "/core/v1/secrets?namespace=default",
            "/core/v1/namespaces/default/secrets",
            "/core/v1/namespaces/default/secrets/password",
        ] {
            let answer = host.get(path).unwrap();
            assert!(matches!(answer.status, 403 | 404), "{path}: {answer:?}");
            assert!(!answer.body.contains(SECRET), "{path}: {answer:?}");
        }
        check_status(&host, "/core/v1/secrets", 403);
    });
}

#[test]
fn unknown_resource_is_not_found() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        for path in ["/core/v1/flowers", "/flowers.example/v1/roses", "/apps/v7/deployments"] {
            let answer = check_status(&host, path, 404);
            assert!(answer["msg"].is_string(), "{path}: {answer}");
        }
    });
}

#[test]
fn foreign_host_header_is_refused() {
    host_fact(async |bench| {
        bench
            .api
            .create(
                &format!("/api/v1/namespaces/{}/configmaps", bench.namespace),
                &config_map("settings", &[]),
            )
            .await
            .expect(201);
        let host = bench.start(&[]).await;
        let port = host.address().port();
        for name in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", ""]
        {
            for path in ["/core/v1/configmaps", "/plugins", "/deploy"] {
                let answer = http::get_with_host(host.address(), path, name).unwrap();
                assert!(matches!(answer.status, 400 | 403 | 421), "{name:?} {path}: {answer:?}");
                assert!(!answer.body.contains("settings"), "{name:?} {path}: {answer:?}");
            }
        }
        for name in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
            let answer = http::get_with_host(host.address(), "/core/v1/configmaps", &name).unwrap();
            assert_eq!(answer.status, 200, "{name}");
        }
    });
}

#[test]
fn address_that_is_not_loopback_serves_health_and_metrics_only() {
    host_fact(async |bench| {
        let host = bench
            .start_unready(informant_e2e::cluster::User::Admin, &["--listen", "0.0.0.0:0"])
            .await;
        let address = SocketAddr::from(([127, 0, 0, 1], host.address().port()));
        let ready = async || {
            let answer = http::get(address, "/readyz").ok()?;
            (answer.status == 200).then_some(())
        };
        poll::until("the host to be ready", LINES_DEADLINE, ready).await.unwrap();
        for path in ["/healthz", "/livez", "/readyz", "/metrics"] {
            assert_eq!(http::get(address, path).unwrap().status, 200, "{path}");
        }
        for path in ["/plugins", "/core/v1/pods", "/deploy", "/ui", "/api/v1/pods", "/"] {
            assert_eq!(http::get(address, path).unwrap().status, 403, "{path}");
        }
    });
}

/// The number of series of an idle plugin: its state, and the host's memory for it. With all other series it would
/// have more than 200.
const IDLE_SERIES_MAX: usize = 20;

#[test]
fn metrics_have_the_promised_names() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.drop_plugin("absent-resource", "idle");
        std::fs::write(bench.plugins.join("no name.wasm"), "").unwrap();
        bench.create_pods(&pod_names(0..3)).await;
        let host = bench.start(&[]).await;
        crate::host::bench::await_told(&host, &bench.namespace, "added", 3).await;
        let page = host.get("/metrics").unwrap();
        let metrics = &page.body;
        for line in [
            "informant_informer_synced{resource=\"v1/pods\"} 1",
            "informant_informer_last_event_age_seconds{resource=\"v1/pods\"}",
            "informant_informer_events_total{resource=\"v1/pods\",type=",
            "informant_informer_relists_total{resource=\"v1/pods\",cause=",
            "informant_cache_objects{resource=\"v1/pods\"} 3",
            "informant_cache_bytes{resource=\"v1/pods\"}",
            "informant_plugin_up{plugin=\"event-printer\"} 1",
            "informant_plugin_events_total{plugin=\"event-printer\",result=\"ok\"} 3",
            "informant_plugin_state{plugin=\"event-printer\",state=\"running\"} 1",
            "informant_plugin_limit_default{limit=\"memory\",unit=\"bytes\"} 67108864",
            "informant_informer_state{resource=\"v1/pods\",state=\"synced\"} 1",
            "informant_informer_failures_total{resource=\"v1/pods\",kind=\"list-or-watch\"} ",
            "informant_files_not_loaded{} 1",
            "informant_build_info{version=\"",
            "process_cpu_seconds_total{}",
            "process_resident_memory_bytes{}",
            "process_open_fds{}",
            "process_max_fds{}",
            "process_threads{}",
            "process_start_time_seconds{}",
            "informant_plugin_handle_seconds_count{plugin=\"event-printer\"} 3",
            "informant_plugin_event_latency_seconds_count{plugin=\"event-printer\"} 3",
            "informant_plugin_reloads_total{plugin=\"event-printer\",result=",
            "informant_plugin_memory_bytes{plugin=\"event-printer\"}",
        ] {
            assert!(metrics.contains(line), "no {line} in\n{metrics}");
        }
        let worked = page.series("informant_plugin_cpu_seconds_total{plugin=\"event-printer\"}");
        assert!(worked.is_some_and(|seconds| seconds > 0.0), "{metrics}");
        // The other plugin's resource is not served.
        let failures = "informant_informer_failures_total{resource=\"late.example.com/v1/widgets\",kind=\"list-or-watch\"}";
        let failed =
            async || host.get("/metrics").ok()?.series(failures).filter(|failures| *failures > 0.0);
        poll::until("a failed list", LINES_DEADLINE, failed).await.unwrap();
        let idle: Vec<&str> =
            metrics.lines().filter(|line| line.contains("plugin=\"idle\"")).collect();
        assert!((1..=IDLE_SERIES_MAX).contains(&idle.len()), "{}", idle.join("\n"));
    });
}

#[test]
fn file_that_cannot_be_a_plugin_is_a_problem() {
    host_fact(async |bench| {
        std::fs::write(bench.plugins.join("no name.wasm"), "").unwrap();
        let host = bench.start(&[]).await;
        let problems = check_status(&host, "/problems", 200);
        let path = problems[0]["path"].as_str().unwrap_or_default();
        assert!(path.ends_with("no name.wasm"), "{problems}");
        let text = problems[0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("cannot be a plugin's name"), "{problems}");
        assert_eq!(check_status(&host, "/plugins", 200), json!([]));
    });
}

#[test]
fn plugins_are_listed_with_the_promised_keys() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        let plugin = host.plugin("event-printer").unwrap();
        for key in [
            "name",
            "version",
            "sha256",
            "state",
            "reason",
            "since",
            "lastLoad",
            "why",
            "subscriptions",
            "reads",
            "queue",
            "counters",
        ] {
            assert!(plugin.get(key).is_some(), "no {key} in {plugin}");
        }
        assert_eq!(plugin["state"], "running");
        for key in ["result", "reason", "sha256", "at"] {
            assert!(plugin["lastLoad"].get(key).is_some(), "no lastLoad.{key} in {plugin}");
        }
    });
}
