//! Allocates without end on a pod named `allocate…`, and writes to what it gets.
//!
//! The host must stop it at the memory limit, name the limit as the cause, and give the memory back.

test_guests::sin!(Allocate, "allocate", |_| {
    let mut hoard = Vec::new();
    loop {
        hoard.push(std::hint::black_box(vec![0xA5_u8; 1 << 20]));
    }
});
