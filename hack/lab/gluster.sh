# shellcheck shell=bash
# The nodes of the pNFS array: their namespaces, glusterd, the volume, NFS-Ganesha.
# Sourced by pnfs.sh. The processes of node N are rpcbind-N, glusterd-N and ganesha-N,
# and the bricks, which glusterd starts.

packages() {
	need_packages ganesha.nfsd:nfs-ganesha '/usr/lib/*/ganesha/libfsalgluster.so:nfs-ganesha-gluster' \
		glusterd:glusterfs-server gluster:glusterfs-client rpcbind:rpcbind gcc:gcc /usr/include/stdio.h:libc6-dev \
		ip:iproute2 tc:iproute2 ethtool:ethtool
}

compile_shim() { gcc -shared -fPIC -O2 -Wall -o "$STATE_DIR/shim.so" "$here/pnfs-shim.c"; }

# on NODE COMMAND... runs a command in the namespaces of a node.
on() {
	local node=$1
	shift
	nsenter -t "$(pid_of "rpcbind-$node")" -m -n -u "$@"
}

make_nodes() {
	local node rates
	IFS=, read -ra rates <<<"$RATES"
	for node in 1 2; do
		NETNS=$(netns_of "$node")
		ip netns add "$NETNS"
		ip -n "$NETNS" link set lo up
		make_lif "$node" "$(cut -d, -f"$node" <<<"$SUBNETS")"
		shape_lif "$node" "${rates[node - 1]:-${rates[0]:-}}"
	done
	# What the nodes say to each other is not in the counters of the LIFs, and no
	# shaping of a LIF slows it down.
	ip link add clu0 netns "$(netns_of 1)" type veth peer name clu0 netns "$(netns_of 2)"
	for node in 1 2; do
		ip -n "$(netns_of "$node")" addr add "$(cluster_address "$node")/30" dev clu0
		ip -n "$(netns_of "$node")" link set clu0 up
		[[ -z $CLUSTER_RATE ]] || tc -n "$(netns_of "$node")" qdisc replace dev clu0 root tbf rate "$CLUSTER_RATE" burst 64kb latency 20ms
		begin_node "$node"
		start_glusterd "$node"
	done
	wait_for 30 "glusterd of $(node_name 1)" on 1 gluster pool list
	wait_for 30 "glusterd of $(node_name 2)" on 2 gluster pool list
}

# begin_node makes the mount and UTS namespaces of a node. rpcbind holds them.
#
# The address of a data server in a layout is that of the host name of the node with the
# brick, as the metadata server resolves it: so each node has a host name, and the hosts
# file gives the LIFs to these names. Bricks have other names, on the cluster link.
begin_node() {
	local node=$1 name dir
	name=$(node_name "$node")
	dir=$STATE_DIR/$name
	mkdir -p "$dir"/{brick,glusterd,log,recovery}
	# Clients are anybody: a load pod is user 65532.
	chmod 1777 "$dir/brick"
	cat >"$dir/hosts" <<-HOSTS
		127.0.0.1 localhost
		$(lif_address 1) $(node_name 1)
		$(lif_address 2) $(node_name 2)
		$(cluster_address 1) $(node_name 1)-cluster
		$(cluster_address 2) $(node_name 2)-cluster
	HOSTS
	# shellcheck disable=SC2016 # the inner shell expands it
	start "rpcbind-$node" ip netns exec "$(netns_of "$node")" unshare -m -u sh -ec '
		hostname "$1"
		mount --bind "$2/hosts" /etc/hosts
		mount --bind "$2/glusterd" /var/lib/glusterd
		mount --bind "$2/log" /var/log/glusterfs
		mount -t tmpfs -o mode=755 tmpfs /run
		mkdir /run/rpcbind /run/ganesha /run/gluster
		chmod 1777 /run/rpcbind
		exec rpcbind -f -w' sh "$name" "$dir"
	wait_for 10 "rpcbind of $name" on "$node" test -S /run/rpcbind.sock
}

start_glusterd() { start "glusterd-$1" nsenter -t "$(pid_of "rpcbind-$1")" -m -n -u glusterd -N -p /run/glusterd.pid; }

