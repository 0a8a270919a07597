//! A handler of closures that get typed objects. Answers to client-go's `ResourceEventHandlerDetailedFuncs`
//! (`tools/cache/controller.go`).

use super::{Cause, FinalState, ResourceEventHandler};
use crate::lister::{ListerError, decode};
use crate::object::Object;
use serde::de::DeserializeOwned;

type AddFunc<K> = Box<dyn Fn(K, Cause) + Send + Sync>;
type UpdateFunc<K> = Box<dyn Fn(K, K, Cause) + Send + Sync>;
type DeleteFunc<K> = Box<dyn Fn(K, FinalState, Cause) + Send + Sync>;
type DecodeErrorFunc = Box<dyn Fn(&Object, ListerError) + Send + Sync>;

/// Calls closures with objects as `K`: k8s-openapi's `Pod`, kube's `DynamicObject`, or any type that has the needed fields.
/// Notifications without a closure are not decoded.
///
/// An object that cannot be read as `K` goes to the closure of
/// [`decode_error_func`](Self::decode_error_func). Without that closure it is logged as a warning, and the notification is
/// dropped.
///
/// ```
/// # use informant_cache::{Registration, ResourceEventHandlerFuncs, SharedIndexInformer};
/// # use k8s_openapi::api::core::v1::Pod;
/// # use std::sync::Arc;
/// # fn example(pods: &SharedIndexInformer) -> Registration {
/// let handler = ResourceEventHandlerFuncs::<Pod>::default()
///     .add_func(|pod, _| println!("added {:?}", pod.metadata.name))
///     .delete_func(|pod, _, _| println!("deleted {:?}", pod.metadata.name));
/// pods.add_event_handler(Arc::new(handler))
/// # }
/// ```
pub struct ResourceEventHandlerFuncs<K> {
    add: Option<AddFunc<K>>,
    update: Option<UpdateFunc<K>>,
    delete: Option<DeleteFunc<K>>,
    decode_error: DecodeErrorFunc,
}

impl<K> Default for ResourceEventHandlerFuncs<K> {
    fn default() -> Self {
        let decode_error: DecodeErrorFunc =
            Box::new(|_, error| tracing::warn!(%error, "a notification is dropped"));
        Self { add: None, update: None, delete: None, decode_error }
    }
}

impl<K: DeserializeOwned + 'static> ResourceEventHandlerFuncs<K> {
    /// Is called for [`ResourceEventHandler::on_add`].
    pub fn add_func(mut self, call: impl Fn(K, Cause) + Send + Sync + 'static) -> Self {
        self.add = Some(Box::new(call));
        self
    }

    /// Is called for [`ResourceEventHandler::on_update`], with the old state and the new one.
    ///
    /// Where only the old state cannot be read as `K`, the update is an addition: the closure of [`add_func`](Self::add_func)
    /// is called. Where the new one cannot, the update is dropped: what the closures keep of the object is stale until it can be read
    /// again, and stays so if it is deleted before. The closure of [`decode_error_func`](Self::decode_error_func) has its key.
    ///
    /// Without this closure no update is decoded: an object that could not be read when it was added is never added,
    /// and its deletion is reported all the same.
    pub fn update_func(mut self, call: impl Fn(K, K, Cause) + Send + Sync + 'static) -> Self {
        self.update = Some(Box::new(call));
        self
    }

    /// Is called for [`ResourceEventHandler::on_delete`], with the last known state.
    pub fn delete_func(
        mut self,
        call: impl Fn(K, FinalState, Cause) + Send + Sync + 'static,
    ) -> Self {
        self.delete = Some(Box::new(call));
        self
    }

    /// Is called with each new or last state that cannot be read as `K`, and with a [`ListerError::Decode`].
    pub fn decode_error_func(
        mut self,
        call: impl Fn(&Object, ListerError) + Send + Sync + 'static,
    ) -> Self {
        self.decode_error = Box::new(call);
        self
    }

    /// None: that is reported.
    fn decode(&self, object: &Object) -> Option<K> {
        decode(object).map_err(|error| (self.decode_error)(object, error)).ok()
    }
}

