#!/usr/bin/env bash
# Builds plugins/event-printer and puts it into the demo's plugin directory. Run it with `make demo-plugin`.
set -euo pipefail
cd "$(dirname "$0")/../.."

plugins=target/demo/plugins
fail() { printf '\nmake demo-plugin: %s\n' "$1" >&2; exit 1; }

[ -d "$plugins" ] || fail "the demo has not run yet; start it with make demo"
cargo build --profile plugin --target wasm32-unknown-unknown -p event-printer ||
  fail "the plugin was not built; correct the first error above and run make demo-plugin again (the running version continues)"
# Written beside its place and renamed: the host never reads an incomplete file.
cp target/wasm32-unknown-unknown/plugin/event_printer.wasm "$plugins/.event-printer.wasm.tmp"
mv "$plugins/.event-printer.wasm.tmp" "$plugins/event-printer.wasm"
