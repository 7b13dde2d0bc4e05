# shellcheck shell=bash
# Taking the local cluster away, so that nothing of it is left.

COMPONENTS=(etcd kube-apiserver kube-controller-manager kube-scheduler containerd dns kubelet kube-proxy)

tear_down() {
	local name key value
	# The API server waits for its clients to leave, so they are asked before it.
	local clients=(kube-proxy kubelet dns kube-scheduler kube-controller-manager)
	ask "${clients[@]}"
	for name in "${clients[@]}" kube-apiserver; do stop "$name" 5; done
	stop_containers
	stop containerd
	stop etcd
	remove_network
	remove_mounts
	remove_cgroups
	while read -r key value; do
		[[ $(cat "/proc/sys/$key") == "$value" ]] || echo "$value" >"/proc/sys/$key" || true
	done < <(cat "$STATE_DIR/sysctl.before" 2>/dev/null)
	remove_traces
	rm -rf --one-file-system "$STATE_DIR"
}

# stop_containers ends every container of this cluster's containerd, and its shims.
stop_containers() {
	local id
	if pid_of containerd >/dev/null; then
		for id in $(ctr tasks ls -q 2>/dev/null); do
			ctr tasks rm -f "$id" >/dev/null 2>&1 || true
		done
	fi
	local shim child
	for shim in $(shims); do
		# A shim that outlived containerd still holds its containers.
		for child in $(cat "/proc/$shim/task/$shim/children" 2>/dev/null); do kill -KILL "$child" 2>/dev/null || true; done
		kill -KILL "$shim" 2>/dev/null || true
	done
}

# shims prints the pids of the shims that this cluster's containerd started.
shims() {
	local file pid
	# Arguments end in NUL, so -z and -x match one whole argument.
	for file in $(grep -lzxF -- "$SOCKET" /proc/[0-9]*/cmdline 2>/dev/null); do
		pid=${file#/proc/} pid=${pid%/cmdline}
		if [[ $(readlink "/proc/$pid/exe") == *containerd-shim* ]]; then echo "$pid"; fi
	done
}

# remove_network removes the bridge, the shaping devices and the iptables rules.
remove_network() {
	local link
	ip link del "$BRIDGE" 2>/dev/null || true
	for link in $(ip -o link show type ifb 2>/dev/null | sed -n 's/^[0-9]*: \(bwp[^:@]*\).*/\1/p'); do
		ip link del "$link" 2>/dev/null || true
	done
	remove_chains iptables "^(KUBE-|CNI-HOSTPORT-|CNI-DN-|$MASQUERADE_CHAIN)"
	remove_chains ip6tables "^(KUBE-|CNI-HOSTPORT-|CNI-DN-|$MASQUERADE_CHAIN)"
}

# remove_chains PROGRAM PATTERN deletes the chains that match and the rules that
# jump to them, one transaction per table; everything else stays untouched.
remove_chains() {
	local table chains rules
	for table in raw mangle nat filter; do
		rules=$("$1" -w -t "$table" -S 2>/dev/null) || continue
		chains=$(awk -v p="$2" '$1 == "-N" && $2 ~ p {print $2}' <<<"$rules")
		[[ -n $chains ]] || continue
		{
			echo "*$table"
			awk -v p="$2" '$1 == "-A" && $2 !~ p {
				for (i = 3; i < NF; i++) if ($i == "-j" && $(i + 1) ~ p) {sub("-A", "-D"); print; break}
			}' <<<"$rules"
			sed 's/^/-F /' <<<"$chains"
			sed 's/^/-X /' <<<"$chains"
			echo COMMIT
		} | "$1-restore" -w --noflush
	done
}

# remove_mounts unmounts what is mounted below the state folder, deepest first.
remove_mounts() {
	local target
	while read -r target; do
		umount "$target" 2>/dev/null || umount -l "$target" || true
	done < <(mounts_below)
}

# mounts_below prints the mount points of this cluster, the latest first.
mounts_below() {
	awk -v d="$STATE_DIR/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | tac
}

remove_cgroups() {
	local top
	for top in /sys/fs/cgroup/kubepods /sys/fs/cgroup/*/kubepods; do
		[[ -d $top ]] || continue
		find "$top" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
}

# remove_traces removes what a kubelet, containerd and CNI leave outside of the
# state folder; folders only when nobody else uses them.
remove_traces() {
	local link socket
	for link in /var/log/containers/*.log; do
		if [[ $(readlink "$link") == "$STATE_DIR"/* ]]; then rm -f "$link"; fi
	done
	# Sockets of shims that were killed: those that no process listens on.
	for socket in /run/containerd/s/*; do
		grep -qF " $socket" /proc/net/unix || rm -f "$socket"
	done
	rm -rf --one-file-system /run/containerd/runc/k8s.io
	rm -f /var/lib/cni/results/nfsbench-* /var/lib/cni/results/cni-loopback-* /var/lib/kubelet/device-plugins/kubelet.sock
	rmdir /var/log/containers /var/lib/cni/results /var/lib/cni /var/lib/kubelet/device-plugins /var/lib/kubelet \
		/run/containerd/runc /run/containerd/s /run/containerd 2>/dev/null || true
}
