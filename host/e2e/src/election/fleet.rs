//! The hosts of an election: two places, each with a way of its own to the cluster and one host after the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::election::failure::Failure;
use crate::election::{DEADLINE, ElectionOptions, NAMESPACE, PLUGIN};
use crate::host::Host;
use crate::poll;
use crate::proxy::Proxy;

/// How long a host may take to end when it is told to.
const END_MAX: Duration = Duration::from_secs(60);

/// How often hosts are asked what they do.
const LOOK: Duration = Duration::from_millis(50);

/// What a host says that lost the lead.
const LOST: &str = "this host leads no more";

/// What a plugin is answered whose host leads no more.
const REFUSED: &str = "another replica of the host writes";

/// Where one host is at a time.
struct Place {
    proxy: Proxy,
    kubeconfig: PathBuf,
    /// None while it is away.
    host: Option<Host>,
}

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Leads,
    StandsBy,
    /// On its way to one or the other, or to its end.
    Unclear,
}

/// Both.
pub struct Fleet {
    program: PathBuf,
    election: Vec<String>,
    directory: tempfile::TempDir,
    places: [Place; 2],
    /// Hosts so far: each has a name that no other had.
    born: u32,
    complaints: Vec<String>,
    /// How often each kind of failure was met.
    pub failures: BTreeMap<&'static str, u32>,
    /// Lines that say that a write was refused because the host led no more.
    pub refused: usize,
}

