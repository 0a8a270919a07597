//! The languages of projects: one table for help, messages and docs.

use clap::ValueEnum;

/// The language of a plugin's sources.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Rust, with cargo.
    Rust,
    /// Go, with its own compiler.
    Go,
    /// JavaScript, with QuickJS from npm.
    Js,
    /// TypeScript, with the SDK for JavaScript.
    #[value(name = "typescript")]
    TypeScript,
    /// Python, with componentize-py from PyPI.
    Python,
    /// C, with clang or Zig.
    C,
    /// Zig, with its own compiler.
    Zig,
    /// AssemblyScript, with its compiler from npm.
    #[value(name = "assemblyscript")]
    AssemblyScript,
}

/// The facts of a language.
pub(crate) struct Facts {
    /// The name for people.
    pub(crate) title: &'static str,
    /// The folder in `plugin-sdk`, and the value of `--lang`.
    pub(crate) key: &'static str,
    /// The tools that must be installed.
    pub(crate) toolchain: &'static str,
    /// The packages that the first build fetches.
    pub(crate) fetches: &'static str,
    /// The command that runs a new project's own tests, with their requirements. `NAME` stands for the project's name.
    pub(crate) test: &'static str,
}

impl Language {
    pub(crate) const ALL: [Self; 8] = [
        Self::Rust,
        Self::Go,
        Self::Js,
        Self::TypeScript,
        Self::Python,
        Self::C,
        Self::Zig,
        Self::AssemblyScript,
    ];

    /// The folder in `plugin-sdk` with the language's SDK.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::TypeScript => Self::Js.facts().key,
            other => other.facts().key,
        }
    }

    pub(crate) fn facts(self) -> &'static Facts {
        match self {
            Self::Rust => &Facts {
                title: "Rust",
                key: "rust",
                toolchain: "Rust 1.95 or newer with the target wasm32-unknown-unknown",
                fetches: "some 20 crates from crates.io",
                test: "cargo test",
            },
            Self::Go => &Facts {
                title: "Go",
                key: "go",
                toolchain: "Go 1.24 or newer",
                fetches: "nothing",
                test: "go test .",
            },
            Self::Js => &Facts {
                title: "JavaScript",
                key: "js",
                toolchain: "Node.js 20.6 or newer with npm",
                fetches: "componentize-qjs and esbuild from npm, into node_modules",
                test: "npm install && npm test",
            },
            Self::TypeScript => &Facts {
                title: "TypeScript",
                key: "typescript",
                toolchain: "Node.js 20.6 or newer with npm",
                fetches: "componentize-qjs, esbuild and typescript from npm, into node_modules",
                test: "npm install && npm test",
            },
            Self::Python => &Facts {
                title: "Python",
                key: "python",
                toolchain: "Python 3.10 or newer with venv",
                fetches: "componentize-py from PyPI, into .venv",
                test: "PYTHONPATH=sdk/python python3 -m unittest",
            },
            Self::C => &Facts {
                title: "C",
                key: "c",
                toolchain: "clang with wasm-ld, or Zig",
                fetches: "nothing",
                test: "make test",
            },
            Self::Zig => &Facts {
                title: "Zig",
                key: "zig",
                toolchain: "Zig 0.17, and no other",
                fetches: "nothing",
                test: "zig test NAME.zig",
            },
            Self::AssemblyScript => &Facts {
                title: "AssemblyScript",
                key: "assemblyscript",
                toolchain: "Node.js 20.6 or newer with npm",
                fetches: "assemblyscript from npm, into node_modules",
                test: "npm install && npm test",
            },
        }
    }
}
