#!/usr/bin/env bash
# Push a release that hack/release.sh made, and sign it: the images, the chart and the checksums,
# with the SBOM and the provenance of each image attached.
#
# usage: hack/release/publish.sh VERSION
#
#   REGISTRY    where to push (default: the registry of the chart)
#   COSIGN_KEY  file of a private key (its password in COSIGN_PASSWORD); without it, cosign asks
#               the pipeline for its identity by OIDC, and the signatures go to the public log
#   BUILDER     URL of the pipeline, for the provenance (default: this script)
#   SSL_CERT_FILE  the CA of a registry that is not public
set -euo pipefail
REPO_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=lib.sh
source "$REPO_DIR/hack/release/lib.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") die "which version? (see --help)" ;;
esac
cd "$REPO_DIR"
version=$1 out=dist/$1
registry=$RELEASE_REGISTRY
[[ -e $out/checksums.txt ]] || die "$out has no release: make release VERSION=$version"
(cd "$out" && sha256sum --quiet --check checksums.txt) || die "$out is not what hack/release.sh made"

cosign() { "$REPO_DIR/hack/tool.sh" cosign "$@" >&2; }
# With a key there is no identity to log, and the registry may be a private one: no service of
# Sigstore is asked.
how=(--yes)
if [[ -n ${COSIGN_KEY:-} ]]; then
	services=$(mktemp -d)
	trap 'rm -rf "$services"' EXIT
	cosign signing-config create --out "$services/signing.json"
	cosign trusted-root create --out "$services/root.json"
	how+=(--key "$COSIGN_KEY" --signing-config "$services/signing.json" --trusted-root "$services/root.json")
fi

# provenance prints the predicate of SLSA v1 for what this commit gave.
provenance() {
	local commit builder=${BUILDER:-https://github.com/nfsbench/nfsbench/blob/main/hack/release/publish.sh}
	commit=$(git rev-parse HEAD)
	cat <<JSON
{
  "buildDefinition": {
    "buildType": "https://github.com/nfsbench/nfsbench/blob/main/docs/releases.md#provenance",
    "externalParameters": {"version": "$version", "registry": "$registry"},
    "resolvedDependencies": [
      {"uri": "git+https://github.com/nfsbench/nfsbench@$version", "digest": {"gitCommit": "$commit"}}
    ]
  },
  "runDetails": {"builder": {"id": "$builder"}}
}
JSON
}

push_release "$out/images" "$version" "$registry" "$out/nfsbench-${version#v}.tgz"
chart=$registry/charts/nfsbench@$(hack/tool.sh crane digest "$registry/charts/nfsbench:${version#v}")
provenance >"$out/provenance.json"
for name in "${IMAGES[@]}"; do
	image=$registry/$name@$(<"$out/images/$name.digest")
	say "signing $image ..."
	cosign sign "${how[@]}" "$image"
	cosign attest "${how[@]}" --type slsaprovenance1 --predicate "$out/provenance.json" "$image"
	cosign attest "${how[@]}" --type spdxjson --predicate "$out/$name.spdx.json" "$image"
done
say "signing $chart ..."
cosign sign "${how[@]}" "$chart"
cosign attest "${how[@]}" --type slsaprovenance1 --predicate "$out/provenance.json" "$chart"
cosign sign-blob "${how[@]}" --bundle "$out/checksums.txt.sigstore.json" "$out/checksums.txt"
say "published $version to $registry"
