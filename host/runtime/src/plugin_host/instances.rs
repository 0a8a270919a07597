//! The bound of all plugins' instances together.

use super::PluginHost;
use crate::plugin::Plugin;
use crate::plugin::prepare::LoadError;
use crate::plugin_name::PluginName;
use crate::shard::MORE_INSTANCES_MAX;

impl PluginHost {
    /// Checks that there is room for a version with so many shards. Each plugin may have one instance in any case.
    pub(super) fn check_instances(
        &self,
        name: &PluginName,
        shards: usize,
    ) -> Result<(), LoadError> {
        let others = self.plugins.iter().filter(|(other, _)| *other != name);
        check(others.map(|(_, plugin)| more(plugin)).sum(), shards)
    }
}

/// The present or future instances of a plugin beside its first.
fn more(plugin: &Plugin) -> usize {
    let current = plugin.current.as_ref().map_or(0, |loaded| loaded.prepared.shards);
    current.max(plugin.shards_ahead).saturating_sub(1)
}

fn check(others: usize, shards: usize) -> Result<(), LoadError> {
    let left = MORE_INSTANCES_MAX.saturating_sub(others);
    if shards <= left + 1 {
        return Ok(());
    }
    let most = left + 1;
    Err(LoadError::Shards(format!(
        "shards is {shards}, and this host has room for {most}: beside one for each plugin it runs {others} instances, at most {MORE_INSTANCES_MAX}; set shards to {most}, here or of others to less"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_all_plugins_are_bounded_and_each_has_one() {
        assert_eq!(check(0, 64), Ok(()));
        assert_eq!(check(MORE_INSTANCES_MAX - 63, 64), Ok(()));
        assert_eq!(check(MORE_INSTANCES_MAX, 1), Ok(()));
        let text = "shards is 64, and this host has room for 63: beside one for each plugin it runs 706 instances, at most 768; set shards to 63, here or of others to less";
        let refused = check(MORE_INSTANCES_MAX - 62, 64).map_err(|error| error.to_string());
        assert_eq!(refused, Err(text.to_owned()));
    }
}
