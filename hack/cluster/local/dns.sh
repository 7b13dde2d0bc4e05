# shellcheck shell=bash
# Names in the local cluster: CoreDNS as a process of this machine, behind the
# Service that pods are told about.

DNS_IP=${DNS_IP:-10.96.0.10}
DNS_PORT=${DNS_PORT:-10053}

# start_dns KUBECTL
start_dns() {
	cat >"$STATE_DIR/Corefile" <<-CONF
		.:$DNS_PORT {
		    bind $HOST_IP
		    errors
		    ready $HOST_IP:8181
		    kubernetes cluster.local in-addr.arpa ip6.arpa {
		        kubeconfig $STATE_DIR/pki/dns.kubeconfig
		        pods insecure
		    }
		    $(forward_line)
		    cache 10
		}
	CONF
	pid_of dns >/dev/null || start dns "$BIN_DIR/dns" -conf "$STATE_DIR/Corefile"
	comes_up dns "cluster DNS" curl -sf --max-time 10 "http://$HOST_IP:8181/ready"
	dns_service | "$1" --kubeconfig "$STATE_DIR/kubeconfig" apply -f - >/dev/null
}

# forward_line sends all other names to the machine's resolver, if it has one.
forward_line() {
	if grep -q '^nameserver' "$(resolv_conf)" 2>/dev/null; then echo "forward . $(resolv_conf)"; fi
}

dns_service() {
	cat <<-YAML
		apiVersion: v1
		kind: Service
		metadata: {name: kube-dns, namespace: kube-system}
		spec:
		  clusterIP: $DNS_IP
		  ports:
		  - {name: dns, port: 53, protocol: UDP, targetPort: $DNS_PORT}
		  - {name: dns-tcp, port: 53, protocol: TCP, targetPort: $DNS_PORT}
		---
		apiVersion: discovery.k8s.io/v1
		kind: EndpointSlice
		metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
		addressType: IPv4
		endpoints:
		- {addresses: [$HOST_IP], conditions: {ready: true}}
		ports:
		- {name: dns, port: $DNS_PORT, protocol: UDP}
		- {name: dns-tcp, port: $DNS_PORT, protocol: TCP}
	YAML
}
