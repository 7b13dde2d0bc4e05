# shellcheck shell=bash
# containerd, the pod network and the kernel settings that it needs.

SOCKET=$STATE_DIR/containerd/containerd.sock
PAUSE_IMAGE=localhost/nfsbench/pause:dev

# ctr is the command line of the containerd that runs, for the namespace of Kubernetes.
ctr() { "$STATE_DIR/bin/ctr" --address "$SOCKET" -n k8s.io "$@"; }

start_runtime() {
	network_settings
	write_cni
	write_containerd
	pid_of containerd >/dev/null || PATH=$BIN_DIR:$PATH start containerd "$BIN_DIR/containerd" --config "$STATE_DIR/containerd/config.toml"
	comes_up containerd containerd ctr version
	ctr images import "$STATE_DIR/containerd/pause.tar" >/dev/null
}

# network_settings turns on forwarding and lets bridged packets pass iptables,
# without which a Service cannot be reached from the node that serves it.
network_settings() {
	[[ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]] || modprobe br_netfilter || die "the kernel cannot pass bridged packets to iptables"
	[[ -e $STATE_DIR/sysctl.before ]] || record_settings >"$STATE_DIR/sysctl.before"
	echo 1 >/proc/sys/net/ipv4/ip_forward
	echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
	masquerade iptables "$POD_SUBNET"
	dual_stack || return 0
	have_ipv6 || die "DUAL_STACK=1 needs a machine with IPv6"
	echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	echo 1 >/proc/sys/net/bridge/bridge-nf-call-ip6tables
	masquerade ip6tables "$POD_SUBNET6"
}

# masquerade PROGRAM SUBNET gives what pods send to other networks an address of this machine.
masquerade() {
	local tables=$1 subnet=$2
	"$tables" -w -t nat -N "$MASQUERADE_CHAIN" 2>/dev/null || "$tables" -w -t nat -F "$MASQUERADE_CHAIN"
	"$tables" -w -t nat -A "$MASQUERADE_CHAIN" -s "$subnet" ! -d "$subnet" ! -o "$BRIDGE" -j MASQUERADE
	"$tables" -w -t nat -C POSTROUTING -j "$MASQUERADE_CHAIN" 2>/dev/null ||
		"$tables" -w -t nat -A POSTROUTING -j "$MASQUERADE_CHAIN"
}

# record_settings prints every kernel setting that the cluster, the kubelet and
# kube-proxy are known to change, so that down can put them back.
record_settings() {
	local key
	for key in net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables net/ipv4/conf/all/route_localnet \
		net/ipv6/conf/all/forwarding net/bridge/bridge-nf-call-ip6tables \
		net/ipv4/vs/conntrack vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
		kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
		[[ ! -r /proc/sys/$key ]] || echo "$key $(cat "/proc/sys/$key")"
	done
}

# write_cni describes the pod network: a bridge, host ports, and the bandwidth
# plugin that obeys the kubernetes.io/{in,e}gress-bandwidth annotations, behind
# a program that corrects its burst.
write_cni() {
	local range6='' route6=''
	if dual_stack; then range6=", [{\"subnet\": \"$POD_SUBNET6\"}]" route6=', {"dst": "::/0"}'; fi
	mkdir -p "$STATE_DIR/cni/net.d" "$STATE_DIR/cni/bin"
	ln -sfn "$(cni_bin_dir)"/* "$BIN_DIR/cnibandwidth" "$STATE_DIR/cni/bin/"
	cat >"$STATE_DIR/cni/net.d/10-nfsbench.conflist" <<-JSON
		{
		  "cniVersion": "0.4.0",
		  "name": "nfsbench",
		  "plugins": [
		    {
		      "type": "bridge",
		      "bridge": "$BRIDGE",
		      "isGateway": true,
		      "ipMasq": false,
		      "hairpinMode": true,
		      "ipam": {
		        "type": "host-local",
		        "dataDir": "$STATE_DIR/cni/ipam",
		        "ranges": [[{"subnet": "$POD_SUBNET"}]$range6],
		        "routes": [{"dst": "0.0.0.0/0"}$route6]
		      }
		    },
		    {"type": "portmap", "capabilities": {"portMappings": true}},
		    {"type": "cnibandwidth", "capabilities": {"bandwidth": true}}
		  ]
		}
	JSON
}

write_containerd() {
	mkdir -p "$STATE_DIR/containerd"
	"$BIN_DIR/pack" -binary "$BIN_DIR/pause" -name "$PAUSE_IMAGE" -o "$STATE_DIR/containerd/pause.tar"
	cat >"$STATE_DIR/containerd/config.toml" <<-TOML
		version = 3
		root = "$STATE_DIR/containerd/root"
		state = "$STATE_DIR/containerd/state"
		[grpc]
		  address = "$SOCKET"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$STATE_DIR/containerd/opt"
		[plugins."io.containerd.cri.v1.images"]
		  snapshotter = "overlayfs"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		  sandbox = "$PAUSE_IMAGE"
		[plugins."io.containerd.cri.v1.images".registry]
		  config_path = "$STATE_DIR/containerd/certs.d"
		[plugins."io.containerd.cri.v1.runtime"]
		  restrict_oom_score_adj = true
		  netns_mounts_under_state_dir = true
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.cri.v1.runtime".cni]
		  bin_dirs = ["$STATE_DIR/cni/bin"]
		  conf_dir = "$STATE_DIR/cni/net.d"
	TOML
}
