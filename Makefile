# Makefile - builds, tests, checks and installs Muster; `make help` lists the targets.
#
# Sources are found by wildcard, so that a new file needs no line here. Everything made goes below
# build/ (build-address-undefined/ with SAN=address,undefined); only the example's program stands
# beside its job file, because that is where the job looks for it.
#
#   muster          all of src/ but the shim and the tests, with the wire protocol, libyaml and libuv
#   muster-shim     src/shim/*.c and src/base/*.c: static, libc only, for size rather than speed
#   muster-serve    muster with the daemon, src/daemon, and SQLite
#   muster-top      muster with the live screen of `muster top`, and ncurses
#   muster-shim-pod the same for pods: with musl where musl-gcc is installed, else stripped
#   muster-records  the part of it that jobs of the operator have
#   test/           the same two with fault points in the shim and the clock (-DMUSTER_FAULTS), programs for tests
#   src/…/test/NAME a unit test: one program per file, linked with everything but the main.c files

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
WERROR ?= 0
SAN ?=
T ?= 60
RUNS ?=
FOR ?= build run test
TESTS ?=

comma := ,
B := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))

CC := gcc
PKGS := yaml-0.1 libuv
# Asked for only when something is compiled: `make deps` must work before pkg-config is there.
missing = $(error $(PKGS): not found by pkg-config; make deps)
PKG_LIBS = $(eval PKG_LIBS := $(or $(shell pkg-config --libs $(PKGS)),$(missing)))$(PKG_LIBS)
CURL_LIBS = $(eval CURL_LIBS := $(or $(shell pkg-config --libs libcurl),$(error libcurl: not found by pkg-config; make deps)))$(CURL_LIBS)
# Of OpenSSL: keys for ssh and the webhook, which only the operator has.
CRYPTO_LIBS = $(eval CRYPTO_LIBS := $(or $(shell pkg-config --libs libssl libcrypto),$(error libssl: not found by pkg-config; make deps)))$(CRYPTO_LIBS)
NCURSES_LIBS = $(eval NCURSES_LIBS := $(or $(shell pkg-config --libs ncursesw),$(error ncursesw: not found by pkg-config; make deps)))$(NCURSES_LIBS)
SQLITE_LIBS = $(eval SQLITE_LIBS := $(or $(shell pkg-config --libs sqlite3),$(error sqlite3: not found by pkg-config; make deps)))$(SQLITE_LIBS)
PKG_CFLAGS = $(eval PKG_CFLAGS := $(if $(PKG_LIBS),$(shell pkg-config --cflags $(PKGS))))$(PKG_CFLAGS)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wwrite-strings -Wvla -Wformat=2 -Wundef -Wpointer-arith -Wcast-qual
HARDEN := -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 \
	$(if $(filter x86_64,$(shell uname -m)),-fcf-protection)
LINK_HARDEN := -Wl,-z,relro,-z,now,-z,noexecstack
ifneq ($(SAN),)
HARDEN := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LINK_HARDEN := -fsanitize=$(SAN)
endif

CPPFLAGS := -Isrc -D_GNU_SOURCE -DMUSTER_VERSION='"$(VERSION)"'
CFLAGS ?= -O2 -g
BASE_FLAGS := -std=gnu17 -fPIE $(WARN) $(HARDEN)
STRICT := $(if $(filter 1,$(WERROR)),-Werror)
SHIM_FLAGS := -Os -ffunction-sections -fdata-sections
# A sanitizer's runtime cannot be linked statically.
SHIM_LINK := $(if $(SAN),-pie,-static-pie) -Wl,--gc-sections

WIRE := $(wildcard src/shim/wire.c)
UNIT_SRC := $(wildcard src/*/test/*.c src/*/*/test/*.c)
# muster-kubernetes is muster with one engine more, which needs libcurl: muster itself stays small.
KUBERNETES_SRC := $(wildcard src/engine/kubernetes/*.c)
OPERATOR_SRC := $(wildcard src/operator/*.c)
# So is muster-serve, with the daemon, which needs SQLite.
DAEMON_SRC := $(wildcard src/daemon/*.c src/system/*.c src/api/*.c)
# Both have the HTTP server.
HTTP_SRC := $(wildcard src/http/*.c)
# And muster-top, with what is drawn on a terminal, which needs ncurses.
TOP_SRC := src/top/terminal.c
MUSTER_SRC := $(filter-out src/shim/% $(KUBERNETES_SRC) $(OPERATOR_SRC) $(DAEMON_SRC) $(HTTP_SRC) $(TOP_SRC) $(UNIT_SRC),$(wildcard src/*/*.c src/*/*/*.c)) $(WIRE)
SHIM_SRC := $(wildcard src/shim/*.c src/base/*.c)
HEADERS := $(wildcard src/*/*.h src/*/*/*.h)

