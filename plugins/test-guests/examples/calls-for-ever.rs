//! Asks the host for the same thing without end on a pod named `calls-for-ever…`: what it does itself is next to nothing.
//!
//! The host must count the time that it spends on answers as the guest's, and cut the call at its deadline. No host call
//! waits for anything, so this is the longest that a guest can stay in the host.

use informant_plugin::indexer;

test_guests::sin!(CallsForEver, "calls-for-ever", |_| {
    loop {
        std::hint::black_box(indexer::count("v1/pods", None).ok());
        for pod in indexer::list::<serde::de::IgnoredAny>("v1/pods") {
            std::hint::black_box(pod.ok());
        }
    }
});
