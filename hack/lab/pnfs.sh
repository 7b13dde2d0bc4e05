#!/usr/bin/env bash
# A pNFS array of two nodes: NFS-Ganesha over one GlusterFS volume, each node in a
# network, mount and UTS namespace of its own.
#
#	client ── LIF 1 ── Ganesha, brick     node NAME-a, 2nd address of the first subnet
#	                        │ cluster link
#	client ── LIF 2 ── Ganesha, brick     node NAME-b, 2nd address of the second subnet
#
# Both nodes serve the whole volume as /pv, by NFSv3, v4.0, v4.1 and v4.2. Each file
# lies on one of them, chosen by its name or by --bricks. With NFSv4.1 each node grants layouts (files
# layout, dense, one data server for each file) that name the LIF of the node where the
# file lies. A client without layouts gets the file from any node, over the cluster link.
#
# usage: hack/lab/pnfs.sh up [OPTION...]      start, or find running; print its addresses
#        hack/lab/pnfs.sh down                remove everything of it
#        hack/lab/pnfs.sh status
#        hack/lab/pnfs.sh packages            only install what it needs
#        hack/lab/pnfs.sh shape NODE RATE     shape the LIF of node 1 or 2: 200mbit, or off
#        hack/lab/pnfs.sh cut | heal NODE     make a LIF fall silent and speak again
#        hack/lab/pnfs.sh crash | revive NODE kill the NFS server without warning; start it again
#        hack/lab/pnfs.sh stop | kill NODE    end all processes of a node in good order, or at once
#        hack/lab/pnfs.sh start NODE          start what of a node does not run
#
#   --name NAME      up to 8 letters and digits (default pnfs); several may run at once
#   --subnet LIST    two subnets with a /24 mask, one for each LIF
#                    (default 10.240.1.0/24,10.240.2.0/24 for pnfs; required for other names)
#   --rate LIST      shape the LIFs, for example 984mbit or 200mbit,100mbit
#   --cluster-rate RATE  shape the link between the nodes
#   --bricks NODE    keep all files on node 1 or 2; default: on both
#   --no-offload     let no packet be larger than the MTU, as on a real wire
#   --no-pnfs        grant no layouts
#   --grace SECONDS  lease and grace period; default: lease of 60 s and no grace period,
#                    in which case no state can be reclaimed after a restart
#   --json           print JSON instead of shell variables
#
# In each subnet .1 is the host. The port of NFS is 2049, of MOUNT 20048, of rpcbind 111.
# Needs root and the Debian packages nfs-ganesha nfs-ganesha-gluster glusterfs-server
# rpcbind gcc libc6-dev iproute2 ethtool.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for part in "$here/../lib/common.sh" "$here/../lib/process.sh" "$here/network.sh" "$here/server.sh" "$here/gluster.sh"; do
	# shellcheck source=/dev/null
	source "$part"
done

# host_link I prints the name of the host's end of LIF I.
host_link() { echo "np-$NAME-$1"; }

parse() {
	NAME=pnfs SUBNETS='' RATES='' CLUSTER_RATE='' BRICKS='1 2' OFFLOAD=on LAYOUTS=true GRACE='' FORMAT=shell WORDS=()
	while (($#)); do
		case $1 in
		--name) NAME=${2:?--name needs a value} && shift ;;
		--subnet) SUBNETS=${2:?--subnet needs a value} && shift ;;
		--rate) RATES=${2:?--rate needs a value} && shift ;;
		--cluster-rate) CLUSTER_RATE=${2:?--cluster-rate needs a value} && shift ;;
		--bricks) BRICKS=${2:?--bricks needs a value} && shift ;;
		--grace) GRACE=${2:?--grace needs a value} && shift ;;
		--no-offload) OFFLOAD=off ;;
		--no-pnfs) LAYOUTS=false ;;
		--json) FORMAT=json ;;
		-*) die "unexpected argument $1 (see --help)" ;;
		*) WORDS+=("$1") ;;
		esac
		shift
	done
	[[ $NAME =~ ^[a-z0-9]{1,8}$ ]] || die "--name $NAME: use up to 8 lower-case letters and digits"
	[[ $BRICKS =~ ^(1|2|1 2)$ ]] || die "--bricks $BRICKS: which node, 1 or 2?"
	[[ $GRACE =~ ^([1-9][0-9]{0,2})?$ ]] || die "--grace $GRACE: use a number of seconds"
	if [[ -z $SUBNETS && $NAME == pnfs ]]; then SUBNETS=10.240.1.0/24,10.240.2.0/24; fi
	STATE_DIR=${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/pnfs/$NAME
}

