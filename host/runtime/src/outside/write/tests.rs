//! Writes that plugins may request, and their requests.

use super::*;

const POD: NamedObject<'static> =
    NamedObject { resource: "v1/pods", namespace: "shop", name: "a", subresource: "" };

/// Method, URI, media type and body of the write; or its problem.
#[track_caller]
fn check(named: NamedObject<'_>, how: How, body: &str, expect: &str) {
    let write = Write::new(named, how, body.as_bytes().to_vec());
    let shown = match write.map(|write| write.request("me", false, 1)) {
        Ok(request) => {
            let WriteRequest { method, uri, content_type, body, .. } = request;
            let body = String::from_utf8(body).expect("text");
            format!("{method} {uri} {content_type} {body}").trim_end().to_owned()
        }
        Err(problem) => problem,
    };
    assert_eq!(shown, expect);
}

#[test]
fn a_write_is_the_request_that_kubectl_would_make() {
    let object = r#"{"metadata":{"name":"a","namespace":"shop"}}"#;
    let pods = "/api/v1/namespaces/shop/pods";
    let json = "application/json";
    check(
        POD,
        How::Create,
        object,
        &format!("POST {pods}?fieldManager=informant-me {json} {object}"),
    );
    check(POD, How::Update, "{}", &format!("PUT {pods}/a?fieldManager=informant-me {json} {{}}"));
    let made = r#"{"metadata":{"generateName":"a-"}}"#;
    let unnamed = NamedObject { name: "", ..POD };
    check(
        unnamed,
        How::Create,
        made,
        &format!("POST {pods}?fieldManager=informant-me {json} {made}"),
    );
    let evicted = NamedObject { subresource: "eviction", ..POD };
    check(
        evicted,
        How::Create,
        "{}",
        &format!("POST {pods}/a/eviction?fieldManager=informant-me {json} {{}}"),
    );
    let scale = NamedObject { resource: "apps/v1/deployments", subresource: "scale", ..POD };
    let path = "/apis/apps/v1/namespaces/shop/deployments/a/scale?fieldManager=informant-me";
    check(scale, How::MergePatch, "{}", &format!("PATCH {path} application/merge-patch+json {{}}"));
    let node = NamedObject { resource: "v1/nodes", namespace: "", ..POD };
    let path = "/api/v1/nodes/a?fieldManager=informant-me";
    check(node, How::JsonPatch, "[]", &format!("PATCH {path} application/json-patch+json []"));
    let kind = "application/strategic-merge-patch+json";
    check(node, How::StrategicPatch, "{}", &format!("PATCH {path} {kind} {{}}"));
    let kind = "application/apply-patch+yaml";
    check(node, How::Apply(true), "{}", &format!("PATCH {path}&force=true {kind} {{}}"));
    check(node, How::Apply(false), "{}", &format!("PATCH {path}&force=false {kind} {{}}"));
}

/// The longest name gives a manager that API servers accept.
#[test]
fn no_plugin_is_another_programs_field_manager() {
    for (plugin, expect) in [
        ("argocd-controller", "informant-argocd-controller"),
        ("kubectl", "informant-kubectl"),
        (&"a".repeat(63), &format!("informant-{}", "a".repeat(63))),
    ] {
        let write = Write::new(POD, How::Apply(true), Vec::new()).expect("it is well formed");
        let uri = write.request(plugin, false, 1).uri;
        let (_, query) = uri.split_once("?fieldManager=").expect("it has one");
        let (manager, _) = query.split_once('&').expect("more follows");
        assert_eq!(manager, expect);
        assert!(manager.len() <= 128);
    }
}

