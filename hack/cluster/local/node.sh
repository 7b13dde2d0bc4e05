# shellcheck shell=bash
# The one node of the local cluster: kubelet and kube-proxy.

start_node() {
	local pki=$STATE_DIR/pki
	write_kubelet_config
	pid_of kubelet >/dev/null || start kubelet "$BIN_DIR/kubelet" --config "$STATE_DIR/kubelet.yaml" \
		--kubeconfig "$pki/kubelet.kubeconfig" --hostname-override "$NODE_NAME" --node-ip "$HOST_IP" \
		--root-dir "$STATE_DIR/kubelet" --cert-dir "$STATE_DIR/kubelet/pki"
	pid_of kube-proxy >/dev/null || start kube-proxy "$BIN_DIR/kube-proxy" --kubeconfig "$pki/proxy.kubeconfig" \
		--hostname-override "$NODE_NAME" --proxy-mode iptables --cluster-cidr "$(subnets "$POD_SUBNET" "$POD_SUBNET6")" \
		--conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0
}

write_kubelet_config() {
	cat >"$STATE_DIR/kubelet.yaml" <<-YAML
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: $STATE_DIR/pki/ca.crt}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix://$SOCKET
		tlsCertFile: $STATE_DIR/pki/kubelet-server.crt
		tlsPrivateKeyFile: $STATE_DIR/pki/kubelet-server.key
		podLogsDir: $STATE_DIR/pod-logs
		volumePluginDir: $STATE_DIR/kubelet/volume-plugins
		# Machines without systemd, and containers that look like machines, work too.
		cgroupDriver: cgroupfs
		cgroupsPerQOS: true
		enforceNodeAllocatable: []
		failSwapOn: false
		failCgroupV1: false
		oomScoreAdj: 0
		featureGates: {KubeletInUserNamespace: true}
		clusterDNS: [$DNS_IP]
		clusterDomain: cluster.local
		resolvConf: $(resolv_conf)
		evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
		imageGCHighThresholdPercent: 100
		maxPods: 200
		# Tests make and end many short pods.
		serializeImagePulls: false
		registryPullQPS: 0
		eventRecordQPS: 0
		shutdownGracePeriod: 0s
	YAML
}

# resolv_conf prints the resolver file for pods. A stub on loopback is of no use inside them.
resolv_conf() {
	if [[ -e /run/systemd/resolve/resolv.conf ]]; then echo /run/systemd/resolve/resolv.conf; else echo /etc/resolv.conf; fi
}

# node_ready succeeds when the node can take pods and pods can get a token.
node_ready() {
	local kubectl=$1
	"$kubectl" --kubeconfig "$STATE_DIR/kubeconfig" wait --for=condition=Ready --timeout=10s "node/$NODE_NAME" &&
		"$kubectl" --kubeconfig "$STATE_DIR/kubeconfig" -n default get serviceaccount default
}
