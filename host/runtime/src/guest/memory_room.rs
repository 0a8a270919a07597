//! Bounds the linear memories of all plugins' instances together. Each takes over 4 GiB of the address space, also if
//! it is empty, and three of the kernel's mappings. Synchronous.

use crate::directory::PLUGINS_MAX;
use crate::plugin_name::PluginName;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memories that every plugin may have in any case. Compilers make one for each language in a component, and a new
/// version starts beside the version before.
const OF_EACH: usize = 4;
/// Further memories of all plugins together. With four for each of 2,048 plugins, all take 48 TiB of 128, and 37,000
/// mappings of the 65,530 that Linux allows by default.
const BESIDE: usize = 4_096;
/// The further memories of one plugin: half of all. So 64 shards of 16 memories can change their version, while there
/// are two instances of each.
pub(crate) const BESIDE_OF_ONE: usize = 2_048;
/// Memories of all plugins together.
pub(crate) const MEMORIES_MAX: usize = PLUGINS_MAX * OF_EACH + BESIDE;

/// The memories of all instances. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct MemoryRoom(Arc<Mutex<BTreeMap<PluginName, usize>>>);

/// The memories of one instance, until it is dropped.
pub(crate) struct MemoryShare {
    room: MemoryRoom,
    plugin: PluginName,
    memories: usize,
}

impl MemoryRoom {
    /// Takes so many memories for an instance, or returns why there is no room.
    pub(crate) fn take(&self, plugin: &PluginName, memories: usize) -> Result<MemoryShare, String> {
        let mut plugins = self.0.lock();
        let beside = |count: usize| count.saturating_sub(OF_EACH);
        let has = plugins.get(plugin).copied().unwrap_or_default();
        let is_to_have = has.saturating_add(memories);
        let all: usize = plugins.values().sum();
        let others = plugins.iter().filter(|(other, _)| *other != plugin);
        let beside_of_others: usize = others.map(|(_, count)| beside(*count)).sum();
        let room = BESIDE_OF_ONE.min(BESIDE.saturating_sub(beside_of_others));
        if beside(is_to_have) > room || all.saturating_add(memories) > MEMORIES_MAX {
            return Err(format!(
                "an instance has {memories} memories, and there is no room in this host's address space for them: the plugin has {has} in other instances, and may have {} while others have what they have; build it with less, or set shards to less",
                OF_EACH + room
            ));
        }
        plugins.insert(plugin.clone(), is_to_have);
        Ok(MemoryShare { room: self.clone(), plugin: plugin.clone(), memories })
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        let mut plugins = self.room.0.lock();
        let Some(count) = plugins.get_mut(&self.plugin) else { return };
        *count -= self.memories;
        if *count == 0 {
            plugins.remove(&self.plugin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many instances of each plugin, as far as there is room.
    fn taken(room: &MemoryRoom, name: &str, instances: usize, memories: usize) -> Vec<MemoryShare> {
        let name = name.parse().expect("a name");
        (0..instances).map_while(|_| room.take(&name, memories).ok()).collect()
    }

    #[test]
    fn memories_of_all_plugins_are_bounded_and_each_has_room_for_some() {
        let room = MemoryRoom::default();
        let mut kept = Vec::new();
        for number in 0..75 {
            kept.push(taken(&room, &format!("p{number:02}"), 8, 60));
        }
        let counts: Vec<usize> = kept.iter().map(Vec::len).collect();
        assert_eq!(counts[..9], [8, 8, 8, 8, 8, 8, 8, 8, 4], "476 beside 4 for each of eight");
        assert!(counts[9..].iter().all(|count| *count == 0));
        // Every other plugin still starts.
        for number in 0..150 {
            let share = taken(&room, &format!("other{number}"), 1, OF_EACH);
            assert_eq!(share.len(), 1);
            kept.push(share);
        }
        let one = taken(&room, "one", 3, 1);
        assert_eq!(one.len(), 3);
    }

    #[test]
    fn one_plugin_has_so_many_memories_and_not_all() {
        let room = MemoryRoom::default();
        let all = taken(&room, "a", 10_000, 1);
        assert_eq!(all.len(), OF_EACH + BESIDE_OF_ONE);
        assert_eq!(taken(&room, "b", 128, 16).len(), 128, "64 shards that change their version");
    }

    #[test]
    fn an_instance_that_ends_gives_its_memories_back() {
        let room = MemoryRoom::default();
        let mut all = taken(&room, "a", 10_000, 16);
        assert_eq!(taken(&room, "a", 1, 16).len(), 0);
        let name = "a".parse().expect("a name");
        let text = "an instance has 16 memories, and there is no room in this host's address space for them: the plugin has 2048 in other instances, and may have 2052 while others have what they have; build it with less, or set shards to less";
        assert_eq!(room.take(&name, 16).err().as_deref(), Some(text));
        all.pop();
        assert_eq!(taken(&room, "a", 2, 16).len(), 1);
        drop(all);
        assert!(room.0.lock().is_empty(), "who has none is not known");
        assert!(room.take(&name, usize::MAX).is_err());
    }

    /// As many plugins as there can be, and removed instances that have not ended.
    #[test]
    fn there_are_never_more_memories_than_all_may_have() {
        let room = MemoryRoom::default();
        let kept: Vec<_> =
            (0..3_500).map(|number| taken(&room, &format!("p{number}"), 1, OF_EACH)).collect();
        assert_eq!(kept.iter().flatten().count(), MEMORIES_MAX / OF_EACH);
    }
}
