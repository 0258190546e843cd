# The targets that people and the CI call. "make" alone explains them.

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

ACTIONLINT_VERSION := v1.7.9

# The S3 server of the tests. Raise it together with adapters/blob/s3/store_test.go and test/suite/acceptance/main_scenario_test.go.
VERSITYGW_VERSION := v1.8.0
VERSITYGW         := .tools/bin/versitygw-$(VERSITYGW_VERSION)

# Raise it together with test/suite/cluster/kube/lib.sh.
HELM_VERSION := v3.22.0
HELM         := .tools/helm-$(HELM_VERSION)/helm

# What looks for vulnerabilities. Go's checksum database knows the bytes of each version.
GOVULNCHECK_VERSION := v1.9.0
SYFT_VERSION        := v1.57.0
GRYPE_VERSION       := v0.121.2

# gotestsum prints a line for each package that has ended, and the output of tests that failed.
# Packages wait and compute in turn, so four run at once, those that take longest first. A test
# binary lives for a minute or so: with GOGC=400 it collects garbage seldom, which takes a third of
# the CPU time from what computes most. "make check" and CI vet; a run of all tests does not repeat it.
GOTESTSUM_VERSION := v1.13.0

TEST       := GOGC=400 go run gotest.tools/gotestsum@$(GOTESTSUM_VERSION) --format pkgname-and-test-fails --format-hide-empty-pkg -- -vet=off -p 4 -timeout 20m
ACCEPTANCE := ./test/suite/acceptance
DASHBOARD  := ./test/suite/dashboard
LONG       := $(ACCEPTANCE) $(addprefix ./,adapters/postgres adapters/stream/ffmpeg adapters/stream/ytdlp test/fake/livestream domain/watch) \
	$(addprefix ./,adapters/postgres/embedded adapters/stream/streamlink test/suite/quality application/worker adapters/runtime/process)
ALL         = $(LONG) $$(go list ./... | grep -v '/test/suite/dashboard$$')

# Packages whose tests start PostgreSQL, ffmpeg, yt-dlp or whole gateways; the
# others' are unit tests, which "make check" runs.
REAL := adapters/blob/s3|adapters/httpapi|adapters/postgres|adapters/runtime/process|adapters/stream/(ffmpeg|icy|streamlink|ytdlp)|cmd/stream-monitor/internal/applier|test/(fake|harness|program|suite/(acceptance|dashboard|docgen|quality))
UNIT  = ./adapters/httpapi/ui $$(go list ./... | grep -vE '/($(REAL))(/|$$)')

##@ Start here

.PHONY: help
help: ## explain the targets
	@if [[ -t 1 && -z "$${NO_COLOR:-}" ]]; then bold=$$'\e[1m' blue=$$'\e[36m' off=$$'\e[0m'; else bold= blue= off=; fi; \
	awk -v bold="$$bold" -v blue="$$blue" -v off="$$off" -F ':.*## ' ' \
		/^##@ /                { printf "\n%s%s%s\n", bold, substr($$0, 5), off } \
		/^[a-z][a-z-]*:.*## /  { printf "  %smake %-14s%s  %s\n", blue, $$1, off, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: tools build ## show everything at work: a stream fails, webhooks arrive (3 minutes); KEEP=1 leaves the dashboard open
	go run ./test/program/demo

.PHONY: run
run: tools build ## start the service on this machine, with a database of its own, and print the link to its dashboard
	$(BINARY) serve

##@ Build

.PHONY: tools
tools: ## install the tools it calls: ffmpeg, PostgreSQL, yt-dlp, streamlink, deno; build segment-decoder; Node.js for the dashboard
	@test/tools/install.sh

.PHONY: build
build: ## build bin/stream-monitor, with the dashboard where Node.js is installed, and bin/tool-launcher (Linux; with gcc)
	@adapters/httpapi/ui/build.sh optional
	VERSION=$(VERSION) deploy/binary.sh $(BINARY)
	test "$$(uname)" != Linux || adapters/internal/subprocess/launcher/build.sh $(dir $(BINARY))tool-launcher

.PHONY: ui
ui: ## build the dashboard, which "make build" puts into the binary
	@adapters/httpapi/ui/build.sh

.PHONY: screenshots
screenshots: tools build ## take the pictures of the README and the docs from a real gateway in a real browser (4 minutes)
	go run ./test/program/screenshots

.PHONY: image
image: ## build the image stream-monitor:VERSION of gateway and worker (5 minutes the first time)
	@VERSION=$(VERSION) test/suite/image/build.sh

