#!/usr/bin/env bash
# A container registry in a network namespace of its own, with TLS, for checking a release.
#
# usage: hack/release/registry.sh up | down
#
# up prints REGISTRY_ADDRESS and REGISTRY_CA (a file) as shell variables. The program is
# Distribution, the registry of the CNCF, built from its Go module. Needs root and openssl.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/common.sh
source "$here/../lib/common.sh"
# shellcheck source=../lib/process.sh
source "$here/../lib/process.sh"
STATE_DIR=${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/registry
NETNS=nfsbench-registry HOST=10.241.9.1 ADDRESS=10.241.9.2

up() {
	down
	mkdir -p "$STATE_DIR/data"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7 -subj /CN=nfsbench-release-check \
		-keyout "$STATE_DIR/ca.key" -out "$STATE_DIR/ca.crt" 2>/dev/null
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7 -subj "/CN=$ADDRESS" \
		-CA "$STATE_DIR/ca.crt" -CAkey "$STATE_DIR/ca.key" -addext "subjectAltName=IP:$ADDRESS" -addext basicConstraints=critical,CA:FALSE \
		-keyout "$STATE_DIR/server.key" -out "$STATE_DIR/server.crt" 2>/dev/null
	ip netns add "$NETNS"
	ip link add nfsb-registry type veth peer name eth0 netns "$NETNS"
	ip address add "$HOST/24" dev nfsb-registry
	ip link set nfsb-registry up
	ip -n "$NETNS" address add "$ADDRESS/24" dev eth0
	ip -n "$NETNS" link set eth0 up
	ip -n "$NETNS" link set lo up
	cat >"$STATE_DIR/config.yaml" <<-YAML
		version: 0.1
		log: {level: warn}
		storage:
		  filesystem: {rootdirectory: $STATE_DIR/data}
		http:
		  addr: $ADDRESS:443
		  tls: {certificate: $STATE_DIR/server.crt, key: $STATE_DIR/server.key}
	YAML
	"$here/../tool.sh" registry --version >/dev/null # builds it, with progress
	start registry ip netns exec "$NETNS" "$here/../tool.sh" registry serve "$STATE_DIR/config.yaml"
	wait_for 30 "the registry" curl --silent --fail --cacert "$STATE_DIR/ca.crt" "https://$ADDRESS/v2/"
	echo "REGISTRY_ADDRESS=$ADDRESS"
	echo "REGISTRY_CA=$STATE_DIR/ca.crt"
}

down() {
	stop registry
	ip link delete nfsb-registry 2>/dev/null || true
	ip netns delete "$NETNS" 2>/dev/null || true
	rm -rf "$STATE_DIR"
}

case ${1:-} in
-h | --help | "") help_of "$0" ;;
up | down) [[ $EUID == 0 ]] || die "network namespaces need root" && "$1" ;;
*) die "unexpected argument $1 (see --help)" ;;
esac
