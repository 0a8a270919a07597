//! The cluster of a command: kubectl's current cluster, else the pod's own.

use crate::bounded_answers::with_bounded_answers;
use crate::cli::ConnectionArgs;
use anyhow::{Result, anyhow, bail};
use informant_cache::client_for_config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Every pod has this variable. client-go's `rest.InClusterConfig` also looks for it.
const POD_VARIABLE: &str = "KUBERNETES_SERVICE_HOST";

/// A connection to a cluster, with names for messages.
pub(crate) struct Cluster {
    /// The client for single answers, whose bytes are bounded.
    pub(crate) client: kube::Client,
    /// The client for lists, watches and writes, which bound what they read by themselves.
    pub(crate) unbounded: kube::Client,
    /// The address of the API server.
    pub(crate) api_server: http::Uri,
    /// The configuration from which the client was created.
    pub(crate) config: kube::Config,
    /// The API server's address, and the context if there is one.
    pub(crate) name: String,
    pub(crate) user: String,
}

/// Finds the cluster. Sends no request.
///
/// # Errors
/// There is none, or it cannot be used. The reason names the command for these plugin directories without a cluster.
pub(crate) async fn connect(args: &ConnectionArgs, plugins: &[PathBuf]) -> Result<Cluster> {
    match kubeconfig(args)? {
        Some(kubeconfig) => from_kubeconfig(kubeconfig, args.context.as_deref()).await,
        None => in_cluster(args, plugins),
    }
}

/// The named kubeconfig, or else kubectl's own, if there is one.
fn kubeconfig(args: &ConnectionArgs) -> Result<Option<Kubeconfig>> {
    if let Some(path) = &args.kubeconfig {
        return read(path).map(Some);
    }
    let from_environment = Kubeconfig::from_env().map_err(|error| match error {
        KubeconfigError::ReadConfig(error, path) => unusable(&path, &error.to_string()),
        error => {
            anyhow!(
                "the kubeconfig of KUBECONFIG cannot be used: {}; name another with --kubeconfig",
                without_content(&error)
            )
        }
    })?;
    if from_environment.is_some() {
        return Ok(from_environment);
    }
    let is_pod = std::env::var_os(POD_VARIABLE).is_some();
    std::env::home_dir().map_or(Ok(None), |home| of_home(&home, is_pod))
}

/// The kubeconfig in a home directory, if there is one. In a Pod, which often may not look into its home, the service
/// account counts then.
fn of_home(home: &Path, is_pod: bool) -> Result<Option<Kubeconfig>> {
    let path = home.join(".kube/config");
    match path.try_exists() {
        Ok(true) => read(&path).map(Some),
        Ok(false) => Ok(None),
        Err(error) if is_pod || error.kind() == ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(unusable(&path, &error.to_string())),
    }
}

fn read(path: &Path) -> Result<Kubeconfig> {
    Kubeconfig::read_from(path).map_err(|error| {
        let text = match error {
            KubeconfigError::ReadConfig(error, _) => error.to_string(),
            error => without_content(&error),
        };
        unusable(path, &text)
    })
}

fn unusable(path: &Path, why: &str) -> anyhow::Error {
    let path = path.display();
    anyhow!("the kubeconfig {path} cannot be used: {why}; name another with --kubeconfig")
}

/// The error. Of the file it has the line alone, in which a token may stand.
fn without_content(error: &KubeconfigError) -> String {
    let KubeconfigError::Parse(error) = error else { return error.to_string() };
    match error.location() {
        Some(location) => format!(
            "line {} is not valid in a kubeconfig, and is not shown because it may have a secret",
            location.line()
        ),
        None => "it is no kubeconfig".to_owned(),
    }
}

