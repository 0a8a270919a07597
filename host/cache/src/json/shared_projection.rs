//! The JSON pointers of all readers of one resource, which one pass over an object's text finds together.
//!
//! A hundred handlers of one informer ask for values of the same object, and mostly for the same ones. Each distinct
//! pointer has a place here, and the values that a pass found are kept with the object's text ([`PassValues`]). So
//! the first reader of a state causes the pass, and the others look their places up.

use super::Projection;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The pointers of all readers of one resource.
#[derive(Debug)]
pub struct SharedProjection {
    /// Distinguishes it from all others of the process.
    id: u64,
    pointers: Mutex<SharedPointers>,
}

#[derive(Debug, Default)]
struct SharedPointers {
    places: Vec<PointerPlace>,
    /// The place of each pointer that has a reader.
    by_pointer: HashMap<Arc<str>, usize>,
    /// The places without a reader.
    free: BTreeSet<usize>,
    /// Made when it is first used.
    projection: Option<Arc<Projection>>,
    /// Grows when a pointer takes a place.
    generation: u64,
}

#[derive(Debug)]
struct PointerPlace {
    pointer: Arc<str>,
    readers: usize,
}

/// The pointers of one reader, in their order.
#[derive(Debug)]
pub struct SharedReader {
    of: Arc<SharedProjection>,
    places: Box<[usize]>,
    /// The generation from which on its pointers are at its places.
    since: u64,
}

/// The values that one pass over an object's text found.
#[derive(Debug)]
pub(crate) struct PassValues {
    of: u64,
    generation: u64,
    /// The place and the span of each value that is there, by place. A state waits with them in queues.
    spans: Box<[(u32, [u32; 2])]>,
    /// The number of places.
    places: usize,
    took: Duration,
    /// Whether no other reader gets these values.
    is_alone: bool,
}

/// The values of one reader's pointers in one object.
#[derive(Clone, Copy, Debug)]
pub struct SharedValues<'a> {
    json: &'a [u8],
    found: &'a PassValues,
    places: &'a [usize],
}

impl Default for SharedProjection {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Relaxed), pointers: Mutex::default() }
    }
}

impl SharedProjection {
    /// Adds the pointers of one reader, until the reader is dropped. [`Projection::new`] has their form.
    pub fn reader<P: AsRef<str>>(
        self: &Arc<Self>,
        pointers: impl IntoIterator<Item = P>,
    ) -> SharedReader {
        let mut shared = self.pointers.lock();
        let known = shared.generation;
        let places = pointers.into_iter().map(|pointer| shared.place_of(pointer.as_ref()));
        let places: Box<[usize]> = places.collect();
        if shared.generation != known {
            shared.projection = None;
        }
        SharedReader { of: self.clone(), places, since: shared.generation }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.pointers.lock().places.len()
    }
}

impl SharedPointers {
    fn place_of(&mut self, pointer: &str) -> usize {
        let number = self.by_pointer.get(pointer).copied();
        let number = number.unwrap_or_else(|| self.take_place(pointer.into()));
        self.places[number].readers += 1;
        number
    }

    fn take_place(&mut self, pointer: Arc<str>) -> usize {
        self.generation += 1;
        let place = PointerPlace { pointer: pointer.clone(), readers: 0 };
        let number = match self.free.pop_first() {
            Some(free) => {
                self.places[free] = place;
                free
            }
            None => {
                self.places.push(place);
                self.places.len() - 1
            }
        };
        self.by_pointer.insert(pointer, number);
        number
    }

    fn release(&mut self, places: &[usize]) {
        for &number in places {
            let place = &mut self.places[number];
            place.readers -= 1;
            if place.readers == 0 {
                self.by_pointer.remove(&place.pointer);
                self.free.insert(number);
                self.projection = None;
            }
        }
        // Each place costs time in each pass.
        while self.places.last().is_some_and(|place| place.readers == 0) {
            self.places.pop();
            self.free.remove(&self.places.len());
        }
    }

    /// The projection of the places. A free one finds nothing.
    fn project(&mut self) -> Arc<Projection> {
        const NOTHING: &str = "no pointer";
        let places = &self.places;
        let made = self.projection.get_or_insert_with(|| {
            let pointer = |place: &PointerPlace| match place.readers {
                0 => NOTHING.into(),
                _ => place.pointer.clone(),
            };
            Arc::new(Projection::new(places.iter().map(pointer)))
        });
        made.clone()
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        self.of.pointers.lock().release(&self.places);
    }
}

