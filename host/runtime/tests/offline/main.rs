//! Real guests without a host, and their recordings.

mod recordings;
mod runs;

use informant_runtime::{CodeCacheOptions, CompilerOptions};
use std::path::{Path, PathBuf};

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

fn guest(name: &str) -> PathBuf {
    let found = ["test-guests", "plugins"].map(|it| target().join(it).join(format!("{name}.wasm")));
    found.into_iter().find(|it| it.exists()).expect("`make plugins test-guests` has run")
}

/// A compiler for each test, and the code of a guest once for all of them.
fn compiler() -> CompilerOptions {
    let directory = target().join("offline-tests-code");
    let cache = CodeCacheOptions { directory, bytes_max: 1 << 30 };
    CompilerOptions { cache: Some(cache), ..CompilerOptions::default() }
}
