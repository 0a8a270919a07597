//! The load: orders whose numbers rise without pause.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use http::{Method, header};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::election::NAMESPACE;

/// Changes are made this often, as many as are due.
const TICK: Duration = Duration::from_millis(10);

/// All orders and their numbers.
pub struct Orders {
    api: Api,
    random: fastrand::Rng,
    numbers: Vec<u64>,
    changes: u64,
}

impl Orders {
    /// The namespace and so many orders.
    pub async fn make(api: Api, orders: usize, seed: u64) -> anyhow::Result<Self> {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        api.create("/api/v1/namespaces", &namespace).await.expect(201);
        for number in 0..orders {
            let metadata = json!({"name": name(number), "labels": {"election": "order"}});
            let order = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"number": "0"},
            });
            api.create(&collection(), &order).await.expect(201);
        }
        let random = fastrand::Rng::with_seed(seed);
        Ok(Self { api, random, numbers: vec![0; orders], changes: 0 })
    }

    /// Changes at this rate until it is told to stop, or as many as the cluster takes one after the other.
    pub async fn go_on(mut self, per_second: u32, stop: CancellationToken) -> anyhow::Result<Self> {
        let (began, mut made) = (Instant::now(), 0);
        let mut ticks = tokio::time::interval(TICK);
        while !stop.is_cancelled() {
            ticks.tick().await;
            let due = (began.elapsed().as_secs_f64() * f64::from(per_second)) as u64;
            while made < due && !stop.is_cancelled() {
                let place = self.random.usize(..self.numbers.len());
                self.change(place).await?;
                made += 1;
            }
        }
        Ok(self)
    }

    /// Changes each once more, and says which number is each one's last.
    pub async fn change_all(&mut self) -> anyhow::Result<BTreeMap<String, u64>> {
        for place in 0..self.numbers.len() {
            self.change(place).await?;
        }
        let last = |(place, number): (usize, &u64)| (name(place), *number);
        Ok(self.numbers.iter().enumerate().map(last).collect())
    }

    /// How many changes were made.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    async fn change(&mut self, place: usize) -> anyhow::Result<()> {
        self.changes += 1;
        self.numbers[place] += 1;
        let change = json!({"data": {"number": self.numbers[place].to_string()}});
        let path = format!("{}/{}", collection(), name(place));
        let headers = [(header::CONTENT_TYPE, "application/merge-patch+json")];
        let body = change.to_string().into_bytes();
        let reply = self.api.send(Method::PATCH, &path, &headers, body).await;
        let status = reply.with_context(|| format!("change {path}"))?.status;
        anyhow::ensure!(status == 200, "change {path}: {status}");
        Ok(())
    }
}

/// All orders.
pub fn collection() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps")
}

fn name(number: usize) -> String {
    format!("order-{number:03}")
}
