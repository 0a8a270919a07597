//! What is said of a key that nobody knows: the nearest that somebody does.

/// How near a key has to be to be meant, from 0 to 1.
const NEAR: f64 = 0.7;

/// The problem with an unknown key.
pub(crate) fn unknown_key(key: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(key, a).total_cmp(&strsim::jaro_winkler(key, b)));
    match nearest {
        Some(nearest) if strsim::jaro_winkler(key, nearest) > NEAR => {
            format!("unknown key {key:?}; did you mean {nearest:?}?")
        }
        _ => format!("unknown key {key:?}; known are {}", known.join(", ")),
    }
}
