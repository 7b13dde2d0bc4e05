# shellcheck shell=bash
# The disk of the node: the guest's root file system with kubelet, containerd
# and runc in it. Sourced by node.sh.

# make_disk IMAGE... writes $VM_STATE/{disk,initrd}.
make_disk() {
	local tree=$VM_STATE/tree
	rm -rf "$tree"
	mkdir -p "$tree"
	(cd "$tree" && zcat "$GUEST_DIR/base.cpio.gz" | "$(program cpio)" --quiet --extract --make-directories)
	rm -r "$tree/export" "$tree/init"
	mkdir -p "$tree"/{opt/cni,etc/cni,images,root,var/log,var/lib/kubelet}
	add_node_programs "$tree"
	add_node_settings "$tree"
	cp "$STATE_DIR/containerd/pause.tar" "$@" "$tree/images/"
	truncate -s 3G "$VM_STATE/disk"
	mkfs.ext4 -q -d "$tree" "$VM_STATE/disk"
	rm -rf "$tree"
	mkdir "$tree"
	install -m 755 "$VM_DIR/node/init" "$tree/init"
	{
		cat "$GUEST_DIR/base.cpio.gz"
		archive "$tree"
	} >"$VM_STATE/initrd"
	rm -rf "$tree"
}

add_node_programs() {
	local tree=$1 name
	# The kubelet mounts with util-linux's mount, which calls mount.nfs.
	for name in mount umount; do add_program "$(command -v "$name")" "$tree" bin; done
	add_program "$(command -v runc)" "$tree" bin
	cp "$BIN_DIR"/{containerd,containerd-shim-runc-v2,ctr} "$tree/bin/"
	for name in bridge host-local loopback; do add_program "$(cni_bin_dir)/$name" "$tree" opt/cni; done
	cp "$BIN_DIR/nodekubelet" "$tree/bin/kubelet"
	ln -s mount.nfs "$tree/sbin/mount.nfs4"
	ln -s ../proc/self/mounts "$tree/etc/mtab"
	install -m 755 "$VM_DIR/node/node.sh" "$tree/lib/node.sh"
}

add_node_settings() {
	local etc=$1/etc pki=$STATE_DIR/pki
	printf '%s=%s\n' NODE_NAME "$NODE_NAME" NODE_IP "$NODE_IP" GATEWAY "$GATEWAY" NODE_LABEL "$NODE_LABEL" >"$etc/node.env"
	: >"$etc/resolv.conf"
	cp "$pki/ca.crt" "$pki/$NODE_NAME-server.crt" "$pki/$NODE_NAME-server.key" "$etc/"
	# The cluster's kubeconfigs are for its own machine.
	sed "s|https://127.0.0.1:|https://$HOST_IP:|" "$pki/$NODE_NAME.kubeconfig" >"$etc/kubelet.kubeconfig"
	node_kubelet_config >"$etc/kubelet.yaml"
	node_containerd_config >"$etc/containerd.toml"
	node_cni_config >"$etc/cni/10-nfsbench.conflist"
}

node_kubelet_config() {
	cat <<-YAML
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: /etc/ca.crt}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		tlsCertFile: /etc/$NODE_NAME-server.crt
		tlsPrivateKeyFile: /etc/$NODE_NAME-server.key
		cgroupDriver: cgroupfs
		enforceNodeAllocatable: []
		failSwapOn: false
		# Services are reached through the host, which has the rules for them.
		makeIPTablesUtilChains: false
		clusterDNS: [$DNS_IP]
		clusterDomain: cluster.local
		resolvConf: /etc/resolv.conf
		evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
		imageGCHighThresholdPercent: 100
		# Everything takes longer on an emulated processor.
		runtimeRequestTimeout: 10m
		nodeLeaseDurationSeconds: 120
		eventRecordQPS: 0
		shutdownGracePeriod: 0s
	YAML
}

node_containerd_config() {
	cat <<-TOML
		version = 3
		[plugins."io.containerd.cri.v1.images"]
		  snapshotter = "overlayfs"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		  sandbox = "localhost/nfsbench/pause:dev"
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.cri.v1.runtime".cni]
		  bin_dirs = ["/opt/cni"]
		  conf_dir = "/etc/cni"
	TOML
}

node_cni_config() {
	cat <<-JSON
		{
		  "cniVersion": "0.4.0",
		  "name": "nfsbench",
		  "plugins": [{
		    "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
		    "ipam": {
		      "type": "host-local",
		      "ranges": [[{"subnet": "$NODE_POD_SUBNET"}]],
		      "routes": [{"dst": "0.0.0.0/0"}]
		    }
		  }]
		}
	JSON
}
