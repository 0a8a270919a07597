# The simulation of the informers: `make sim SEED=n` replays one seed with its trace, `make sim SEED=n SEEDS=m`
# runs m seeds from n on, `make soak MINUTES=m` runs new seeds for m minutes, `make mutants` shows that
# deliberate mistakes in the core are noticed.

.PHONY: sim soak mutants

SEED ?= 1
MINUTES ?= 10
SIMULATION := cargo run --quiet -p informant-simulation
# A large run is worth an optimised build.
SIMULATION_PROFILE = $(if $(SEEDS),$(shell [ $(SEEDS) -gt 500 ] && echo --release))

sim: prerequisites
	@$(SIMULATION) $(SIMULATION_PROFILE) --bin informant-simulation -- --seed $(SEED) $(if $(SEEDS),--seeds $(SEEDS))

soak: prerequisites
	@$(SIMULATION) --release --bin informant-simulation -- --minutes $(MINUTES)

mutants: prerequisites
	@$(SIMULATION) --bin mutants
