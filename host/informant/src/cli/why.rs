//! The arguments of `informant why`.

use super::AskArgs;

#[derive(clap::Args, Debug)]
pub(crate) struct WhyArgs {
    /// The object's kind, as for kubectl: pod, pods, po, deployments.apps, or apps/v1/deployments. With the object's name: pod/web.
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,
    /// The object's name, perhaps with its namespace, if no name is behind the kind. A name without a namespace is for objects that
    /// have none, and for those in `default`.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    pub(crate) object: Option<String>,
    /// Namespace of the object, if no namespace is before the name.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// One plugin, with every question that was answered with no.
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) plugin: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
