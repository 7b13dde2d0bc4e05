# shellcheck shell=bash
# The control plane of the local cluster: etcd, API server, controllers, scheduler.

start_control_plane() {
	local pki=$STATE_DIR/pki
	pid_of etcd >/dev/null || start etcd "$BIN_DIR/etcd" --name local --data-dir "$STATE_DIR/etcd" \
		--listen-client-urls "http://127.0.0.1:$ETCD_PORT" --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" \
		--listen-peer-urls "http://127.0.0.1:$((ETCD_PORT + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((ETCD_PORT + 1))" \
		--initial-cluster "local=http://127.0.0.1:$((ETCD_PORT + 1))" --unsafe-no-fsync --log-level warn
	pid_of kube-apiserver >/dev/null || start_apiserver
	comes_up kube-apiserver kube-apiserver api_ready
	pid_of kube-controller-manager >/dev/null || start kube-controller-manager "$BIN_DIR/kube-controller-manager" \
		--kubeconfig "$pki/controller-manager.kubeconfig" --authentication-kubeconfig "$pki/controller-manager.kubeconfig" \
		--authorization-kubeconfig "$pki/controller-manager.kubeconfig" --use-service-account-credentials \
		--service-account-private-key-file "$pki/service-account.key" --root-ca-file "$pki/ca.crt" \
		--cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key" \
		--bind-address 127.0.0.1 --leader-elect=false
	pid_of kube-scheduler >/dev/null || start kube-scheduler "$BIN_DIR/kube-scheduler" \
		--kubeconfig "$pki/scheduler.kubeconfig" --authentication-kubeconfig "$pki/scheduler.kubeconfig" \
		--authorization-kubeconfig "$pki/scheduler.kubeconfig" --bind-address 127.0.0.1 --leader-elect=false
}

start_apiserver() {
	local pki=$STATE_DIR/pki
	start kube-apiserver "$BIN_DIR/kube-apiserver" \
		--etcd-servers "http://127.0.0.1:$ETCD_PORT" --secure-port "$API_PORT" --bind-address 0.0.0.0 \
		--advertise-address "$HOST_IP" --service-cluster-ip-range "$(subnets "$SERVICE_SUBNET" "$SERVICE_SUBNET6")" \
		--authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged \
		--client-ca-file "$pki/ca.crt" --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
		--kubelet-client-certificate "$pki/apiserver-to-kubelet.crt" --kubelet-client-key "$pki/apiserver-to-kubelet.key" \
		--kubelet-certificate-authority "$pki/ca.crt" --kubelet-preferred-address-types InternalIP \
		--service-account-issuer https://kubernetes.default.svc \
		--service-account-key-file "$pki/service-account.key" --service-account-signing-key-file "$pki/service-account.key"
}

# api_ready succeeds when the API server says that it is ready.
api_ready() {
	curl -sf --max-time 10 --cacert "$STATE_DIR/pki/ca.crt" --cert "$STATE_DIR/pki/admin.crt" \
		--key "$STATE_DIR/pki/admin.key" "https://127.0.0.1:$API_PORT/readyz" -o /dev/null
}
