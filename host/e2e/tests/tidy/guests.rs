//! Every plugin that misbehaves on purpose has a test that shows that no other plugin is affected.

/// The guests without a test of the expected name.
pub fn without_test(guests: &[String], tests: &str) -> Vec<String> {
    let test = |guest: &String| format!("fn {}_hurts_nobody()", guest.replace('-', "_"));
    let untested = guests.iter().filter(|guest| !tests.contains(&test(guest)));
    untested.map(|guest| format!("test guest {guest} has no `{}`", test(guest))).collect()
}

#[test]
fn guest_without_its_test_is_complained_of() {
    let guests = ["trap", "log-flood"].map(str::to_owned);
    let tests = "#[test]\nfn trap_hurts_nobody() {}";
    let expect = ["test guest log-flood has no `fn log_flood_hurts_nobody()`"];
    assert_eq!(without_test(&guests, tests), expect);
}
