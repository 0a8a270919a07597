//! What a host waits for before it is ready, and what keeps a host that was ready from its work since.

use super::probe_checks::Check;
use informant_cache::{InformerState, SharedIndexInformer, SharedInformerFactory};
use informant_runtime::Plugins;

/// How one informer is, and whether it has ever synced.
struct Seen {
    resource: String,
    state: InformerState,
    has_synced: bool,
}

impl From<&SharedIndexInformer> for Seen {
    fn from(informer: &SharedIndexInformer) -> Self {
        let resource = informer.resource().to_string();
        Self { resource, state: informer.state(), has_synced: informer.has_synced() }
    }
}

impl Seen {
    /// The API server answers for it.
    fn is_followed(&self) -> bool {
        let is_answered = matches!(
            self.state,
            InformerState::Synced
                | InformerState::Syncing { message: None }
                | InformerState::Waiting { .. }
        );
        self.has_synced && is_answered
    }

    /// Its cache is no longer followed: the API server does not answer, or refuses it. That is so also where a list fails that a new
    /// part of it needs.
    fn is_lost(&self) -> bool {
        let is_away = matches!(
            self.state,
            InformerState::Stale { .. }
                | InformerState::Forbidden { .. }
                | InformerState::Syncing { message: Some(_) }
        );
        self.has_synced && is_away
    }
}

/// The checks of plugins and informers.
///
/// A host is ready once the directories were scanned, no plugin is in its first load, and every informer has synced or
/// has the API server's reason against it. A first load counts for a minute. Plugins and informers that come later
/// leave the host ready. It becomes unready once none of the synced informers has a watch: the API server is away, or
/// refuses the host's credentials.
pub(super) fn checks(
    plugins: &Plugins,
    informers: &SharedInformerFactory,
    was_ready: bool,
) -> Vec<Check> {
    let loaded = match plugins.settled() || was_ready {
        true => Ok(()),
        false => Err("being loaded for the first time".to_owned()),
    };
    let informers: Vec<Seen> = informers.informers().iter().map(Seen::from).collect();
    let loaded = Check::new("plugins", loaded);
    std::iter::once(loaded).chain(of_informers(&informers, was_ready)).collect()
}

fn of_informers(informers: &[Seen], was_ready: bool) -> Vec<Check> {
    let none_is_followed = !informers.iter().any(Seen::is_followed);
    let check = |seen: &Seen| {
        let fails = match was_ready {
            false => !seen.state.is_settled(),
            true => seen.is_lost() && none_is_followed,
        };
        let message = seen.state.message().map_or(String::new(), |text| format!(": {text}"));
        let said = match seen.state {
            InformerState::Synced => "ok".to_owned(),
            _ => format!("{}{message}", seen.state.as_str()),
        };
        Check { name: format!("informer {}", seen.resource), passes: !fails, said }
    };
    informers.iter().map(check).collect()
}

/// The conditions that a host lacks to become ready.
pub(crate) fn not_ready(plugins: &Plugins, informers: &SharedInformerFactory) -> Vec<String> {
    let failed = checks(plugins, informers, false).into_iter().filter(|check| !check.passes);
    failed.map(|check| check.shown()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which informers fail, of these: a letter for the state of each, in capitals if it has synced once.
    #[track_caller]
    fn check(states: &str, was_ready: bool, failing: &str) {
        let message = || "no".to_owned();
        let seen = |letter: char| {
            let state = match letter.to_ascii_lowercase() {
                'o' => InformerState::Synced,
                'l' => InformerState::Syncing { message: None },
                'e' => InformerState::Syncing { message: Some(message()) },
                's' => InformerState::Stale { message: message() },
                'f' => InformerState::Forbidden { message: message() },
                'z' => InformerState::Stopped { message: None },
                'w' => InformerState::Waiting { message: message() },
                other => panic!("{other}"),
            };
            Seen { resource: letter.into(), state, has_synced: letter.is_ascii_uppercase() }
        };
        let seen: Vec<Seen> = states.chars().map(seen).collect();
        let checks = of_informers(&seen, was_ready);
        let found = checks.iter().filter(|check| !check.passes);
        let found: Vec<&str> = found.filter_map(|check| check.name.split(' ').nth(1)).collect();
        assert_eq!(found.concat(), failing, "{states}, {was_ready}");
    }

    #[test]
    fn a_host_gets_ready_once_the_api_server_has_answered_for_every_informer() {
        check("", false, "");
        check("OfwS", false, "");
        check("Ol", false, "l");
    }

    #[test]
    fn a_host_that_was_ready_is_not_while_nothing_is_followed_any_more() {
        check("", true, "");
        check("OlfwSF", true, "");
        check("SSfw", true, "SS");
        check("F", true, "F");
        check("E", true, "E");
        check("EL", true, "");
        check("ZS", true, "S");
        check("Z", true, "");
        // What was never followed has been lost by nobody.
        check("fls", true, "");
        // The API server answers: its definition is gone.
        check("WS", true, "");
    }
}
