//! A project in each language whose tools are there. `make projects` runs these; `LANGUAGES=go` is a filter of their names.

use super::*;

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn rust() {
    let Some(place) = place(&[]) else { return };
    if !place.has("informant plugin new probe --lang rust && cd probe && cargo fetch --target wasm32-unknown-unknown") {
        return skip::say("cargo reaches no registry");
    }
    let language = Language {
        key: "rust",
        says: "hello: added pod",
        file: "src/lib.rs",
        from: "\"{}: {} pod {}\"",
        to: "\"{}, again: {} pod {}\"",
        refuses: "expected item",
    };
    check(&language, &place);
}

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn go() {
    let Some(place) = place(&[]) else { return };
    if !place.has("go version") {
        return skip::say("there is no Go on PATH nor in /usr/local/go/bin");
    }
    let language = Language {
        key: "go",
        says: "\"message\":\"hello\"",
        file: "main.go",
        from: "slog.Info(h.Greeting,",
        to: "slog.Info(h.Greeting+\", again\",",
        refuses: "expected 'package'",
    };
    check(&language, &place);
}

/// Kubernetes' Go types take more table elements than other plugins, and an argument for the program's name.
#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn kubernetes_types_in_go() {
    let Some(place) = place(&[]) else { return };
    if !place.has("go version") {
        return skip::say("there is no Go on PATH nor in /usr/local/go/bin");
    }
    let text = std::fs::read_to_string(readme("go")).expect("a README");
    let (_, section) = text.split_once("\n## Kubernetes' own types\n").expect("its section");
    let block = |language: &str| {
        let (_, rest) = section.split_once(&format!("\n```{language}\n")).expect("a block");
        rest.split_once("\n```").expect("its end").0.to_owned()
    };
    let (code, said) = place.run("informant plugin new deny --lang go && rm deny/main_test.go");
    assert_eq!(code, Some(0), "{said}");
    let project = place.folder.path().join("deny");
    std::fs::write(project.join("main.go"), block("go") + "\n").expect("a save");
    std::fs::create_dir(project.join("objects")).expect("a directory");
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {default-deny: 'true'}}}\n";
    std::fs::write(project.join("objects/shop.yaml"), namespace).expect("a file");
    let commands = block("sh");
    let grants = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration\nplugins: {deny: {writes: [{resources: [networking.k8s.io/v1/networkpolicies], verbs: [create, patch]}]}}\n";
    std::fs::write(project.join("host.yaml"), grants).expect("a file");
    let test = "informant plugin test build/deny.wasm --objects objects --config host.yaml";
    let (code, said) = place.run(&format!("cd deny\n{commands}\n{test}"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("networkpolicies") && said.contains("shop"), "{said}");
}

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn js() {
    let Some(place) = place(&[]) else { return };
    if !place.has("npm view esbuild@0.25.12 version && npm view componentize-qjs@0.4.5 version") {
        return skip::say("there is no Node.js with npm, or npm reaches no registry");
    }
    let language = Language {
        key: "js",
        says: "\"message\":\"hello\"",
        file: "plugin.js",
        from: "log.info(greeting,",
        to: "log.info(greeting + \", again\",",
        refuses: "Unexpected",
    };
    check(&language, &place);
}

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn typescript() {
    let Some(place) = place(&[]) else { return };
    let packages = ["esbuild@0.25.12", "componentize-qjs@0.4.5", "typescript@7.0.2"];
    if !place.has(&packages.map(|it| format!("npm view {it} version")).join(" && ")) {
        return skip::say("there is no Node.js with npm, or npm reaches no registry");
    }
    let language = Language {
        key: "typescript",
        says: "\"message\":\"hello\"",
        file: "src/plugin.ts",
        from: "log.info(greeting,",
        to: "log.info(greeting + \", again\",",
        refuses: "Unexpected",
    };
    check(&language, &place);
    // A wrong type is an error of the build, with its place.
    let source = place.folder.path().join("hello/src/plugin.ts");
    let text = std::fs::read_to_string(&source).expect("a source");
    let line = text.lines().position(|line| line.contains(language.from)).expect("a line") + 1;
    std::fs::write(&source, text.replace("greeting,", "greeting satisfies number,"))
        .expect("a save");
    let (code, said) = place.run("informant plugin build hello");
    assert_eq!(code, Some(1), "{said}");
    let error = said.lines().last().unwrap_or_default();
    assert!(
        error.contains(&format!("src/plugin.ts({line},")) && error.contains("error TS"),
        "{said}"
    );
}

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn python() {
    let Some(place) = place(&[]) else { return };
    let wheel = format!(
        "python3 -m pip download --quiet --no-deps -d '{}' componentize-py==0.25.1",
        kept("wheels").display()
    );
    if !place.has(&wheel) {
        return skip::say("there is no Python with pip, or pip reaches no registry");
    }
    let language = Language {
        key: "python",
        says: "\"message\":\"hello\"",
        file: "app.py",
        from: "logging.info(self.greeting,",
        to: "logging.info(self.greeting + \", again\",",
        refuses: "SyntaxError",
    };
    check(&language, &place);
}

