//! The arguments of `informant get`: those of `kubectl get`.

use super::{AdminArgs, ListOutput};

#[derive(clap::Args, Debug)]
pub(crate) struct GetArgs {
    /// The resource, as for kubectl: pods, pod, po, deployments.apps, apps/v1/deployments. With the object's name: pod/web.
    #[arg(value_name = "RESOURCE")]
    pub(crate) resource: String,
    /// The object's name, perhaps with its namespace. Without a name, all objects are shown.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    pub(crate) name: Option<String>,
    /// Namespace of the objects, if no namespace is before the name: `default` without both.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Objects of all namespaces. --namespace has no effect then.
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// Label selector, such as app=web,tier!=front.
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Field selector, such as spec.nodeName=node-1.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
    /// Format of the objects.
    #[arg(long, short, value_enum, default_value_t = ListOutput::Text)]
    pub(crate) output: ListOutput,
    /// Show the changes of the objects, after the objects, until you interrupt the command.
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}
