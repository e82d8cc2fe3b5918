# One command for people and for CI. `make` alone lists the targets.
# Every step prints its seconds, so that a slow one is seen where it is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The lock file is what was reviewed.
CARGO := cargo
LOCKED := --locked

# $(call step,NAME,COMMAND)
step = @printf '\n== %s\n' '$(1)'; started=$$SECONDS; \
	{ $(2); } || { printf '== %s failed after %d s\n' '$(1)' $$((SECONDS - started)); exit 1; }; \
	printf '== %s: %d s\n' '$(1)' $$((SECONDS - started))

.PHONY: help check ci fmt deny layers clippy doc unit cluster story demo bench generate

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: fmt layers clippy unit ## all that needs no control plane; under a minute when warm

ci: fmt deny layers clippy doc unit cluster ## everything, in the order in which it fails fastest

fmt: ## formatting is rustfmt's
	$(call step,fmt,$(CARGO) fmt --check)

deny: ## licences, bans and sources of the dependencies, where cargo-deny is installed
	$(call step,deny,if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny $(LOCKED) check bans licenses sources; \
	else echo 'cargo-deny is not installed; tests/offline/licences.rs holds the lists of deny.toml'; fi)

layers: ## the arrows between rooms
	$(call step,layers,$(CARGO) test $(LOCKED) --quiet --test offline layers::)

clippy: ## lints, warnings refused
	$(call step,clippy,$(CARGO) clippy $(LOCKED) --all-targets -- -D warnings)

doc: ## rustdoc, warnings refused
	$(call step,rustdoc,RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(LOCKED) --no-deps --document-private-items)

unit: ## unit and offline tests
	$(call step,unit and offline tests,$(CARGO) test $(LOCKED) --lib --bins --test offline)

cluster: ## the stories on a real control plane (needs Go the first time)
	$(call step,control plane and stories,$(CARGO) test $(LOCKED) --test cluster)

story: ## one story, its output shown: make story NAME=llm
	@test -n '$(NAME)' || { echo 'which one? make story NAME=…; cargo test --test cluster -- --list names all'; exit 2; }
	$(CARGO) test $(LOCKED) --test cluster -- --nocapture '$(NAME)'

demo: ## the main job, no cluster needed
	$(CARGO) run $(LOCKED) --release -- demo

bench: ## speed and memory, as ratios (release build)
	$(CARGO) bench $(LOCKED)

generate: ## write the generated files anew; the offline tests fail where they differ
	$(call step,generate,SLUICE_GENERATE=1 $(CARGO) test $(LOCKED) --quiet --test offline -- generated:: command_line::)
