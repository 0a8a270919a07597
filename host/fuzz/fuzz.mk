# Fuzzing of everything that decodes bytes from outside. Included by the root Makefile; every path is relative to
# the root. Why it is done this way: host/docs/designs/fuzzing.md.
#
#   make fuzz                          every target for 10 s, guided by coverage
#   make fuzz SECONDS=600              for longer
#   make fuzz TARGET=object_decode     one target
#   make fuzz FUZZ_SEED=7              the same random choices again
#   make fuzz-merge                    the same, then adds to each corpus what reached new places

FUZZ_ENVIRONMENT := FUZZ_SECONDS=$(or $(SECONDS),10) FUZZ_DIRECTORY=$(CURDIR)/target/fuzz \
	$(if $(FUZZ_SEED),FUZZ_SEED=$(FUZZ_SEED)) RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/host/fuzz/rustc-with-coverage

.PHONY: fuzz fuzz-merge

# The whole workspace, so that what was downloaded is compiled with the same features as for `make test`: no
# dependency is compiled again. Left out are the two crates that stand on the crates under test and do not link the
# engine. One target after the other: coverage is counted for the whole process.
fuzz: prerequisites
	$(FUZZ_ENVIRONMENT) cargo test --workspace --exclude informant-simulation --exclude bandwidth \
		--lib --no-fail-fast -- fuzz::$(TARGET) --test-threads=1 --nocapture

fuzz-merge: FUZZ_ENVIRONMENT += FUZZ_MERGE=1
fuzz-merge: fuzz
