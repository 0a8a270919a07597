#!/usr/bin/env bash
# Builds plugins/event-printer and puts it into the demo's plugin directory. Run it with `make demo-plugin`. The
# argument is the command that a failure names.
set -euo pipefail
cd "$(dirname "$0")/../.."

plugins=target/demo/plugins
command=${1:-make demo-plugin}
fail() { printf '\n%s: %s\n' "$command" "$1" >&2; exit 1; }

[ -d "$plugins" ] || fail "the demo has not run yet; start it with make demo"
cargo build --profile plugin --target wasm32-unknown-unknown -p event-printer ||
  fail "the plugin was not built; correct the first error above and run $command again (a running version continues)"
# Written beside its place and renamed: the host never reads an incomplete file.
cp target/wasm32-unknown-unknown/plugin/event_printer.wasm "$plugins/.event-printer.wasm.tmp"
mv "$plugins/.event-printer.wasm.tmp" "$plugins/event-printer.wasm"
