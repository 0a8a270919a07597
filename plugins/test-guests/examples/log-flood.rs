//! Logs 20,000 lines on a pod named `log-flood…`, four times what is allowed in a second; and one line of
//! 4 MiB on `log-flood-long…`.
//!
//! The host must drop what is over the limit, say once how much that was, and not slow down for it.

test_guests::sin!(LogFlood, "log-flood", |event| {
    if event.key().name.starts_with("log-flood-long") {
        informant_plugin::info!("{}", "x".repeat(4 << 20));
        return Ok(());
    }
    for line in 1..=20_000 {
        informant_plugin::info!("flood line {line}");
    }
    Ok(())
});
