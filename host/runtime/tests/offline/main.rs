//! Guests without a host: runs from files, and playbacks of what a live host recorded.

mod recordings;
mod runs;

use informant_runtime::{CodeCacheOptions, CompilerOptions};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn guest(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let found = ["test-guests", "plugins"].map(|it| target.join(it).join(format!("{name}.wasm")));
    found.into_iter().find(|it| it.exists()).expect("`make plugins test-guests` has run")
}

/// Options with a cache for all tests of this run. It begins empty: no code is of another build.
fn compiler() -> CompilerOptions {
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("offline-code");
        if directory.exists() {
            std::fs::remove_dir_all(&directory).expect("it is the tests' own");
        }
        directory
    });
    let cache = CodeCacheOptions { directory: DIRECTORY.clone(), bytes_max: 1 << 30 };
    CompilerOptions { cache: Some(cache), ..CompilerOptions::default() }
}
