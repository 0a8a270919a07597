//! The taped functions that wait for an outside answer: `kube` and `http`.

use super::{Json, TapedCall};
use crate::guest::bindings::informant::plugin::http;
use crate::guest::bindings::informant::plugin::kube::{
    Error as WriteError, Host as KubeHost, PatchType,
};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::tape::Taped;
use serde_json::json;

/// The same for functions that wait for an outside answer.
macro_rules! taped_later {
    ($(
        $called:literal
        $function:ident($($name:literal: $argument:ident: $type:ty),*) -> $answer:ty;
    )*) => { $(
        async fn $function(&mut self, $($argument: $type),*) -> wasmtime::Result<$answer> {
            let with = self.arguments(|| json!({ $($name: $argument.to_tape()),* }));
            self.taped_later($called, with, async |it| it.$function($($argument),*).await).await
        }
    )* };
}

impl KubeHost for TapedCall<'_> {
    taped_later! {
        "kube.create" create(
            "resource": gvr: String, "key": key: GuestKey, "subresource": subresource: String,
            "object": object: Json
        ) -> Result<Json, WriteError>;
        "kube.update" update(
            "resource": gvr: String, "key": key: GuestKey, "subresource": subresource: String,
            "object": object: Json
        ) -> Result<Json, WriteError>;
        "kube.delete"
        delete("resource": gvr: String, "key": key: GuestKey, "uid": uid: Option<String>)
            -> Result<(), WriteError>;
        "kube.record-event" record_event(
            "resource": gvr: String, "key": key: GuestKey, "warning": warning: bool,
            "reason": reason: String, "message": message: String
        ) -> Result<(), WriteError>;
    }

    async fn patch(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        patch_type: PatchType,
        patch: Json,
    ) -> wasmtime::Result<Result<Json, WriteError>> {
        let kind = match patch_type {
            PatchType::JsonPatch => "json-patch",
            PatchType::Merge => "merge",
            PatchType::Strategic => "strategic",
            PatchType::Apply(false) => "apply",
            PatchType::Apply(true) => "apply-force",
        };
        let with = self.arguments(|| json!({ "resource": gvr, "key": key.to_tape(), "subresource": subresource, "type": kind, "patch": patch.to_tape() }));
        self.taped_later("kube.patch", with, async |it| {
            it.patch(gvr, key, subresource, patch_type, patch).await
        })
        .await
    }
}

impl http::Host for TapedCall<'_> {
    async fn send(
        &mut self,
        request: http::Request,
    ) -> wasmtime::Result<Result<http::Response, http::Error>> {
        let http::Request { method, url, headers, body, timeout_ms } = &request;
        let with = self.arguments(|| json!({ "method": method, "url": url, "headers": headers, "body": body.to_tape(), "timeoutMs": timeout_ms }));
        self.taped_later("http.send", with, async |it| it.send(request).await).await
    }
}