impl<K> std::fmt::Debug for ResourceEventHandlerFuncs<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { add, update, delete, decode_error: _ } = self;
        f.debug_struct("ResourceEventHandlerFuncs")
            .field("add", &add.is_some())
            .field("update", &update.is_some())
            .field("delete", &delete.is_some())
            .finish()
    }
}

impl<K: DeserializeOwned + 'static> ResourceEventHandler for ResourceEventHandlerFuncs<K> {
    fn on_add(&self, object: &Object, cause: Cause) {
        if let Some(add) = &self.add
            && let Some(object) = self.decode(object)
        {
            add(object, cause);
        }
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        if let Some(update) = &self.update
            && let Some(new) = self.decode(new)
        {
            // The old state was reported when it was the new one.
            match (decode(old), &self.add) {
                (Ok(old), _) => update(old, new, cause),
                (Err(_), Some(add)) => add(new, cause),
                (Err(_), None) => {}
            }
        }
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        if let Some(delete) = &self.delete
            && let Some(last) = self.decode(last)
        {
            delete(last, final_state, cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource_event_handler::Reason;
    use k8s_openapi::api::core::v1::ConfigMap;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::time::Instant;

    const ONE: &str = r#"{"x":"1"}"#;
    const TWO: &str = r#"{"x":"2"}"#;

    fn object(data: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"namespace":"a","name":"b","resourceVersion":"1"}},"data":{data}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("an object")
    }

    fn value(map: &ConfigMap) -> String {
        map.data.as_ref().and_then(|data| data.get("x")).cloned().unwrap_or_default()
    }

    /// The calls of the closures for an addition, an update and a deletion, where the data is `old` at first and then `new`.
    #[track_caller]
    fn check(old: &str, new: &str, expect: &[&str]) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let note = || {
            let calls = calls.clone();
            move |text: String| calls.lock().push(text)
        };
        let (add, update, delete, error) = (note(), note(), note(), note());
        let handler = ResourceEventHandlerFuncs::<ConfigMap>::default()
            .add_func(move |new, _| add(format!("add {}", value(&new))))
            .update_func(move |old, new, _| {
                update(format!("update {} {}", value(&old), value(&new)))
            })
            .delete_func(move |last, state, _| delete(format!("delete {} {state:?}", value(&last))))
            .decode_error_func(move |object, decode| {
                assert!(matches!(&decode, ListerError::Decode { key, .. } if key == object.key()));
                let json: serde_json::Value = serde_json::from_slice(&object.json()).expect("JSON");
                error(format!("unreadable {}", json["data"]));
            });
        let cause = Cause { reason: Reason::Watch, received: Instant::now() };
        let (old, new) = (object(old), object(new));
        handler.on_add(&old, cause);
        handler.on_update(&old, &new, cause);
        handler.on_delete(&new, FinalState::Unknown, cause);
        assert_eq!(*calls.lock(), expect);
    }

    #[test]
    fn closures_get_typed_objects() {
        check(ONE, TWO, &["add 1", "update 1 2", "delete 2 Unknown"]);
    }

    #[test]
    fn state_that_cannot_be_read_is_reported_and_is_no_call() {
        check(ONE, "7", &["add 1", "unreadable 7", "unreadable 7"]);
        check("7", "8", &["unreadable 7", "unreadable 8", "unreadable 8"]);
    }

    #[test]
    fn an_object_that_can_be_read_at_last_is_added() {
        check("7", TWO, &["unreadable 7", "add 2", "delete 2 Unknown"]);
    }

    #[test]
    fn an_update_is_no_addition_where_nobody_wants_those() {
        let handler = ResourceEventHandlerFuncs::<ConfigMap>::default()
            .update_func(|_, _, _| panic!("there is no old state"));
        let cause = Cause { reason: Reason::Watch, received: Instant::now() };
        handler.on_update(&object("7"), &object(TWO), cause);
    }

    #[test]
    fn notification_without_a_closure_is_not_decoded() {
        let handler = ResourceEventHandlerFuncs::<ConfigMap>::default()
            .decode_error_func(|object, error| panic!("{} is decoded: {error}", object.key()));
        let cause = Cause { reason: Reason::Watch, received: Instant::now() };
        handler.on_add(&object("7"), cause);
        handler.on_update(&object("7"), &object("8"), cause);
        handler.on_delete(&object("8"), FinalState::Known, cause);
    }
}
