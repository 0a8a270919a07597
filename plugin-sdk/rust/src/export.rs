//! Connects the contract's exports to a [`Plugin`], for [`export_plugin!`](crate::export_plugin).

use crate::bindings::exports::informant::plugin::handler;
use crate::bindings::flat_handler::exports::informant::plugin::flat_handler::Deletion;
use crate::bindings::informant::plugin::types;
use crate::imports::milliseconds;
use crate::{
    Config, Event, Failure, Gone, ObjectKey, Plugin, Reconciler, Retry, Stateful, SyncAware, Timer,
    log,
};
use std::cell::RefCell;
use std::thread::LocalKey;

/// Makes the module a plugin: exports `lifecycle` and `handler` for a type that implements [`Plugin`](crate::Plugin).
/// Call it once, at the top level of a crate with `crate-type = ["cdylib"]`.
///
/// `export_plugin!(MyPlugin, stateful)` also exports `stateful`, for a type that implements
/// [`Stateful`](crate::Stateful). In the same way, `sync_aware` is for [`SyncAware`](crate::SyncAware), `reconciler`
/// for [`Reconciler`](crate::Reconciler), and `timer` for [`Timer`](crate::Timer). Separate several of them with
/// commas.
///
/// In a native build it only checks the type, so that the crate's own tests need no ABI.
#[macro_export]
macro_rules! export_plugin {
    (@check stateful $plugin:ty) => {
        const _: () = {
            const fn is_stateful<P: $crate::Stateful>() {}
            is_stateful::<$plugin>();
        };
    };
    (@check reconciler $plugin:ty) => {
        const _: () = {
            const fn is_reconciler<P: $crate::Reconciler>() {}
            is_reconciler::<$plugin>();
        };
    };
    (@check timer $plugin:ty) => {
        const _: () = {
            const fn is_timer<P: $crate::Timer>() {}
            is_timer::<$plugin>();
        };
    };
    (@check sync_aware $plugin:ty) => {
        const _: () = {
            const fn is_sync_aware<P: $crate::SyncAware>() {}
            is_sync_aware::<$plugin>();
        };
    };
    (@export stateful) => {
        use $crate::__export::bindings::stateful;

        impl stateful::exports::informant::plugin::stateful::Guest for Exported {
            fn snapshot() -> ::core::result::Result<::core::option::Option<Vec<u8>>, String> {
                $crate::__export::snapshot(&INSTANCE)
            }
            fn restore(
                from_version: String,
                data: Vec<u8>,
            ) -> ::core::result::Result<(), String> {
                $crate::__export::restore(&INSTANCE, &from_version, data)
            }
        }

        stateful::export!(Exported with_types_in $crate::__export::bindings::stateful);
    };
    (@export reconciler) => {
        use $crate::__export::bindings::reconciler;

        impl reconciler::exports::informant::plugin::reconciler::Guest for Exported {
            fn reconcile(
                key: String,
                attempt: u32,
            ) -> ::core::result::Result<
                ::core::option::Option<u64>,
                bindings::informant::plugin::types::Failure,
            > {
                $crate::__export::reconcile(&INSTANCE, &key, attempt)
            }
        }

        reconciler::export!(Exported with_types_in $crate::__export::bindings::reconciler);
    };
    (@export timer) => {
        use $crate::__export::bindings::timer;

        impl timer::exports::informant::plugin::timer::Guest for Exported {
            fn fire(
                schedule: String,
                unix_ms: u64,
            ) -> ::core::result::Result<(), bindings::informant::plugin::types::Failure> {
                $crate::__export::fire(&INSTANCE, &schedule, unix_ms)
            }
        }

        timer::export!(Exported with_types_in $crate::__export::bindings::timer);
    };
    (@export sync_aware) => {
        use $crate::__export::bindings::sync_aware;

        impl sync_aware::exports::informant::plugin::sync_aware::Guest for Exported {
            fn synced(
                subscription: u32,
            ) -> ::core::result::Result<(), bindings::informant::plugin::types::Failure> {
                $crate::__export::synced(&INSTANCE, subscription)
            }
        }

        sync_aware::export!(Exported with_types_in $crate::__export::bindings::sync_aware);
    };
    ($plugin:ty $(, $more:ident)* $(,)?) => {
        $crate::export_plugin!(@plugin $plugin, { $($crate::export_plugin!(@export $more);)* });
        $($crate::export_plugin!(@check $more $plugin);)*
    };
    (@plugin $plugin:ty, {$($more:tt)*}) => {
        const _: () = {
            const fn is_plugin<P: $crate::Plugin>() {}
            is_plugin::<$plugin>();
        };

        #[cfg(target_arch = "wasm32")]
        #[allow(
            unsafe_code,
            reason = "the canonical ABI is raw pointers; wit-bindgen writes this part"
        )]
        const _: () = {
            use $crate::__export::bindings;

            ::std::thread_local! {
                static INSTANCE: ::core::cell::RefCell<::core::option::Option<$plugin>> =
                    const { ::core::cell::RefCell::new(::core::option::Option::None) };
            }

            struct Exported;

            impl bindings::exports::informant::plugin::lifecycle::Guest for Exported {
                fn describe(config: Vec<u8>) -> ::core::result::Result<Vec<u8>, String> {
                    $crate::__export::describe::<$plugin>(config)
                }
                fn start(config: Vec<u8>) -> ::core::result::Result<(), String> {
                    $crate::__export::start(&INSTANCE, config)
                }
                fn stop() {
                    $crate::__export::stop(&INSTANCE);
                }
            }

            impl bindings::exports::informant::plugin::handler::Guest for Exported {
                fn handle(
                    event: bindings::exports::informant::plugin::handler::Event,
                ) -> ::core::result::Result<(), bindings::informant::plugin::types::Failure>
                {
                    $crate::__export::handle(&INSTANCE, event)
                }
            }

            use bindings::flat_handler;

            impl flat_handler::exports::informant::plugin::flat_handler::Guest for Exported {
                fn handle(
                    seq: u64,
                    subscription: u32,
                    change: bindings::informant::plugin::types::Change,
                    reason: bindings::informant::plugin::types::Reason,
                    deletion: flat_handler::exports::informant::plugin::flat_handler::Deletion,
                    names: String,
                    ends: u64,
                    coalesced: u32,
                    attempt: u32,
                    object: ::core::option::Option<Vec<u8>>,
                    old: ::core::option::Option<Vec<u8>>,
                ) -> bool {
                    let numbers = (seq, subscription, coalesced, attempt);
                    let kinds = (change, reason, deletion);
                    $crate::__export::handle_flat(
                        &INSTANCE,
                        numbers,
                        kinds,
                        (names, ends),
                        (object, old),
                    )
                }
                fn last_failure() -> bindings::informant::plugin::types::Failure {
                    $crate::__export::last_failure()
                }
            }

            flat_handler::export!(Exported with_types_in $crate::__export::bindings::flat_handler);

            $crate::__export::export!(Exported with_types_in $crate::__export::bindings);

            $($more)*
        };
    };
}