async fn from_kubeconfig(kubeconfig: Kubeconfig, context: Option<&str>) -> Result<Cluster> {
    let context = context.map(str::to_owned).or_else(|| kubeconfig.current_context.clone());
    let named = |name: &String| kubeconfig.contexts.iter().find(|context| context.name == *name);
    if let Some(context) = &context
        && named(context).is_none()
    {
        let known: Vec<&str> = kubeconfig.contexts.iter().map(|c| c.name.as_str()).collect();
        bail!("the kubeconfig has no context {context:?}; it has: {}", known.join(", "));
    }
    let used = context.as_ref().and_then(named).and_then(|context| context.context.as_ref());
    let user = used.and_then(|context| context.user.clone()).unwrap_or_else(|| "anonymous".into());
    let authorities = used.and_then(|context| authorities_file(&kubeconfig, &context.cluster));
    let options = KubeConfigOptions { context: context.clone(), cluster: None, user: None };
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| anyhow!("the kubeconfig cannot be used: {}", without_content(&error)))?;
    config.root_cert_file = authorities;
    let name = match context {
        Some(context) => format!("{} (context {context})", config.cluster_url),
        None => config.cluster_url.to_string(),
    };
    cluster(config, name, user)
}

/// The file that a kubeconfig's cluster names. kube reads it once and forgets its path.
fn authorities_file(kubeconfig: &Kubeconfig, cluster: &str) -> Option<PathBuf> {
    let named = kubeconfig.clusters.iter().find(|named| named.name == cluster)?;
    let cluster = named.cluster.as_ref()?;
    let file = cluster.certificate_authority.as_ref();
    file.filter(|_| cluster.certificate_authority_data.is_none()).map(PathBuf::from)
}

fn in_cluster(args: &ConnectionArgs, plugins: &[PathBuf]) -> Result<Cluster> {
    if let Some(context) = &args.context {
        bail!("there is no kubeconfig in which to find the context {context:?}");
    }
    let config = kube::Config::incluster().map_err(|error| match std::env::var_os(POD_VARIABLE) {
        Some(_) => anyhow!(
            "this pod's service account cannot be used: {error}; mount its token \
             (automountServiceAccountToken) or name a kubeconfig with --kubeconfig"
        ),
        None => anyhow!(
            "no cluster to watch: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) and \
             this is not a pod; try `informant dev{}`, which brings a cluster of its own",
            plugins.iter().map(|path| format!(" {}", path.display())).collect::<String>()
        ),
    })?;
    let name = format!("{} (this pod's)", config.cluster_url);
    cluster(config, name, "this pod's service account".to_owned())
}

fn cluster(config: kube::Config, name: String, user: String) -> Result<Cluster> {
    let unbounded = client_for_config(config.clone())
        .map_err(|error| anyhow!("the cluster's credentials cannot be used: {error}"))?;
    let client = with_bounded_answers(&unbounded);
    let api_server = config.cluster_url.clone();
    Ok(Cluster { client, unbounded, api_server, config, name, user })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kubeconfig: &str, expect: &str) {
        let error = Kubeconfig::from_yaml(kubeconfig).expect_err("it is none");
        assert_eq!(without_content(&error), expect);
    }

    #[test]
    fn a_kubeconfig_that_cannot_be_reached_is_an_error_outside_of_a_pod() {
        let home = tempfile::tempdir().expect("a directory");
        assert!(of_home(home.path(), false).expect("there is none").is_none());
        // The kernel follows no link to itself, and opens no directory without the right to it.
        std::os::unix::fs::symlink(".kube", home.path().join(".kube")).expect("a link");
        assert!(of_home(home.path(), true).expect("a service account counts").is_none());
        let error = of_home(home.path(), false).expect_err("it cannot be reached").to_string();
        let path = home.path().join(".kube/config").display().to_string();
        assert!(error.contains(&path) && error.contains("--kubeconfig"), "{error}");
    }

    #[test]
    fn an_error_of_a_kubeconfig_has_nothing_of_its_content() {
        let expect =
            "line 3 is not valid in a kubeconfig, and is not shown because it may have a secret";
        check("users:\n- name: a\n  user: [token: SECRET", expect);
        check("users:\n- name: a\n  user: SECRET", expect);
    }
}
