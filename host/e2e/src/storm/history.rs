//! What the cluster of a storm went through: every state of every object, as whoever made it knows it.

use std::collections::HashMap;

use anyhow::Context;
use informant_apimachinery::GroupVersionResource;
use informant_devcluster::Cluster;
use serde_json::{Value, json};

use crate::storm::NAMESPACE;

/// Objects have one of these colours at a time.
pub const COLOURS: [&str; 8] =
    ["amber", "blue", "coral", "green", "ivory", "olive", "red", "white"];

/// Of a hundred changes of an object that is there, so many are its deletion, or give it another colour.
const DELETIONS: u8 = 4;
const RECOLOURINGS: u8 = 12;

/// An object's UID as a number.
pub type Uid = u128;

/// One state of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The resourceVersion.
    pub version: u64,
    /// The place in [`COLOURS`]; none: it is gone.
    pub colour: Option<u8>,
}

/// Every state of every object, oldest first.
#[derive(Debug, Default)]
pub struct History {
    objects: HashMap<Uid, Vec<State>>,
    newest: u64,
    changes: usize,
}

impl History {
    /// Notes an object's next state.
    pub fn push(&mut self, uid: Uid, state: State) {
        self.objects.entry(uid).or_default().push(state);
        self.newest = state.version;
        self.changes += 1;
    }

    /// The states of an object; none of one that never was.
    pub fn states(&self, uid: Uid) -> &[State] {
        self.objects.get(&uid).map_or(&[], Vec::as_slice)
    }

    /// All objects that ever were.
    pub fn objects(&self) -> impl Iterator<Item = (Uid, &[State])> {
        self.objects.iter().map(|(uid, states)| (*uid, states.as_slice()))
    }

    /// The resourceVersion of the newest state.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// How many changes there were.
    pub fn changes(&self) -> usize {
        self.changes
    }
}

/// A UUID's digits as a number.
pub fn uid(text: &str) -> Option<Uid> {
    u128::from_str_radix(&text.replace('-', ""), 16).ok()
}

/// Makes the changes, one at a time, and writes them down.
pub struct StormTraffic {
    cluster: Cluster,
    configmaps: GroupVersionResource,
    random: fastrand::Rng,
    /// What is there under each name.
    places: Vec<Option<(Uid, u8)>>,
    /// What came of it.
    pub history: History,
}

impl StormTraffic {
    /// A namespace with as many objects as there are names: each name is free for a while after its object's deletion, so a few are.
    pub fn new(cluster: Cluster, objects: usize, seed: u64) -> anyhow::Result<Self> {
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        cluster
            .create(&GroupVersionResource::new("", "v1", "namespaces"), None, namespace)
            .map_err(|status| anyhow::anyhow!("create the namespace: {status:?}"))?;
        let mut traffic = Self {
            cluster,
            configmaps: GroupVersionResource::new("", "v1", "configmaps"),
            random: fastrand::Rng::with_seed(seed),
            places: vec![None; objects],
            history: History::default(),
        };
        for place in 0..objects {
            traffic.create(place)?;
        }
        Ok(traffic)
    }

    /// Makes one change.
    pub fn step(&mut self) -> anyhow::Result<()> {
        let place = self.random.usize(..self.places.len());
        let Some((uid, colour)) = self.places[place] else { return self.create(place) };
        let dice = self.random.u8(..100);
        if dice < DELETIONS {
            return self.delete(place, uid);
        }
        let recolours = dice < DELETIONS + RECOLOURINGS;
        let colour = if recolours { self.colour() } else { colour };
        let object = self.object(place, colour);
        let updated = self
            .cluster
            .update(&self.configmaps, Some(NAMESPACE), &name(place), None, object)
            .map_err(|status| anyhow::anyhow!("update {}: {status:?}", name(place)))?;
        self.places[place] = Some((uid, colour));
        let version = updated.resource_version();
        self.history.push(uid, State { version, colour: Some(colour) });
        Ok(())
    }

    fn create(&mut self, place: usize) -> anyhow::Result<()> {
        let colour = self.colour();
        let object = self.object(place, colour);
        let created = self
            .cluster
            .create(&self.configmaps, Some(NAMESPACE), object)
            .map_err(|status| anyhow::anyhow!("create {}: {status:?}", name(place)))?;
        let value = created.to_value();
        let uid = value["metadata"]["uid"].as_str().and_then(uid).context("an object has a UID")?;
        self.places[place] = Some((uid, colour));
        let version = created.resource_version();
        self.history.push(uid, State { version, colour: Some(colour) });
        Ok(())
    }

    fn delete(&mut self, place: usize, uid: Uid) -> anyhow::Result<()> {
        let deleted = self
            .cluster
            .delete(&self.configmaps, Some(NAMESPACE), &name(place))
            .map_err(|status| anyhow::anyhow!("delete {}: {status:?}", name(place)))?;
        self.places[place] = None;
        let version = deleted.object().resource_version();
        self.history.push(uid, State { version, colour: None });
        Ok(())
    }

    fn colour(&mut self) -> u8 {
        self.random.u8(..COLOURS.len() as u8)
    }

    fn object(&mut self, place: usize, colour: u8) -> Value {
        let colour = COLOURS[usize::from(colour)];
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name(place), "labels": {"colour": colour}},
            // Never twice the same: an update that changes nothing is none.
            "data": {"number": self.random.u64(..).to_string()},
        })
    }
}

fn name(place: usize) -> String {
    format!("object-{place:04}")
}
