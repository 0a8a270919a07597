//! The span of the current call, and the spans of its requests. Nothing is done for a host without traces. A call whose
//! trace is not sampled has no spans.

use crate::call_error::CallError;
use crate::counters::OTHER_RESOURCES;
use crate::event::CurrentEvent;
use crate::guest::guest_state::{GuestState, Phase};
use crate::outside::outbound::OutboundRequest;
use crate::outside::write::{Write, WriteVerb};
use crate::trace::{
    CallCause, CallOrigin, CallTrace, Child, SpanAttribute, SpanId, SpanValue, TracedCall,
    object_attributes,
};
use std::borrow::Cow;
use std::time::Instant;

/// The header of W3C's Trace Context.
const TRACEPARENT: &str = "traceparent";

/// A write that has a span. It takes no text of the guest that was not checked.
pub(crate) struct TracedWrite {
    began: Instant,
    verb: WriteVerb,
    /// `None` until it is granted: spans have few names.
    resource: Option<String>,
    attributes: Vec<SpanAttribute<'static>>,
}

impl TracedWrite {
    fn begin(verb: WriteVerb) -> Self {
        let attributes = object_attributes(OTHER_RESOURCES, [""; 3]).collect();
        Self { began: Instant::now(), verb, resource: None, attributes }
    }

    /// Takes the names of a write whose form was checked.
    pub(crate) fn checked(&mut self, write: &Write, is_dry_run: bool) {
        let resource = write.what.resource().to_string();
        let object = object_attributes(&resource, [&write.namespace, &write.name, ""]);
        self.attributes = object.map(|(key, value)| (key, value.into_owned())).collect();
        let subresource = write.what.subresource();
        if !subresource.is_empty() {
            let subresource = SpanValue::from(subresource).into_owned();
            self.attributes.push(("informant.subresource", subresource));
        }
        if is_dry_run {
            self.attributes.push(("informant.dry_run", "true".into()));
        }
    }

    /// Names the span of a write that the plugin may make.
    pub(crate) fn granted(&mut self, write: &Write) {
        self.resource = Some(write.what.resource().to_string());
    }

    fn ended(&mut self, end: &RequestEnd) -> Child<'_> {
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.extend(end.attribute());
        let resource = self.resource.as_deref().unwrap_or(OTHER_RESOURCES);
        Child {
            id: SpanId::random(),
            name: (self.verb.name(), resource),
            began: self.began,
            attributes,
            error: end.error_type(),
        }
    }
}

/// A request over HTTP that has a span.
pub(crate) struct TracedRequest {
    id: SpanId,
    method: &'static str,
    attributes: Vec<SpanAttribute<'static>>,
    began: Instant,
    /// The header that the host adds. `None` if the plugin has set its own, which is kept, or if headers are left out.
    pub(crate) traceparent: Option<String>,
}

/// The end of a request: its HTTP status if there is one, and the type of its failure.
pub(crate) struct RequestEnd {
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<&'static str>,
}

impl RequestEnd {
    /// The value of `error.type`: the status if there is one.
    fn error_type(&self) -> Option<Cow<'static, str>> {
        match self.status {
            Some(status) if status >= 400 => Some(status.to_string().into()),
            _ => self.error.map(Cow::Borrowed),
        }
    }

    fn attribute(&self) -> Option<SpanAttribute<'static>> {
        Some(("http.response.status_code", u32::from(self.status?).into()))
    }
}

impl GuestState {
    /// Begins the span of a call for work.
    pub(crate) fn begin_trace(&mut self, origin: CallOrigin, called: Instant) {
        self.notes.trace = self.trace(origin, called, || match &self.phase {
            Phase::Handle(event) => CallCause::Event(event.into()),
            // The name of a Secret may be a key.
            Phase::Reconcile(key, changes) => {
                let key = (!self.grants_secrets()).then(|| key.clone());
                CallCause::Key(key, changes.clone())
            }
            Phase::Fire(schedule) => CallCause::Schedule(schedule.clone()),
            _ => CallCause::Synced,
        });
    }

    /// The same for an event that is not handed over.
    pub(crate) fn begin_refused(
        &mut self,
        event: &CurrentEvent,
        origin: CallOrigin,
        called: Instant,
    ) {
        self.notes.trace = self.trace(origin, called, || CallCause::Event(event.into()));
    }

    fn grants_secrets(&self) -> bool {
        self.powers.as_ref().is_none_or(|it| it.settings.grants_secrets())
    }

