//! Many plugins in one host: how many of them, what each subscribes to, and of which events each is told. Every copy has the same
//! file; the configuration beside it is what differs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::load_server::{CHOSEN_LABEL, Layout, namespace};
use crate::subject::Subject;

/// So many handlers, pods and updates a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowd {
    /// Handlers, each of them a plugin where the host is measured.
    pub handlers: u32,
    /// Pods.
    pub pods: u32,
    /// Updates a second; 0 where only memory is measured.
    pub rate: u32,
}

/// The sizes of everything that is measured of many plugins.
pub struct Crowds {
    /// Handlers that are told of everything.
    pub everything: Vec<Crowd>,
    /// Handlers of a namespace each.
    pub namespaces: Vec<Crowd>,
    /// Plugins that refuse all updates, beside one that does not.
    pub refused: Crowd,
    /// Plugins with another delivery than the full one.
    pub deliveries: Crowd,
    /// Plugins that are started at once.
    pub started: Crowd,
    /// Plugins of which one is replaced.
    pub replaced: Crowd,
    /// Two numbers of pods that all plugins want as metadata alone.
    pub metadata_alone: [Crowd; 2],
    /// Plugins that select the same few pods.
    pub chosen: Crowd,
}

/// Handlers above which client-go over JSON is left out.
pub(crate) const JSON_HANDLERS_MAX: u32 = 100;
/// Pods of one workload in so many are chosen.
pub(crate) const CHOSEN: u32 = 20;

impl Crowds {
    const fn of(handlers: u32, pods: u32, rate: u32) -> Crowd {
        Crowd { handlers, pods, rate }
    }

    /// What is measured.
    pub fn full() -> Self {
        let of = Self::of;
        Self {
            everything: vec![
                of(1, 2_000, 1_000),
                of(10, 2_000, 1_000),
                of(100, 2_000, 1_000),
                of(300, 2_000, 200),
                of(1_000, 500, 50),
            ],
            namespaces: vec![of(1, 2_000, 1_000), of(100, 2_000, 1_000), of(1_000, 2_000, 1_000)],
            refused: of(301, 2_000, 2_000),
            deliveries: of(100, 2_000, 1_000),
            started: of(1_000, 100, 0),
            replaced: of(1_000, 2_000, 1_000),
            metadata_alone: [of(2, 2_000, 0), of(2, 100_000, 0)],
            chosen: of(10, 20_000, 0),
        }
    }

    /// Tiny: shows that everything works.
    pub fn quick() -> Self {
        let of = Self::of;
        Self {
            everything: vec![of(1, 150, 1_000), of(2, 150, 1_000), of(3, 100, 200)],
            namespaces: vec![of(1, 150, 500), of(3, 150, 500)],
            refused: of(3, 150, 500),
            deliveries: of(2, 150, 500),
            started: of(3, 100, 0),
            replaced: of(3, 150, 500),
            metadata_alone: [of(2, 100, 0), of(2, 300, 0)],
            chosen: of(2, 200, 0),
        }
    }

    /// The lowest rate at which processor time is measured.
    pub fn lowest_rate(&self) -> u32 {
        let all = Subject::OF_CROWDS.iter().flat_map(|subject| self.of_subject(*subject));
        all.map(|crowd| crowd.rate).filter(|rate| *rate > 0).min().unwrap_or(1)
    }

    /// The sizes of a subject of many plugins; none of another one.
    pub fn of_subject(&self, subject: Subject) -> Vec<Crowd> {
        match subject {
            Subject::Everything => self.everything.clone(),
            Subject::OwnNamespaces => self.namespaces.clone(),
            Subject::RefusedByNone => vec![Crowd { handlers: 1, ..self.refused }],
            Subject::RefusedByFilter | Subject::RefusedByLabels | Subject::RefusedByPointer => {
                vec![self.refused]
            }
            Subject::Lazy | Subject::Metadata => vec![self.deliveries],
            Subject::Started => vec![self.started],
            Subject::Replaced => vec![self.replaced],
            Subject::MetadataAlone => self.metadata_alone.to_vec(),
            Subject::Chosen => vec![self.chosen],
            Subject::Pods
            | Subject::Reload
            | Subject::IdleRust
            | Subject::IdleText
            | Subject::IdleC
            | Subject::Resources => Vec::new(),
        }
    }
}