#[test]
fn a_deletion_names_its_conditions_in_its_body() {
    let options = r#"{"apiVersion":"v1","kind":"DeleteOptions""#;
    let path = "DELETE /api/v1/namespaces/shop/pods/a?";
    check(POD, How::Delete(None), "", &format!("{path} application/json {options}}}"));
    let uid = How::Delete(Some("u\"1".to_owned()));
    let expect = format!(r#"{path} application/json {options},"preconditions":{{"uid":"u\"1"}}}}"#);
    check(POD, uid, "", &expect);
    let long = How::Delete(Some("u".repeat(129)));
    check(POD, long, "", "a UID has at most 128 bytes");
}

#[test]
fn a_dry_run_is_one_whichever_place_the_server_looks_at() {
    let request = |how: How| {
        let body = br#"{"metadata":{"name":"a"}}"#.to_vec();
        Write::new(POD, how, body).expect("it is well formed").request("me", true, 1)
    };
    for how in [How::Create, How::Update, How::MergePatch, How::Apply(false)] {
        let uri = request(how).uri;
        assert!(uri.ends_with("&dryRun=All"), "{uri}");
    }
    let deletion = request(How::Delete(None));
    assert!(deletion.uri.ends_with("?dryRun=All"), "{}", deletion.uri);
    let body = String::from_utf8(deletion.body).expect("text");
    assert!(body.contains(r#""dryRun":["All"]"#), "{body}");
}

/// Tricks with names in paths: each is refused in every place of a name. Invariant 34.
#[test]
fn names_that_lead_elsewhere_are_refused() {
    let long = "a".repeat(254);
    let tricks = [
        ".", "..", "../..", "a/b", "a%2fb", "%2e%2e", "a/../b", "a b", "a?b", "a#b", "a\\b", "a;b",
        "a\0b", "a\nb", "A", "ä", "-a", "a-", ".a", "a.", "a..b", "/", "a/", "*", ":", "system:a",
        &long,
    ];
    for trick in tricks {
        let refused = |named: NamedObject<'_>| {
            let write = Write::new(named, How::MergePatch, Vec::new());
            assert!(write.is_err(), "{named:?}");
        };
        refused(NamedObject { name: trick, ..POD });
        refused(NamedObject { namespace: trick, ..POD });
        refused(NamedObject { subresource: trick, ..POD });
        // A too long name leads to no other path; the API server refuses it.
        if trick != long {
            refused(NamedObject { resource: &format!("v1/{trick}"), ..POD });
            refused(NamedObject { resource: &format!("{trick}/v1/pods"), ..POD });
        }
        refused(NamedObject { resource: trick, ..POD });
    }
    let empty = r#""" cannot be the name of an object"#;
    let unnamed = NamedObject { name: "", ..POD };
    for how in [How::Update, How::MergePatch, How::Apply(true), How::Delete(None)] {
        check(unnamed, how, "", empty);
    }
    check(NamedObject { subresource: "eviction", ..unnamed }, How::Create, "{}", empty);
    for resource in ["v1/namespaces", "apps/v1/namespaces"] {
        let inside =
            NamedObject { resource, namespace: "", subresource: "deployments", name: "shop" };
        check(inside, How::Create, "{}", r#"namespaces have no subresource "deployments""#);
    }
}

#[test]
fn roles_and_their_bindings_have_names_that_others_cannot_have() {
    let group = "rbac.authorization.k8s.io/v1";
    let [clusterroles, roles] = ["clusterroles", "roles"].map(|it| format!("{group}/{it}"));
    let role = NamedObject {
        resource: &clusterroles,
        namespace: "",
        name: "system:a@b:Edit_1",
        subresource: "",
    };
    let path = format!("/apis/{group}/clusterroles/system:a@b:Edit_1?fieldManager=informant-me");
    let expect = format!("PATCH {path} application/merge-patch+json {{}}");
    check(role, How::MergePatch, "{}", &expect);
    let long = "a".repeat(254);
    let tricks =
        [".", "..", "a/b", "a%2fb", "a b", "a?b", "a#b", "a\\b", "a;b", "a\nb", "ä", "*", &long];
    for name in tricks {
        let named = NamedObject { resource: &roles, namespace: "shop", name, subresource: "" };
        let problem = format!("{name:?} cannot be the name of an object");
        check(named, How::MergePatch, "{}", &problem);
    }
    check(
        POD,
        How::MergePatch,
        "{}",
        "PATCH /api/v1/namespaces/shop/pods/a?fieldManager=informant-me application/merge-patch+json {}",
    );
    let pod = NamedObject { name: "system:a", ..POD };
    check(pod, How::MergePatch, "{}", r#""system:a" cannot be the name of an object"#);
}

#[test]
fn what_is_made_has_the_name_that_was_granted() {
    let create = |name: &str, object: &str, expect: &str| {
        check(NamedObject { name, ..POD }, How::Create, object, expect);
    };
    let other = r#"the object's name is "b", and that of its key "a""#;
    create("a", r#"{"metadata":{"name":"b"}}"#, other);
    create("a", "{}", r#"the object's name is "", and that of its key "a""#);
    create(
        "",
        r#"{"metadata":{"name":"b"}}"#,
        r#"the object's name is "b", and that of its key """#,
    );
    create("", "{}", "neither the key has a name nor the object a generateName");
    let elsewhere = r#"{"metadata":{"name":"a","namespace":"office"}}"#;
    create("a", elsewhere, r#"the object's namespace is "office", and that of its key "shop""#);
    let twice = r#"{"metadata":{"name":"a","name":"b"}}"#;
    create("a", twice, "the object: duplicate field `name` at line 1 column 30");
    let twice = r#"{"metadata":{"name":"a"},"metadata":{}}"#;
    create("a", twice, "the object: duplicate field `metadata` at line 1 column 35");
}

#[test]
fn a_body_goes_up_to_its_bound() {
    let body = |bytes: usize| Write::new(POD, How::Update, vec![b' '; bytes]).map(|_| ());
    assert_eq!(body(WRITE_BYTES_MAX), Ok(()));
    let expect = "it has 3145729 bytes, and at most 3145728 are sent";
    assert_eq!(body(WRITE_BYTES_MAX + 1), Err(expect.to_owned()));
}

#[test]
fn what_is_applied_may_be_made() {
    let write = Write::new(POD, How::Apply(false), Vec::new()).expect("it is well formed");
    assert_eq!(
        (write.verb(), write.verbs()),
        (WriteVerb::Patch, &[WriteVerb::Patch, WriteVerb::Create][..])
    );
}

#[test]
fn an_update_of_no_known_object_may_be_made() {
    let check = |body: &str, subresource: &str, expect: &[WriteVerb]| {
        let named = NamedObject { subresource, ..POD };
        let write = Write::new(named, How::Update, body.as_bytes().to_vec());
        assert_eq!(write.expect("it is well formed").verbs(), expect, "{body}");
    };
    let (update, both) = (&[WriteVerb::Update][..], &[WriteVerb::Update, WriteVerb::Create][..]);
    check(r#"{"metadata":{"name":"a","uid":"u"}}"#, "", update);
    for nothing in [
        "",
        "{}",
        "[]",
        r#"{"metadata":null}"#,
        r#"{"metadata":{"name":"a"}}"#,
        r#"{"metadata":{"uid":""}}"#,
        r#"{"metadata":{"uid":7}}"#,
        r#"{"metadata":{"uid":"u","uid":""}}"#,
        r#"{"metadata":{"uid":"u"},"metadata":{}}"#,
        r#"{"Metadata":{"uid":"u"}}"#,
    ] {
        check(nothing, "", both);
    }
    // They are writes of existing objects.
    check("{}", "status", update);
}

/// Invariant 35.
#[test]
fn a_patch_of_a_secret_does_not_tell_what_is_in_it() {
    let secret = NamedObject { resource: "v1/secrets", ..POD };
    let check = |named: NamedObject<'_>, how: How, patch: &str, expect: Option<&str>| {
        let problem = Write::new(named, how, patch.as_bytes().to_vec()).err();
        let is_as_expected = match (&problem, expect) {
            (Some(problem), Some(words)) => problem.contains(words),
            (problem, expect) => problem.is_none() && expect.is_none(),
        };
        assert!(is_as_expected, "{patch}: {problem:?}");
    };
    let writes = r#"[{"op":"add","path":"/data/a","value":"YQ=="},{"op":"remove","path":"/data/b"},{"op":"replace","path":"/data/c","value":""}]"#;
    check(secret, How::JsonPatch, writes, None);
    check(secret, How::JsonPatch, "[]", None);
    for op in ["copy", "move", "test", "Copy", "", "anything"] {
        let patch = format!(
            r#"[{{"op":"remove","path":"/data/b"}},{{"op":"{op}","from":"/data/a","path":"/metadata/labels/a"}}]"#
        );
        check(secret, How::JsonPatch, &patch, Some("would tell what is in it"));
        check(POD, How::JsonPatch, &patch, None);
        check(secret, How::MergePatch, &patch, None);
    }
    check(secret, How::JsonPatch, r#"[{"op":"add","op":"copy"}]"#, Some("duplicate field `op`"));
    check(secret, How::JsonPatch, r#"[{"from":"/data/a"}]"#, Some("missing field `op`"));
    check(secret, How::JsonPatch, r#"{"op":"copy"}"#, Some("the patch: "));
}

#[test]
fn connections_are_no_writes() {
    let expect =
        "is a connection and cannot be written: no dry run and no grant would hold behind it";
    for subresource in ["exec", "attach", "portforward", "proxy"] {
        let connection = NamedObject { subresource, ..POD };
        check(connection, How::Create, "{}", &format!("{subresource:?} {expect}"));
        check_writable(&format!("v1/pods/{subresource}"), None);
    }
}

/// The writable of a text, and whether it is guarded.
#[track_caller]
fn check_writable(text: &str, expect: Option<bool>) {
    let read = text.parse::<Writable>();
    if let Ok(writable) = &read {
        assert_eq!(writable.to_string(), text);
    }
    assert_eq!(read.ok().map(|it| it.is_guarded()), expect, "{text}");
}

#[test]
fn what_gives_more_power_than_it_is_itself_is_guarded() {
    let plain = [
        "v1/pods",
        "v1/pods/status",
        "apps/v1/deployments/scale",
        "v1/pods/eviction",
        "route.openshift.io/v1/routes",
        "notkyverno.io/v1/policies",
        "example.com/v1/roles",
    ];
    plain.into_iter().for_each(|one| check_writable(one, Some(false)));
    let guarded = [
        "v1/secrets",
        "v1/pods/ephemeralcontainers",
        "v1/serviceaccounts/token",
        "rbac.authorization.k8s.io/v1/clusterroles",
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "coordination.k8s.io/v1/leases",
        "authorization.openshift.io/v1/rolebindings",
        "security.openshift.io/v1/securitycontextconstraints",
        "oauth.openshift.io/v1/oauthclients",
        "user.openshift.io/v1/groups",
        "kyverno.io/v1/clusterpolicies",
        "policies.kyverno.io/v1/mutatingpolicies",
        "mutations.gatekeeper.sh/v1/assign",
        "cert-manager.io/v1/clusterissuers",
        "external-secrets.io/v1/externalsecrets",
        "pkg.crossplane.io/v1/providers",
        "kustomize.toolkit.fluxcd.io/v1/kustomizations",
        "argoproj.io/v1alpha1/applications",
    ];
    guarded.into_iter().for_each(|one| check_writable(one, Some(true)));
    for nothing in ["pods", "v1/pods/", "v1/pods/status/x", "*", "v1/*", "v1/namespaces/pods", ""] {
        check_writable(nothing, None);
    }
}

/// An author of a ceiling can look them up.
#[test]
fn every_guarded_group_is_in_the_documentation_with_its_reason() {
    let documentation = include_str!("../../../../docs/configuration.md");
    for (reason, groups) in guarded_groups::GUARDED_GROUPS {
        let groups: Vec<String> = groups.iter().map(|group| format!("`{group}`")).collect();
        let line = format!("| {reason} | {} |", groups.join(", "));
        assert!(documentation.contains(&line), "host/docs/configuration.md lacks: {line}");
    }
}

#[test]
fn an_apply_to_a_secret_is_forced() {
    let secret = NamedObject { resource: "v1/secrets", ..POD };
    let problem = "an apply to a Secret is to be forced: whether one conflicts that is not would tell what is in it";
    check(secret, How::Apply(false), "{}", problem);
    let path = "/api/v1/namespaces/shop/secrets/a?fieldManager=informant-me&force=true";
    check(
        secret,
        How::Apply(true),
        "{}",
        &format!("PATCH {path} application/apply-patch+yaml {{}}"),
    );
    let other = NamedObject { resource: "example.com/v1/secrets", ..POD };
    assert!(Write::new(other, How::Apply(false), Vec::new()).is_ok());
}
