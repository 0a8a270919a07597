//! The objects of the event being handled, asked of the host piece by piece: for subscriptions with
//! [`Delivery::Lazy`](crate::Delivery::Lazy), which would rather not copy every object into the plugin.
//! Valid only inside [`Plugin::handle`](crate::Plugin::handle); outside it there is nothing.

use crate::imports::event_data as host;

pub use crate::bindings::informant::plugin::event_data::Side;

/// The whole object as JSON.
#[must_use]
pub fn json(side: Side) -> Option<Vec<u8>> {
    host::json(side)
}

/// The JSON text of each value that a pointer such as `/status/phase` leads to, none where nothing is.
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
