//! Plugins that misbehave on purpose, each in one way: `examples/<sin>.rs` for those that need compiled
//! code, `wat/<sin>.wat` for those that are wrong in form. Each file says what the host must do about it.
//!
//! They listen to pods and log one line, `<change> <namespace>/<name>`, for every event that they behave
//! well on. The sin is chosen by the pod's name, which begins with the guest's own name (`trap`,
//! `trap-7`), so one test can send good events before and after the bad one.

pub mod storm;
#[rustfmt::skip]
#[allow(unsafe_code, missing_docs, clippy::all, reason = "generated from system.wit")]
pub mod system;

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

/// Whether this event's object asks for the sin: by its name, which begins with the sin's or with `sin`, and only while it lives, so that
/// a test can clean up after itself.
#[must_use]
pub fn is_asked_for(sin: &str, event: &Event) -> bool {
    let name = &event.key().name;
    event.change() != Change::Deleted && (name.starts_with(sin) || name.starts_with("sin-"))
}

/// Whether this instance is to sin in this export: in `handle`, or as its plugin's name says, `trap-in-stop`.
#[must_use]
pub fn is_named_for(export: &str) -> bool {
    let name = informant_plugin::host_info::plugin_name();
    name.split_once("-in-").map_or("handle", |(_, named)| named) == export
}

/// Makes a plugin of a sin that can happen in every export: `sin_in_any_export!(Trap, "trap", |what| …)`. The last argument
/// is what it does, told on whose account, and never returns.
#[macro_export]
macro_rules! sin_in_any_export {
    ($plugin:ident, $name:literal, $sin:expr) => {
        /// The plugin.
        pub struct $plugin;

        impl $plugin {
            fn sin_in(export: &str) {
                if $crate::is_named_for(export) {
                    Self::sin(export.to_owned());
                }
            }

            fn sin(what: ::std::string::String) -> ! {
                let sin: fn(::std::string::String) -> ! = $sin;
                sin(what)
            }
        }

        impl ::informant_plugin::Plugin for $plugin {
            fn describe(
                _: &::informant_plugin::Config,
            ) -> ::informant_plugin::Result<::informant_plugin::Descriptor> {
                Self::sin_in("describe");
                ::core::result::Result::Ok($crate::pods())
            }

            fn start(_: &::informant_plugin::Config) -> ::informant_plugin::Result<Self> {
                Self::sin_in("start");
                ::core::result::Result::Ok(Self)
            }

            fn handle(&mut self, event: ::informant_plugin::Event) -> ::informant_plugin::Result {
                if $crate::is_named_for("handle") && $crate::is_asked_for($name, &event) {
                    Self::sin(event.key().to_string());
                }
                $crate::behave(&event);
                ::core::result::Result::Ok(())
            }

            fn stop(&mut self) {
                Self::sin_in("stop");
            }
        }

        impl ::informant_plugin::Stateful for $plugin {
            fn snapshot(
                &mut self,
            ) -> ::informant_plugin::Result<::core::option::Option<::std::vec::Vec<u8>>> {
                Self::sin_in("snapshot");
                ::core::result::Result::Ok(::core::option::Option::Some(::std::vec::Vec::new()))
            }

            fn restore(&mut self, _: &str, _: ::std::vec::Vec<u8>) -> ::informant_plugin::Result {
                Self::sin_in("restore");
                ::core::result::Result::Ok(())
            }
        }

        ::informant_plugin::export_plugin!($plugin, stateful);
    };
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
