//! The examples of `README.md` work as they stand: the plugin, the file beside it, the host's own file, and the
//! commands that run plugins.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use informant_e2e::api::Patch;
use informant_e2e::child::Child;
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line, announced_address};
use informant_e2e::{paths, poll};
use serde_json::{Value, json};

use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact, pod_names};

const HELLO: &str = "examples/hello";
const CONTROLLER: &str = "examples/default-deny";

fn text(path: &str) -> String {
    let found = std::fs::read_to_string(paths::root().join(path));
    found.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of this language, in the page's order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    let block = |rest: &str| rest.split_once("\n```").expect("the end of a block").0.to_owned();
    page.split(&fence).skip(1).map(|rest| block(rest) + "\n").collect()
}

/// Puts README's plugins and files where its commands have them. The result is the path of the host's own file.
fn install(bench: &HostBench<'_>, directory: &tempfile::TempDir) -> String {
    let [own, beside] = <[String; 2]>::try_from(blocks(&text("README.md"), "yaml"))
        .expect("README has two files of configuration");
    std::fs::write(bench.plugins.join("hello.yaml"), beside).expect("a file");
    let file = directory.path().join("informant.yaml");
    std::fs::write(&file, own).expect("a file");
    bench.drop_plugin("hello", "hello");
    bench.drop_plugin("default-deny", "default-deny");
    file.display().to_string()
}

#[test]
fn readme_shows_the_files_of_the_examples() {
    let readme = text("README.md");
    let [whole, part] = <[String; 2]>::try_from(blocks(&readme, "rust")).expect("two plugins");
    assert_eq!(whole, text(&format!("{HELLO}/src/lib.rs")));
    let controller = text(&format!("{CONTROLLER}/src/lib.rs"));
    assert!(controller.contains(&part), "{CONTROLLER} has no such part: {part}");
    let files = [format!("{CONTROLLER}/informant.yaml"), format!("{HELLO}/hello.yaml")];
    assert_eq!(blocks(&readme, "yaml"), files.map(|file| text(&file)));
}

#[test]
fn readme_examples_run_with_their_grants() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = install(&bench, &directory);
        let host = bench.start(&["--config", &own]).await;
        let is_running = |plugin: &Value| plugin["state"] == "running";
        let hello = host.await_plugin("hello", "it to run", is_running).await.unwrap();
        for (setting, value, place) in [
            ("limits.memory", json!("32Mi"), "hello.yaml line 4"),
            ("limits.handleTime", json!("500ms"), "hello.yaml line 4"),
            ("shards", json!("4"), "hello.yaml line 5"),
            ("reads", json!([{"resources": ["v1/pods"]}]), "hello.yaml line 6"),
        ] {
            let found = &hello["configuration"][setting];
            assert_eq!((&found["value"], &found["from"]), (&value, &json!(place)), "{hello}");
        }
        assert_eq!(hello["shards"].as_array().map(Vec::len), Some(4), "{hello}");

        // Without the grant the controller would wait.
        let controller = host.await_plugin("default-deny", "it to run", is_running).await.unwrap();
        let from = &controller["configuration"]["writes"]["from"];
        assert_eq!(from, &json!(format!("{own} line 6")), "{controller}");
        check_policy_follows_label(&bench, "true", 200).await;
        check_policy_follows_label(&bench, "false", 404).await;

        bench.create_pods(&pod_names(0..1)).await;
        let greeting = format!("hello: added pod {}/pod-0000", bench.namespace);
        let greets = |line: &Line| line.message() == greeting;
        host.await_line(&greeting, LINES_DEADLINE, greets).await.unwrap();
    });
}

/// With this value of the label, the policy in the fact's namespace is there, or not.
async fn check_policy_follows_label(bench: &HostBench<'_>, label: &str, expect: u16) {
    let namespace = &bench.namespace;
    let labels = json!({"metadata": {"labels": {"default-deny": label}}});
    let path = format!("/api/v1/namespaces/{namespace}");
    bench.api.patch(&path, Patch::Merge, &labels).await.expect(200);
    let path =
        format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/default-deny");
    let is_so = async || (bench.api.get(&path).await.status == expect).then_some(());
    let change = format!("the policy after default-deny={label}");
    poll::until(&change, LINES_DEADLINE, is_so).await.unwrap();
}

