# shellcheck shell=bash
# Names, addresses and ports of the local cluster. Each may be overridden by its variable.

NODE_NAME=${NODE_NAME:-nfsbench}
API_PORT=${API_PORT:-6443}
ETCD_PORT=${ETCD_PORT:-2379}
BRIDGE=${BRIDGE:-nfsb0}
POD_SUBNET=${POD_SUBNET:-10.244.0.0/24}
SERVICE_SUBNET=${SERVICE_SUBNET:-10.96.0.0/16}
SERVICE_FIRST_IP=${SERVICE_FIRST_IP:-10.96.0.1}
# 1 gives pods addresses of IPv6 beside those of IPv4, and Services where they ask for some.
DUAL_STACK=${DUAL_STACK:-0}
POD_SUBNET6=${POD_SUBNET6:-fd00:10:244::/64}
SERVICE_SUBNET6=${SERVICE_SUBNET6:-fd00:10:96::/112}
# Everything that this recipe adds to iptables itself hangs below this chain.
MASQUERADE_CHAIN=NFSBENCH-MASQ

# subnets IPV4 IPV6 prints those that the cluster uses, as Kubernetes takes them.
subnets() { if dual_stack; then echo "$1,$2"; else echo "$1"; fi; }

dual_stack() { [[ $DUAL_STACK == 1 ]]; }

# host_ip prints the address by which pods reach the API server: it must not be a loopback one.
host_ip() {
	local ip
	ip=$(ip -4 route get 192.0.2.1 2>/dev/null | sed -n 's/.* src \([0-9.]*\).*/\1/p' | head -n 1)
	[[ -n $ip && $ip != 127.* ]] || ip=$(ip -4 -o addr show scope global | awk '{sub("/.*", "", $4); print $4; exit}')
	[[ -n $ip ]] || die "this machine has no address other than loopback"
	echo "$ip"
}
