# The picture of the demo in the README: `make recording` writes examples/demo/demo.svg. Included by the Makefile.
#
# It runs the real demo in two pseudo-terminals, in a copy of the checkout: the copy's plugin is changed, not this one.
# It needs Python 3.9 and pip, which fetches pyte.

RECORDING_PYTHON := target/recording/python
PYTE_VERSION     := 0.8.2
# cargo names it on the screen, so that it is short.
RECORDED_COPY    := /tmp/informant

.PHONY: recording

# The copy has a target directory of its own, which begins as a copy of this one. The times of files are kept, so that
# cargo builds only the changed plugin again.
recording: everyday-build
	@command -v python3 >/dev/null || { echo "make recording: python3 is missing; install Python 3.9 or later" >&2; exit 1; }
	@test -d $(RECORDING_PYTHON) || python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
	  --target $(RECORDING_PYTHON) pyte==$(PYTE_VERSION) || { rm -rf $(RECORDING_PYTHON); \
	  echo "make recording: pip cannot fetch pyte $(PYTE_VERSION); nothing was recorded" >&2; exit 1; }
	mkdir -p target/demo/plugins && examples/demo/plugin.sh
	set -e; mkdir $(RECORDED_COPY); trap 'rm -rf $(RECORDED_COPY)' EXIT; mkdir $(RECORDED_COPY)/target; \
	git ls-files -z | xargs -0 cp --parents -p -t $(RECORDED_COPY); \
	cp -a target/debug target/wasm32-unknown-unknown target/plugin $(RECORDED_COPY)/target; \
	PYTHONPATH=$(RECORDING_PYTHON) python3 examples/demo/record.py $(RECORDED_COPY) examples/demo/demo.svg
