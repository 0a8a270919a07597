//! The load of a queue: the number of waiting events, and the bytes of their objects.

use crate::event::Event;
use informant_cache::Object;
use std::iter::Sum;
use std::ops::{Add, AddAssign, SubAssign};

/// The number of waiting events, and the bytes of their objects. An object that the cache also holds counts too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueueLoad {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl QueueLoad {
    /// The load of one event.
    pub(super) fn of(event: &Event) -> Self {
        let old = event.old.as_ref().map_or(0, Object::size);
        Self { events: 1, bytes: event.object.size() + old + event.keys.bytes() }
    }
}

impl Add for QueueLoad {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { events: self.events + other.events, bytes: self.bytes + other.bytes }
    }
}

impl AddAssign for QueueLoad {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for QueueLoad {
    fn sub_assign(&mut self, other: Self) {
        self.events -= other.events;
        self.bytes -= other.bytes;
    }
}

impl Sum for QueueLoad {
    fn sum<I: Iterator<Item = Self>>(loads: I) -> Self {
        loads.fold(Self::default(), Add::add)
    }
}

impl<'a> Sum<&'a Event> for QueueLoad {
    fn sum<I: Iterator<Item = &'a Event>>(events: I) -> Self {
        events.map(Self::of).sum()
    }
}
