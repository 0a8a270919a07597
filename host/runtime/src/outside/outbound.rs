//! Outside requests of plugins: their form, their targets, and the effect of a redirect. All of this is synchronous;
//! `powers/exchange.rs` waits, and the program sends (`outside/http_client.rs`).

mod addresses;
mod ambiguity;
mod granted;
mod headers;
mod method;
mod origin;
mod redirect;
mod request;
mod target;

pub(crate) use addresses::AddressRefusal;
pub use addresses::{AddressKind, AddressKinds};
pub(crate) use granted::GrantedRequest;
pub(crate) use headers::{
    HEADER_BYTES_MAX, HEADERS_MAX, is_same_header, secret_header_name, secret_prefix,
};
pub use headers::{SecretHeader, SecretName};
pub(crate) use method::Method;
pub(crate) use origin::{OriginRule, PATH_BYTES_MAX, PathRule};
pub(crate) use redirect::{REDIRECTS_MAX, redirected};
pub(crate) use request::{OutboundRequest, PluginRequest, timeout};
pub use target::Target;
pub(crate) use target::URL_BYTES_MAX;