make_volume() {
	local bricks=() node
	for node in $BRICKS; do bricks+=("$(node_name "$node")-cluster:$STATE_DIR/$(node_name "$node")/brick"); done
	gluster_do peer probe "$(node_name 2)-cluster"
	wait_for 30 "the peer of $(node_name 1)" peer_connected 1
	wait_for 30 "the peer of $(node_name 2)" peer_connected 2
	gluster_do volume create pv "${bricks[@]}" force
	# NFS-Ganesha must learn of what the other node changes.
	gluster_do volume set pv features.cache-invalidation on
	# Otherwise a WRITE at a data server is answered as stable while it still is in the memory
	# of NFS-Ganesha, and is lost when that is killed.
	gluster_do volume set pv performance.write-behind off
	# NFS-Ganesha's and the bricks' counters, in files that are written once a second: see
	# Truth in test/lab/pnfs.
	gluster_do volume set pv diagnostics.latency-measurement on
	gluster_do volume set pv diagnostics.count-fop-hits on
	gluster_do volume set pv diagnostics.stats-dump-interval 1
	# Both bricks are on one disk. Where a tenth of it or less is free, all new files go to one brick
	# otherwise.
	gluster_do volume set pv cluster.min-free-disk 0
	gluster_do volume start pv
	wait_for 30 "the volume of $NAME" bricks_online 1
}

gluster_do() { on 1 gluster --mode=script "$@" >>"$STATE_DIR/log/gluster.log" 2>&1 || die "gluster $*: see $STATE_DIR/log/gluster.log"; }
peer_connected() { on "$1" gluster peer status | grep -q '(Connected)'; }

# bricks_online NODE succeeds when that node sees all bricks.
bricks_online() { (($(on "$1" gluster volume status pv --xml | grep -c '<status>1</status>') == $(wc -w <<<"$BRICKS"))); }

start_servers() {
	start_ganesha_of 1
	start_ganesha_of 2
	await_ganesha 1
	await_ganesha 2
}

start_ganesha_of() {
	local node=$1 name
	name=$(node_name "$node")
	pid_of "rpcbind-$node" >/dev/null || die "node $name does not run"
	if pid_of "ganesha-$node" >/dev/null; then die "the NFS server of $name runs"; fi
	write_gluster_config "$name" >"$STATE_DIR/$name/ganesha.conf"
	# Servers that start in the same second would have the same write verifier and give
	# the same client IDs.
	start "ganesha-$node" nsenter -t "$(pid_of "rpcbind-$node")" -m -n -u env LD_PRELOAD="$STATE_DIR/shim.so" \
		ganesha.nfsd -F -E "$(($(date +%s) + node))" -f "$STATE_DIR/$name/ganesha.conf" \
		-L "$STATE_DIR/log/ganesha-$node.nfsd.log" -p "$STATE_DIR/$name/ganesha.pid"
}

await_ganesha() { wait_for 30 "NFS server of $(node_name "$1")" answers "$(lif_address "$1")"; }

runs() { pid_of "ganesha-$1" >/dev/null && pid_of "glusterd-$1" >/dev/null; }

crash_ganesha() {
	local pid
	pid=$(pid_of "ganesha-$1") || die "the NFS server of $(node_name "$1") does not run"
	kill -KILL "$pid"
	while pid_of "ganesha-$1" >/dev/null; do sleep 0.02; done
}

stop_node() {
	stop "ganesha-$1"
	stop "glusterd-$1"
	kill_node "$1"
}

# kill_node ends all that runs in the network namespace of a node. Bricks have left the
# session of the glusterd that started them; the namespace is what they share with it.
kill_node() {
	local pids
	[[ -e /run/netns/$NETNS ]] || return 0
	while pids=$(ip netns pids "$NETNS") && [[ -n $pids ]]; do
		# shellcheck disable=SC2086 # one pid a word
		kill -KILL $pids 2>/dev/null || true
		sleep 0.02
	done
	rm -f "$STATE_DIR"/run/{rpcbind,glusterd,ganesha}-"$1.pid"
}

restart_node() {
	local node=$1
	pid_of "rpcbind-$node" >/dev/null || begin_node "$node"
	if ! pid_of "glusterd-$node" >/dev/null; then
		start_glusterd "$node"
		wait_for 30 "the volume at $(node_name "$node")" bricks_online "$node"
	fi
	pid_of "ganesha-$node" >/dev/null || start_ganesha_of "$node"
	await_ganesha "$node"
}

write_gluster_config() {
	common_config "$STATE_DIR/$1/recovery" "PNFS_MDS = $LAYOUTS;" "PNFS_DS = $LAYOUTS;"
	cat <<-CONF
		GLUSTER {
			PNFS_MDS = $LAYOUTS;
			PNFS_DS = $LAYOUTS;
		}
		EXPORT {
			# It is in the file handles, which must mean the same on both nodes.
			Export_Id = 77;
			Path = "/";
			Pseudo = "/pv";
			Access_Type = RW;
			MaxRead = 1048576;
			MaxWrite = 1048576;
			PrefRead = 1048576;
			PrefWrite = 1048576;
			FSAL { Name = GLUSTER; Hostname = "$1-cluster"; Volume = "pv"; }
		}
	CONF
}