/// A folder in which README's commands find what `make build plugins` leaves at the top of the repository.
struct Place<'a> {
    bench: &'a HostBench<'a>,
    folder: tempfile::TempDir,
}

/// Takes the place of kubectl: something is to be applied.
const KUBECTL: &str = "#!/bin/sh\ngrep -q 'kind: ClusterRoleBinding'\n";

impl<'a> Place<'a> {
    fn new(bench: &'a HostBench<'a>) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path();
        for made in ["target", "bin"] {
            std::fs::create_dir(path.join(made)).expect("a directory");
        }
        let links = [
            (bench.program.clone(), "bin/informant"),
            (paths::target_directory().join("plugins"), "target/plugins"),
            (paths::root().join("plugins"), "plugins"),
        ];
        for (original, link) in links {
            symlink(original, path.join(link)).expect("a link");
        }
        let kubectl = path.join("bin/kubectl");
        std::fs::write(&kubectl, KUBECTL).expect("a file");
        std::fs::set_permissions(kubectl, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        Self { bench, folder }
    }

    /// The command as a script, with this host's programs first on the path.
    fn script(&self, command: &str) -> String {
        let folder = self.folder.path().display();
        let kubeconfig = self.bench.cluster.kubeconfig(User::Admin).display().to_string();
        format!(
            "cd '{folder}' && export PATH=\"$PWD/bin:$PATH\" KUBECONFIG='{kubeconfig}' && {command}"
        )
    }

    /// Runs a command to its end, with this admin socket.
    #[track_caller]
    fn run(&self, command: &str, socket: &Path) {
        let log = self.folder.path().join("log");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-euc", &self.script(command)]).env("INFORMANT_ADMIN_SOCKET", socket);
        shell.env("XDG_CACHE_HOME", paths::target_directory().join("e2e/cache"));
        let mut child = Child::spawn_logged("sh", &mut shell, &log).expect("a shell");
        let status = child.wait(LINES_DEADLINE).expect("its end");
        let said = std::fs::read_to_string(&log).expect("what it said");
        assert!(status.success(), "{command}: {said}");
    }

    /// Starts a command that runs plugins, on a free port, and waits until they run.
    async fn start(&self, command: &str) -> Host {
        let script = self.script(&format!("exec {command} --log-format json --listen 127.0.0.1:0"));
        let arguments = ["-euc".to_owned(), script];
        let host = Host::spawn(Path::new("/bin/sh"), &arguments, announced_address).await.unwrap();
        let is_running = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("event-printer", "it to run", is_running).await.unwrap();
        host
    }
}

/// The commands of README's section on running plugins, each on one line and without its comment.
fn commands() -> Vec<String> {
    let readme = text("README.md");
    let (_, section) = readme.split_once("\n## Run it\n").expect("the section");
    let (section, _) = section.split_once("\n### ").expect("its end");
    let plain = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    let lines = |block: String| block.replace("\\\n", " ").lines().map(plain).collect::<Vec<_>>();
    let all = blocks(section, "sh").into_iter().flat_map(lines);
    all.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// What a command of curl asks this host for is answered.
async fn check_answered(host: &Host, command: &str) {
    let (_, path) = command.split_once("http://127.0.0.1:8888").expect("README's address");
    let path = path.trim_end_matches('\'');
    let answered = async || (host.get(path).ok()?.status == 200).then_some(());
    poll::until(command, LINES_DEADLINE, answered).await.unwrap();
}

#[test]
fn readme_commands_run_as_they_stand() {
    host_fact(async |bench| {
        let place = Place::new(&bench);
        let mut running = None;
        let commands = commands();
        for command in &commands {
            match command.split_whitespace().take(2).collect::<Vec<_>>()[..] {
                // What it builds is there.
                ["make", _] => {}
                ["informant", "run"] => running = Some(place.start(command).await),
                ["informant", "dev"] => {
                    let mut dev = place.start(command).await;
                    let status = dev.terminate(Duration::from_secs(60)).unwrap();
                    assert!(status.success(), "{command}: {}", dev.tail());
                }
                ["curl", _] => check_answered(running.as_ref().expect("a host"), command).await,
                _ => {
                    let socket = running.as_ref().map(Host::admin_socket).unwrap_or_default();
                    place.run(command, &socket);
                }
            }
        }
        assert!(running.is_some() && commands.len() > 12, "{commands:#?}");
    });
}
