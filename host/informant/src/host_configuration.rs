//! The host's own configuration file, `--config`, with its settings of plugins. `host_configuration/follow.rs` follows
//! it while the host runs.

mod follow;

use anyhow::{Context, Result};
pub(crate) use follow::{ConfigurationStatus, Follower};
use informant_runtime::configuration::{
    API_VERSION, Ceiling, ConfigurationError, Configurations, Document, Keys, Layer, read,
};
use informant_runtime::{PluginName, read_configuration};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// The content of the host's own file, now and after each change.
pub(crate) struct HostConfiguration {
    pub(crate) said: watch::Receiver<Arc<Configurations>>,
    pub(crate) status: Arc<ConfigurationStatus>,
    /// `None` if no file was named.
    pub(crate) follower: Option<Follower>,
}

impl HostConfiguration {
    /// Reads the named file. With `grants_requests`, plugins get what they ask for.
    pub(crate) fn load(path: Option<&Path>, grants_requests: bool) -> Result<Self> {
        let status = Arc::<ConfigurationStatus>::default();
        let of = |configurations: Configurations| match grants_requests {
            true => Arc::new(configurations.granting_requests()),
            false => Arc::new(configurations),
        };
        let Some(path) = path else {
            let (_, said) = watch::channel(of(Configurations::default()));
            return Ok(Self { said, status, follower: None });
        };
        let text = text_of(path)?;
        let configurations = parse(&path.display().to_string(), &text)?;
        let (say, said) = watch::channel(of(configurations));
        let follower = Some(Follower::new(path, text, say, status.clone()));
        Ok(Self { said, status, follower })
    }
}

/// The present content of the named file. Without a file there are no settings.
pub(crate) fn load(path: Option<&Path>) -> Result<Configurations> {
    let Some(path) = path else { return Ok(Configurations::default()) };
    Ok(parse(&path.display().to_string(), &text_of(path)?)?)
}

