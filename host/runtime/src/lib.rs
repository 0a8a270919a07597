//! Runs plugins: loads WebAssembly components from watched directories, calls them under limits, and replaces them
//! while events flow.
//!
//! The path of an event: an informer notifies a handler of `delivery::subscription`, which evaluates the view and
//! pushes into the plugin's queue. The plugin's actor pops the event, calls the guest and settles. The path of a file:
//! a scan finds the file. It is checked against the contract, compiled and described, and then the actor swaps the
//! versions.
//!
//! No two modules import each other, also not through others. The groups below are listed from the bottom to the top.

// Common words, names and numbers.
mod account;
mod backtrace;
mod call_error;
mod counted;
mod counters;
mod enumerated;
mod log_budget;
mod log_tail;
mod names;
mod namespace_labels;
mod one_line;
mod origin;
mod plugin_name;
mod private_files;
mod shard;
mod sleep_until;
mod token_bucket;

// Events, outside requests, and the agreements about both.
mod contract;
mod event;
mod outside;
mod powers;
mod trace;

// From an informer to a call.
mod delivery;
mod guest_threads;
mod history;
mod kept;
mod pace;
mod plugin_metrics;

// From a file to a guest.
mod directory;
mod guest;

// Plugins, and their host.
mod plugin;
mod plugin_host;
mod plugins;
mod recording;
mod why;

// Without a host: commands, pages, benches and tests.
mod fixed_limits;
mod offline;

#[doc(hidden)]
pub mod bench_parts;
#[cfg(test)]
mod cost_growth;
#[cfg(test)]
mod fuzz;

pub use account::{Account, Overdraft};
pub use call_error::{CallError, Retry};
pub use contract::component::{CONTRACT_VERSION, WasiImports};
pub use contract::coverage::{NAMESPACES_WATCHED_MAX, watched_namespaces};
pub use contract::descriptor::{Descriptor, DescriptorError, WriteSpec};
pub use contract::limits::{Limit, Limits, TABLE as LIMITS, Unit};
pub use contract::{configuration, selectors};
pub use counters::{BUCKETS, Counters, Histogram, RareHistogram};
pub use delivery::key_queue::KeysSnapshot;
pub use delivery::mailboxes::QueueSnapshot;
pub use delivery::timers::TimersSnapshot;
pub use directory::{plugin_files, read_configuration};
pub use enumerated::first_texts;
pub use fixed_limits::{FIXED as FIXED_LIMITS, FixedLimit};
pub use guest::compiler::{
    CodeCacheError, CodeCacheOptions, CompileCounts, CompileError, CompilerOptions,
    CompilerProgram, check_code_cache, compile_standard_input,
};
pub use guest::engine::EngineError;
pub use guest_threads::THREAD_STACK_BYTES;
pub use kept::archive::{
    StateDirectoryError, StateDirectoryOptions, StateDirectoryStatus, check_state_directory,
};
pub use kept::dead_letters::{DeadLetter, Selection};
pub use kept::plugin_archive::KeptSnapshot;
pub use log_tail::{KeptLine, LogPiece, LogReader};
pub use namespace_labels::namespaces;
pub use offline::check::{CheckError, PluginChecker, PluginReport};
pub use offline::{
    KindedObject, OfflineError, OfflineOptions, OfflinePlugin, PatchObject, PatchOf,
    SCRIPT_BYTES_MAX, Script, ScriptError, Transcript,
};
pub use one_line::{disturbs_terminal, one_line};
pub use outside::access_reviewer::{AccessAnswer, AccessReview, AccessReviewer, NoReviews};
pub use outside::cluster_writer::{
    ClusterWriter, NoCluster, WriteError, WriteRequest, WriteTarget,
};
pub use outside::http_client::{HttpClient, HttpError, HttpRequest, HttpResponse, NoHttp};
pub use outside::leading::leader_text;
pub use outside::outbound::{AddressKind, AddressKinds, SecretHeader, SecretName, Target};
pub use outside::service_account::ServiceAccount;
pub use plugin::admin::{AdminError, PluginAdmin};
pub use plugin::core::ReplaySnapshot;
pub use plugin::lifecycle::{Input, LifecycleState};
pub use plugin::prepare::LoadError;
pub use plugin::status::{PluginStatus, ShardStatus};
pub use plugin_host::{PluginHost, PluginHostOptions, STOPS_TIME_MAX, StartError};
pub use plugin_metrics::{
    METRIC_BUCKETS, MetricBounds, MetricKind, MetricLabels, MetricNames, MetricValue,
    PluginMetrics, PluginSeries,
};
pub use plugin_name::{InvalidPluginName, PluginName};
pub use plugins::Plugins;
pub use powers::access::AccessCounts;
pub use recording::{
    RECORDING_BYTES_DEFAULT, RECORDING_BYTES_MAX, RecordError, RecordOptions, Recording,
    RecordingError,
};
pub use trace::{Span, SpanAttribute, SpanId, SpanKind, SpanProcessor, SpanValue, TraceId, Tracer};
pub use why::{
    CachedObject, DeliveryWhy, KeyWhy, LetterWhy, PluginWhy, SubscriptionWhy, UnmetQuestion,
    WaitingWhy, Why, WhyQuestion,
};