.PHONY: release
release: ui $(HELM) ## build the files of the release VERSION (v1.2.3) into dist/: programs for amd64 and arm64, chart, SHA256SUMS
	@PATH="$(abspath $(dir $(HELM))):$$PATH" VERSION=$(VERSION) deploy/release.sh

.PHONY: lock
lock: ## renew the releases and hashes of yt-dlp and the other Python tools, or those of ONLY (yt-dlp)
	@test/tools/lock.sh $(ONLY)

.PHONY: lock-images
lock-images: ## renew the digests of the base images; it needs a registry
	@test/suite/image/engine.sh
	@test/suite/image/bases.sh lock

.PHONY: lock-ffmpeg
lock-ffmpeg: ## renew the sources of the image's ffmpeg: what Debian has now, and the hashes; it needs a container engine
	@test/suite/image/engine.sh
	@test/suite/image/bases.sh debian:trixie-slim
	@test/suite/image/sources.sh lock

.PHONY: clean
clean: ## remove what was built and installed here (bin/, dist/, .tools/, .cache/, the dashboard)
	rm -rf bin dist .tools .cache adapters/httpapi/ui/node_modules
	find adapters/httpapi/ui/dist -mindepth 1 ! -name .gitkeep -delete

##@ Check

.PHONY: check
check: $(LINT) ## check a change before its commit: build, vet, lint what is new, unit tests (2 minutes)
	@test/tools/check.sh $(LINT) $(UNIT)

.PHONY: test
test: tools ui $(VERSITYGW) ## run every test, the acceptance timelines and the dashboard included (8 minutes)
	@test/tools/install.sh browser
	$(TEST) $(DASHBOARD) $(ALL)

.PHONY: test-tools
test-tools: tools ui ## test what depends on yt-dlp and streamlink, the acceptance timelines too (8 minutes)
	$(TEST) ./adapters/stream/ytdlp ./adapters/stream/streamlink ./test/fake/youtube
	$(TEST) $(ACCEPTANCE)

.PHONY: test-ui
test-ui: tools ## test the dashboard in a real browser (4 minutes)
	@test/tools/install.sh browser
	$(TEST) $(DASHBOARD)

.PHONY: test-race
test-race: tools $(VERSITYGW) ## the same under the race detector
	$(TEST) -race $(ALL)

.PHONY: vet
vet: ## vet every package with every build tag
	go vet ./...
	go vet -tags faults,profile ./cmd/...
	go vet -tags image,compose,cluster ./test/... ./adapters/...

.PHONY: lint
lint: $(LINT) ## lint every package and workflow; .golangci.yml gives the reasons for what is off
	$(LINT) run --allow-parallel-runners ./...
	go run github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

.PHONY: test-api
test-api: tools ## fuzz the API with requests generated from openapi.yaml (2 minutes)
	@test/tools/install.sh api
	@go run ./test/program/apifuzz $(if $(SEED),-seed $(SEED)) $(if $(BUDGET),-budget $(BUDGET))

.PHONY: test-faults
test-faults: tools ## inject faults into processes, network, disk and clock, SEEDS (20) times (5 minutes)
	@go run ./test/program/chaos -seeds $(SEEDS) $(if $(SEED),-seed $(SEED))
	@go run ./test/program/chaos -mutate

.PHONY: reproducible
reproducible: ui ## build the program twice, in two directories, and compare the bytes; FRESH=1: the second time without the cache
	@FRESH=$(FRESH) test/suite/supplychain/reproducible.sh

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in the Go code that is called; it needs vuln.go.dev
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

.PHONY: scan
scan: ## write the SBOM of the image to bin/sbom.spdx.json, and look for known vulnerabilities that a newer package repairs
	@mkdir -p bin
	docker save -o bin/image.tar stream-monitor:$(VERSION)
	GOBIN=$(abspath bin) go install github.com/anchore/syft/cmd/syft@$(SYFT_VERSION)
	bin/syft scan --quiet docker-archive:bin/image.tar -o spdx-json=bin/sbom.spdx.json
	rm -f bin/image.tar
	GOBIN=$(abspath bin) go install github.com/anchore/grype/cmd/grype@$(GRYPE_VERSION)
	bin/grype --only-fixed --fail-on high sbom:bin/sbom.spdx.json

.PHONY: image-smoke
image-smoke: tools image ## run the image as it is deployed: no root, read-only, every codec (2 minutes)
	@test/suite/image/bases.sh postgres:17-trixie
	@IMAGE=stream-monitor:$(VERSION) go test -tags image -count=1 -v ./test/suite/image

