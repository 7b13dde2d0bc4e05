# nfsbench. `make help` lists the targets; recipes over five lines are in hack/.
SHELL := /usr/bin/env bash
.DEFAULT_GOAL := help

##@ Start here
.PHONY: demo
demo: ## Run the main job end to end on a real cluster and print its result
	@hack/demo.sh

.PHONY: check
check: ## What changed: format, linters, unit tests of it and of what imports it (a minute)
	@hack/check.sh

.PHONY: test
test: ## The gate: all but the long parts (13 minutes); says what it cannot run and why
	@hack/test.sh

.PHONY: test-all
test-all: ## Every test that this machine can run
	@hack/test.sh all

.PHONY: help
help: ## Show this help
	@awk -f hack/lib/help.awk $(MAKEFILE_LIST)

##@ Build
.PHONY: build
build: ## Build the programs into bin/; VERSION, or the commit, is in them
	CGO_ENABLED=0 go build -trimpath -ldflags="-X main.version=$(or $(VERSION),$(shell git describe --tags --match 'v*' --always --dirty))" -o bin/ ./cmd/...

.PHONY: image
image: ## Build the container images as archives, without Docker
	hack/image/build.sh

.PHONY: push
push: ## Push images and chart to REGISTRY, and print how to install them from there
	@hack/push.sh $(REGISTRY)

.PHONY: release
release: ## Make all files of the release VERSION in dist/, and publish nothing
	@hack/release.sh $(VERSION)

.PHONY: release-check
release-check: ## Make a release, sign it, install it from a real registry, and upgrade it
	@hack/test.sh release

.PHONY: chart
chart: ## Package the Helm chart into bin/
	hack/tool.sh helm package charts/nfsbench -d bin

.PHONY: install-yaml
install-yaml: ## Write one file that installs everything, dist/install.yaml
	mkdir -p dist && hack/chart.sh install-yaml > dist/install.yaml

.PHONY: docs
docs: ## Build the documentation site into bin/site; broken links are errors
	@hack/docs.sh

.PHONY: generate
generate: ## Regenerate deepcopy, CRD, RBAC, references and schemas
	hack/generate.sh

##@ Check
.PHONY: fmt
fmt: ## Format the code
	hack/tool.sh golangci-lint fmt

.PHONY: lint
lint: ## Run the linters, of the code and of the words
	@hack/test.sh lint

.PHONY: platforms
platforms: ## What the tests run with, until when its makers support it, and what is newer
	@hack/platforms.sh --newer

.PHONY: hooks
hooks: ## Let git run `make check` before each push
	hack/hooks.sh

.PHONY: verify
verify: ## Fail when anything generated is not what the sources give
	hack/verify.sh

.PHONY: verify-chart
verify-chart: ## Check the rendered chart and the samples against Kubernetes' schemas
	hack/chart.sh conform

test-%: ## One part: make test-unit; hack/test.sh --list names them
	@hack/test.sh $*

.PHONY: test-oracle
test-oracle: ## The suite of the stand-in against a real database: make test-oracle IMAGE=... or ORACLE_DSN=...
	@hack/oracle/test.sh

.PHONY: test-oracle-image
test-oracle-image: ## What an image is like, from its files alone: make test-oracle-image IMAGE=...
	@hack/oracle/image.sh

.PHONY: test-oracle-pod
test-oracle-pod: ## An image as the operator runs it, on its own NFS server: make test-oracle-pod IMAGE=...
	@hack/oracle/pod.sh

.PHONY: soak
soak: ## 10 million random reads at depth 256 (NFSBENCH_SOAK): memory, goroutines and descriptors stay flat
	NFSBENCH_SOAK=$${NFSBENCH_SOAK:-10000000} go test -C test/lab -count=1 -timeout 2h -v -run Grows ./soak

.PHONY: fuzz
fuzz: ## Fuzz every parser of untrusted bytes for FUZZTIME (default 30s) each
	@hack/fuzz.sh

##@ Measure
.PHONY: measure
measure: ## What depends on the speed of this machine, into a dated record; ARGS: parts
	@hack/test.sh measure $(ARGS)

.PHONY: bench
bench: ## Measure nfsbench beside iperf3, fio and libnfs; write test/lab/records
	hack/bench.sh

.PHONY: bench-quick
bench-quick: ## The same in a few minutes, to see that it works; nothing is recorded
	hack/bench.sh --repeats 2 --seconds 1 --short --rows quick

.PHONY: believe
believe: ## Measure how often the findings are right; write test/lab/records
	hack/believe.sh

##@ Cluster
.PHONY: cluster-up
cluster-up: ## Start a one-node Kubernetes, or find the one that CLUSTER names
	hack/cluster/up.sh

.PHONY: cluster-down
cluster-down: ## Stop it and remove all that belongs to it
	hack/cluster/down.sh

.PHONY: cluster-status
cluster-status: ## Show what runs
	hack/cluster/status.sh