obj = $(patsubst src/%.c,$(B)/$(1)/%.o,$(2))
# What `muster help` says of a diagnostic is made from the documentation.
# So are the objects of the operator that `muster generate` prints, from deploy/base.
MADE_OBJ := $(B)/obj/made/errors.o $(B)/obj/made/deploy.o
MUSTER_OBJ := $(call obj,obj,$(MUSTER_SRC)) $(MADE_OBJ)
SHIM_OBJ := $(call obj,shim,$(SHIM_SRC))
KUBERNETES_OBJ := $(call obj,obj,$(KUBERNETES_SRC))
DAEMON_OBJ := $(call obj,obj,$(DAEMON_SRC) $(HTTP_SRC)) $(B)/obj/made/web.o
TOP_OBJ := $(call obj,obj,$(TOP_SRC))
FAULT_OBJ := $(call obj,faults,$(SHIM_SRC))
LIB_OBJ := $(call obj,obj,$(filter-out %/main.c,$(sort $(MUSTER_SRC) $(KUBERNETES_SRC) $(OPERATOR_SRC) $(DAEMON_SRC) $(HTTP_SRC) $(SHIM_SRC)))) $(MADE_OBJ) $(B)/obj/made/web.o
UNIT_OBJ := $(call obj,obj,$(UNIT_SRC))
UNITS := $(patsubst src/%.c,$(B)/unit/%,$(UNIT_SRC))
SCRIPTS := $(sort $(wildcard t/t[0-9]*.t t/first-hour.t))

