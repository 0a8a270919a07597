//! Loops for ever on a pod named `spin…`.
//!
//! The host must cut the call at its deadline, say so, and deliver other objects' events to a new
//! instance. No other plugin may notice.

test_guests::sin!(Spin, "spin", |_| {
    loop {
        std::hint::spin_loop();
    }
});