/// The instance, set by `start`. A module is single-threaded, and the host never calls it during its own call of the
/// host. So a borrow always succeeds.
type Instance<P> = LocalKey<RefCell<Option<P>>>;

/// `lifecycle.describe`.
pub fn describe<P: Plugin>(config: Vec<u8>) -> Result<Vec<u8>, String> {
    log::report_panics();
    let descriptor = P::describe(&Config::from_json(config)).map_err(|f| f.message().to_owned())?;
    descriptor.check()?;
    Ok(descriptor.to_json())
}

/// `lifecycle.start`.
pub fn start<P: Plugin>(instance: &'static Instance<P>, config: Vec<u8>) -> Result<(), String> {
    log::report_panics();
    let started = P::start(&Config::from_json(config)).map_err(|f| f.message().to_owned())?;
    instance.set(Some(started));
    Ok(())
}

/// `handler.handle`.
pub fn handle<P: Plugin>(
    instance: &'static Instance<P>,
    event: handler::Event,
) -> Result<(), types::Failure> {
    handle_event(instance, Event::new(event))
}

thread_local! {
    /// The failure of the last call of `flat-handler.handle`, until the host asks for it.
    static LAST_FAILURE: RefCell<Option<types::Failure>> = const { RefCell::new(None) };
}

/// `flat-handler.handle`.
pub fn handle_flat<P: Plugin>(
    instance: &'static Instance<P>,
    (seq, subscription, coalesced, attempt): (u64, u32, u32, u32),
    (change, reason, deletion): (types::Change, types::Reason, Deletion),
    (names, ends): (String, u64),
    (object, old): (Option<Vec<u8>>, Option<Vec<u8>>),
) -> bool {
    let gone = match deletion {
        Deletion::None => None,
        Deletion::Deleted => Some(Gone::Deleted),
        Deletion::LeftView => Some(Gone::LeftView),
        Deletion::Unknown => Some(Gone::Unknown),
    };
    let (key, uid, resource_version) = (ObjectKey::new("", ""), String::new(), String::new());
    let event = handler::Event {
        seq,
        subscription,
        change,
        reason,
        key,
        uid,
        resource_version,
        gone,
        coalesced,
        attempt,
        object,
        old,
    };
    let handled = handle_event(instance, Event::flat(event, names, ends));
    handled.map_err(|failure| LAST_FAILURE.set(Some(failure))).is_ok()
}

