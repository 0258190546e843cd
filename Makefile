# Every target a person or the CI calls. "make" alone explains them.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BINARY   := bin/stream-monitor
FUZZTIME ?= 30s
SEEDS    ?= 20

# Raise it together with .golangci.yml: linters change between versions.
LINT_VERSION := v2.15.0
LINT         := .tools/bin/golangci-lint-$(LINT_VERSION)

# The acceptance tests play whole streams, take minutes and promise fractions
# of a second: they have the machine to themselves, after all the others.
TEST       := go test -p 2 -timeout 20m
ACCEPTANCE := ./test/suite/acceptance
OTHERS      = $$(go list ./... | grep -v /test/suite/acceptance)

# Packages whose tests start PostgreSQL, ffmpeg, yt-dlp or whole gateways; the
# others' are unit tests, which "make check" runs.
REAL := adapters/postgres|adapters/runtime/process|adapters/stream/(ffmpeg|streamlink|ytdlp)|test/(fake|harness|program|suite/acceptance|suite/docgen)
UNIT  = $$(go list ./... | grep -vE '/($(REAL))(/|$$)')

##@ Start here

.PHONY: help
help: ## explain the targets
	@if [[ -t 1 && -z "$${NO_COLOR:-}" ]]; then bold=$$'\e[1m' blue=$$'\e[36m' off=$$'\e[0m'; else bold= blue= off=; fi; \
	awk -v bold="$$bold" -v blue="$$blue" -v off="$$off" -F ':.*## ' ' \
		/^##@ /                { printf "\n%s%s%s\n", bold, substr($$0, 5), off } \
		/^[a-z][a-z-]*:.*## /  { printf "  %smake %-12s%s  %s\n", blue, $$1, off, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: tools build ## show the whole thing: a stream goes wrong, webhooks arrive (3 minutes)
	go run ./test/program/demo

.PHONY: run
run: tools build ## start the service on this machine, with a database of its own
	$(BINARY) serve

##@ Build

.PHONY: tools
tools: ## install what it calls: ffmpeg, PostgreSQL, yt-dlp, streamlink, deno
	@test/tools/install.sh

.PHONY: build
build: ## build bin/stream-monitor
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BINARY) ./cmd/stream-monitor

.PHONY: image
image: ## build the image stream-monitor:VERSION, of gateway and worker (5 minutes the first time)
	@VERSION=$(VERSION) test/suite/image/build.sh

.PHONY: clean
clean: ## remove what was built and installed here (bin/, .tools/, .cache/)
	rm -rf bin .tools .cache

##@ Check

.PHONY: check
check: $(LINT) ## check a change before its commit: build, vet, lint of it, unit tests (2 minutes)
	@test/tools/check.sh $(LINT) $(UNIT)

.PHONY: test
test: tools ## run every test, the acceptance timelines included (minutes)
	$(TEST) $(OTHERS)
	$(TEST) $(ACCEPTANCE)

.PHONY: test-race
test-race: tools ## the same under the race detector
	$(TEST) -race $(OTHERS)
	$(TEST) -race $(ACCEPTANCE)

.PHONY: lint
lint: $(LINT) ## find what the compiler does not; .golangci.yml gives the reasons
	$(LINT) run --allow-parallel-runners ./...

.PHONY: test-api
test-api: tools ## let a client made up from openapi.yaml loose on the API (2 minutes)
	@test/tools/install.sh api
	@go run ./test/program/apifuzz $(if $(SEED),-seed $(SEED)) $(if $(BUDGET),-budget $(BUDGET))

.PHONY: test-faults
test-faults: tools ## kill, halt, cut off, fill up and step what there is, SEEDS (20) times over
	@test/tools/install.sh faults
	@go run ./test/program/chaos -seeds $(SEEDS) $(if $(SEED),-seed $(SEED))

.PHONY: image-smoke
image-smoke: tools image ## see whether the image works as it is run: no root, read-only, every codec (2 minutes)
	@test/suite/image/bases.sh postgres:17-trixie
	@IMAGE=stream-monitor:$(VERSION) go test -tags image -count=1 -v ./test/suite/image

.PHONY: test-compose
test-compose: tools image ## play the timelines against deploy/compose.yaml, on a real Docker (3 minutes)
	@test/suite/image/bases.sh postgres:17-trixie
	@IMAGE=stream-monitor:$(VERSION) go test -tags compose -count=1 -timeout 15m -v ./test/suite/compose

.PHONY: test-cluster
test-cluster: tools image ## play them in a real Kubernetes, that of STREAM_MONITOR_TEST_KUBECONFIG or one brought up here as root (12 minutes)
	@STREAM_MONITOR_IMAGE=stream-monitor:$(VERSION) test/suite/cluster/run.sh

.PHONY: nightly
nightly: ## what takes hours: a cluster, 200 seeds of faults, the race detector, the API's client and each fuzzer for 10 minutes
	$(MAKE) test-cluster
	$(MAKE) test-api SEED=0 BUDGET=10m
	$(MAKE) test-faults SEEDS=200
	$(MAKE) test-race
	$(MAKE) fuzz FUZZTIME=10m

.PHONY: quality
quality: tools ## what it sees and misses, on clips whose truth is known (2 minutes)
	@go run ./test/program/quality

.PHONY: bench
bench: tools ## what a check costs: the decoding, and the watcher (1 minute)
	@go test -p 1 -run '^$$' -bench . ./adapters/stream/ffmpeg ./domain/watch

.PHONY: bench-api
bench-api: tools ## what the API takes, beside what PostgreSQL takes (40 seconds)
	@go run ./test/program/benchapi

.PHONY: fuzz
fuzz: tools ## fuzz each parser for FUZZTIME (30s)
	@grep -rnoE --include='*_test.go' --exclude-dir=.tools --exclude-dir=testdata '^func Fuzz[A-Za-z0-9_]+' . | \
	while IFS=: read -r file _ func; do \
		echo "fuzz: $${func#func } in $$(dirname "$$file") for $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")" </dev/null; \
	done

$(LINT):
	@echo 'lint: building golangci-lint $(LINT_VERSION), once (about 2 minutes)'
	@mkdir -p $(@D)
	@GOBIN=$(abspath $(@D))/build go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(@D)/build/golangci-lint $@
	@rmdir $(@D)/build
