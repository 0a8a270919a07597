//! Leader election's record in a Lease. As client-go's `tools/leaderelection/resourcelock/leaselock.go`.
//!
//! Other fields of the Lease (labels, owners) are kept. `strategy` and `preferredHolder` of coordinated election are
//! kept too, and have no effect here.

use super::ApiServer;
use crate::error_causes::with_causes;
use crate::leader_election::{LeaderElectionRecord, LockError, ResourceLock, VersionedRecord};
use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{GetParams, PostParams};
use kube::core::Request;
use kube::core::request::Error as RequestError;
use kube::{Client, Resource as _};
use parking_lot::Mutex;
use serde_json::Value;
use std::time::{Duration, SystemTime};

impl ApiServer {
    /// A lock for leader election. It needs `get`, `create` and `update` on `leases` of `coordination.k8s.io` in this
    /// namespace. The namespace must exist; the Lease itself need not.
    pub fn lease_lock(&self, namespace: &str, name: &str) -> LeaseLock {
        LeaseLock {
            client: self.client.clone(),
            leases: Request::new(Lease::url_path(&(), Some(namespace))),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            last: Mutex::default(),
        }
    }
}

/// A Lease as a lock for leader election; made by [`ApiServer::lease_lock`].
pub struct LeaseLock {
    client: Client,
    leases: Request,
    namespace: String,
    name: String,
    /// The Lease of the last answer: an update writes all of it.
    last: Mutex<Option<Lease>>,
}

impl LeaseLock {
    /// The Lease to write: the last seen one, if it has the wanted version.
    fn lease(&self, record: &LeaderElectionRecord, resource_version: Option<String>) -> Lease {
        let last = self.last.lock().clone();
        let last = last.filter(|last| last.metadata.resource_version == resource_version);
        let mut lease = last.filter(|_| resource_version.is_some()).unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                resource_version,
                ..ObjectMeta::default()
            },
            spec: None,
        });
        write_record(record, lease.spec.get_or_insert_default());
        lease
    }

    async fn ask(
        &self,
        request: Result<http::Request<Vec<u8>>, RequestError>,
    ) -> Result<VersionedRecord, LockError> {
        let request = request.map_err(kube::Error::BuildRequest).map_err(|error| sorted(&error))?;
        let answer = self.client.request::<Value>(request).await;
        let lease = answer.and_then(|lease| {
            serde_json::from_value::<Lease>(without_unreadable_times(lease))
                .map_err(kube::Error::SerdeError)
        });
        let lease = lease.map_err(|error| sorted(&error))?;
        let Some(resource_version) = lease.metadata.resource_version.clone() else {
            let message = "server answered a Lease without resourceVersion".to_owned();
            return Err(LockError::Unavailable { message });
        };
        let record = lease.spec.as_ref().map(read_record).unwrap_or_default();
        *self.last.lock() = Some(lease);
        Ok(VersionedRecord { record, resource_version })
    }
}

impl ResourceLock for LeaseLock {
    fn get(&self) -> BoxFuture<'_, Result<VersionedRecord, LockError>> {
        Box::pin(self.ask(self.leases.get(&self.name, &GetParams::default())))
    }

    fn create(
        &self,
        record: LeaderElectionRecord,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>> {
        Box::pin(async move {
            let lease = bytes(&self.lease(&record, None))?;
            let created = self.ask(self.leases.create(&PostParams::default(), lease)).await;
            created.map_err(|error| match error {
                LockError::NotFound => {
                    let message = format!("namespace {:?} does not exist", self.namespace);
                    LockError::Refused { message }
                }
                error => error,
            })
        })
    }

    fn update(
        &self,
        record: LeaderElectionRecord,
        resource_version: String,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>> {
        Box::pin(async move {
            let lease = bytes(&self.lease(&record, Some(resource_version)))?;
            self.ask(self.leases.replace(&self.name, &PostParams::default(), lease)).await
        })
    }

    fn describe(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

fn bytes(lease: &Lease) -> Result<Vec<u8>, LockError> {
    serde_json::to_vec(lease).map_err(|error| sorted(&kube::Error::SerdeError(error)))
}

/// The Lease without times that cannot be read: an API server takes all of the year 9999, and [`Timestamp`] ends a day
/// before. No host could take such a Lease. `managedFields` have times too, and stay if an update has none.
fn without_unreadable_times(mut lease: Value) -> Value {
    if let Some(metadata) = lease.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, value| {
            let is_time = ["acquireTime", "renewTime"].contains(&&**field);
            !is_time || value.as_str().is_some_and(|time| time.parse::<Timestamp>().is_ok())
        });
    }
    lease
}

fn sorted(error: &kube::Error) -> LockError {
    match error {
        kube::Error::Api(status) => match status.code {
            404 => LockError::NotFound,
            409 => LockError::Conflict,
            400 | 401 | 403 | 405 | 422 => LockError::Refused { message: status.message.clone() },
            _ => LockError::Unavailable { message: status.message.clone() },
        },
        error => LockError::Unavailable { message: with_causes(error) },
    }
}

/// A missing or senseless field counts as empty: such a lease can be taken.
fn read_record(spec: &LeaseSpec) -> LeaderElectionRecord {
    let time = |time: &Option<MicroTime>| time.as_ref().map(|time| SystemTime::from(time.0));
    let number =
        |number: Option<i32>| u32::try_from(number.unwrap_or_default()).unwrap_or_default();
    LeaderElectionRecord {
        holder_identity: spec.holder_identity.clone().unwrap_or_default(),
        lease_duration: Duration::from_secs(number(spec.lease_duration_seconds).into()),
        acquire_time: time(&spec.acquire_time),
        renew_time: time(&spec.renew_time),
        leader_transitions: number(spec.lease_transitions),
    }
}

fn write_record(record: &LeaderElectionRecord, spec: &mut LeaseSpec) {
    // Times beyond the year 9999 cannot be written; they are only for people.
    let time = |time: Option<SystemTime>| Timestamp::try_from(time?).ok().map(MicroTime);
    // The server refuses 0; the configuration keeps within the valid range.
    let seconds = i32::try_from(record.lease_duration.as_secs()).unwrap_or(i32::MAX).max(1);
    spec.holder_identity = Some(record.holder_identity.clone());
    spec.lease_duration_seconds = Some(seconds);
    spec.acquire_time = time(record.acquire_time);
    spec.renew_time = time(record.renew_time);
    spec.lease_transitions = Some(i32::try_from(record.leader_transitions).unwrap_or(i32::MAX));
}

#[cfg(test)]
mod tests;
