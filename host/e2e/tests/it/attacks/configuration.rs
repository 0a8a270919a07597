//! Files beside plugins that are invalid, or that request what they may not have. None of them takes effect, and no
//! other plugin is affected.

use crate::host::bench::{CONFIGURATION_HEAD, LINES_DEADLINE, host_fact};
use informant_e2e::host::Host;
use informant_e2e::poll;

/// The name of a plugin, the text below the head of the file beside it, and the reported error.
type Written = (&'static str, Vec<u8>, &'static str);

fn below_head(name: &'static str, text: &str, words: &'static str) -> Written {
    (name, format!("{CONFIGURATION_HEAD}PluginConfiguration\n{text}\n").into_bytes(), words)
}

/// A text that YAML's aliases multiply by ten, again and again.
fn bomb() -> String {
    let mut bomb = "config:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let before = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb += &format!("  a{n}: &a{n} [{before}]\n");
    }
    bomb
}

fn files() -> Vec<Written> {
    let unreadable = "is not YAML that can be read";
    let utf_16: Vec<u8> = "kind: x".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        below_head("bomb-of-aliases", &bomb(), unreadable),
        below_head("anchor-within-itself", "config: &a [*a]", unreadable),
        below_head("merged-key", "config: {a: &a {b: 1}}\n<<: *a", "unknown key"),
        below_head(
            "key-twice",
            "limits: {memory: 16Mi}\nlimits: {memory: 32Mi}",
            "duplicate mapping key",
        ),
        below_head("two-documents", "---\nkind: HostConfiguration", "only single YAML document"),
        below_head(
            "nested-deep",
            &format!("config: {}{}", "[".repeat(200), "]".repeat(200)),
            unreadable,
        ),
        below_head("many-values", &format!("config: [{}]", "x,".repeat(60_000)), unreadable),
        below_head("too-large", &"#".repeat(1 << 20), "it cannot be read; the log says why"),
        below_head("huge-number", "limits: {memory: 99999999999999999999999999}", "limits.memory"),
        below_head("huge-quantity", "limits: {memory: 99999999Ei}", "limits.memory"),
        below_head("huge-exponent", "limits: {logLines: 1e400}", unreadable),
        below_head("negative-number", "limits: {logLines: -1}", "limits.logLines"),
        below_head("endless-number", "limits: {logLines: .inf}", unreadable),
        below_head("no-number", "limits: {logLines: .nan}", unreadable),
        below_head("for-ever", "limits: {handleTime: 99999999h}", "limits.handleTime"),
        below_head("above-the-ceiling", "limits: {memory: 512Mi}", "limits.memory is 512Mi"),
        below_head("unknown-key", "grants: all", "unknown key \"grants\""),
        below_head(
            "host-settings",
            "plugins: {host-settings: {reads: []}}",
            "unknown key \"plugins\"",
        ),
        below_head(
            "secrets-for-itself",
            "reads: [{resources: [v1/secrets]}]",
            "secrets-for-itself.yaml",
        ),
        below_head("hash-of-another", &format!("sha256: {}", "0".repeat(64)), "sha256"),
        below_head("hash-that-is-none", "sha256: yes", "sha256"),
        below_head(
            "namespace-that-is-a-path",
            "reads: [{resources: [v1/pods], namespaces: [../x]}]",
            "cannot be the name of a namespace",
        ),
        below_head(
            "resource-that-is-a-path",
            "reads: [{resources: [v1/../pods]}]",
            "is not written as version/resource",
        ),
        below_head(
            "everything-written",
            "writes: [{resources: [\"*\"], verbs: [patch]}]",
            "what may be written has to be named",
        ),
        ("another-kind", format!("{CONFIGURATION_HEAD}HostConfiguration\n").into_bytes(), "kind"),
        ("no-text", vec![0xff, 0xfe, 0xfd], "utf-8"),
        ("utf-16", [vec![0xff, 0xfe], utf_16].concat(), "utf-8"),
        ("nothing", Vec::new(), "it is empty"),
        ("a-list", b"[1, 2]".to_vec(), "a-list.yaml"),
    ]
}

/// A complaint if the plugin runs, or if its error does not contain the words.
fn complaint(host: &Host, (name, _, words): &Written) -> Option<String> {
    let plugin = host.plugin(name).unwrap_or_default();
    let (state, told) = (&plugin["state"], &plugin["lastLoad"]["reason"]);
    let told = told.as_str().unwrap_or_default();
    let is_refused = (state == "stopped" || state == "waiting") && told.contains(words);
    (!is_refused).then(|| format!("{name}: {state} {told}"))
}

#[test]
fn no_file_beside_a_plugin_hurts_anybody_or_grants_itself_anything() {
    host_fact(async |bench| {
        let files = files();
        for (name, text, _) in &files {
            std::fs::write(bench.plugins.join(format!("{name}.yaml")), text).expect("a file");
            bench.drop_plugin("event-printer", name);
        }
        // A file with another ending does not count, whatever its content is.
        let other = format!("{CONFIGURATION_HEAD}PluginConfiguration\nlimits: {{memory: 4Gi}}\n");
        for ending in ["yml", "json", "YAML", "yaml~", "yaml.bak"] {
            std::fs::write(bench.plugins.join(format!("good.{ending}")), &other).expect("a file");
        }
        bench.drop_plugin("event-printer", "good");
        let mut host = bench.start(&[]).await;
        let untold = || {
            let untold = files.iter().filter_map(|one| complaint(&host, one));
            untold.collect::<Vec<String>>()
        };
        let all = async || untold().is_empty().then_some(());
        let told = poll::until("all to be refused", LINES_DEADLINE, all).await;
        assert!(told.is_ok(), "\n{}\n", untold().join("\n"));
        let good = host.plugin("good").expect("it is there");
        assert_eq!(
            (&good["state"], &good["configuration"]),
            (&"running".into(), &serde_json::json!({})),
            "{good}"
        );
        host.check_running().unwrap();
    });
}
