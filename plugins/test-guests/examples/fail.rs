//! Returns a failure on a pod named `fail…`: `fail-never…` says that it should not be retried,
//! `fail-after…` asks for 50 ms, any other name leaves it to the host, and with `fail-once…` the second
//! attempt succeeds.
//!
//! The host must keep the instance, retry as told, and not let other objects' events wait.

use std::time::Duration;

test_guests::sin!(Fail, "fail", |event| {
    let name = event.key().name.as_str();
    let failure = informant_plugin::Failure::new(format!("asked to fail by {}", event.key()));
    if name.starts_with("fail-never") {
        return Err(failure.never_retry());
    }
    if name.starts_with("fail-after") {
        return Err(failure.retry_after(Duration::from_millis(50)));
    }
    if name.starts_with("fail-once") && event.attempt() > 1 {
        test_guests::behave(&event);
        return Ok(());
    }
    Err(failure)
});