    fn trace(
        &self,
        origin: CallOrigin,
        called: Instant,
        cause: impl FnOnce() -> CallCause,
    ) -> Option<Box<CallTrace>> {
        let tracer = self.powers.as_ref()?.powers.tracer.as_ref()?;
        let (plugin, shard) = (self.plugin.clone(), self.shard.logged());
        tracer.call(TracedCall { plugin, shard, cause: cause(), origin }, called)
    }

    /// Ends the span of the call.
    pub(crate) fn end_trace<T>(&mut self, result: &Result<T, CallError>) {
        let Some(trace) = self.notes.trace.take() else { return };
        trace.end(result.as_ref().err().map(error_type));
    }

    /// The begin of a write, if it has a span.
    pub(crate) fn begin_write(&self, verb: WriteVerb) -> Option<TracedWrite> {
        let trace = self.notes.trace.as_ref()?;
        trace.is_sampled().then(|| TracedWrite::begin(verb))
    }

    /// Sends the span of a write.
    pub(crate) fn end_write(&mut self, mut write: TracedWrite, end: &RequestEnd) {
        if let Some(trace) = &mut self.notes.trace {
            trace.child(write.ended(end));
        }
    }

    /// The span of a request over HTTP, if it has one. The path and the query are left out, because they may contain
    /// credentials.
    pub(crate) fn begin_request(&self, request: &OutboundRequest) -> Option<TracedRequest> {
        let trace: &CallTrace = self.notes.trace.as_deref()?;
        let (id, target, method) = (SpanId::random(), &request.target, request.method.name());
        let is_own = request.headers.iter().any(|(name, _)| name == TRACEPARENT);
        let attributes = vec![
            ("http.request.method", method.into()),
            ("server.address", SpanValue::from(target.host()).into_owned()),
            ("server.port", u32::from(target.port()).into()),
        ];
        let traceparent = Some(id).filter(|_| !is_own).and_then(|id| trace.traceparent(id));
        Some(TracedRequest { id, method, attributes, began: Instant::now(), traceparent })
    }

    /// Sends the span of a request over HTTP.
    pub(crate) fn end_request(&mut self, request: TracedRequest, end: &RequestEnd) {
        let Some(trace) = &mut self.notes.trace else { return };
        let TracedRequest { id, method, mut attributes, began, .. } = request;
        attributes.extend(end.attribute());
        let name = (method, "");
        trace.child(Child { id, name, began, attributes, error: end.error_type() });
    }
}

/// The value of `error.type` of a failed call.
fn error_type(error: &CallError) -> &'static str {
    match error {
        CallError::StateConflict(_) => "conflict",
        CallError::EventTooLarge { .. } => "too-large",
        CallError::KeyRefused { .. } => "key-refused",
        other => other.cause(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::write::{How, NamedObject};

    /// The span of an ended write: its name, and its attributes. A write that is refused is not granted.
    fn shown(named: NamedObject<'_>, is_granted: bool, is_dry_run: bool) -> String {
        let mut traced = TracedWrite::begin(WriteVerb::Patch);
        if let Ok(write) = Write::new(named, How::MergePatch, b"{}".to_vec()) {
            traced.checked(&write, is_dry_run);
            if is_granted {
                traced.granted(&write);
            }
        }
        let child = traced.ended(&RequestEnd { status: None, error: None });
        let attributes = child.attributes.iter().map(|(key, value)| format!(" {key}={value:?}"));
        format!("{} {}:{}", child.name.0, child.name.1, attributes.collect::<String>())
            .replace("Text", "")
    }

    #[track_caller]
    fn check(resource: &str, is_granted: bool, is_dry_run: bool, expect: &str) {
        let named = NamedObject { resource, namespace: "shop", name: "web", subresource: "" };
        assert_eq!(shown(named, is_granted, is_dry_run), expect);
    }

    #[test]
    fn a_write_is_named_by_its_resource_once_it_is_granted() {
        let object =
            r#"informant.resource=("v1/pods") k8s.namespace.name=("shop") k8s.pod.name=("web")"#;
        check("v1/pods", true, false, &format!("patch v1/pods: {object}"));
        check("v1/pods", false, false, &format!("patch other: {object}"));
        let dry_run = r#"informant.dry_run=("true")"#;
        check("v1/pods", true, true, &format!("patch v1/pods: {object} {dry_run}"));
        let refused = r#"patch other: informant.resource=("other")"#;
        check(&"x".repeat(8 << 20), true, false, refused);
        check("v1/pods\u{202e}", true, false, refused);
    }
}