.PHONY: test-compose
test-compose: tools image ## test deploy/compose.yaml on a real Docker (5 minutes)
	@test/suite/image/bases.sh postgres:17-trixie
	@IMAGE=stream-monitor:$(VERSION) go test -tags compose -count=1 -timeout 15m -v ./test/suite/compose

.PHONY: test-chart
test-chart: $(HELM) ## test what the Helm chart renders, without a cluster (2 minutes)
	@PATH="$(abspath $(dir $(HELM))):$$PATH" STREAM_MONITOR_TEST_KUBECONFIG=/dev/null go test -tags cluster -count=1 -run '^TestTheChart' ./test/suite/cluster

.PHONY: test-cluster
test-cluster: tools image ## test the Helm chart in the cluster of STREAM_MONITOR_TEST_KUBECONFIG, or in one started here as root (14 minutes)
	@STREAM_MONITOR_IMAGE=stream-monitor:$(VERSION) test/suite/cluster/run.sh

.PHONY: nightly
nightly: ## run what takes hours: the cluster, 200 seeds of faults, random clips, the race detector, every fuzzer for 10 minutes
	.ci/run reproducible quality cluster
	$(MAKE) test-api SEED=0 BUDGET=10m
	go test -tags faults ./cmd/stream-monitor/internal/faultinject
	$(MAKE) test-faults SEEDS=200
	$(MAKE) quality-random
	$(MAKE) test-race
	$(MAKE) fuzz FUZZTIME=10m

.PHONY: quality
quality: tools ## measure the detectors on clips whose truth is known: 44 of black and silence, also with ffmpeg, 352 of the others, and 58 streams of several qualities (12 minutes; 40 at first)
	go test -count=1 -v -timeout 60m -run 'TestEveryEvent|TestEachDetector|TestFurtherClips|TestLadders' ./test/suite/quality -whole

.PHONY: quality-random
quality-random: tools ## compare segment-decoder with ffmpeg on N (300) random clips, from SEED (0) on (20 minutes)
	go test -count=1 -v -timeout 2h -run TestSegmentDecoderFindsWhatFFmpegFindsInRandomClips ./test/suite/quality -random $(or $(N),300) $(if $(SEED),-seed $(SEED))

.PHONY: bench
bench: tools ## measure the cost of a check: decoding, measuring and watching (3 minutes)
	@go test -p 1 -timeout 30m -run '^$$' -bench . ./adapters/stream/ffmpeg ./domain/detector ./domain/watch

.PHONY: bench-api
bench-api: tools ## measure the API beside plain PostgreSQL, and with 1,000 monitors (4 minutes)
	@go run ./test/program/benchapi

.PHONY: bench-channels
bench-channels: tools ## measure how the streams of N (500) channels are found, which appear FOR (5m) (10 minutes); USUAL=false: outside their usual hours (25 minutes)
	@go run ./test/program/benchchannels $(if $(N),-n $(N)) $(if $(FOR),-for $(FOR)) $(if $(USUAL),-usual=$(USUAL))

.PHONY: bench-deliver
bench-deliver: tools ## measure deliveries to 50 destinations of which some hang, and their rate (3 minutes)
	@go run ./test/program/benchdeliver

.PHONY: bench-growth
bench-growth: tools ## measure a database of MONITORS (100000) and EVENTS (10000000): the delivery of a backlog, an index that is built while reports and deliveries go on (10 minutes; 25 GB of disk); DIR: keeps the database there for the next run
	@go run ./test/program/benchgrowth $(if $(MONITORS),-monitors $(MONITORS)) $(if $(EVENTS),-events $(EVENTS)) $(if $(DIR),-dir $(DIR))

.PHONY: bench-density
bench-density: tools ## measure what a live stream costs a gateway that watches N (100,300,1000) of them, FOR (15m) each (an hour); PRESET=24x7: with its detectors; STORMS=1: what happens to all at once, too
	@go run ./test/program/benchdensity $(if $(N),-n $(N)) $(if $(FOR),-for $(FOR)) $(if $(PRESET),-preset $(PRESET)) $(if $(STORMS),-storms)

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

$(HELM):
	@echo 'test: building helm $(HELM_VERSION), once (about 4 minutes)'
	@mkdir -p $(@D)
	@GOBIN=$(abspath $(@D))/build timeout 20m go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	@mv $(@D)/build/helm $@
	@rmdir $(@D)/build

$(VERSITYGW):
	@echo 'test: building versitygw $(VERSITYGW_VERSION), once (about 4 minutes)'
	@mkdir -p $(@D)
	@GOBIN=$(abspath $(@D))/build timeout 20m go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	@mv $(@D)/build/versitygw $@
	@rmdir $(@D)/build