impl Fleet {
    /// Two places and no host yet.
    pub async fn start(options: &ElectionOptions, kubeconfig: &Path) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let plugins = directory.path().join("plugins");
        std::fs::create_dir(&plugins).context("make the plugin directory")?;
        std::fs::copy(&options.guest, plugins.join(format!("{PLUGIN}.wasm")))
            .with_context(|| format!("copy {}", options.guest.display()))?;
        let place = async || {
            let proxy = Proxy::start(kubeconfig).await?;
            let kubeconfig = proxy.kubeconfig(kubeconfig)?;
            anyhow::Ok(Place { proxy, kubeconfig, host: None })
        };
        Ok(Self {
            program: options.program.clone(),
            election: election_arguments(options),
            directory,
            places: [place().await?, place().await?],
            born: 0,
            complaints: Vec::new(),
            failures: BTreeMap::new(),
            refused: 0,
        })
    }

    /// Starts what is away, and waits until one leads and the other stands by. Answers where the leader is.
    pub async fn heal(&mut self) -> anyhow::Result<usize> {
        let what = "one host to lead and the other to stand by";
        let healed = poll::until(what, DEADLINE, async || match self.look().await {
            Ok(None) => {
                poll::pause(LOOK).await;
                None
            }
            Ok(Some(leader)) => Some(Ok(leader)),
            Err(error) => Some(Err(error)),
        });
        let healed = healed.await;
        healed.with_context(|| self.tails())?
    }

    /// Lets it happen to the host in this place.
    pub async fn fail(&mut self, place: usize, failure: Failure) -> anyhow::Result<()> {
        let Place { proxy, host, .. } = &mut self.places[place];
        let Some(running) = host else { return Ok(()) };
        // On a machine that is busy it may have lost the lead by itself.
        if running.ended()?.is_some() {
            return Ok(());
        }
        *self.failures.entry(failure.name()).or_default() += 1;
        match failure {
            Failure::Stopped(time) => {
                running.signal("STOP")?;
                poll::pause(time).await;
                running.signal("CONT")?;
            }
            Failure::Killed => self.forget(place),
            Failure::CutOff(time) => {
                proxy.close();
                poll::pause(time).await;
                proxy.open();
            }
            Failure::Silenced(time) => {
                proxy.silence();
                poll::pause(time).await;
                proxy.open();
            }
            Failure::Ended => running.ask_to_stop()?,
        }
        Ok(())
    }

    /// Ends all, and says what was not as it must be.
    pub fn end(&mut self) -> anyhow::Result<Vec<String>> {
        for place in 0..self.places.len() {
            if let Some(host) = &mut self.places[place].host {
                host.terminate(END_MAX)?;
            }
            self.forget(place);
        }
        Ok(std::mem::take(&mut self.complaints))
    }

    /// Where the leader is, if the other one stands by.
    async fn look(&mut self) -> anyhow::Result<Option<usize>> {
        let mut roles = [Role::Unclear; 2];
        for (place, role) in roles.iter_mut().enumerate() {
            self.bury(place)?;
            if self.places[place].host.is_none() {
                self.bear(place).await?;
            }
            *role = self.places[place].host.as_ref().map_or(Role::Unclear, Role::of);
        }
        Ok(match roles {
            [Role::Leads, Role::StandsBy] => Some(0),
            [Role::StandsBy, Role::Leads] => Some(1),
            _ => None,
        })
    }

    /// Takes a host away that has ended, as one that lost the lead does, or one that was told to.
    fn bury(&mut self, place: usize) -> anyhow::Result<()> {
        let Some(host) = &mut self.places[place].host else { return Ok(()) };
        let Some(status) = host.ended()? else { return Ok(()) };
        let tail = host.tail();
        if !(status.success() || status.code() == Some(1) && tail.contains(LOST)) {
            self.complaints.push(format!("a host ended with {status}:\n{tail}"));
        }
        self.forget(place);
        Ok(())
    }

    /// Dropping it kills it if it runs.
    fn forget(&mut self, place: usize) {
        if let Some(host) = self.places[place].host.take() {
            let lines = host.lines();
            self.refused += lines.iter().filter(|line| line.text.contains(REFUSED)).count();
            let panics = lines.iter().filter(|line| line.text.contains("panicked at"));
            self.complaints.extend(panics.map(|line| line.text.clone()));
        }
    }

    async fn bear(&mut self, place: usize) -> anyhow::Result<()> {
        self.born += 1;
        let name = format!("host-{}", self.born);
        let file = self.directory.path().join(format!("{name}.yaml"));
        let rule =
            format!("{{resources: [v1/configmaps], verbs: [patch], namespaces: [{NAMESPACE}]}}");
        let settings = format!("{PLUGIN}: {{config: {{host: {name}}}, writes: [{rule}]}}");
        let head = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration\n";
        std::fs::write(&file, format!("{head}plugins: {{{settings}}}\n"))
            .context("write a host's configuration")?;
        let file = file.display().to_string();
        let mut more = vec!["--config", &file];
        more.extend(self.election.iter().map(String::as_str));
        let plugins = self.directory.path().join("plugins");
        let Place { kubeconfig, host, .. } = &mut self.places[place];
        // With the machine's name its name in a Lease begins.
        let name = [("HOSTNAME", name.as_str())];
        *host = Some(Host::start_in(&self.program, kubeconfig, &plugins, &more, &name).await?);
        Ok(())
    }

    fn tails(&self) -> String {
        let tail = |place: &Place| place.host.as_ref().map(Host::tail).unwrap_or_default();
        self.places.each_ref().map(tail).join("\n---\n")
    }
}

impl Role {
    /// By what it says of itself. One that does not answer is on its way.
    fn of(host: &Host) -> Self {
        let Ok(plugin) = host.plugin(PLUGIN) else { return Self::Unclear };
        let text = |key: &str| plugin.get(key).and_then(Value::as_str).unwrap_or_default();
        let leads = "leader_election_master_status{name=\"informant\"} 1.0";
        match text("state") {
            "waiting" if text("reason").contains(" is ready and on standby: ") => Self::StandsBy,
            "running" if host.get("/metrics").is_ok_and(|answer| answer.body.contains(leads)) => {
                Self::Leads
            }
            _ => Self::Unclear,
        }
    }
}

fn election_arguments(options: &ElectionOptions) -> Vec<String> {
    let seconds = [
        ("--leader-elect-lease-duration", options.lease.lease_duration),
        ("--leader-elect-renew-deadline", options.lease.renew_deadline),
        ("--leader-elect-retry-period", options.lease.retry_period),
    ];
    let place = ["--leader-elect", "--leader-elect-resource-namespace", NAMESPACE];
    let times = seconds.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value.to_string()]);
    place.into_iter().map(str::to_owned).chain(times).collect()
}
