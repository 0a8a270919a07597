//! The number of shards that a plugin asks for.

use super::{DescriptorError, error};
use crate::shard::SHARDS_MAX;

/// One by default.
pub(super) fn shards(asked: Option<u64>) -> Result<usize, DescriptorError> {
    let asked = asked.unwrap_or(1);
    usize::try_from(asked)
        .ok()
        .filter(|shards| (1..=SHARDS_MAX).contains(shards))
        .ok_or_else(|| error("shards", format!("is {asked}, and may be 1 to {SHARDS_MAX}")))
}

#[cfg(test)]
mod tests {
    use crate::contract::descriptor::Descriptor;

    #[track_caller]
    fn check(key: &str, expect: Result<usize, &str>) {
        let json = format!(r#"{{"version":"1"{key}}}"#);
        let descriptor = Descriptor::parse(json.as_bytes());
        let shards = descriptor.map(|it| it.shards).map_err(|error| error.to_string());
        assert_eq!(shards.as_ref().map(|shards| *shards).map_err(String::as_str), expect);
    }

    #[test]
    fn a_plugin_asks_for_one_shard_or_up_to_the_bound() {
        check("", Ok(1));
        check(r#","shards":1"#, Ok(1));
        check(r#","shards":64"#, Ok(64));
        for bad in [0, 65, u64::MAX] {
            let text = format!("descriptor shards: is {bad}, and may be 1 to 64");
            check(&format!(r#","shards":{bad}"#), Err(&text));
        }
    }
}
