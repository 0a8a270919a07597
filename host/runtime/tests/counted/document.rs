//! A file of configuration is read within its bounds before it takes memory: whatever its bytes are,
//! reading it takes no more at once than its values at their bounds.

use allocation_counter::measure;
use informant_runtime::configuration::Layer;

/// What a configuration has at most.
const BYTES: usize = 1 << 20;
/// What 50,000 values take with their lines in the tree that is made of them, and in the library: about 300 bytes each.
const READING_BYTES_MAX: u64 = 16 << 20;

/// The JSON of the largest of the files below, with what is shown of them.
const KEPT_BYTES_MAX: u64 = 400 << 10;

fn filled(begin: &str, with: &str, end: &str) -> String {
    let times = (BYTES - begin.len() - end.len()) / with.len();
    [begin, &with.repeat(times), end].concat()
}

#[track_caller]
fn check(text: &str) {
    assert!(text.len() <= BYTES);
    let taken = measure(|| drop(Layer::of_sidecar("a.yaml", text.as_bytes())));
    let shown: String = text.chars().take(60).collect();
    assert!(taken.bytes_max <= READING_BYTES_MAX, "{} bytes at once: {shown}", taken.bytes_max);
}

#[test]
fn a_configuration_takes_little_memory_whatever_its_bytes() {
    check(&filled("[", "x,", "]"));
    check(&filled("[", r#"{"":0},"#, "]"));
    check(&filled("", "[", ""));
    check(&filled("", "- ", ""));
    check(&filled("", "? ", ""));
    check(&filled("", "{a: ", ""));
    check(&filled("a: ", "x", ""));
    check(&filled("a: \"", r"\u0061", "\""));
    check(&filled("a: |\n", "  x\n", ""));
    check(&filled("", "# x\n", "a: 1"));
    check(&filled("[", "&a x,", "]"));
    check(&filled("[&a x,", "*a,", "]"));
    check(&filled("", "---\n", ""));
    let within_bounds = format!("[{}x]", "[x],".repeat(24_000));
    check(&within_bounds);
    let bomb: String = (1..9)
        .map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")))
        .collect();
    check(&format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{bomb}"));
    let text = "x".repeat(900 << 10);
    check(&format!("a: &a {text}\nb: [{}]", ["*a"; 20].join(", ")));
}

/// Of a file whose values are short and many, no tree is kept: only the JSON of `config`.
#[test]
fn a_configuration_keeps_its_values_as_json() {
    const HEAD: &str = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\nconfig: [";
    let within = |with: &str, times: usize| format!("{HEAD}{}]", with.repeat(times));
    for text in [within("{abc: 1234567},", 16_000), within("x,", 49_000), within("[x],", 24_000)] {
        let mut layer = None;
        let taken = measure(|| layer = Some(Layer::of_sidecar("a.yaml", text.as_bytes())));
        assert!(layer.is_some_and(|layer| layer.is_ok()));
        assert!(taken.bytes_max <= READING_BYTES_MAX, "{} bytes at once", taken.bytes_max);
        let kept = u64::try_from(taken.bytes_current).unwrap_or(0);
        assert!(kept <= KEPT_BYTES_MAX, "{kept} bytes are kept");
    }
}
