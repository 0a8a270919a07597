//! The arguments of `informant why`.

use super::AskArgs;

#[derive(clap::Args, Debug)]
pub(crate) struct WhyArgs {
    /// The object's kind, as for kubectl: pod, pods, po, deployments.apps, or apps/v1/deployments.
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,
    /// The object's namespace and name. A name alone is for objects without a namespace, and for those in `default`.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    pub(crate) object: String,
    /// One plugin, with every question that was answered with no.
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) plugin: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
