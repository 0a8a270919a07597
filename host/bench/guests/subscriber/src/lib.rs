//! Subscribes to pods as its configuration says, and does nothing with them. With `marks` it logs its mark for each event: the
//! benchmark writes another one into the file, which is another version then.

use std::hint::black_box;

use informant_plugin::Delivery;
use informant_plugin::log::{Level, log};
use informant_plugin::prelude::*;
use serde::Deserialize;

/// The benchmark replaces the digits in the file; the compiler must not know them.
static MARK: [u8; 15] = *b"bench-mark-0000";

/// The configuration: each key is one of the subscription.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Options {
    namespace: String,
    labels: String,
    filter: String,
    only_if_changed: String,
    delivery: Delivered,
    only_updates: bool,
    marks: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Delivered {
    #[default]
    Full,
    Metadata,
    Lazy,
}

/// The plugin.
pub struct Subscriber {
    marks: bool,
}

impl Plugin for Subscriber {
    fn describe(config: &Config) -> Result<Descriptor> {
        let options: Options = config.parse()?;
        let mut pods = Subscription::to("v1/pods").with_old().delivery(match options.delivery {
            Delivered::Full => Delivery::Full,
            Delivered::Metadata => Delivery::Metadata,
            Delivered::Lazy => Delivery::Lazy,
        });
        if !options.namespace.is_empty() {
            pods = pods.in_namespace(options.namespace);
        }
        if !options.labels.is_empty() {
            pods = pods.labels(options.labels);
        }
        if !options.filter.is_empty() {
            pods = pods.filter(options.filter);
        }
        if !options.only_if_changed.is_empty() {
            pods = pods.only_if_changed(options.only_if_changed);
        }
        if options.only_updates {
            pods = pods.only([Change::Updated]);
        }
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(config: &Config) -> Result<Self> {
        Ok(Self { marks: config.parse::<Options>()?.marks })
    }

    fn handle(&mut self, _: Event) -> Result {
        if self.marks {
            log(Level::Info, String::from_utf8_lossy(black_box(&MARK)), &[]);
        }
        Ok(())
    }
}

export_plugin!(Subscriber);
