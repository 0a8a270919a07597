# The picture of the demo in the README: `make recording` writes examples/demo/demo.svg. Included by the Makefile.
#
# It runs the real demo in two pseudo-terminals, in a copy of the checkout: the copy's plugin is changed, not this one.
# It needs Python 3.9 and pip, which fetches pyte.

RECORDING_PYTHON := target/recording/python
PYTE_VERSION     := 0.8.2

.PHONY: recording

# The copy has a target directory of its own, which begins as a copy of this one. The times of files are kept, so that
# cargo builds only the changed plugin again.
recording: everyday-build
	@command -v python3 >/dev/null || { echo "make recording: python3 is missing; install Python 3.9 or later" >&2; exit 1; }
	@test -d $(RECORDING_PYTHON) || python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
	  --target $(RECORDING_PYTHON) pyte==$(PYTE_VERSION) || { rm -rf $(RECORDING_PYTHON); \
	  echo "make recording: pip cannot fetch pyte $(PYTE_VERSION); nothing was recorded" >&2; exit 1; }
	mkdir -p target/demo/plugins && examples/demo/plugin.sh
	set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; mkdir -p "$$copy/informant/target"; \
	git ls-files -z | xargs -0 cp --parents -p -t "$$copy/informant"; \
	cp -a target/debug target/wasm32-unknown-unknown target/plugin "$$copy/informant/target"; \
	PYTHONPATH=$(RECORDING_PYTHON) python3 examples/demo/record.py "$$copy/informant" examples/demo/demo.svg