impl Subject {
    /// Those of many plugins, in the order in which they are measured.
    pub const OF_CROWDS: [Self; 12] = [
        Self::Everything,
        Self::OwnNamespaces,
        Self::RefusedByNone,
        Self::RefusedByFilter,
        Self::RefusedByLabels,
        Self::RefusedByPointer,
        Self::Lazy,
        Self::Metadata,
        Self::Started,
        Self::Replaced,
        Self::MetadataAlone,
        Self::Chosen,
    ];

    /// Whether other contenders have such handlers, too.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(self, Self::Everything | Self::OwnNamespaces)
    }

    /// The configuration of the plugin of this number.
    pub(crate) fn configuration(self, number: usize) -> Value {
        let refused = |key: &str, value: String| match number {
            0 => json!({}),
            _ => json!({"onlyUpdates": true, key: value}),
        };
        match self {
            Self::OwnNamespaces => json!({"namespace": namespace(number)}),
            Self::RefusedByFilter => {
                refused("filter", format!("object.status.phase == 'Failed-{number}'"))
            }
            Self::RefusedByLabels => {
                refused("labels", format!("bench.informant.dev/plugin=p-{number}"))
            }
            Self::RefusedByPointer => refused("onlyIfChanged", "/spec/nodeName".to_owned()),
            Self::Lazy => json!({"delivery": "lazy"}),
            Self::Metadata | Self::MetadataAlone => json!({"delivery": "metadata"}),
            Self::Chosen => json!({"labels": format!("{CHOSEN_LABEL}=yes")}),
            Self::Replaced => match number.checked_sub(1) {
                None => json!({"marks": true, "onlyUpdates": true}),
                Some(other) => json!({"namespace": namespace(other)}),
            },
            _ => json!({}),
        }
    }

    /// How many of these handlers are told of each update.
    pub(crate) fn told(self, handlers: u64) -> u64 {
        match self {
            Self::OwnNamespaces
            | Self::RefusedByNone
            | Self::RefusedByFilter
            | Self::RefusedByLabels
            | Self::RefusedByPointer => 1,
            Self::Replaced => 2,
            _ => handlers,
        }
    }

    /// How many events all handlers together have of the first list.
    pub(crate) fn listed(self, handlers: u64, pods: u64) -> u64 {
        match self {
            Self::Chosen => handlers * pods / u64::from(CHOSEN),
            // The one that is replaced has none.
            Self::Replaced => pods,
            _ => self.told(handlers) * pods,
        }
    }

    /// What the load server has beside what all benchmarks share: then it is one of its own.
    pub(crate) fn layout(self, handlers: usize) -> Option<Layout> {
        match self {
            Self::OwnNamespaces => Some(Layout { namespaces: handlers, chosen: 0 }),
            Self::Replaced => Some(Layout { namespaces: handlers - 1, chosen: 0 }),
            Self::Chosen => Some(Layout { namespaces: 0, chosen: CHOSEN as usize }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn subjects_of_many_plugins_are_those_that_have_sizes() {
        for sizes in [Crowds::full(), Crowds::quick()] {
            for subject in Subject::value_variants() {
                let has_sizes = !sizes.of_subject(*subject).is_empty();
                assert_eq!(has_sizes, Subject::OF_CROWDS.contains(subject), "{subject:?}");
            }
        }
    }

    #[test]
    fn each_update_has_as_many_events_as_plugins_want_it() {
        let check = |subject: Subject, told: u64, listed: u64| {
            assert_eq!((subject.told(5), subject.listed(5, 200)), (told, listed), "{subject:?}");
        };
        check(Subject::Everything, 5, 1_000);
        check(Subject::OwnNamespaces, 1, 200);
        check(Subject::RefusedByLabels, 1, 200);
        check(Subject::Chosen, 5, 50);
        check(Subject::Replaced, 2, 200);
    }

    #[test]
    fn all_but_one_plugin_refuse_and_all_but_the_replaced_one_have_a_namespace() {
        let own = |subject: Subject| [0, 2].map(|number| subject.configuration(number).to_string());
        assert_eq!(
            own(Subject::OwnNamespaces),
            [r#"{"namespace":"ns-0"}"#, r#"{"namespace":"ns-2"}"#]
        );
        let marks = r#"{"marks":true,"onlyUpdates":true}"#;
        assert_eq!(own(Subject::Replaced), [marks, r#"{"namespace":"ns-1"}"#]);
        let refuses = r#"{"onlyUpdates":true,"onlyIfChanged":"/spec/nodeName"}"#;
        assert_eq!(own(Subject::RefusedByPointer), ["{}", refuses]);
    }
}
