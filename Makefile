# The only door: people and CI call the same targets. What they do is in pg_test/rig.
#
#   PG=15                    the PostgreSQL major version to build for
#   PG_CONFIG=/path/to/…     its pg_config, when it is not where Debian puts it
#   PG_LEASE_HOME=/path      where the private server's files go, instead of a temporary directory
#   NAMES="one two"          only these tests (test-unit, test-regress, test-isolation, test-system)

.DEFAULT_GOAL := help
.SUFFIXES:
.NOTPARALLEL:
SHELL := /bin/bash

PG ?= 15
export PG
ifdef PG_CONFIG
export PG_CONFIG
endif
ifdef PG_LEASE_HOME
export PG_LEASE_HOME
endif

RIG := cargo run --quiet -p rig --

.PHONY: help build install server stop psql demo bench soak hostile test-slow lint clean \
	test test-unit test-regress test-isolation test-system test-upgrade test-patroni accept \
	rig deps tree

help:
	@echo 'make demo      replay the night that lost data, without and with guards'
	@echo 'make test      run all tests (test-unit test-regress test-isolation test-system: a kind)'
	@echo 'make server    start a private server with the extension, print its connection string'
	@echo 'make psql      open psql on it'
	@echo 'make stop      stop it and remove its data'
	@echo 'make build     build the extension and install it privately, for this checkout only'
	@echo 'make install   install the extension for good: INTO=/path/to/pg_config says where'
	@echo 'make lint      check the form and the warnings'
	@echo 'make bench     measure what it costs, in 25 minutes (ONLY=guard: one part of it)'
	@echo 'make test-slow what make test leaves out because it takes minutes'
	@echo 'make soak      kill, freeze and cut off everything for 10 minutes (SOAK_SECONDS=, SEED=)'
	@echo 'make test-upgrade  pg_upgrade from PostgreSQL 16 to 18'
	@echo 'make test-patroni  failovers of a Patroni cluster under load'
	@echo 'make hostile   attack it: random queries and arguments, a million transactions (SEED=)'
	@echo 'make clean     stop what runs and remove all that this checkout made'

build: tree

# The private installation is what everything here uses. The system's is only written to when
# somebody names it.
install: deps
ifdef INTO
	@$(RIG) install '$(INTO)'
else
	@$(RIG) tree
	@echo 'Installed for this checkout only.'
	@echo 'For a PostgreSQL of yours: make install INTO=/path/to/pg_config'
endif

server: deps
	@$(RIG) server

stop: rig
	@$(RIG) stop

psql: rig
	@$(RIG) psql $(ARGS)

demo: tree
	@cargo build -p galewatch-demo
	@cargo run --quiet -p galewatch-demo

bench: tree
	@cargo build --release -p bench
	@cargo run --quiet --release -p bench -- $(ONLY)

soak: tree
	@cargo build -q -p soak
	@target/debug/soak

# System tests at the times that they are about, which takes minutes.
test-slow: deps
	@$(RIG) slow $(NAMES)

# The tests in pg_test/system/tests/hostile, with all that make test has no time for.
hostile: tree
	@$(RIG) pgspot
	@HOSTILE=full $(RIG) hostile

test: deps
	@$(RIG) test

test-unit test-regress test-isolation test-system: test-%: deps
	@$(RIG) $* $(NAMES)

# Not part of `make test`: it builds for two more major versions.
test-upgrade:
	@$(MAKE) --no-print-directory PG=16 tree
	@$(MAKE) --no-print-directory PG=18 tree
	@pg_test/upgrade/check.sh

# Not part of `make test`: it takes a cluster of three and some minutes.
test-patroni: tree
	@$(RIG) packages patroni etcd-server
	@cargo build -p patroni-test
	@cargo run --quiet -p patroni-test

# Takes what the tests print as what they must print: KIND=regress or isolation. Read the diff.
accept: deps
	@$(RIG) $(KIND) --accept $(NAMES)

lint: deps
	@$(RIG) lint

clean:
	@home="$${PG_LEASE_HOME:-$${TMPDIR:-/tmp}/pg_lease-*}"; \
	if [ -x target/debug/rig ] || compgen -G "$$home" >/dev/null; \
	then $(RIG) clean; else rm -rf target; fi

tree: deps
	@$(RIG) tree

deps: rig
	@$(RIG) deps

# Builds the tool that the other targets are made of. It shows its progress on stderr: the stdout
# of `make server` is one line.
rig:
	@command -v cargo >/dev/null || { echo 'Rust is missing: see https://rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	  then { apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev; } >&2; \
	  else echo 'A C linker is missing: sudo apt-get install gcc libc6-dev' >&2; exit 1; fi; }
	@if [ -t 2 ] || [ ! -x target/debug/rig ]; then cargo build -p rig; else cargo build -q -p rig; fi
