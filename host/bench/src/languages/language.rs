//! The languages that are compared: what each is called, what its project is made of, and what bounds it.

/// A language in which plugins are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// With the SDK, for wasm32-unknown-unknown.
    Rust,
    /// Go's own compiler.
    Go,
    /// QuickJS.
    Js,
    /// CPython.
    Python,
    /// Freestanding, with the SDK compiled along.
    C,
    /// Its own compiler.
    Zig,
    /// Its own compiler, from npm.
    #[value(name = "assemblyscript")]
    AssemblyScript,
    /// The WebAssembly text format: what the host itself takes.
    Wat,
}

impl Language {
    /// All, in the order of the table.
    pub const ALL: [Self; 8] = [
        Self::Rust,
        Self::Go,
        Self::Js,
        Self::Python,
        Self::C,
        Self::Zig,
        Self::AssemblyScript,
        Self::Wat,
    ];

    /// What `--lang` calls it, and its folder here.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Js => "js",
            Self::Python => "python",
            Self::C => "c",
            Self::Zig => "zig",
            Self::AssemblyScript => "assemblyscript",
            Self::Wat => "wat",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Js => "JavaScript",
            Self::Python => "Python",
            Self::C => "C",
            Self::Zig => "Zig",
            Self::AssemblyScript => "AssemblyScript",
            Self::Wat => "WebAssembly text",
        }
    }

    /// The file of a new project that the bench's own takes the place of, and that one's text.
    pub(super) fn source(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Rust => Some(("src/lib.rs", include_str!("../../guests/languages/lib.rs"))),
            Self::Go => Some(("main.go", include_str!("../../guests/languages/main.go"))),
            Self::Js => Some(("plugin.js", include_str!("../../guests/languages/plugin.js"))),
            Self::Python => Some(("app.py", include_str!("../../guests/languages/app.py"))),
            Self::C => Some(("hello.c", include_str!("../../guests/languages/hello.c"))),
            Self::Zig => Some(("hello.zig", include_str!("../../guests/languages/hello.zig"))),
            Self::AssemblyScript => {
                Some(("assembly/index.ts", include_str!("../../guests/languages/index.ts")))
            }
            Self::Wat => None,
        }
    }

    /// Commands for a shell in the project's folder; each that succeeds says one thing about what built it.
    pub(super) fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["rustc --version | cut -d ' ' -f 1,2"],
            Self::Go => &["go version || /usr/local/go/bin/go version"],
            Self::Js => &[
                r#"echo "Node.js $(node --version)""#,
                // npm puts it beside the SDK or above it.
                r#"for package in node_modules/componentize-qjs/package.json sdk/js/node_modules/componentize-qjs/package.json; do
                test -e $package && echo "componentize-qjs $(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).version' $package)" && exit; done; exit 1"#,
            ],
            Self::Python => &[".venv/bin/python --version", ".venv/bin/componentize-py --version"],
            Self::C => &[
                // In the order in which `informant plugin build` tries them.
                r#"if clang --target=wasm32 -nostdlib -Wl,--no-entry -x c /dev/null -o /dev/null; then clang --version | head -n 1
                elif version=$(zig version); then echo "Zig $version"
                else echo "Zig $(.venv/bin/python -m ziglang version || python3 -m ziglang version)"; fi"#,
            ],
            Self::Zig => &[
                r#"echo "Zig $(zig version || .venv/bin/python -m ziglang version || python3 -m ziglang version)""#,
            ],
            Self::AssemblyScript => &[
                r#"echo "Node.js $(node --version)""#,
                r#"for package in node_modules/assemblyscript/package.json sdk/assemblyscript/node_modules/assemblyscript/package.json; do
                test -e $package && echo "assemblyscript $(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).version' $package)" && exit; done; exit 1"#,
            ],
            Self::Wat => &["echo wat2plugin"],
        }
    }

    /// What there is not in it, or is bounded by it.
    pub(super) fn limits(self) -> &'static str {
        match self {
            Self::Rust => "none of its own; no WASI is in it",
            Self::Go => {
                "one call brings at most 9 MiB; goroutines run while a call lasts; `os.Exit` and fatal errors of the runtime end the instance"
            }
            Self::Js => "the host does not wait for promises; there is no `setTimeout`",
            Self::Python => "imports stand at the top, and are carried out as the plugin is built",
            Self::C => "a trap ends the instance; no libc, no WASI; the stack has 64 KiB",
            Self::Zig => {
                "a panic ends the instance; no WASI: no clock, no files; the stack has 128 KiB"
            }
            Self::AssemblyScript => "a thrown error ends the instance; no closures",
            Self::Wat => "written by hand; this plugin does not look into objects",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_call_brings_in_go_is_what_its_sdk_says() {
        let memory = include_str!("../../../../plugin-sdk/go/internal/abi/memory.go");
        assert!(memory.contains("const arenaSize = 9 << 20\n"));
        assert!(Language::Go.limits().contains("at most 9 MiB"));
    }
}
