//! The span of the current call, and the spans of its requests. Nothing is done for a host without traces, or for a
//! call whose trace is not sampled.

use crate::call_error::CallError;
use crate::counters::OTHER_RESOURCES;
use crate::guest::guest_state::{GuestState, Phase};
use crate::one_line::one_line;
use crate::outside::outbound::OutboundRequest;
use crate::outside::write::NamedObject;
use crate::trace::{
    CallCause, CallOrigin, CallTrace, Child, SpanId, SpanValue, TracedCall, object_attributes,
};
use informant_apimachinery::GroupVersionResource;
use std::borrow::Cow;
use std::time::Instant;

/// The longest name of an object in Kubernetes. A longer text is no name, and is cut.
const NAME_BYTES_MAX: usize = 253;
/// The header of W3C's Trace Context.
const TRACEPARENT: &str = "traceparent";

/// A request over HTTP that has a span.
pub(crate) struct TracedRequest {
    id: SpanId,
    method: &'static str,
    attributes: Vec<(&'static str, SpanValue)>,
    began: Instant,
    /// The header that the host adds. `None` if the plugin has set its own, which is kept.
    pub(crate) traceparent: Option<String>,
}

/// The end of a request: its HTTP status if there is one, and the type of its failure.
pub(crate) struct RequestEnd {
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<&'static str>,
}

impl RequestEnd {
    /// The value of `error.type`: the status if there is one.
    fn error_type(&self) -> Option<String> {
        match self.status {
            Some(status) if status >= 400 => Some(status.to_string()),
            _ => self.error.map(str::to_owned),
        }
    }

    fn attribute(&self) -> Option<(&'static str, SpanValue)> {
        Some(("http.response.status_code", u32::from(self.status?).into()))
    }
}

impl GuestState {
    /// Begins the span of a call for work.
    pub(crate) fn begin_trace(&mut self, origin: CallOrigin, called: Instant) {
        let Some(powers) = &self.powers else { return };
        let Some(tracer) = &powers.powers.tracer else { return };
        let cause = match &self.phase {
            Phase::Handle(event) => CallCause::Event(event),
            // The name of a Secret may be a key.
            Phase::Reconcile(key) => {
                CallCause::Key(Some(&**key).filter(|_| !powers.settings.grants_secrets()))
            }
            Phase::Fire(schedule) => CallCause::Schedule(schedule),
            _ => CallCause::Synced,
        };
        let (plugin, shard) = (self.plugin.as_str(), self.shard.logged());
        self.notes.trace = tracer.call(&TracedCall { plugin, shard, cause, origin }, called);
    }

    /// Ends the span of the call.
    pub(crate) fn end_trace<T>(&mut self, result: &Result<T, CallError>) {
        let Some(trace) = self.notes.trace.take() else { return };
        trace.end(result.as_ref().err().map(CallError::cause));
    }

    /// The begin of a request, if it has a span.
    pub(crate) fn begin_write(&self) -> Option<Instant> {
        self.notes.trace.as_ref().map(|_| Instant::now())
    }

    /// Sends the span of a write.
    pub(crate) fn end_write(
        &mut self,
        began: Instant,
        (verb, named): (&str, &NamedObject<'_>),
        end: &RequestEnd,
    ) {
        let Some(trace) = &mut self.notes.trace else { return };
        let NamedObject { resource, namespace, name, subresource } = *named;
        // Spans have few names, and a name below no resource may be that of a Secret.
        let is_resource = resource.parse::<GroupVersionResource>().is_ok();
        let mut attributes = match is_resource {
            true => object_attributes(resource, &short(namespace), &short(name), ""),
            false => object_attributes(OTHER_RESOURCES, "", "", ""),
        };
        attributes.push(("informant.verb", verb.into()));
        if !subresource.is_empty() {
            attributes.push(("informant.subresource", (&*short(subresource)).into()));
        }
        attributes.extend(end.attribute());
        let resource = if is_resource { resource } else { OTHER_RESOURCES };
        let (id, name) = (SpanId::random(), format!("{verb} {resource}"));
        trace.child(Child { id, name, began, attributes, error: end.error_type() });
    }

    /// The span of a request over HTTP, if it has one. The path and the query are left out, because they may contain
    /// credentials.
    pub(crate) fn begin_request(&self, request: &OutboundRequest) -> Option<TracedRequest> {
        let trace: &CallTrace = self.notes.trace.as_deref()?;
        let (id, target, method) = (SpanId::random(), &request.target, request.method.name());
        let is_own = request.headers.iter().any(|(name, _)| name == TRACEPARENT);
        let attributes = vec![
            ("http.request.method", method.into()),
            ("server.address", target.host().into()),
            ("server.port", u32::from(target.port()).into()),
        ];
        let traceparent = (!is_own).then(|| trace.traceparent(id));
        Some(TracedRequest { id, method, attributes, began: Instant::now(), traceparent })
    }

    /// Sends the span of a request over HTTP.
    pub(crate) fn end_request(&mut self, request: TracedRequest, end: &RequestEnd) {
        let Some(trace) = &mut self.notes.trace else { return };
        let TracedRequest { id, method, mut attributes, began, .. } = request;
        attributes.extend(end.attribute());
        let name = method.to_owned();
        trace.child(Child { id, name, began, attributes, error: end.error_type() });
    }
}

/// A text that the plugin gave as a name.
fn short(text: &str) -> Cow<'_, str> {
    one_line(text, NAME_BYTES_MAX)
}