# MPI programs for the tests, once per implementation that is here; the tests skip what is not.
MPI_SRC := $(wildcard t/mpi/*.c) examples/random_walk.c
mpi_progs = $(if $(shell command -v mpicc.$(1)),$(patsubst %.c,$(B)/test/$(1)/%,$(notdir $(MPI_SRC))))
TEST_PROGS := $(patsubst t/prog/%.c,$(B)/test/prog/%,$(wildcard t/prog/*.c)) \
	$(patsubst t/libprog/%.c,$(B)/test/libprog/%,$(wildcard t/libprog/*.c)) \
	$(patsubst fuzz/%.c,$(B)/test/replay/%,$(wildcard fuzz/*.c)) \
	$(call mpi_progs,openmpi) $(call mpi_progs,mpich)

.PHONY: all deps quickstart test test-programs test-frameworks test-kubernetes test-kubernetes-api test-faults test-sim test-web test-convert-crds test-fresh mutants cov soak bench bench-kubernetes fuzz check-style tidy format image install clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/muster $(B)/muster-shim $(B)/muster-kubernetes $(B)/muster-operator $(B)/muster-serve $(B)/muster-top $(B)/muster-shim-pod $(B)/muster-records $(B)/man/made

help:
	@printf '%s\n' \
	'make                 build/muster and build/muster-shim' \
	'make deps            install missing packages (root), or print the line that would' \
	'                     FOR="build run test style fuzz fresh kubernetes web" or FOR=all chooses the groups' \
	'make quickstart      deps, build, run examples/mpi-example.yaml' \
	'make test            all tests; TESTS="word word" only those whose path has a word in it' \
	'                     SAN=address,undefined the same under sanitizers' \
	'                     AGAIN=1 runs what failed once more, alone' \
	'make test-faults     hostile conditions: descriptors, memory, disk, closed streams, clock steps, …' \
	'                     SAN=address,undefined the same under sanitizers' \
	'make test-frameworks  PyTorch, TensorFlow, mpi4py, Horovod train; installs them once. PARTS="debian …"' \
	'make test-web        the page in a headless Chromium; installs it once. CACHED=1: installs nothing' \
	'make test-kubernetes  on a real cluster of three nodes, which it builds once (root, Go, half an hour)' \
	'                     CACHED=1: builds nothing; what is not there is skipped' \
	'make test-kubernetes-api  against etcd and API server alone' \
	'make test-convert-crds  converted files against the CRDs of Kubeflow'\''s operators, which it fetches' \
	'make test-fresh      the two commands of README on a fresh Debian 12 (root, debootstrap)' \
	'make test-sim        100,000 simulated schedules; MUSTER_TEST_SEED repeats them' \
	'make mutants         check that the simulations find each bug of t/mutants' \
	'make cov             how much of src/job the simulation reaches: 95 % of its lines at least' \
	'make soak            the long counts of the random tests, 100,000 runs of each fuzzer' \
	'make bench           ratios against the limit and the peers; also in build/bench.tsv' \
	'make bench-kubernetes  the same in a cluster: first output, 1,000 pods, 64 logs' \
	'make fuzz T=60       each fuzzer and each dialect for T seconds; RUNS=N: N runs of each' \
	'make check-style     layers, sizes, banned functions, format, clang-tidy, shellcheck, mandoc' \
	'make format          apply clang-format to all C files' \
	'make image           build/muster-operator.tar: an OCI image of the operator, without Docker or root' \
	'make install         PREFIX=/usr/local DESTDIR=' \
	'make clean'

deps:
	@tools/deps $(FOR)

PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

quickstart:
	@./quickstart

# --- programs ------------------------------------------------------------------------------------

# What every object depends on: its own rule's flags. -Werror is left out: it changes no object.
FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(BASE_FLAGS) $(SHIM_FLAGS)
$(B)/flags: force
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' >$@
# What `muster --version` names; a tree without a history has none.
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
$(B)/commit: force
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
$(B)/obj/cli/version.o: $(B)/commit
$(B)/obj/cli/version.o: CPPFLAGS += -DMUSTER_COMMIT='"$(COMMIT)"'
.PHONY: force

compile = @mkdir -p $(@D); echo '  CC   $@'; \
	$(CC) $(CPPFLAGS) $(CFLAGS) $(BASE_FLAGS) $(STRICT) $(1) -MMD -MP -c -o $@ $<
# By rename: the program may be running.
link = @mkdir -p $(@D); echo '  LINK $@'; \
	$(CC) $(CFLAGS) $(LINK_HARDEN) -o $@.new $^ $(1) && mv -f $@.new $@

$(B)/obj/%.o: src/%.c $(B)/flags
	$(call compile,$(PKG_CFLAGS))
$(B)/made/%.c: tools/% doc/diagnostics.md doc/errors.md
	@mkdir -p $(@D); tools/$* c >$@.new && mv $@.new $@
$(B)/made/deploy.c: $(wildcard deploy/base/*.yaml)
# The page, and the document of the interface.
$(B)/made/web.c: $(wildcard src/web/*) doc/openapi.json
$(B)/obj/made/%.o: $(B)/made/%.c $(B)/flags
	$(call compile,)
$(B)/shim/%.o: src/%.c $(B)/flags
	$(call compile,$(SHIM_FLAGS))
$(B)/faults/%.o: src/%.c $(B)/flags
	$(call compile,$(SHIM_FLAGS) -DMUSTER_FAULTS)

$(B)/muster: $(MUSTER_OBJ)
	$(call link,-pie $(PKG_LIBS))
$(B)/muster-kubernetes: $(MUSTER_OBJ) $(KUBERNETES_OBJ)
	$(call link,-pie $(PKG_LIBS) $(CURL_LIBS))
$(B)/muster-serve: $(MUSTER_OBJ) $(DAEMON_OBJ)
	$(call link,-pie $(PKG_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS))
$(B)/muster-top: $(MUSTER_OBJ) $(TOP_OBJ)
	$(call link,-pie $(PKG_LIBS) $(NCURSES_LIBS))
$(B)/muster-operator: $(B)/obj/operator/main.o $(B)/libmuster.a
	$(call link,-pie $(PKG_LIBS) $(CURL_LIBS) $(CRYPTO_LIBS))
# The shim that travels into pods: a config map holds less than 1 MiB. With musl it is a seventh of
# that. A sanitizer needs the libc it was made for.
MUSL_CC := $(if $(SAN),,$(notdir $(shell command -v musl-gcc)))
ifneq ($(MUSL_CC),)
MUSL_OBJ := $(call obj,musl,$(SHIM_SRC))
# musl-gcc looks at musl's headers only; those of the kernel come after them.
$(B)/musl/include/linux:
	@mkdir -p $(@D); ln -sfn /usr/include/asm-generic $(@D)/asm-generic; \
	    ln -sfn /usr/include/$$($(CC) -print-multiarch)/asm $(@D)/asm; ln -sfn /usr/include/linux $@
$(B)/musl/%.o: CC := $(MUSL_CC)
$(B)/musl/%.o: src/%.c $(B)/flags | $(B)/musl/include/linux
	$(call compile,$(SHIM_FLAGS) -idirafter $(B)/musl/include)
# Not -static-pie: musl-gcc makes a dynamic program of it.
$(B)/muster-shim-pod $(B)/muster-records: CC := $(MUSL_CC)
$(B)/muster-shim-pod: $(MUSL_OBJ)
	$(call link,-static -no-pie -Wl$(comma)--gc-sections)
	@strip $@
# The two roles that each job of the operator has a copy of.
$(B)/musl/records/main.o: CC := $(MUSL_CC)
$(B)/musl/records/main.o: src/shim/main.c $(B)/flags | $(B)/musl/include/linux
	$(call compile,$(SHIM_FLAGS) -DSHIM_RECORDS -idirafter $(B)/musl/include)
$(B)/muster-records: $(B)/musl/records/main.o $(filter-out %/main.o,$(MUSL_OBJ))
	$(call link,-static -no-pie -Wl$(comma)--gc-sections)
	@strip $@
else
$(B)/muster-shim-pod $(B)/muster-records: $(B)/muster-shim
	@strip -o $@ $<
endif
$(B)/muster-shim: $(SHIM_OBJ)
	$(call link,$(SHIM_LINK))

# A page per dialect: its keys from the program's own tables, the rest from doc/man/dialects. A page on errors.
$(B)/man/made: $(B)/muster tools/dialect-pages tools/errors $(wildcard doc/man/dialects/*)
	@echo '  MAN  $(@D)'; tools/dialect-pages $(B)/muster $(@D) && \
	    tools/errors mdoc >$(@D)/muster-errors.7 2>/dev/null && touch $@

examples/random_walk: examples/random_walk.c
	mpicc.openmpi -std=gnu17 -O2 -Wall -Wextra -o $@ $<

# --- tests ---------------------------------------------------------------------------------------

$(B)/libmuster.a: $(LIB_OBJ)
	@rm -f $@; ar rcs $@ $^
$(UNITS): $(B)/unit/%: $(B)/obj/%.o $(B)/libmuster.a
	$(call link,-pie $(PKG_LIBS) $(UNIT_LIBS))
$(B)/unit/engine/kubernetes/test/client $(B)/unit/engine/kubernetes/test/apply: UNIT_LIBS = $(CURL_LIBS)
$(filter $(B)/unit/operator/%,$(UNITS)): UNIT_LIBS = $(CURL_LIBS) $(CRYPTO_LIBS)
$(filter $(B)/unit/daemon/% $(B)/unit/api/%,$(UNITS)): UNIT_LIBS = $(SQLITE_LIBS) $(CRYPTO_LIBS)
$(filter $(B)/unit/http/%,$(UNITS)): UNIT_LIBS = $(CRYPTO_LIBS)

# The same but for its clock, which a test can set.
$(B)/test/muster: $(filter-out $(B)/obj/base/clock.o,$(MUSTER_OBJ)) $(B)/faults/base/clock.o
	$(call link,-pie $(PKG_LIBS))
$(B)/test/muster-serve: $(filter-out $(B)/obj/base/clock.o,$(MUSTER_OBJ) $(DAEMON_OBJ)) $(B)/faults/base/clock.o
	$(call link,-pie $(PKG_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS))
$(B)/test/muster-shim: $(FAULT_OBJ)
	$(call link,$(SHIM_LINK))
$(B)/test/prog/%: t/prog/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O1 -g -Wall -Wextra $(STRICT) -o $@ $<
# Programs that look at the inside: one with all of Muster but its main.
$(B)/test/libprog/%: t/libprog/%.c $(B)/libmuster.a
	@mkdir -p $(@D); echo '  LINK $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(BASE_FLAGS) $(STRICT) $(LINK_HARDEN) -pie -o $@ $^ $(PKG_LIBS)
# A fuzzer that only replays files.
$(B)/test/replay/%: fuzz/%.c fuzz/replay/main.c fuzz/common.h $(B)/libmuster.a
	@mkdir -p $(@D); echo '  LINK $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(BASE_FLAGS) $(STRICT) $(LINK_HARDEN) -pie -o $@ \
	    $(filter-out %.h,$^) $(PKG_LIBS)
$(B)/test/openmpi/%: %.c
	$(mpicc)
$(B)/test/mpich/%: %.c
	$(mpicc)
vpath %.c t/mpi examples
mpicc = @mkdir -p $(@D); echo '  MPI  $@'; \
	mpicc.$(notdir $(@D)) -std=gnu17 -O2 -Wall -Wextra $(STRICT) -o $@ $<

test-programs: all $(UNITS) $(TEST_PROGS) $(B)/test/muster $(B)/test/muster-serve $(B)/test/muster-shim

# Most of them spend their time waiting: two at a time. What kills at random moments, floods, watches for
# silence or wants a certain port has the machine for itself afterwards.
TEST_ENV = MUSTER=$(CURDIR)/$(B)/muster MUSTER_FAULTY=$(CURDIR)/$(B)/test/muster \
	MUSTER_TEST_PROGRAMS=$(CURDIR)/$(B)/test MUSTER_SAN=$(SAN)
# A script that hangs is ended: the slowest needs two minutes, with sanitizers on a busy machine five.
TEST_LIMIT ?= 900
PROVE = $(TEST_ENV) prove -e 'tools/limited $(TEST_LIMIT)' --timer
# AGAIN=1: what failed runs once more, alone, and counts if it passes then; it is named.
AGAIN ?=
STATE = --statefile=$(B)/prove.state --state
prove_again = { echo '=== what failed is run again alone'; $(PROVE) $(STATE)=failed; }
prove_them = rm -f $(B)/prove.state; \
	$(PROVE) $(1) $(STATE)=save $(2) $(if $(AGAIN),|| $(prove_again)) || failed=1
ALONE := $(filter t/t05%,$(SCRIPTS)) t/t0420-run.t t/t0460-ports.t
chosen = $(strip $(if $(TESTS),$(foreach t,$(1),$(if $(strip $(foreach w,$(TESTS),$(findstring $(w),$(t)))),$(t))),$(1)))
# The same; without any, prove would run all that is in t.
chosen_or_none = $(or $(call chosen,$(1)),$(error no test here has "$(TESTS)" in its path))
TOGETHER = $(call chosen,$(UNITS) $(filter-out $(ALONE),$(SCRIPTS)))

test:
	@[ $$(id -u) -ne 0 ] || [ -z "$$(tools/deps --missing build run test)" ] || \
	    tools/quietly build/deps.log 'installing packages' tools/deps build run test
	@$(MAKE) $(PARALLEL) --no-print-directory WERROR=1 test-programs
	@failed=0; \
	$(if $(TOGETHER),$(call prove_them,-j2,$(TOGETHER));) \
	$(if $(call chosen,$(ALONE)),$(call prove_them,,$(call chosen,$(ALONE)));) \
	$(if $(TOGETHER)$(call chosen,$(ALONE)),,echo 'make test: no test has "$(TESTS)" in its path' >&2; failed=1;) \
	exit $$failed

# Scripts and fuzzers at the same time: most scripts wait, and a busy machine finds more. All of it is run,
# whatever fails. An hour on two cores: what takes longer is not run to its end by anybody. A new fuzzer has
# `make fuzz RUNS=1000000` once.
SOAK_RUNS ?= 100000
soak: TEST_LIMIT = 7200
soak: test-programs
	@failed=0; clang=$$(command -v clang clang-14); \
	[ -z "$$clang" ] || { nice -n 10 $(MAKE) --no-print-directory fuzz RUNS=$(SOAK_RUNS) >$(B)/soak-fuzz.log 2>&1 & fuzz=$$!; }; \
	MUSTER_SOAK=1 $(PROVE) -v $(call chosen_or_none,$(SCRIPTS)) || failed=1; \
	if [ -z "$$clang" ]; then echo 'SKIP: fuzzers: clang not found; make deps FOR=fuzz'; \
	else wait $$fuzz || failed=1; cat $(B)/soak-fuzz.log; fi; \
	exit $$failed

# Not a part of test: gigabytes are installed, and minutes go by. What cannot be had is skipped.
PARTS ?=
test-frameworks: all
	@-tools/frameworks $(PARTS)
	@$(TEST_ENV) prove -e '' --timer $(call chosen_or_none,$(sort $(wildcard t/frameworks/*.t)))

# Not a part of test: a browser is installed, once. Screenshots go to build/web; what needs the browser skips without it.
CACHED ?=
test-web: all
	@-tools/browser $(if $(CACHED),--cached)
	@$(TEST_ENV) MUSTER_WEB=$$(tools/browser --where) prove -e 'tools/limited $(TEST_LIMIT)' --timer $(call chosen_or_none,$(sort $(wildcard t/web/*.t)))

# Not a part of test: a cluster is built, once, and stays up for the next time (tools/kubernetes down).
API_SCRIPTS := $(sort $(wildcard t/kubernetes/api*.t))
CLUSTER_SCRIPTS := $(filter-out $(API_SCRIPTS),$(sort $(wildcard t/kubernetes/*.t)))
test-kubernetes:
	@$(if $(CACHED),,tools/kubernetes build)
	@$(MAKE) $(PARALLEL) --no-print-directory WERROR=1 test-programs
	@$(PROVE) $(call chosen_or_none,$(CLUSTER_SCRIPTS))
test-kubernetes-api:
	@$(if $(CACHED),,tools/kubernetes build kubernetes etcd)
	@$(MAKE) $(PARALLEL) --no-print-directory WERROR=1 test-programs
	@$(PROVE) $(call chosen_or_none,$(API_SCRIPTS))

# Not a part of test: each script makes its own bad conditions, some as root, one after the other.
test-faults:
	@$(MAKE) $(PARALLEL) --no-print-directory WERROR=1 test-programs
	@$(PROVE) $(call chosen_or_none,$(sort $(wildcard t/faults/*.t)))

SCHEDULES := $(B)/unit/engine/sim/test/schedules
test-sim: $(SCHEDULES)
	@MUSTER_TEST_SEED=$${MUSTER_TEST_SEED:-$$(date +%s)} \
	    MUSTER_SCHEDULES=$${MUSTER_SCHEDULES:-100000} $(SCHEDULES)
test-fresh:
	@tools/fresh
test-convert-crds: $(B)/muster
	@$(TEST_ENV) REAL_HOME=$$HOME prove -e '' t/validate-converted
mutants: $(SCHEDULES) $(B)/unit/queue/test/properties
	@tools/mutants $(B)
# Not optimised: a line that was merged with another would count as not reached.
cov:
	@$(MAKE) $(PARALLEL) --no-print-directory B=build-cov CFLAGS='-O0 -g --coverage' \
	    LINK_HARDEN=--coverage build-cov/unit/engine/sim/test/schedules
	@tools/cov build-cov job 95

# Not a part of bench: needs the cluster, and mpi-operator if that is to be compared (tools/kubernetes build mpi-operator).
bench-kubernetes: all
	@bench/kubernetes $(B)
bench: all $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c)) $(call mpi_progs,openmpi) \
	$(call mpi_progs,mpich) $(B)/test/prog/flood
	@bench/run $(B)
$(B)/bench/yaml_events: BENCH_LIBS = $(PKG_LIBS)
$(B)/bench/core: bench/core.c $(B)/libmuster.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(BASE_FLAGS) $(LINK_HARDEN) -pie -o $@ $^ $(PKG_LIBS)
$(B)/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O2 -Wall -Wextra -o $@ $< $(BENCH_LIBS)

FUZZ_CC = $(or $(firstword $(shell command -v clang clang-14)),$(error clang not found; make deps FOR=fuzz))
# settings.c needs the options and engines behind them: only its corpus is run, t/t0121-fuzz-corpus.t.
FUZZED := $(filter-out fuzz/settings.c,$(wildcard fuzz/*.c))
FUZZ_SRC := $(filter-out src/dialect/test/%,$(wildcard $(patsubst %,src/%/*.c,base doc spec kube dialect dialect/* plan job journal story) \
    src/rundir/lines.c src/rundir/marks.c src/cli/slurm_script.c src/http/http_parse.c src/http/http_uri.c src/api/json_cut.c \
    src/system/book.c src/system/decide.c $(wildcard src/queue/*.c) $(FUZZED)))
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/obj/%.o,$(FUZZ_SRC))
FUZZERS := $(patsubst fuzz/%.c,$(B)/fuzz/%,$(FUZZED))
# Comparisons of numbers are not traced: that doubles the time, and the words a job file is made of are compared
# as strings.
FUZZ_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D); $(FUZZ_CC) $(CPPFLAGS) -std=gnu17 -O2 -g $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link \
	    -fno-sanitize-coverage=trace-cmp $(PKG_CFLAGS) -MMD -MP -c -o $@ $<
$(FUZZERS): $(B)/fuzz/%: $(B)/fuzz/obj/fuzz/%.o $(filter $(B)/fuzz/obj/src/%,$(FUZZ_OBJ))
	@echo '  FUZZ $@'; $(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS)
fuzz: $(FUZZERS)
	@RUNS=$(RUNS) tools/fuzz $(T) $(B)

# --- style ---------------------------------------------------------------------------------------

# An object is rebuilt when anything it includes has changed: then clang-tidy looks at it again.
TIDY := $(patsubst $(B)/obj/%.o,$(B)/tidy/%,$(filter-out $(B)/obj/made/%,$(sort $(MUSTER_OBJ) $(LIB_OBJ) $(TOP_OBJ) $(UNIT_OBJ) $(B)/obj/operator/main.o)))
$(B)/tidy/%: $(B)/obj/%.o .clang-tidy
	@mkdir -p $(@D); tools/tidy src/$*.c $(B)/obj/$*.d $(CPPFLAGS) -std=gnu17 $(PKG_CFLAGS)
	@touch $@
tidy: $(TIDY)

check-style:
	@tools/check-style

format:
	clang-format -i $(wildcard src/*/*.[ch] src/*/*/*.[ch] src/*/*/*/*.[ch] \
	    bench/*.c examples/*.c fuzz/*.[ch] fuzz/*/*.c t/*/*.c)

# --- the rest ------------------------------------------------------------------------------------

# An OCI image of the operator, without Docker or root.
image: $(B)/muster-operator $(B)/muster-shim-pod $(B)/muster-records
	@tools/image --build $(B)

install: all
	install -D -m 755 $(B)/muster $(DESTDIR)$(PREFIX)/bin/muster
	install -D -m 755 $(B)/muster-shim $(DESTDIR)$(PREFIX)/libexec/muster/muster-shim
	install -D -m 755 $(B)/muster-kubernetes $(DESTDIR)$(PREFIX)/libexec/muster/muster-kubernetes
	install -D -m 755 $(B)/muster-shim-pod $(DESTDIR)$(PREFIX)/libexec/muster/muster-shim-pod
	install -D -m 755 $(B)/muster-records $(DESTDIR)$(PREFIX)/libexec/muster/muster-records
	install -D -m 755 $(B)/muster-operator $(DESTDIR)$(PREFIX)/libexec/muster/muster-operator
	install -D -m 755 $(B)/muster-serve $(DESTDIR)$(PREFIX)/libexec/muster/muster-serve
	install -D -m 755 $(B)/muster-top $(DESTDIR)$(PREFIX)/libexec/muster/muster-top
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' deploy/systemd/muster.service.in >$(DESTDIR)$(PREFIX)/lib/systemd/system/muster.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/muster.service
	install -D -m 644 doc/muster.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/muster
	install -D -m 644 doc/_muster $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_muster
	for m in doc/man/*.[1-9] $(B)/man/*.[1-9]; do \
	    install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$${m##*/} || exit 1; done

clean:
	rm -rf build build-* examples/random_walk

-include $(patsubst %.o,%.d,$(sort $(MUSTER_OBJ) $(SHIM_OBJ) $(MUSL_OBJ) $(B)/musl/records/main.o $(FAULT_OBJ) $(LIB_OBJ) $(TOP_OBJ) $(B)/obj/operator/main.o $(UNIT_OBJ) $(FUZZ_OBJ)))