# select_node sets NODE from the first word of the command line.
select_node() {
	NODE=${WORDS[0]:-}
	[[ $NODE == [12] ]] || die "which node, 1 or 2? (see --help)"
	[[ -e $STATE_DIR/settings ]] || die "$NAME does not run"
	load_settings
	NETNS=$(netns_of "$NODE") LIF=$NODE
}

netns_of() { echo "nfspnfs-$(node_name "$1")"; }
node_name() { echo "$NAME-$(sed 's/1/a/;s/2/b/' <<<"$1")"; }
lif_address() { address "$(cut -d, -f"$1" <<<"$SUBNETS")" 2; }
cluster_address() { echo "169.254.78.$1"; }

up() {
	if [[ -e $STATE_DIR/ready ]] && runs 1 && runs 2; then
		say "$NAME already runs, with the options that it was started with"
	else
		[[ $SUBNETS == *,* && $SUBNETS != *,*,* ]] || die "--name $NAME needs --subnet with two subnets"
		packages
		down
		mkdir -p "$STATE_DIR"
		save_settings
		compile_shim
		make_nodes
		make_volume
		start_servers
		touch "$STATE_DIR/ready"
	fi
	describe
}

# down needs no state: it also removes what a killed start has left.
down() {
	local node
	for node in 1 2; do
		NETNS=$(netns_of "$node")
		kill_node "$node"
	done
	remove_links
	for node in 1 2; do
		NETNS=$(netns_of "$node")
		if [[ -e /run/netns/$NETNS ]]; then ip netns del "$NETNS"; fi
	done
	rm -rf --one-file-system "$STATE_DIR"
}

status() {
	local node part healthy=0
	[[ -e $STATE_DIR/settings ]] || die "$NAME does not run"
	load_settings
	for node in 1 2; do
		for part in rpcbind glusterd ganesha; do
			printf '%-8s %-10s %s\n' "$(node_name "$node")" "$part" "$(pid_of "$part-$node" || echo "not running")"
		done
		if answers "$(lif_address "$node")"; then echo "answers             yes"; else echo "answers             no" && healthy=1; fi
	done
	describe
	return "$healthy"
}

# save_settings keeps what later commands must know. down needs none of it.
save_settings() { declare -p SUBNETS RATES CLUSTER_RATE BRICKS OFFLOAD LAYOUTS GRACE >"$STATE_DIR/settings"; }

# describe prints where the nodes are.
describe() {
	local node lifs=() hosts=() nodes=() name subnet
	load_settings
	for node in 1 2; do
		subnet=$(cut -d, -f"$node" <<<"$SUBNETS") name=$(node_name "$node")
		lifs+=("$(address "$subnet" 2)")
		hosts+=("$(address "$subnet" 1)")
		nodes+=("$(printf '{"name":"%s","netns":"%s","address":"%s","host":"%s","lif":"lif%s","brick":"%s","pidFile":"%s"}' \
			"$name" "$(netns_of "$node")" "$(address "$subnet" 2)" "$(address "$subnet" 1)" "$node" \
			"$STATE_DIR/$name/brick" "$STATE_DIR/run/ganesha-$node.pid")")
	done
	if [[ $FORMAT == json ]]; then
		printf '{"name":"%s","export":"/pv","folder":"%s","nodes":[%s,%s]}\n' "$NAME" "$STATE_DIR" "${nodes[@]}"
		return
	fi
	printf 'PNFS_%s=%q\n' NAME "$NAME" LIFS "${lifs[*]}" HOSTS "${hosts[*]}" EXPORT /pv FOLDER "$STATE_DIR"
}

command=${1:---help}
case $command in
-h | --help) help_of "$0"; exit 0 ;;
up | down | status | packages | shape | cut | heal | crash | revive | stop | kill | start) ;;
*) die "unexpected argument $command (see --help)" ;;
esac
shift
parse "$@"
[[ $EUID == 0 ]] || die "network namespaces need root"
case $command in
up | down | status | packages) "$command" ;;
*) select_node ;;
esac
case $command in
shape) shape_lif "$NODE" "${WORDS[1]:?which rate? (see --help)}" ;;
cut | heal) "${command}_lif" ;;
crash) crash_ganesha "$NODE" ;;
revive) start_ganesha_of "$NODE" && await_ganesha "$NODE" ;;
stop | kill) "${command}_node" "$NODE" ;;
start) restart_node "$NODE" ;;
esac
