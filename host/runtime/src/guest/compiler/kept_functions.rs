//! Compiles a plugin's next version with the functions of the version before, for `informant dev`.

use super::child::{Attempt, CompilerProgram};
use super::{CodeKey, CompileError, Compiler};
use crate::guest::engine::Engine;
use crate::plugin_name::PluginName;
use parking_lot::Mutex;
use std::collections::HashSet;
use tracing::debug;

/// The plugins that are compiled with kept functions.
#[derive(Default)]
pub(super) struct KeptFunctions {
    /// Plugins that are compiled without kept functions, after a failure with them.
    without: Mutex<HashSet<PluginName>>,
}

impl KeptFunctions {
    /// Compiles with the kept functions. They take memory, and Cranelift's reuse of them is experimental. So after any
    /// failure but a refusal, the compilation runs again without them, and so does every later version of the plugin.
    pub(super) async fn run(
        &self,
        program: &CompilerProgram,
        attempt: &Attempt,
        (plugin, file): (&PluginName, &[u8]),
        compiler: &Compiler,
        engine: &Engine,
    ) -> Result<Vec<u8>, CompileError> {
        if self.without.lock().contains(plugin) {
            return program.run(attempt, file, None).await.map(|answer| answer.plugin);
        }
        let key = CodeKey::of_functions(engine, plugin.as_str());
        let before = compiler.functions(key.clone()).await?;
        match program.run(attempt, file, Some(&before)).await {
            Err(error @ (CompileError::Memory(_) | CompileError::Host(_))) => {
                debug!(plugin = plugin.as_str(), "compiled without kept functions: {error}");
                self.without.lock().insert(plugin.clone());
                program.run(attempt, file, None).await.map(|answer| answer.plugin)
            }
            Err(error) => Err(error),
            Ok(answer) => {
                compiler.keep_functions(key, answer.functions).await?;
                Ok(answer.plugin)
            }
        }
    }
}

impl Compiler {
    /// The kept functions of a plugin; empty if there are none.
    async fn functions(&self, key: CodeKey) -> Result<Vec<u8>, CompileError> {
        let shared = self.shared.clone();
        let read = move || shared.cache.as_ref().and_then(|cache| cache.content(&key));
        Ok(self.step(read).await?.unwrap_or_default())
    }

    async fn keep_functions(&self, key: CodeKey, functions: Vec<u8>) -> Result<(), CompileError> {
        if functions.is_empty() {
            return Ok(());
        }
        let shared = self.shared.clone();
        let keep = move || {
            // Functions that cannot be kept are compiled again.
            let kept = shared.cache.as_ref().map(|cache| cache.put(&key, &functions));
            if let Some(Err(error)) = kept {
                debug!("a plugin's functions are not kept: {error}");
            }
        };
        self.step(keep).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CodeCacheOptions, CompilerOptions};
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    /// A shell in place of the compiler, which counts its calls in the file `calls`.
    fn program(root: &Path, script: &str) -> CompilerProgram {
        let calls = root.join("calls");
        CompilerProgram {
            program: "/bin/sh".into(),
            arguments: vec![
                "-c".into(),
                format!("calls={}; echo x >>$calls; {script}", calls.display()).into(),
            ],
            memory_bytes_max: 64 << 20,
            deadline: Duration::from_secs(20),
        }
    }

    /// Compiles two versions while each call runs this script: the result of each, and the number of calls.
    async fn check(script: &str, expect: [(&str, usize); 2]) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let program = program(root.path(), script);
        let directory = root.path().join("code");
        let cache = CodeCacheOptions { directory, bytes_max: 1 << 20 };
        let options = CompilerOptions {
            program: Some(program.clone()),
            cache: Some(cache),
            is_for_versions: true,
        };
        let compiler = Compiler::new(options).expect("a cache");
        let kept = compiler.shared.functions.as_ref().expect("they are kept");
        let (engine, plugin) = (Engine::new().expect("an engine"), "a".parse().expect("a name"));
        let attempt = program.attempts(usize::MAX).next().expect("there is one");
        let mut before = 0;
        for (found, calls) in expect {
            let compiled =
                kept.run(&program, &attempt, (&plugin, &[7; 100]), &compiler, &engine).await;
            let compiled =
                compiled.map_or_else(|error| error.to_string(), |plugin| format!("{plugin:?}"));
            assert!(compiled.contains(found), "{script}: {compiled}");
            let all = std::fs::read_to_string(root.path().join("calls")).expect("a file");
            assert_eq!(all.len() / 2 - before, calls, "{script}");
            before = all.len() / 2;
        }
    }

    #[tokio::test]
    async fn what_goes_wrong_with_kept_functions_is_done_without_them_from_then_on() {
        let answer = r"printf '\001\0\0\0\0\0\0\0c\0\0\0\0\0\0\0\0'";
        let first_fails =
            |failure: &str| format!("[ $(wc -l <$calls) -gt 1 ] || {{ {failure}; }}; {answer}");
        check(answer, [("[99]", 1), ("[99]", 1)]).await;
        let memory = first_fails("echo memory allocation of 8 bytes failed >&2; kill -6 $$");
        check(&memory, [("[99]", 2), ("[99]", 1)]).await;
        check(&first_fails("kill -9 $$"), [("[99]", 2), ("[99]", 1)]).await;
        let refused = "echo no such instruction >&2; exit 3";
        check(refused, [("no such instruction", 1), ("no such instruction", 1)]).await;
        check("kill -9 $$", [("most likely for want of memory", 2), ("want of memory", 1)]).await;
    }
}