fn text_of(path: &Path) -> Result<Vec<u8>> {
    read_configuration(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn parse(file: &str, text: &[u8]) -> Result<Configurations, ConfigurationError> {
    let parts = read(&Document::read(file, text)?, declare)?;
    Configurations::new(parts.defaults, parts.plugins, parts.ceiling)
}

#[derive(Debug)]
struct ConfigurationParts {
    defaults: Layer,
    plugins: BTreeMap<PluginName, Layer>,
    ceiling: Ceiling,
}

fn declare(keys: &mut Keys<'_>) -> ConfigurationParts {
    keys.constant("apiVersion", API_VERSION, "The version of the format.");
    keys.constant("kind", "HostConfiguration", "The kind of the file.");
    let doc = "The settings that count for each plugin unless another place sets them.";
    let defaults = keys.object("defaults", doc, Layer::of_all);
    let doc = "The settings of one plugin, by its name. The keys are those of the file beside the plugin. The values here count before that file's.";
    let mut plugins = BTreeMap::new();
    for (name, line, layer) in keys.named("plugins", doc, Layer::of_plugin) {
        match name.parse::<PluginName>() {
            Ok(name) => _ = plugins.insert(name, layer),
            Err(error) => keys.fail(line, "plugins", error.to_string()),
        }
    }
    let doc =
        "The bounds of the files beside plugins and of `defaults`. They do not bound `plugins`.";
    let ceiling = keys.object("ceiling", doc, Ceiling::declare);
    ConfigurationParts {
        defaults: defaults.unwrap_or_default(),
        plugins,
        ceiling: ceiling.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect, expect_file};
    use informant_runtime::configuration::{declared, json_schema, sidecar, table};

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let head = format!("apiVersion: {API_VERSION}\nkind: HostConfiguration\n");
        let read = parse("informant.yaml", format!("{head}{text}").as_bytes());
        expect.assert_eq(&read.map_or_else(|error| error.to_string(), |_| "well".to_owned()));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        check("", expect!["well"]);
        check("defaults: {limits: {memory: 128Mi}}", expect!["well"]);
        check(
            "default: {}",
            expect![[r#"informant.yaml line 3: unknown key "default"; did you mean "defaults"?"#]],
        );
        check(
            "plugins:\n  hello:\n    writes:\n    - resources: [v1/pods]\n      verb: [patch]",
            expect![[
                r#"informant.yaml line 7: plugins.hello.writes[0]: unknown key "verb"; did you mean "verbs"?"#
            ]],
        );
        check(
            "defaults: {config: {}}",
            expect![[
                r#"informant.yaml line 3: defaults: unknown key "config"; known are limits, reads, writes, http, serviceAccount, dryRun, debounce, rateLimit, onRemoval"#
            ]],
        );
        check(
            "plugins: {a b: {}}",
            expect![[
                r#"informant.yaml line 3: plugins: "a b" cannot be a plugin's name: use 1 to 63 letters, digits, '.', '_' or '-'"#
            ]],
        );
        check(
            "plugins:\n  hello:\n    limits:\n      memory: 64MB",
            expect![[
                r#"informant.yaml line 6: plugins.hello.limits.memory: "64MB" is no quantity, such as 64Mi, 10M or 4096: its suffix is not known"#
            ]],
        );
        check(
            "plugins:\n  hello:\n    limits:\n      memory: 2Gi",
            expect![
                "informant.yaml line 6: plugins.hello.limits.memory is 2Gi, and may be 1 to 1Gi"
            ],
        );
        check(
            "plugins: {hello: {limits: {memry: 2Mi}}}",
            expect![[
                r#"informant.yaml line 3: plugins.hello.limits: unknown key "memry"; did you mean "memory"?"#
            ]],
        );
        check(
            "plugins: {hello: {sha256: abc}}",
            expect![[
                r#"informant.yaml line 3: plugins.hello.sha256: "abc" is no SHA-256: write the 64 digits that sha256sum prints"#
            ]],
        );
        check(
            "plugins: {hello: {reads: [{resources: [pods]}]}}",
            expect![[
                r#"informant.yaml line 3: plugins.hello.reads[0].resources: resource "pods" is not written as version/resource (v1/pods) or group/version/resource (apps/v1/deployments): it has not two or three parts"#
            ]],
        );
        check(
            "plugins: {hello: {reads: v1/pods}}",
            expect!["informant.yaml line 3: plugins.hello.reads is a text and no list of objects"],
        );
        check(
            "plugins: [hello]",
            expect!["informant.yaml line 3: plugins is a list and no object with names"],
        );
        check(
            "ceiling: {limits: {attempts: 3}}\ndefaults: {limits: {attempts: 4}}",
            expect![
                "informant.yaml line 4: defaults.limits.attempts is 4, and the ceiling of this host is 3"
            ],
        );
        for (text, expect) in [
            ("kind: Pod", " line 1: kind is \"Pod\", and is to be HostConfiguration"),
            (
                "kind: HostConfiguration",
                ": apiVersion is missing: write apiVersion: informant.dev/v1alpha1",
            ),
            (
                "apiVersio: informant.dev/v1alpha1\nkind: HostConfiguration",
                " line 1: unknown key \"apiVersio\"; did you mean \"apiVersion\"?",
            ),
        ] {
            let problem = parse("informant.yaml", text.as_bytes()).err();
            let problem = problem.map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(problem, format!("informant.yaml{expect}"));
        }
    }

    #[test]
    fn the_page_and_the_schemas_are_the_declaration() {
        let (plugin, host) = (declared(sidecar), declared(declare));
        let page = include_str!("host_configuration/page.md");
        let page = page.replace("{PLUGIN}", &table(&plugin, &[]));
        let page =
            page.replace("{HOST}", &table(&host, &["plugins", "defaults", "ceiling.limits"]));
        expect_file!["../../docs/configuration.md"].assert_eq(&page);
        let schema = |title: &str, text: &str, declared: &[_]| {
            let schema = json_schema(title, text, declared);
            serde_json::to_string_pretty(&schema).expect("it is JSON") + "\n"
        };
        let text = "The configuration of a plugin: NAME.yaml beside NAME.wasm.";
        let schema_of_plugin = schema("PluginConfiguration", text, &plugin);
        expect_file!["../../docs/schemas/plugin-configuration.json"].assert_eq(&schema_of_plugin);
        let text = "The host's configuration of its plugins: informant run --config FILE.";
        let schema_of_host = schema("HostConfiguration", text, &host);
        expect_file!["../../docs/schemas/host-configuration.json"].assert_eq(&schema_of_host);
    }
}
