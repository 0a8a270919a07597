//! What is shown of informers and their caches, and of this host among others.

use super::{Informer, Labels, Snapshot, counters, gauges};
use informant_cache::RelistCause;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

impl Snapshot {
    fn informer_gauge(
        &self,
        value: fn(&Informer) -> f64,
    ) -> impl Iterator<Item = (Labels<'_>, f64)> {
        let one = move |informer| (vec![("resource", text(informer))], value(informer));
        self.informers.iter().map(one)
    }

    pub(super) fn encode_leads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let leads = self.candidate.as_ref().map(|candidate| {
            let leads = candidate.leadership.is_leader();
            (vec![("name", &*candidate.lease)], f64::from(u8::from(leads)))
        });
        gauges(
            encoder,
            "leader_election_master_status",
            "Whether this host leads, where one is elected",
            leads.into_iter(),
        )
    }

    pub(super) fn encode_informers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        gauges(
            encoder,
            "informant_informer_synced",
            "Whether the first list is complete",
            self.informer_gauge(|informer| f64::from(u8::from(informer.synced))),
        )?;
        gauges(
            encoder,
            "informant_informer_state",
            "1 for the state that the informer is in; of several namespaces it is that of the one that is worst off",
            self.informers.iter().map(|informer| {
                (vec![("resource", text(informer)), ("state", informer.state)], 1.0)
            }),
        )?;
        let ages = self.informers.iter().filter_map(|informer| {
            let age = informer.stats.last_event_age?;
            Some((vec![("resource", text(informer))], age.as_secs_f64()))
        });
        gauges(
            encoder,
            "informant_informer_last_event_age_seconds",
            "Time since the last event or bookmark",
            ages,
        )?;
        counters(
            encoder,
            "informant_informer_events",
            "Watch events received, by type",
            self.informers.iter().flat_map(|informer| {
                let stats = &informer.stats;
                let types = [
                    ("added", stats.added),
                    ("modified", stats.modified),
                    ("deleted", stats.deleted),
                    ("bookmark", stats.bookmarks),
                ];
                types.map(|(kind, n)| (vec![("resource", text(informer)), ("type", kind)], n))
            }),
        )?;
        self.encode_failures(encoder)
    }

    fn encode_failures(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(
            encoder,
            "informant_informer_failures",
            "What went wrong, by kind: lists and watches, objects and events that could not be read, transforms, panics of handlers",
            self.informers.iter().flat_map(|informer| {
                let stats = &informer.stats;
                let kinds = [
                    ("list-or-watch", stats.errors),
                    ("unreadable", stats.malformed),
                    ("transform", stats.transform_failures),
                    ("handler-panic", stats.handler_panics),
                ];
                kinds.map(|(kind, n)| (vec![("resource", text(informer)), ("kind", kind)], n))
            }),
        )?;
        counters(
            encoder,
            "informant_informer_relists",
            "Lists by cause, the first one included",
            self.informers.iter().flat_map(|informer| {
                let causes = informer.stats.relists.iter();
                let labels = |cause: &RelistCause| {
                    vec![("resource", text(informer)), ("cause", cause.as_str())]
                };
                causes.map(move |(cause, n)| (labels(cause), *n))
            }),
        )
    }

    pub(super) fn encode_caches(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        gauges(
            encoder,
            "informant_cache_objects",
            "Objects in the cache",
            self.informer_gauge(|informer| informer.stats.objects as f64),
        )?;
        gauges(
            encoder,
            "informant_cache_bytes",
            "Bytes of the objects in the cache",
            self.informer_gauge(|informer| informer.stats.bytes as f64),
        )?;
        counters(
            encoder,
            "informant_index_values_cut",
            "Versions of objects that had more values in an index of plugins than they are filed under",
            self.index_values_cut.iter().map(|((resource, pointer), n)| {
                (vec![("resource", resource.as_str()), ("pointer", pointer.as_str())], *n)
            }),
        )
    }
}

fn text(informer: &Informer) -> &str {
    &informer.resource
}
