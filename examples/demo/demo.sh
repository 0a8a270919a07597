#!/usr/bin/env bash
# The demo: an embedded cluster with workloads that change, the host, and one plugin. Run it with `make demo`.
#
# DEMO_SECONDS=20 ends it after that time, with exit code 0.
set -euo pipefail
cd "$(dirname "$0")/../.."

plugins=target/demo/plugins
host=target/debug/informant

step() { printf '\n== %s\n' "$1"; }
fail() { printf '\nmake demo: %s\n' "$1" >&2; exit 1; }

trap 'printf "\nmake demo: interrupted during the build\n" >&2; exit 130' INT
step "1/3  build the host (some minutes the first time, seconds after that)"
cargo build --workspace --bin informant || fail "the host was not built; the first error above names the cause"
step "2/3  build the plugin plugins/event-printer"
mkdir -p "$plugins"
cp examples/demo/event-printer.yaml "$plugins/event-printer.yaml"
examples/demo/plugin.sh "make demo"
step "3/3  run the host with an embedded cluster"

# Each line has at most 78 columns, so that a terminal of 80 shows it in one row.
hint='Informant runs a WebAssembly plugin that logs each change of a pod.
(initial) marks the pods that were there before the plugin.
Change the plugin while it runs. In another terminal, in this directory:
  1. in plugins/event-printer/src/lib.rs, replace "{} pod {}" by "{} POD {}"
  2. make demo-plugin
The new version takes over and no event is lost: look for "reloaded".
Ctrl-C ends with a summary. To undo the change afterwards:
  git checkout plugins/event-printer'

"$host" dev "$plugins" --listen 127.0.0.1:0 --hint "$hint" &
pid=$!
# Ctrl-C reaches the host by itself, and a second signal would cut its end short.
trap : INT
trap 'kill -INT "$pid" 2>/dev/null || true' TERM
if [ -n "${DEMO_SECONDS:-}" ]; then
  # The sleep ends with the demo, whichever ends first.
  (sleep "$DEMO_SECONDS" & sleeper=$!; trap 'kill "$sleeper" 2>/dev/null' EXIT; wait "$sleeper"; kill -INT "$pid" 2>/dev/null) &
  timer=$!
fi
status=0
wait "$pid" || status=$?
# A trap ends the first wait; the host needs a moment more to stop.
while kill -0 "$pid" 2>/dev/null; do wait "$pid" && status=0 || status=$?; done
kill ${timer:+"$timer"} 2>/dev/null || true
[ "$status" -eq 0 ] || fail "the host ended with code $status; the last lines above name the cause"
