# nfsbench. `make help` lists the targets; recipes over five lines are in hack/.
SHELL := /usr/bin/env bash
.DEFAULT_GOAL := help
export IMAGE_PREFIX ?= nfsbench
export TAG ?= dev

##@ Start here
.PHONY: demo
demo: ## Run the main job end to end on a real cluster and print its result
	@hack/demo.sh

.PHONY: test
test: ## Run every test that this machine can run, and say which it cannot
	@hack/test.sh all

.PHONY: help
help: ## Show this help
	@awk -f hack/lib/help.awk $(MAKEFILE_LIST)

##@ Build
.PHONY: build
build: ## Build the programs into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: image
image: ## Build the container images as archives, without Docker
	hack/image/build.sh

.PHONY: plugin
plugin: ## Build the kubectl plugin for PLATFORMS (default linux and darwin) into dist/
	hack/plugin.sh

.PHONY: chart
chart: ## Package the Helm chart into bin/
	hack/tool.sh helm package charts/nfsbench -d bin

.PHONY: install-yaml
install-yaml: ## Write one file that installs everything, dist/install.yaml
	mkdir -p dist && hack/chart.sh install-yaml > dist/install.yaml

.PHONY: generate
generate: ## Regenerate deepcopy, CRD, RBAC, references and schemas
	hack/generate.sh

##@ Check
.PHONY: fmt
fmt: ## Format the code
	hack/tool.sh golangci-lint fmt

.PHONY: lint
lint: ## Run the linters
	hack/tool.sh golangci-lint run

.PHONY: verify
verify: ## Fail when anything generated is not what the sources give
	hack/verify.sh

.PHONY: verify-chart
verify-chart: ## Check the rendered chart and the samples against Kubernetes' schemas
	hack/chart.sh conform

.PHONY: test-unit
test-unit: ## Unit, golden and conformance tests (no cluster)
	@hack/test.sh unit

.PHONY: test-integration
test-integration: ## Controller tests against a real API server
	@hack/test.sh integration

.PHONY: test-growth
test-growth: ## 500 benchmarks at once, and 1,000 that are over: what each costs, and that it does not grow
	@hack/test.sh growth

.PHONY: test-kernel-nfs
test-kernel-nfs: ## The Kernel engine, and our client, on the NFS of a Linux kernel in a virtual machine
	@hack/test.sh kernelnfs

.PHONY: test-e2e
test-e2e: ## End-to-end tests on a real cluster with a real NFS server
	@hack/test.sh e2e

.PHONY: test-oracle
test-oracle: ## The suite of the stand-in against a database of yours: make test-oracle ORACLE_DSN=...
	@hack/oracle/test.sh

.PHONY: test-suites
test-suites: ## Suites on a real cluster with the real Argo Workflows
	@hack/test.sh suites

.PHONY: test-kernel-node
test-kernel-node: ## Claims mounted by a real kubelet, on a node in a virtual machine whose kernel speaks NFS
	@hack/test.sh kernelnode

.PHONY: soak
soak: ## 10 million random reads at depth 256 (NFSBENCH_SOAK): memory, goroutines and descriptors stay flat
	NFSBENCH_SOAK=$${NFSBENCH_SOAK:-10000000} go test -count=1 -timeout 2h -v -run Grows ./test/soak

.PHONY: fuzz
fuzz: ## Fuzz every parser of untrusted bytes for FUZZTIME (default 30s) each
	@hack/fuzz.sh

##@ Measure
.PHONY: bench
bench: ## Measure nfsbench beside iperf3, fio and libnfs; write docs/performance.md
	hack/bench.sh

.PHONY: bench-quick
bench-quick: ## The same in a few minutes, to see that it works; nothing is recorded
	hack/bench.sh --repeats 2 --seconds 1 --no-record

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
