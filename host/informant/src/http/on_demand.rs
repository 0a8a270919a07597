//! Informers that requests start: a bounded number of them, each as long as requests come now and then.

use super::callers::Caller;
use super::shares::{Share, Shares};
use crate::bounded_answers::{COMMAS_MAX, has_few_entries, parsed, short};
use crate::paced_turns::PacedTurns;
use axum::http::StatusCode;
use informant_apimachinery::GroupVersionResource;
use informant_apiserver::aside;
use informant_cache::{
    FactoryOptions, InformerLease, InformerState, Scope, SharedIndexInformer,
    SharedInformerFactory, with_causes,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Resources, whole or in one namespace, that requests may have cached beside those of plugins.
const ON_DEMAND_MAX: usize = 16;
/// Of these, so many may be of one user and of all users: the others are for callers on this machine.
const OF_USER_MAX: usize = 4;
const OF_USERS_MAX: usize = 12;
/// An informer that no request has asked for in this time is given back.
const IDLE_MAX: Duration = Duration::from_secs(600);
/// How often that is looked at.
pub(crate) const IDLE_CHECK: Duration = Duration::from_secs(30);
/// How long a request waits for a first list.
const SYNC_DEADLINE: Duration = Duration::from_secs(10);
/// How long a request waits for its turn to ask the API server whether there is such a resource, and for the answer.
const DISCOVERY_DEADLINE: Duration = Duration::from_secs(5);
/// From one such question to the next: requests for resources that are not there bring the API server no more of them.
const DISCOVERY_INTERVAL: Duration = Duration::from_millis(50);

/// Why a request gets no informer: the answer's code and text.
pub(crate) type InformerRefusal = (StatusCode, String);

/// Starts informers for requests, within a limit.
pub(crate) struct OnDemand {
    client: kube::Client,
    informers: Arc<SharedInformerFactory>,
    leases: Mutex<Leases<Arc<InformerLease>>>,
    questions: PacedTurns,
}

impl OnDemand {
    pub(crate) fn new(client: kube::Client, informers: Arc<SharedInformerFactory>) -> Self {
        let leases = Leases::new(FactoryOptions::default().linger);
        let questions = questions();
        Self { client, informers, leases: Mutex::new(leases), questions }
    }

    /// The lease of a resource's informer, which has synced, or why there is none. With a namespace only
    /// that is listed and watched, so that a permission there is enough.
    pub(crate) async fn informer(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        caller: &Caller,
    ) -> Result<Arc<InformerLease>, InformerRefusal> {
        // Invariant 41.
        if gvr.is_secrets() {
            return Err((StatusCode::FORBIDDEN, "Secrets are not served".to_owned()));
        }
        let informers = self.informers.informers();
        let known = informers.iter().find(|informer| informer.resource() == gvr);
        match known {
            None => self.check_exists(gvr, namespace).await?,
            // Objects outside of all namespaces say that the resource has none.
            Some(known) if namespace.is_some() && known.indexer().count(Some("")) > 0 => {
                return Err(not_namespaced(gvr));
            }
            Some(_) => {}
        }
        let covers = |scope: &Scope| known.is_some_and(|informer| informer.covers(scope));
        let place = ResourcePlace::new(gvr, namespace, covers(&Scope::all()));
        let scope = place.scope();
        let stopped = |it: &Arc<InformerLease>| it.informer().is_stopped();
        self.leases.lock().give_back_if(&place, Instant::now(), stopped);
        // A factory that covers less gives a lease of its own scope. The host's factory covers all.
        let lease = || {
            let lease = self.informers.lease_of(gvr, scope.clone());
            Arc::new(lease.unwrap_or_else(|_| self.informers.lease(gvr)))
        };
        let lease = {
            let mut leases = self.leases.lock();
            // An informer that is there, for plugins, costs nothing more, and takes no place.
            match covers(&scope) && !leases.held.contains_key(&place) {
                true => lease(),
                false => leases.take(&place, caller.user(), Instant::now(), lease)?.clone(),
            }
        };
        self.informers.start();
        if let Err(refusal) = synced(lease.informer(), &scope).await {
            if [StatusCode::FORBIDDEN, StatusCode::NOT_FOUND].contains(&refusal.0) {
                // It is not waited for, and does not keep anybody else's from being well.
                self.leases.lock().give_back_if(&place, Instant::now(), |_| true);
            }
            return Err(refusal);
        }
        Ok(lease)
    }

    /// Waits for the turn of a question to the API server. False at once: the turn would come too late.
    pub(super) async fn turn(&self) -> bool {
        self.questions.turn().await
    }

    /// Gives back the resources that had no request for some time.
    pub(crate) fn expire(&self) {
        self.leases.lock().expire(Instant::now());
    }

    /// A mistyped resource must not start an informer that waits for it for ever.
    async fn check_exists(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
    ) -> Result<(), InformerRefusal> {
        if !self.questions.turn().await {
            let text =
                "too many resources are asked for that are not cached; ask again in a second";
            return Err((StatusCode::SERVICE_UNAVAILABLE, text.to_owned()));
        }
        let root = if gvr.group.is_empty() { "/api" } else { "/apis" };
        let path = format!("{root}/{}", gvr.api_version());
        let request = http::Request::get(path).body(Vec::new());
        let failed = |problem: String| {
            let text = format!("the API server could not be asked for {gvr}: {problem}");
            (StatusCode::BAD_GATEWAY, text)
        };
        let request = request.map_err(|error| failed(error.to_string()))?;
        let ask = self.client.request_text(request);
        match tokio::time::timeout(DISCOVERY_DEADLINE, ask).await {
            Ok(Ok(list)) => {
                let name = gvr.resource.to_string();
                let found = aside(move || listed(&list, &name)).await;
                let found = found.unwrap_or_else(|| Err("its answer was not read".to_owned()));
                check_listed(gvr, namespace, found.map_err(failed)?.as_slice())
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => {
                check_listed(gvr, namespace, &[])
            }
            Ok(Err(error)) => Err(failed(short(&with_causes(&error)))),
            Err(_) => {
                let seconds = DISCOVERY_DEADLINE.as_secs();
                let text = format!("the API server did not say within {seconds} s what {gvr} is");
                Err((StatusCode::GATEWAY_TIMEOUT, text))
            }
        }
    }
}

/// Questions to the API server, of which the first comes at once.
fn questions() -> PacedTurns {
    PacedTurns::new(DISCOVERY_INTERVAL, 1, DISCOVERY_DEADLINE)
}

#[derive(Deserialize)]
struct ListedResources<'a> {
    #[serde(borrow)]
    resources: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct ListedName {
    name: String,
}

/// The resource of this name in an `APIResourceList`.
fn listed(list: &str, name: &str) -> Result<Option<APIResource>, String> {
    if !has_few_entries(list) {
        return Err(format!("its answer has more than {COMMAS_MAX} entries"));
    }
    let unreadable = |error: String| format!("its answer cannot be read: {error}");
    let list: ListedResources<'_> = parsed(list).map_err(unreadable)?;
    let is_it = |entry: &&RawValue| {
        serde_json::from_str(entry.get()).is_ok_and(|it: ListedName| it.name == name)
    };
    let found = list.resources.into_iter().flatten().find(is_it);
    found.map(|it| parsed(it.get()).map_err(unreadable)).transpose()
}

/// Whether the API server's list of a group's resources has this one, and lets an informer follow it.
fn check_listed(
    gvr: &GroupVersionResource,
    namespace: Option<&str>,
    resources: &[APIResource],
) -> Result<(), InformerRefusal> {
    let Some(resource) = resources.iter().find(|resource| resource.name == gvr.resource) else {
        return Err((StatusCode::NOT_FOUND, format!("the cluster has no resource {gvr}")));
    };
    if namespace.is_some() && !resource.namespaced {
        return Err(not_namespaced(gvr));
    }
    let has = |verb| resource.verbs.iter().any(|one| one == verb);
    if has("list") && has("watch") {
        return Ok(());
    }
    let verbs = resource.verbs.join(", ");
    let text =
        format!("{gvr} cannot be cached, because it cannot be listed and watched, only: {verbs}");
    Err((StatusCode::NOT_FOUND, text))
}

pub(super) fn not_namespaced(gvr: &GroupVersionResource) -> InformerRefusal {
    (StatusCode::BAD_REQUEST, format!("{gvr} has no namespaces; ask without one"))
}

/// Waits until the informer has its first list of the scope, or cannot have it for now.
async fn synced(informer: &SharedIndexInformer, scope: &Scope) -> Result<(), InformerRefusal> {
    let settled = tokio::time::timeout(SYNC_DEADLINE, informer.settled()).await;
    let state = match settled {
        _ if informer.has_synced() => return Ok(()),
        Ok(state) => state,
        Err(_) => informer.state_in(scope),
    };
    Err(refusal(informer.resource(), state))
}

/// The answer of an informer without its first list.
fn refusal(gvr: &GroupVersionResource, state: InformerState) -> InformerRefusal {
    match state {
        InformerState::Waiting { message } => (StatusCode::NOT_FOUND, message),
        InformerState::Forbidden { message } => (StatusCode::FORBIDDEN, message),
        InformerState::Syncing { message: Some(message) } => {
            (StatusCode::BAD_GATEWAY, format!("{gvr} cannot be listed: {message}"))
        }
        InformerState::Stopped { message } => {
            let message = message.map_or_else(String::new, |message| format!(": {message}"));
            (StatusCode::SERVICE_UNAVAILABLE, format!("the informer of {gvr} has stopped{message}"))
        }
        InformerState::Created
        | InformerState::Syncing { message: None }
        | InformerState::Synced
        | InformerState::Stale { .. } => (
            StatusCode::GATEWAY_TIMEOUT,
            format!("{gvr} was not synced within {} s; try again", SYNC_DEADLINE.as_secs()),
        ),
    }
}

/// A resource, whole or in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResourcePlace {
    gvr: GroupVersionResource,
    /// None: all namespaces.
    namespace: Option<String>,
}

impl ResourcePlace {
    /// The place of a request. Where the whole resource is cached, all namespaces share one.
    fn new(gvr: &GroupVersionResource, namespace: Option<&str>, is_whole: bool) -> Self {
        let namespace = namespace.filter(|_| !is_whole).map(str::to_owned);
        Self { gvr: gvr.clone(), namespace }
    }

    fn scope(&self) -> Scope {
        self.namespace.as_deref().map_or_else(Scope::all, Scope::namespace)
    }
}

/// There is no place for a resource for this reason.
fn full(reason: String) -> InformerRefusal {
    let minutes = IDLE_MAX.as_secs() / 60;
    let text = format!("{reason}; a resource without requests for {minutes} minutes makes room");
    (StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Which resources are leased for requests: it decides, and does nothing. `L` is the lease.
struct Leases<L> {
    held: BTreeMap<ResourcePlace, HeldLease<L>>,
    /// How long an informer goes on after its lease: until then it takes up its place.
    linger: Duration,
    users: Shares<Arc<str>>,
}

struct HeldLease<L> {
    /// None once it was given back.
    lease: Option<L>,
    used: Instant,
    /// The share of the user that took the place first.
    _share: Option<Share<Arc<str>>>,
}

impl<L> Leases<L> {
    fn new(linger: Duration) -> Self {
        let users = Shares::new(OF_USER_MAX, OF_USERS_MAX);
        Self { held: BTreeMap::new(), linger, users }
    }

    /// The place's lease, which is used now, and made if there is room for it.
    fn take(
        &mut self,
        place: &ResourcePlace,
        user: Option<Arc<str>>,
        now: Instant,
        make: impl FnOnce() -> L,
    ) -> Result<&L, InformerRefusal> {
        self.expire(now);
        if self.held.len() >= ON_DEMAND_MAX && !self.held.contains_key(place) {
            return Err(full(format!(
                "{ON_DEMAND_MAX} resources are cached for requests already, which is the maximum; a namespace \
                 of a resource counts as one"
            )));
        }
        let held = match self.held.entry(place.clone()) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(vacant) => {
                let share = |user: Arc<str>| {
                    self.users.take(&user).ok_or_else(|| {
                        full(format!(
                            "one user may have {OF_USER_MAX} resources cached, and all users {OF_USERS_MAX}"
                        ))
                    })
                };
                let _share = user.map(share).transpose()?;
                vacant.insert(HeldLease { lease: None, used: now, _share })
            }
        };
        held.used = now;
        Ok(held.lease.get_or_insert_with(make))
    }

    /// The lease ends, if it is such a one; it takes up its place as long as its informer goes on.
    fn give_back_if(
        &mut self,
        place: &ResourcePlace,
        now: Instant,
        is_one: impl FnOnce(&L) -> bool,
    ) {
        let Some(held) = self.held.get_mut(place) else { return };
        if held.lease.as_ref().is_some_and(is_one) {
            held.lease = None;
            held.used = now.checked_sub(IDLE_MAX).unwrap_or(held.used);
        }
    }

    /// Gives back idle leases, and the places of those whose informers have ended since.
    fn expire(&mut self, now: Instant) {
        let idle = |held: &HeldLease<L>| now.saturating_duration_since(held.used);
        self.held.retain(|_, held| idle(held) < IDLE_MAX + IDLE_CHECK + self.linger);
        for held in self.held.values_mut().filter(|held| idle(held) >= IDLE_MAX) {
            held.lease = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[tokio::test(start_paused = true)]
    async fn the_api_server_is_asked_so_often_and_no_more() {
        let (questions, begun) = (questions(), tokio::time::Instant::now());
        let mut turns = Vec::new();
        for _ in 0..3 {
            assert!(questions.turn().await);
            turns.push(begun.elapsed().as_millis());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(questions.turn().await);
        turns.push(begun.elapsed().as_millis());
        assert_eq!(turns, [0, 50, 100, 1100]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_whose_turn_would_come_too_late_is_refused_at_once() {
        let (questions, begun) = (questions(), tokio::time::Instant::now());
        let ask = async || (questions.turn().await, begun.elapsed());
        let asked = futures::future::join_all((0..200).map(|_| ask())).await;
        let (taken, refused): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(taken, _)| *taken);
        assert_eq!((taken.len(), refused.len()), (100, 100));
        assert!(taken.iter().all(|(_, after)| *after < DISCOVERY_DEADLINE));
        assert!(refused.iter().all(|(_, after)| after.is_zero()));
        tokio::time::sleep(DISCOVERY_DEADLINE).await;
        assert!(questions.turn().await);
    }

    fn resource(number: usize) -> GroupVersionResource {
        GroupVersionResource::new("example.com", "v1", format!("things-{number}"))
    }

    fn place(number: usize) -> ResourcePlace {
        ResourcePlace { gvr: resource(number), namespace: None }
    }

    #[test]
    fn lease_ends_when_nobody_asked_for_long() {
        let alive = Rc::new(());
        let make = || alive.clone();
        let start = Instant::now();
        let mut leases = Leases::new(Duration::from_secs(60));
        leases.take(&place(0), None, start, make).expect("there is room");
        let asked = start + IDLE_MAX / 2;
        leases.take(&place(0), None, asked, make).expect("it is there");
        leases.expire(start + IDLE_MAX);
        assert_eq!(Rc::strong_count(&alive), 2, "it was asked for since");
        leases.expire(asked + IDLE_MAX);
        assert_eq!(Rc::strong_count(&alive), 1, "it is given back");
    }

    #[test]
    fn place_is_free_when_the_informer_has_ended() {
        let start = Instant::now();
        let mut leases = Leases::new(Duration::from_secs(60));
        for number in 0..ON_DEMAND_MAX {
            leases.take(&place(number), None, start, || ()).expect("there is room");
        }
        let mut check = |number, after: Duration, expect: bool| {
            let taken = leases.take(&place(number), None, start + after, || ());
            assert_eq!(taken.is_ok(), expect, "{number} after {after:?}");
        };
        check(ON_DEMAND_MAX, Duration::ZERO, false);
        check(0, Duration::ZERO, true);
        check(ON_DEMAND_MAX, IDLE_MAX, false);
        check(1, IDLE_MAX, true);
        check(ON_DEMAND_MAX, IDLE_MAX + IDLE_CHECK + Duration::from_secs(60), true);
    }

    #[test]
    fn what_is_given_back_makes_room_when_its_informer_has_ended() {
        let alive = Rc::new(());
        let start = Instant::now() + IDLE_MAX;
        let mut leases = Leases::new(Duration::from_secs(60));
        leases.take(&place(0), None, start, || alive.clone()).expect("there is room");
        leases.give_back_if(&place(0), start, |_| false);
        assert_eq!(Rc::strong_count(&alive), 2);
        leases.give_back_if(&place(0), start, |_| true);
        assert_eq!(Rc::strong_count(&alive), 1);
        let ended = start + IDLE_CHECK + Duration::from_secs(60);
        leases.expire(ended - Duration::from_secs(1));
        assert!(leases.held.contains_key(&place(0)), "its informer goes on");
        leases.expire(ended);
        assert!(leases.held.is_empty());
    }

    #[test]
    fn namespaces_of_a_resource_that_is_cached_share_a_place() {
        let check = |is_whole, expect| {
            let [one, other] =
                ["a", "b"].map(|name| ResourcePlace::new(&resource(0), Some(name), is_whole));
            assert_eq!(one == other, expect);
        };
        check(true, true);
        check(false, false);
    }

    #[test]
    fn users_leave_places_for_each_other_and_for_this_machine() {
        let start = Instant::now();
        let mut leases = Leases::new(Duration::from_secs(60));
        let mut take = |number, user: &str| {
            let user = Some(user).filter(|user| !user.is_empty()).map(Into::into);
            leases.take(&place(number), user, start, || ()).is_ok()
        };
        let taken = [0, 1, 2, 3, 4].map(|number| take(number, "ann"));
        assert_eq!(taken, [true, true, true, true, false]);
        // The place of another is there for all.
        assert!(take(0, "ann") && take(0, "bob"));
        for number in 4..12 {
            assert!(take(number, if number < 8 { "bob" } else { "cyd" }), "{number}");
        }
        assert!(!take(12, "dan"));
        let taken = [12, 13, 14, 15, 16].map(|number| take(number, ""));
        assert_eq!(taken, [true, true, true, true, false]);
    }

    #[test]
    fn a_namespace_of_a_resource_takes_a_place() {
        let start = Instant::now();
        let mut leases = Leases::new(Duration::from_secs(60));
        let in_namespace =
            |number: usize| ResourcePlace { namespace: Some(format!("n-{number}")), ..place(0) };
        for number in 0..ON_DEMAND_MAX {
            leases.take(&in_namespace(number), None, start, || ()).expect("there is room");
        }
        let (_, text) = leases.take(&place(0), None, start, || ()).expect_err("there is no room");
        assert!(text.contains("16 resources are cached") && !text.contains("n-0"), "{text}");
        let is_held = |place: &ResourcePlace| leases.held.contains_key(place);
        assert!(is_held(&in_namespace(0)) && !is_held(&place(0)));
    }

    #[test]
    fn a_resource_is_found_in_a_list_of_few_entries() {
        let list = |more: usize| {
            let others = "{},".repeat(more);
            format!(
                r#"{{"resources":[{others}{{"name":"things","kind":"Thing","namespaced":true,"singularName":"","verbs":["list"]}}]}}"#
            )
        };
        let found = listed(&list(2), "things").expect("a list").expect("it is there");
        assert_eq!((found.namespaced, found.verbs), (true, vec!["list".to_owned()]));
        assert_eq!(listed(&list(2), "others"), Ok(None));
        assert_eq!(listed(r#"{"resources":null}"#, "things"), Ok(None));
        let error = listed(&list(COMMAS_MAX), "things").expect_err("they are many");
        assert_eq!(error, "its answer has more than 500000 entries");
        assert!(listed("[]", "things").is_err(), "it is no list of resources");
    }

    #[test]
    fn only_what_can_be_listed_and_watched_is_cached() {
        let listed = |verbs: &[&str]| APIResource {
            name: "things-0".to_owned(),
            verbs: verbs.iter().map(ToString::to_string).collect(),
            ..APIResource::default()
        };
        let check = |resources: &[APIResource], expect: Option<&str>| {
            let found = check_listed(&resource(0), None, resources).err();
            let text = found.as_ref().map(|(_, text)| text.as_str()).unwrap_or_default();
            assert_eq!(found.is_some(), expect.is_some(), "{text}");
            assert!(text.contains(expect.unwrap_or_default()), "{text}");
        };
        check(&[listed(&["get", "list", "watch"])], None);
        check(&[listed(&["create"])], Some("only: create"));
        check(&[listed(&["get", "list"])], Some("only: get, list"));
        check(&[], Some("has no resource"));
    }

    #[test]
    fn a_resource_without_namespaces_is_not_asked_for_in_one() {
        let check = |namespaced, namespace, expect: Option<u16>| {
            let verbs = ["list", "watch"].map(str::to_owned).to_vec();
            let name = "things-0".to_owned();
            let resources = [APIResource { name, namespaced, verbs, ..APIResource::default() }];
            let found = check_listed(&resource(0), namespace, &resources).err();
            assert_eq!(found.map(|(code, _)| code.as_u16()), expect, "{namespaced} {namespace:?}");
        };
        check(true, Some("shop"), None);
        check(false, None, None);
        check(false, Some("shop"), Some(400));
    }

    #[test]
    fn refusal_says_whose_fault_it_is() {
        let check = |state, expect: u16| {
            let (code, text) = refusal(&resource(0), state);
            assert_eq!(code.as_u16(), expect, "{text}");
        };
        let message = || "no".to_owned();
        check(InformerState::Waiting { message: message() }, 404);
        check(InformerState::Forbidden { message: message() }, 403);
        check(InformerState::Syncing { message: Some(message()) }, 502);
        check(InformerState::Syncing { message: None }, 504);
        check(InformerState::Stopped { message: None }, 503);
    }
}