impl SharedReader {
    /// Finds the values of all readers' pointers, for one or for all readers.
    pub(crate) fn find(&self, json: &[u8], is_alone: bool) -> PassValues {
        let began = Instant::now();
        let (projection, generation) = {
            let mut shared = self.of.pointers.lock();
            (shared.project(), shared.generation)
        };
        let span = |value: &[u8]| {
            let start = value.as_ptr().addr() - json.as_ptr().addr();
            let ends = [start, start + value.len()].map(u32::try_from);
            let [Ok(start), Ok(end)] = ends else { return None };
            Some([start, end])
        };
        let values = projection.values(json);
        let places = values.len();
        let found = (0..).zip(values).filter_map(|(place, value)| Some((place, span(value?)?)));
        let (of, spans) = (self.of.id, found.collect());
        PassValues { of, generation, spans, places, took: began.elapsed(), is_alone }
    }
}

impl PassValues {
    /// Whether the reader's values are among them.
    pub(crate) fn serve(&self, reader: &SharedReader) -> bool {
        self.of == reader.of.id && self.generation >= reader.since
    }

    /// The reader's values. `json` is the text in which they were found.
    pub(crate) fn values<'a>(
        &'a self,
        json: &'a [u8],
        reader: &'a SharedReader,
    ) -> SharedValues<'a> {
        SharedValues { json, found: self, places: &reader.places }
    }
}

impl<'a> SharedValues<'a> {
    /// The text of the value at the reader's pointer with this number. `None` if the object has no such value.
    pub fn get(&self, number: usize) -> Option<&'a [u8]> {
        let (place, spans) = (*self.places.get(number)?, &self.found.spans);
        let at = spans.binary_search_by_key(&place, |(place, _)| *place as usize).ok()?;
        let [start, end] = spans.get(at)?.1;
        self.json.get(start as usize..end as usize)
    }

    /// The part of the time of the pass that so many of the reader's pointers took. Where the pass was made for this
    /// reader alone, all of it is shared out among its own pointers.
    pub fn cost(&self, pointers: usize) -> Duration {
        let all = if self.found.is_alone { self.places.len() } else { self.found.places };
        let [part, all] = [pointers, all.max(1)].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        self.found.took * part.min(all) / all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;

    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"a":1,"b":{"c":"x"}}}"#;

    fn pod() -> Object {
        Object::decode(POD.as_bytes(), None).expect("the test's object is well formed")
    }

    #[track_caller]
    fn check(object: &Object, reader: &SharedReader, expect: &[Option<&str>]) {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let found = object.read_shared(reader, |values| {
            (0..expect.len()).map(|number| values.get(number).map(text)).collect::<Vec<_>>()
        });
        let expect: Vec<_> = expect.iter().map(|value| value.map(str::to_owned)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn each_reader_gets_the_values_of_its_own_pointers() {
        let shared = Arc::new(SharedProjection::default());
        let first = shared.reader(["/spec/a", "/metadata/name"]);
        let second = shared.reader(["/metadata/name", "/spec/none", "/spec/b"]);
        assert_eq!(shared.len(), 4, "an equal pointer has one place");
        let pod = pod();
        check(&pod, &first, &[Some("1"), Some("\"web\"")]);
        check(&pod, &second, &[Some("\"web\""), None, Some(r#"{"c":"x"}"#)]);
        check(&pod, &shared.reader::<&str>([]), &[None]);
    }

    #[test]
    fn values_that_were_found_for_others_are_not_mixed_up() {
        let shared = Arc::new(SharedProjection::default());
        let pod = pod();
        let first = shared.reader(["/spec/a", "/spec/b/c"]);
        check(&pod, &first, &[Some("1"), Some("\"x\"")]);
        drop(first);
        assert_eq!(shared.len(), 0);
        // The same places, other pointers, and a text whose values were found for the reader before.
        let second = shared.reader(["/metadata/name", "/kind"]);
        check(&pod, &second, &[Some("\"web\""), Some("\"Pod\"")]);
        let another = Arc::new(SharedProjection::default()).reader(["/spec/a"]);
        check(&pod, &another, &[Some("1")]);
        check(&pod.at_rest(), &another, &[Some("1")]);
    }

    #[test]
    fn a_free_place_is_taken_again_and_others_stay_where_they_are() {
        let shared = Arc::new(SharedProjection::default());
        let first = shared.reader(["/spec/a"]);
        let second = shared.reader(["/kind"]);
        drop(first);
        let pod = pod();
        check(&pod, &second, &[Some("\"Pod\"")]);
        let third = shared.reader(["/metadata/name", "/kind"]);
        assert_eq!(shared.len(), 2);
        check(&pod, &third, &[Some("\"web\""), Some("\"Pod\"")]);
        check(&pod, &second, &[Some("\"Pod\"")]);
    }

    #[test]
    fn a_pass_is_charged_to_its_readers_by_their_pointers() {
        let shared = Arc::new(SharedProjection::default());
        let reader = shared.reader(["/spec/a", "/kind", "/metadata/name", "/spec/b"]);
        let one = shared.reader(["/kind"]);
        let pod = pod();
        let all = pod.read_shared(&reader, |values| values.cost(4));
        let part = pod.read_shared(&one, |values| values.cost(1));
        assert_eq!(part, all / 4);
    }
}
