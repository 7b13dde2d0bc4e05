# shellcheck shell=bash
# Keys, certificates and kubeconfigs of the local cluster.

# make_pki writes everything below $STATE_DIR/pki once per cluster.
make_pki() {
	local pki=$STATE_DIR/pki
	[[ -e $pki/complete ]] && return
	mkdir -p "$pki"
	chmod 700 "$pki"
	openssl ecparam -name prime256v1 -genkey -noout -out "$pki/ca.key" 2>/dev/null
	openssl req -x509 -new -key "$pki/ca.key" -days 3650 -subj /CN=nfsbench-local -out "$pki/ca.crt" \
		-addext keyUsage=critical,keyCertSign,digitalSignature 2>/dev/null
	openssl genrsa -out "$pki/service-account.key" 2048 2>/dev/null

	issue apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$SERVICE_FIRST_IP,IP:$HOST_IP,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
	issue kubelet-server "/CN=$NODE_NAME" "IP:$HOST_IP,DNS:$NODE_NAME"
	issue apiserver-to-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client
	issue admin /O=system:masters/CN=admin
	issue controller-manager /CN=system:kube-controller-manager
	issue scheduler /CN=system:kube-scheduler
	issue proxy /CN=system:kube-proxy
	issue dns /O=system:masters/CN=dns
	issue kubelet "/O=system:nodes/CN=system:node:$NODE_NAME"

	local who
	for who in controller-manager scheduler proxy dns kubelet; do
		write_kubeconfig "$who" >"$pki/$who.kubeconfig"
	done
	write_kubeconfig admin >"$STATE_DIR/kubeconfig"
	chmod 600 "$STATE_DIR/kubeconfig"
	touch "$pki/complete"
}

# issue NAME SUBJECT [ALTERNATIVE NAMES] makes a key and a certificate.
issue() {
	local pki=$STATE_DIR/pki name=$1 extensions=extendedKeyUsage=serverAuth,clientAuth
	[[ -z ${3:-} ]] || extensions+=$'\n'subjectAltName=$3
	openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$name.key" 2>/dev/null
	openssl req -new -key "$pki/$name.key" -subj "$2" 2>/dev/null |
		openssl x509 -req -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 3650 \
			-extfile <(echo "$extensions") -out "$pki/$name.crt" 2>/dev/null
}

write_kubeconfig() {
	local pki=$STATE_DIR/pki
	cat <<-YAML
		apiVersion: v1
		kind: Config
		clusters:
		- name: nfsbench-local
		  cluster:
		    server: https://127.0.0.1:$API_PORT
		    certificate-authority-data: $(base64 -w0 "$pki/ca.crt")
		users:
		- name: $1
		  user:
		    client-certificate-data: $(base64 -w0 "$pki/$1.crt")
		    client-key-data: $(base64 -w0 "$pki/$1.key")
		contexts:
		- name: nfsbench-local
		  context: {cluster: nfsbench-local, user: $1}
		current-context: nfsbench-local
	YAML
}
