#!/usr/bin/env bash
# Builds plugins/event-printer and drops it into the demo's plugin directory. Run it with `make demo-plugin`.
set -euo pipefail
cd "$(dirname "$0")/../.."

plugins=target/demo/plugins
[ -d "$plugins" ] || { echo "the demo has not run yet: start it with make demo" >&2; exit 1; }
cargo build --profile plugin --target wasm32-unknown-unknown -p event-printer
# Written beside its place and renamed: the host never sees half a file.
cp target/wasm32-unknown-unknown/plugin/event_printer.wasm "$plugins/.event-printer.wasm.tmp"
mv "$plugins/.event-printer.wasm.tmp" "$plugins/event-printer.wasm"