/// The folder in `PATH` into which pip installs Zig, once for all runs.
fn zig_folder() -> PathBuf {
    kept("zig").join("on-path")
}

/// Whether Zig is in the folder's `PATH`, or pip installs it.
fn has_zig(place: &Place) -> bool {
    let tools = kept("zig");
    let at = tools.display();
    let bring = format!(
        "test -x '{at}/on-path/zig' && zig version || {{ \
           python3 -m venv --clear '{at}/venv' && '{at}/venv/bin/pip' install --quiet ziglang==0.17.0 && mkdir -p '{at}/on-path' && \
           printf '#!/bin/sh\\nexec \"{at}/venv/bin/python\" -m ziglang \"$@\"\\n' > '{at}/on-path/zig' && chmod +x '{at}/on-path/zig' && zig version; }}"
    );
    place.has("zig version | grep -q ^0.17.") || place.has(&bring)
}

/// Zig replaces a clang that cannot build WebAssembly.
#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn c() {
    let Some(place) = place(&[zig_folder()]) else { return };
    let probe = "clang --target=wasm32 -nostdlib -Wl,--no-entry -x c /dev/null -o /dev/null";
    if !place.has("cc --version") || !(place.has(probe) || has_zig(&place)) {
        return skip::say("there is no C compiler that makes WebAssembly, and pip brings no Zig");
    }
    let language = Language {
        key: "c",
        says: "\"message\":\"hello\"",
        file: "hello.c",
        from: "INFORMANT_INFO, greeting,",
        to: "INFORMANT_INFO, INFORMANT_CONCAT(greeting, INFORMANT_STRING(\", again\")),",
        refuses: "hello.c:1:",
    };
    check(&language, &place);
}

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn zig() {
    let Some(place) = place(&[zig_folder()]) else { return };
    if !has_zig(&place) {
        return skip::say("there is no Zig 0.17, and pip brings none");
    }
    let language = Language {
        key: "zig",
        says: "\"message\":\"hello\"",
        file: "hello.zig",
        from: "informant.log.info(hello.greeting,",
        to: "informant.log.info(try @import(\"std\").mem.concat(informant.arena, u8, &.{ hello.greeting, \", again\" }),",
        refuses: "hello.zig:1:",
    };
    check(&language, &place);
}

#[test]
#[ignore = "compiles an SDK several times: `make projects`"]
fn assemblyscript() {
    let Some(place) = place(&[]) else { return };
    if !place.has("npm view assemblyscript@0.28.20 version") {
        return skip::say("there is no Node.js with npm, or npm reaches no registry");
    }
    let language = Language {
        key: "assemblyscript",
        says: "\"message\":\"hello\"",
        file: "assembly/index.ts",
        from: "log.info(greeting,",
        to: "log.info(greeting + \", again\",",
        refuses: "Expression expected",
    };
    check(&language, &place);
}
