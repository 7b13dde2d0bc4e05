#!/usr/bin/env bash
# Check a release end to end, as a stranger gets it: make it, push and sign it to a real
# registry, verify it, install it from there by digest, run a benchmark, and upgrade it.
#
# usage: hack/release/check.sh
#
# Works on a copy of the last commit; the working tree is not touched. Needs root.
set -euo pipefail
export CLUSTER=local # the check gives its containerd the CA of the registry
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
source "$REPO_DIR/hack/lib/install.sh"
source "$REPO_DIR/hack/release/lib.sh"
case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

first=v0.0.1 second=v0.0.2
work=$(mktemp -d)
step() { say ""; say "== $*"; }
clean_up() {
	local code=$?
	step "cleaning up"
	if [[ -n ${KUBECTL:-} ]]; then
		uninstall_operator
		cluster_end
	fi
	"$REPO_DIR/hack/release/registry.sh" down
	rm -rf "$work"
	exit $code
}
trap clean_up EXIT

tool() { "$REPO_DIR/hack/tool.sh" "$@"; }
# refused COMMAND... fails unless the command fails.
refused() { if "$@" >/dev/null 2>&1; then die "not refused: $*"; fi; }

step "1 of 7: a registry"
eval "$("$REPO_DIR/hack/release/registry.sh" up)"
machine_ca=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
cat "$machine_ca" "$REGISTRY_CA" >"$work/ca.crt"
export REGISTRY=$REGISTRY_ADDRESS/nfsbench SSL_CERT_FILE=$work/ca.crt
say "$REGISTRY"

step "2 of 7: make release VERSION=$first"
git clone -q "$REPO_DIR" "$work/source"
for version in $first $second; do
	sed -i "0,/^## Unreleased/s//## Unreleased\n\n## ${version#v}\n\n- A release that is only checked./" "$work/source/CHANGELOG.md"
done
git -C "$work/source" -c user.name=check -c user.email=check@localhost commit -qam "Name the checked versions"
(cd "$work/source" && REPRODUCE=yes make release VERSION=$first)
release=$work/source/dist/$first

step "3 of 7: push and sign"
(cd "$work" && COSIGN_PASSWORD='' tool cosign generate-key-pair >&2)
(cd "$work/source" && COSIGN_PASSWORD='' COSIGN_KEY=$work/cosign.key hack/release/publish.sh $first)

step "4 of 7: verify"
verify=(--key "$work/cosign.pub" --insecure-ignore-tlog=true)
for name in "${IMAGES[@]}"; do
	image=$REGISTRY/$name@$(<"$release/images/$name.digest")
	tool cosign verify "${verify[@]}" "$image" >/dev/null
	for type in slsaprovenance1 spdxjson; do tool cosign verify-attestation "${verify[@]}" --type $type "$image" >"$work/$name.$type"; done
	commit=$(tail -n 1 "$work/$name.slsaprovenance1" | sed 's/.*"payload":"\([^"]*\)".*/\1/' | base64 -d)
	[[ $commit == *"$(git -C "$work/source" rev-parse HEAD)"* ]] || die "the provenance of $name does not name the commit"
	[[ $(tool crane manifest "$image") == *amd64*arm64* ]] || die "$image is not for both processors"
	say "$image: signature, provenance, SBOM, both processors"
done
chart=$REGISTRY/charts/nfsbench@$(tool crane digest "$REGISTRY/charts/nfsbench:${first#v}")
tool cosign verify "${verify[@]}" "$chart" >/dev/null
tool cosign verify-blob "${verify[@]}" --bundle "$release/checksums.txt.sigstore.json" "$release/checksums.txt"
# What nobody signed is refused: another image under our name, and a changed file.
tool crane mutate --label changed=yes "$REGISTRY/manager@$(tool crane digest --platform linux/amd64 "$REGISTRY/manager:$first")" -t "$REGISTRY/manager:changed" >/dev/null
refused tool cosign verify "${verify[@]}" "$REGISTRY/manager:changed"
sed 's/^./x/' "$release/checksums.txt" >"$work/changed"
refused tool cosign verify-blob "${verify[@]}" --bundle "$release/checksums.txt.sigstore.json" "$work/changed"
say "a changed image and a changed file are refused"
# As somebody who downloads the files without their folders.
(cd "$release" && sha256sum --quiet --check --strict checksums.txt)

step "5 of 7: helm install oci://$REGISTRY/charts/nfsbench --version ${first#v}"
SSL_CERT_FILE=$machine_ca cluster_begin # containerd trusts the registry only by its hosts.toml, as on people's nodes
mkdir -p "$STATE_DIR/containerd/certs.d/$REGISTRY_ADDRESS"
printf '[host."https://%s"]\nca = "%s"\n' "$REGISTRY_ADDRESS" "$REGISTRY_CA" >"$STATE_DIR/containerd/certs.d/$REGISTRY_ADDRESS/hosts.toml"
find_operator
[[ $OURS_TO_REMOVE == yes ]] || die "there is an operator in this cluster already: the check installs one of its own, so remove it first"
# install VERSION does what README says.
install() {
	tool "$HELM" upgrade --install nfsbench "oci://$REGISTRY/charts/nfsbench" --version "${1#v}" --ca-file "$REGISTRY_CA" \
		--namespace "$SYSTEM_NAMESPACE" --create-namespace --wait --timeout 180s >/dev/null
}
# running VERSION IMAGES fails unless the manager runs the image with the digest in that folder, and says the version.
running() {
	local image
	image=$("$KUBECTL" -n "$SYSTEM_NAMESPACE" get deployment nfsbench -o jsonpath='{.spec.template.spec.containers[0].image}')
	[[ $image == "$REGISTRY/manager@$(<"$2/manager.digest")" ]] || die "the manager runs $image"
	"$KUBECTL" -n "$SYSTEM_NAMESPACE" logs --selector app.kubernetes.io/name=nfsbench --tail=-1 | grep "\"version\":\"$1\"" >/dev/null || die "the manager does not say $1"
	say "the manager of $1 runs from $image"
}
install $first
tool "$HELM" test nfsbench --namespace "$SYSTEM_NAMESPACE" --logs | grep "leads" || die "helm test does not pass"
running $first "$release/images"

step "6 of 7: kubectl apply -f config/samples/demo.yaml"
"$KUBECTL" apply -f "$REPO_DIR/config/samples/demo.yaml" >/dev/null
"$KUBECTL" wait nfsbenchmark/demo --for=jsonpath='{.status.phase}'=Succeeded --timeout 240s >/dev/null ||
	{ "$KUBECTL" get nfsb demo -o yaml; die "the benchmark did not succeed"; }
"$KUBECTL" get nfsb demo

step "7 of 7: upgrade to $second"
(cd "$work/source" && VERSION=$second ARCHS=$(go env GOARCH) hack/push.sh "$REGISTRY")
install $second
running $second "$work/source/bin/push"
[[ $("$KUBECTL" get nfsb demo -o jsonpath='{.status.phase}') == Succeeded ]] || die "the upgrade lost the result"
say ""
say "checked: reproducible, signed, verified, installed by digest, measured, upgraded"
