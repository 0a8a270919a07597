//! The taped functions that wait for an outside answer: `kube` and `http`.

use super::{Json, TapedAnswer, TapedCall};
use crate::guest::bindings::informant::plugin::http;
use crate::guest::bindings::informant::plugin::kube::{
    Error as WriteError, Host as KubeHost, PatchType,
};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::tape::{Taped, key_text};
use serde_json::{Value, json};

/// What an object is to be made or replaced with.
fn of_object(gvr: &str, key: &GuestKey, subresource: &str, object: &Json) -> Value {
    json!({ "resource": gvr, "key": key_text(key), "subresource": subresource, "object": object.to_tape() })
}

impl KubeHost for TapedCall<'_> {
    async fn create(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        object: Json,
    ) -> TapedAnswer<Json, WriteError> {
        let with = of_object(&gvr, &key, &subresource, &object);
        self.taped_later("kube.create", with, async |it| {
            it.create(gvr, key, subresource, object).await
        })
        .await
    }

    async fn update(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        object: Json,
    ) -> TapedAnswer<Json, WriteError> {
        let with = of_object(&gvr, &key, &subresource, &object);
        self.taped_later("kube.update", with, async |it| {
            it.update(gvr, key, subresource, object).await
        })
        .await
    }

    async fn patch(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        patch_type: PatchType,
        patch: Json,
    ) -> TapedAnswer<Json, WriteError> {
        let kind = match patch_type {
            PatchType::JsonPatch => "json-patch",
            PatchType::Merge => "merge",
            PatchType::Strategic => "strategic",
            PatchType::Apply(false) => "apply",
            PatchType::Apply(true) => "apply-force",
        };
        let with = json!({ "resource": gvr, "key": key_text(&key), "subresource": subresource, "type": kind, "patch": patch.to_tape() });
        self.taped_later("kube.patch", with, async |it| {
            it.patch(gvr, key, subresource, patch_type, patch).await
        })
        .await
    }

    async fn delete(
        &mut self,
        gvr: String,
        key: GuestKey,
        uid: Option<String>,
    ) -> TapedAnswer<(), WriteError> {
        let with = json!({ "resource": gvr, "key": key_text(&key), "uid": uid });
        self.taped_later("kube.delete", with, async |it| it.delete(gvr, key, uid).await).await
    }

    async fn record_event(
        &mut self,
        gvr: String,
        key: GuestKey,
        warning: bool,
        reason: String,
        message: String,
    ) -> TapedAnswer<(), WriteError> {
        let with = json!({ "resource": gvr, "key": key_text(&key), "warning": warning, "reason": reason, "message": message });
        self.taped_later("kube.record-event", with, async |it| {
            it.record_event(gvr, key, warning, reason, message).await
        })
        .await
    }
}

impl http::Host for TapedCall<'_> {
    async fn send(&mut self, request: http::Request) -> TapedAnswer<http::Response, http::Error> {
        let http::Request { method, url, headers, body, timeout_ms } = &request;
        let with = json!({ "method": method, "url": url, "headers": headers, "body": body.to_tape(), "timeoutMs": timeout_ms });
        self.taped_later("http.send", with, async |it| it.send(request).await).await
    }
}
