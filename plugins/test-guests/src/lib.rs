//! Plugins that misbehave on purpose, each in one way: `examples/<sin>.rs` for those that need compiled
//! code, `wat/<sin>.wat` for those that are wrong in form. Each file says what the host must do about it.
//!
//! They listen to pods and log one line, `<change> <namespace>/<name>`, for every event that they behave
//! well on. The sin is chosen by the pod's name, which begins with the guest's own name (`trap`,
//! `trap-7`), so one test can send good events before and after the bad one.

use informant_plugin::prelude::*;

/// A descriptor that asks for all pods.
#[must_use]
pub fn pods() -> Descriptor {
    Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(Subscription::to("v1/pods"))
}

/// Logs the line of an event without sin.
pub fn behave(event: &Event) {
    info!("{} {}", event.change(), event.key());
}

/// Whether this event's object asks for the sin: by its name, and only while it lives, so that a test can
/// clean up after itself.
#[must_use]
pub fn is_asked_for(sin: &str, event: &Event) -> bool {
    event.change() != Change::Deleted && event.key().name.starts_with(sin)
}

/// Makes a plugin of a sin: `sin!(Trap, "trap", |event| panic!("…"))`. The last argument is what it does,
/// as a function of the event that returns what `handle` returns.
#[macro_export]
macro_rules! sin {
    ($plugin:ident, $name:literal, $sin:expr) => {
        /// The plugin.
        pub struct $plugin;

        impl ::informant_plugin::Plugin for $plugin {
            fn describe(
                _: &::informant_plugin::Config,
            ) -> ::informant_plugin::Result<::informant_plugin::Descriptor> {
                ::core::result::Result::Ok($crate::pods())
            }

            fn start(_: &::informant_plugin::Config) -> ::informant_plugin::Result<Self> {
                ::core::result::Result::Ok(Self)
            }

            fn handle(&mut self, event: ::informant_plugin::Event) -> ::informant_plugin::Result {
                if $crate::is_asked_for($name, &event) {
                    let sin: fn(::informant_plugin::Event) -> ::informant_plugin::Result = $sin;
                    return sin(event);
                }
                $crate::behave(&event);
                ::core::result::Result::Ok(())
            }
        }

        ::informant_plugin::export_plugin!($plugin);
    };
}
