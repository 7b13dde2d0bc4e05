#!/usr/bin/env bash
# A second node for the local cluster whose kernel has an NFS client: kubelet,
# containerd and runc in a virtual machine without KVM. For machines whose own
# kernel cannot mount NFS. Needs root and a cluster of hack/cluster/up.sh.
#
# usage: hack/vm/node.sh up [IMAGE...]   start it and wait until it is Ready
#        hack/vm/node.sh down            stop it and remove all that belongs to it
#        hack/vm/node.sh status          ends with status 0 when it is Ready
#
# IMAGE are archives of hack/image/build.sh that pods there may use. up prints
# VM_NODE=NAME. The node has the label nfsbench.io/kernel-nfs=yes and a taint of
# the same name: only pods that select and tolerate it run there, slowly. What it
# says is in ~/.local/state/nfsbench/vmnode/log. Exit code 3: this machine cannot
# have one, and why.
set -euo pipefail
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:/usr/sbin:/sbin
for part in cluster/lib/env.sh cluster/lib/choose.sh lib/process.sh cluster/local/settings.sh cluster/local/packages.sh \
	cluster/local/pki.sh cluster/local/control.sh cluster/local/dns.sh vm/packages.sh vm/image.sh vm/qemu.sh vm/node/disk.sh; do
	# shellcheck source=/dev/null
	source "$VM_DIR/../$part"
done

CONFIG=$STATE_DIR/kubeconfig
VM_STATE=${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/vmnode
NODE_NAME=${VM_NODE_NAME:-nfsbench-vm}
# shellcheck disable=SC2034 # disk.sh uses it
NODE_LABEL=nfsbench.io/kernel-nfs=yes
TAP=nfsb-vm
GATEWAY=10.243.0.1
NODE_IP=10.243.0.2
NODE_POD_SUBNET=10.244.1.0/24

# vm_process COMMAND... is a function of process.sh for the processes of the node.
vm_process() { STATE_DIR=$VM_STATE "$@"; }

up() {
	local began=$SECONDS
	[[ $EUID == 0 ]] || cannot "a node needs root"
	[[ $(cluster_choice) == local ]] || cannot "only a cluster of hack/cluster/up.sh can be joined"
	api_ready || die "no cluster runs: hack/cluster/up.sh"
	# shellcheck disable=SC2034 # disk.sh uses it
	HOST_IP=$(host_ip)
	mkdir -p "$(dirname "$VM_STATE")"
	exec 9>"$VM_STATE.lock"
	flock 9
	if vm_process pid_of qemu >/dev/null && node_is_ready; then
		say "already running, with the images that it was started with"
		echo "VM_NODE=$NODE_NAME"
		return
	fi
	down
	prepare_guest
	mkdir -p "$VM_STATE/log"
	node_pki
	make_disk "$@"
	say "the disk of node $NODE_NAME is ready after $((SECONDS - began)) s"
	began=$SECONDS
	make_tap
	boot_node
	# An emulated processor on a busy machine needs its time.
	vm_process wait_for 300 "node $NODE_NAME" node_is_ready_or_dead
	node_is_ready || die "node $NODE_NAME ended; see $VM_STATE/log"
	say "node $NODE_NAME is ready after $((SECONDS - began)) s"
	echo "VM_NODE=$NODE_NAME"
}

node_pki() {
	issue "$NODE_NAME-server" "/CN=$NODE_NAME" "IP:$NODE_IP,DNS:$NODE_NAME"
	issue "$NODE_NAME" "/O=system:nodes/CN=system:node:$NODE_NAME"
	write_kubeconfig "$NODE_NAME" >"$STATE_DIR/pki/$NODE_NAME.kubeconfig"
}

# make_tap connects the node, and its pods, with this machine. Services and all
# other addresses are reached through this machine too.
make_tap() {
	ip tuntap add dev "$TAP" mode tap
	ip addr add "$GATEWAY/24" dev "$TAP"
	ip link set "$TAP" up
	ip route add "$NODE_POD_SUBNET" via "$NODE_IP" dev "$TAP"
}

boot_node() {
	qemu_command
	vm_process start qemu nice -n 10 "${QEMU[@]}" -m 2048 -serial "file:$VM_STATE/log/console" \
		-initrd "$VM_STATE/initrd" -append "$KERNEL_ARGUMENTS loglevel=5" \
		-drive "file=$VM_STATE/disk,format=raw,if=virtio,cache=unsafe" \
		-netdev "tap,id=net,ifname=$TAP,script=no,downscript=no" -device "virtio-net-pci,netdev=net,romfile="
}

node_is_ready() {
	"$(kubectl_bin)" --kubeconfig "$CONFIG" wait --for=condition=Ready --timeout=1s "node/$NODE_NAME" >/dev/null 2>&1
}

node_is_ready_or_dead() {
	node_is_ready || ! vm_process pid_of qemu >/dev/null
}

down() {
	vm_process stop qemu
	if [[ -d $STATE_DIR ]] && api_ready; then
		"$(kubectl_bin)" --kubeconfig "$CONFIG" delete node "$NODE_NAME" --ignore-not-found >/dev/null
	fi
	ip link del "$TAP" 2>/dev/null || true
	rm -rf --one-file-system "$VM_STATE"
	rm -f "$STATE_DIR/pki/$NODE_NAME"{,-server}.{key,crt,kubeconfig}
}

status() {
	local pid
	pid=$(vm_process pid_of qemu) || die "node $NODE_NAME does not run"
	if node_is_ready; then say "node $NODE_NAME is Ready, QEMU is $pid"; else die "node $NODE_NAME is not Ready, QEMU is $pid"; fi
}

command=${1:---help}
case $command in
-h | --help) help_of "$0" ;;
up | down | status)
	shift
	"$command" "$@"
	;;
*) die "unexpected argument $command (see --help)" ;;
esac
