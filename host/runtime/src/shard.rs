//! The shard of an object or a key: the hash of its name. Synchronous.
//!
//! The hash uses the name and not the UID: events of one name are kept in order, also across a deletion and a new
//! object. An object's own key in the workqueue has the same text, so `handle` and `reconcile` of one object have one
//! shard. The contract defines the hash, for guests that compute it.

use informant_cache::ObjectKey;

/// The most instances of one plugin. Calls that wait for answers overlap on any machine, so it exceeds the number of
/// processors.
pub(crate) const SHARDS_MAX: usize = 64;
/// The most shards that files beside plugins, and descriptors, may ask for without a setting of the host.
pub(crate) const SHARDS_OF_FILES: usize = 8;
/// The most instances of all plugins together beside one for each: three more for each possible plugin.
pub(crate) const MORE_INSTANCES_MAX: usize = 768;

/// One of a plugin's shards, as its guest sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 0.
    pub(crate) number: usize,
    pub(crate) count: usize,
}

impl Shard {
    /// The shard of a plugin with one instance.
    pub(crate) const ONLY: Self = Self { number: 0, count: 1 };

    /// The error with the shard in front, if there are several.
    pub(crate) fn said_of(self, error: &str) -> String {
        match self.count {
            1 => error.to_owned(),
            count => format!("shard {} of {count}: {error}", self.number),
        }
    }

    /// Its number in log lines, if there are several shards.
    pub(crate) fn logged(self) -> Option<usize> {
        (self.count > 1).then_some(self.number)
    }
}

/// The shard of an object, of so many.
pub(crate) fn of_object(key: &ObjectKey, shards: usize) -> usize {
    // Invariant 25.
    if shards <= 1 {
        return 0;
    }
    match key.namespace() {
        "" => place(fnv1a(key.name().bytes()), shards),
        namespace => {
            let slash = std::iter::once(b'/');
            place(fnv1a(namespace.bytes().chain(slash).chain(key.name().bytes())), shards)
        }
    }
}

/// The shard of a key of the workqueue, of so many.
pub(crate) fn of_key(key: &str, shards: usize) -> usize {
    if shards <= 1 { 0 } else { place(fnv1a(key.bytes()), shards) }
}

fn place(hash: u64, shards: usize) -> usize {
    (hash % shards as u64) as usize
}

/// FNV-1a with 64 bits, which every language has or implements in three lines.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_that_others_know() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8_u64),
        ] {
            assert_eq!(fnv1a(text.bytes()), hash, "{text:?}");
        }
    }

    /// Invariant 25.
    #[test]
    fn an_object_and_its_own_key_have_one_shard() {
        for (namespace, name) in [("shop", "web"), ("", "node-1"), ("kube-system", "dns")] {
            let key = ObjectKey::new(namespace, name);
            for shards in 1..=SHARDS_MAX {
                let of_object = of_object(&key, shards);
                assert_eq!(of_object, of_key(&key.to_string(), shards));
                assert!(of_object < shards);
            }
        }
    }

    #[test]
    fn objects_spread_over_all_shards() {
        let mut counts = [0; 8];
        for number in 0..8_000 {
            counts[of_object(&ObjectKey::new("default", format!("web-{number:05}")), 8)] += 1;
        }
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn only_one_of_several_is_named() {
        assert_eq!(Shard::ONLY.said_of("trap"), "trap");
        assert_eq!(Shard { number: 2, count: 4 }.said_of("trap"), "shard 2 of 4: trap");
    }
}
