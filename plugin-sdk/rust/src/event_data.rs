//! The objects of the present event, requested from the host piece by piece. It is for subscriptions with
//! [`Delivery::Lazy`](crate::Delivery::Lazy), which do not copy every object into the plugin. It is valid only inside
//! [`Plugin::handle`](crate::Plugin::handle); elsewhere there are no objects.

use crate::imports::event_data as host;

pub use crate::bindings::informant::plugin::event_data::Side;

/// The whole object as JSON; only its metadata with [`Delivery::Metadata`](crate::Delivery::Metadata).
#[must_use]
pub fn json(side: Side) -> Option<Vec<u8>> {
    host::json(side)
}

/// The JSON text of the value at each pointer, such as `/status/phase`. `None` if there is no value.
#[must_use]
pub fn fields(side: Side, pointers: &[&str]) -> Vec<Option<String>> {
    let pointers: Vec<_> = pointers.iter().map(|&p| p.to_owned()).collect();
    host::fields(side, &pointers)
}

/// Whether the value at the pointer differs between the old and the new object.
#[must_use]
pub fn changed(pointer: &str) -> bool {
    host::changed(pointer)
}
