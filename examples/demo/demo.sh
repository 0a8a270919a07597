#!/usr/bin/env bash
# The demo: an embedded cluster with life in it, the host, and one plugin. Run it with `make demo`.
#
# DEMO_SECONDS=20 ends it by itself, with exit code 0.
set -euo pipefail
cd "$(dirname "$0")/../.."

plugins=target/demo/plugins
host=target/debug/informant

step() { printf '\n== %s\n' "$1"; }

step "1/2  building the host (about five minutes the first time on two cores, seconds after that)"
cargo build --workspace --bin informant
step "2/2  building the plugin plugins/event-printer"
mkdir -p "$plugins"
examples/demo/plugin.sh

printf '\n== a cluster is starting; every line is one change, told by the plugin (Ctrl-C ends the demo)\n\n'

# Shown once the first burst is through, so that it stays in sight.
next_step() {
  sleep 4
  cat <<'TEXT'

   ---------------------------------------------------------------------------------------------
   Now change the plugin while it runs. In another terminal, in this directory:

     1. edit  plugins/event-printer/src/lib.rs : in the function `print`, change "{} pod {}"
     2. run   make demo-plugin

   The new version takes over in less than a second; watch for "reloaded" on this screen.
   ---------------------------------------------------------------------------------------------

TEXT
}

"$host" dev "$plugins" --listen 127.0.0.1:0 &
pid=$!
next_step &
hint=$!
trap 'kill -INT "$pid" 2>/dev/null || true' INT TERM
if [ -n "${DEMO_SECONDS:-}" ]; then
  # The sleep is ended with the demo, whichever comes first.
  (sleep "$DEMO_SECONDS" & sleeper=$!; trap 'kill "$sleeper" 2>/dev/null' EXIT; wait "$sleeper"; kill -INT "$pid" 2>/dev/null) &
  timer=$!
fi
status=0
wait "$pid" || status=$?
# A trap ends the first wait; the host still needs a moment to stop.
while kill -0 "$pid" 2>/dev/null; do wait "$pid" && status=0 || status=$?; done
kill "$hint" ${timer:+"$timer"} 2>/dev/null || true
exit "$status"
