//! Loops for ever on a pod named `spin…`; as `spin-in-<export>` in that export instead: `describe`, `start`, `stop`, `snapshot`,
//! `restore`.
//!
//! The host must cut the call at its deadline, say so, and deliver other objects' events to a new
//! instance. No other plugin may notice.

test_guests::sin_in_any_export!(Spin, "spin", |_| {
    loop {
        std::hint::spin_loop();
    }
});
