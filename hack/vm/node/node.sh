#!/bin/busybox sh
# shellcheck shell=sh
# The first process on the disk: network, containerd, images, kubelet. What
# they say goes to the console.
export PATH=/sbin:/bin LD_LIBRARY_PATH=/lib HOME=/root
told() { echo "node: $(cut -d' ' -f1 /proc/uptime) s: $*"; }
fail() {
	told "$*"
	poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup || fail "cannot mount cgroups"
# The kubelet wants mounts that containers see.
mount --make-rshared /

# shellcheck source=/dev/null
. /etc/node.env
for module in virtio_net overlay bridge veth nfsv3 nfsv4; do modprobe "$module" || fail "no module $module"; done
hostname "$NODE_NAME"
ip link set lo up
if ! ip addr add "$NODE_IP/24" dev eth0 || ! ip link set eth0 up || ! ip route add default via "$GATEWAY"; then fail "no network"; fi
echo 1 >/proc/sys/net/ipv4/ip_forward

containerd --config /etc/containerd.toml &
socket=/run/containerd/containerd.sock
until ctr --address $socket version >/dev/null 2>&1; do sleep 0.5; done
told "containerd runs"
for image in /images/*.tar; do
	ctr --address $socket -n k8s.io images import "$image" >/dev/null || fail "cannot import $image"
done
told "images are imported"
kubelet --config /etc/kubelet.yaml --kubeconfig /etc/kubelet.kubeconfig --hostname-override "$NODE_NAME" --node-ip "$NODE_IP" \
	--node-labels "$NODE_LABEL" --register-with-taints "$NODE_LABEL:NoSchedule" --root-dir /var/lib/kubelet &
told "kubelet started"
wait
fail "nothing runs any more"