/// `flat-handler.last-failure`.
pub fn last_failure() -> types::Failure {
    let none = || to_contract(Failure::new("no call has failed: this is a fault of the host"));
    LAST_FAILURE.take().unwrap_or_else(none)
}

fn handle_event<P: Plugin>(
    instance: &'static Instance<P>,
    event: Event,
) -> Result<(), types::Failure> {
    instance.with_borrow_mut(|plugin| {
        let plugin =
            plugin.as_mut().ok_or("an event came before start: this is a fault of the host");
        plugin.map_err(Failure::from).and_then(|p| p.handle(event)).map_err(to_contract)
    })
}

/// `reconciler.reconcile`.
pub fn reconcile<P: Reconciler>(
    instance: &'static Instance<P>,
    key: &str,
    attempt: u32,
) -> Result<Option<u64>, types::Failure> {
    instance.with_borrow_mut(|plugin| {
        let plugin = plugin.as_mut().ok_or("it came before start: this is a fault of the host");
        let again = plugin.map_err(Failure::from).and_then(|p| p.reconcile(key, attempt));
        again.map(|again| again.map(milliseconds)).map_err(to_contract)
    })
}

/// `timer.fire`.
pub fn fire<P: Timer>(
    instance: &'static Instance<P>,
    schedule: &str,
    unix_ms: u64,
) -> Result<(), types::Failure> {
    instance.with_borrow_mut(|plugin| {
        let plugin = plugin.as_mut().ok_or("it came before start: this is a fault of the host");
        plugin.map_err(Failure::from).and_then(|p| p.fire(schedule, unix_ms)).map_err(to_contract)
    })
}

/// `sync-aware.synced`.
pub fn synced<P: SyncAware>(
    instance: &'static Instance<P>,
    subscription: u32,
) -> Result<(), types::Failure> {
    instance.with_borrow_mut(|plugin| {
        let plugin = plugin.as_mut().ok_or("it came before start: this is a fault of the host");
        plugin.map_err(Failure::from).and_then(|p| p.synced(subscription)).map_err(to_contract)
    })
}

/// `stateful.snapshot`.
pub fn snapshot<P: Stateful>(instance: &'static Instance<P>) -> Result<Option<Vec<u8>>, String> {
    carry(instance, P::snapshot)
}

/// `stateful.restore`.
pub fn restore<P: Stateful>(
    instance: &'static Instance<P>,
    from_version: &str,
    data: Vec<u8>,
) -> Result<(), String> {
    carry(instance, |plugin| plugin.restore(from_version, data))
}

fn carry<P: Stateful, T>(
    instance: &'static Instance<P>,
    call: impl FnOnce(&mut P) -> crate::Result<T>,
) -> Result<T, String> {
    instance.with_borrow_mut(|plugin| {
        let plugin = plugin.as_mut().ok_or("it came before start: this is a fault of the host")?;
        call(plugin).map_err(|failure| failure.message().to_owned())
    })
}

/// `lifecycle.stop`.
pub fn stop<P: Plugin>(instance: &'static Instance<P>) {
    if let Some(mut plugin) = instance.take() {
        plugin.stop();
    }
}

fn to_contract(failure: Failure) -> types::Failure {
    let retry = match failure.retry() {
        Retry::Backoff => types::Retry::Backoff,
        Retry::After(delay) => types::Retry::AfterMs(milliseconds(delay)),
        Retry::Never => types::Retry::Never,
    };
    types::Failure { message: failure.message().to_owned(), retry }
}
