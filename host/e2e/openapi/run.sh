#!/usr/bin/env bash
# Tries the description of the HTTP API against a host with the embedded cluster: a validator reads it, and a fuzzer
# compares the answers with it. Run it with `make openapi`.
#
# usage: run.sh PROGRAM PYTHON [OPTIONS OF schemathesis run]
set -euo pipefail
program=$1 python=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }; rm -rf "$work"' EXIT
fail() { printf 'make openapi: %s\n' "$1" >&2; exit 1; }

mkdir "$work/plugins"
"$program" dev "$work/plugins" --listen 127.0.0.1:0 --admin-socket "$work/admin.sock" --log-format json \
  >"$work/log" 2>&1 &
pid=$!
address=
for _ in $(seq 300); do
  address=$(sed -n 's|.*"address":"\(http://\)\{0,1\}\(127\.0\.0\.1:[0-9]*\).*|\2|p' "$work/log" | head -n 1)
  [ -z "$address" ] || break
  kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; fail "the host has ended"; }
  sleep 0.1
done
[ -n "$address" ] || { cat "$work/log" >&2; fail "the host names no address"; }

# With the token of the host the fuzzer gets beyond the refusal of actions. There is no plugin that these could change.
token=$("$program" ui --admin-socket "$work/admin.sock" | sed 's/.*#token=//')
[ -n "$token" ] || fail "the host gives no token"

# The fuzzer keeps files of its own where it is started.
mkdir -p target/openapi && cd target/openapi
"$python" -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' \
  "http://$address/openapi.json" >openapi.json
"$python" -m openapi_spec_validator openapi.json
OPENAPI_HOOKS=$here/hooks.py "$(dirname "$python")/schemathesis" --config-file "$here/schemathesis.toml" run \
  "http://$address/openapi.json" --no-color \
  --header "Authorization: Bearer $token" "$@"
kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; fail "the host has ended"; }
if grep -q 'panicked' "$work/log"; then
  cat "$work/log" >&2
  fail "the host has panicked"
fi
