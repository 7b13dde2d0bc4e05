#!/usr/bin/env bash
# Make everything that a release has, in dist/VERSION. Nothing is pushed or published.
#
# usage: hack/release.sh VERSION
#
# VERSION is vX.Y.Z or vX.Y.Z-rc.N. The working tree must be clean.
#
#   the files to download: nfsbench and the kubectl plugin for each platform, with an SPDX SBOM
#   each, and the krew manifest nfsbench.yaml (by GoReleaser); the chart, which names the images by
#   digest; install.yaml, the same as one file; the SBOM of each image; checksums.txt of all these
#   images/      an OCI layout of each image, for amd64 and arm64, and its digest
#   kustomize/   a base that names the images by digest; kustomize.tar.gz is the same to download
#   notes        the section of CHANGELOG.md
#
#   REGISTRY    where the images will be (default: the registry of the chart)
#   REPRODUCE   yes = build the images twice, and fail if a digest differs
#
# hack/release/publish.sh pushes it and signs it, with the identity of the pipeline or with a key.
set -euo pipefail
REPO_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=release/lib.sh
source "$REPO_DIR/hack/release/lib.sh"

# kustomize_base FOLDER VERSION REGISTRY IMAGES writes config/ as a base that names the images of
# REGISTRY by the digests in the folder IMAGES.
kustomize_base() {
	local folder=$1 version=$2 registry=$3 images=$4 name part
	mkdir -p "$folder"
	for part in crd default manager rbac; do cp -r "$REPO_DIR/config/$part" "$folder/"; done
	rm -f "$folder/crd/embed.go"
	for name in "${IMAGES[@]}"; do
		(cd "$folder/default" && "$REPO_DIR/hack/tool.sh" kustomize edit set image "$name=$registry/$name:$version@$(<"$images/$name.digest")")
	done
}

# release_notes VERSION prints the section of CHANGELOG.md: that of the version, or for a release
# candidate the one of what is not released.
release_notes() {
	local notes
	notes=$(awk -v version="${1#v}" '
		/^## / { on = ($2 == version || $2 == "v" version || (version ~ /-/ && $2 == "Unreleased")); next }
		on' "$REPO_DIR/CHANGELOG.md")
	[[ -n $notes ]] || die "CHANGELOG.md has no section ## ${1#v}: rename ## Unreleased first"
	echo "$notes"
}

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") die "which version? For example: make release VERSION=v0.1.0" ;;
esac
cd "$REPO_DIR"
version=$(VERSION=$1 release_version)
registry=$RELEASE_REGISTRY
[[ -z $(git status --porcelain) ]] || die "the working tree has changes: commit or remove them, so that the release can be built again"
out=$REPO_DIR/dist/$version
rm -rf "$out" dist/programs
mkdir -p "$out"

say "== images"
build_layouts "$out/images" "$version" amd64 arm64
if [[ ${REPRODUCE:-no} == yes ]]; then
	again=$(mktemp -d)
	build_layouts "$again" "$version" amd64 arm64
	for name in "${IMAGES[@]}"; do
		cmp "$out/images/$name.digest" "$again/$name.digest" || die "two builds of $name differ"
		say "$name: built twice, both $(<"$again/$name.digest")"
	done
	rm -rf "$again"
fi
rm -rf "$out"/images/{amd64,arm64}
for name in "${IMAGES[@]}"; do
	hack/tool.sh syft scan -q "oci-dir:$out/images/$name" --source-name "$registry/$name" --source-version "$version" -o "spdx-json=$out/$name.spdx.json"
done

say "== chart and manifests"
package_chart "$out" "$version" "$registry" "$out/images"
kustomize_base "$out/kustomize" "$version" "$registry" "$out/images"
hack/tool.sh kustomize build "$out/kustomize/default" >"$out/install.yaml"
archive "$out" kustomize | gzip -n >"$out/kustomize.tar.gz"

say "== programs"
mkdir -p bin/tools
printf '#!/bin/sh\nexec "%s/hack/tool.sh" syft "$@"\n' "$REPO_DIR" >bin/tools/syft
chmod +x bin/tools/syft
PATH=$REPO_DIR/bin/tools:$PATH GORELEASER_CURRENT_TAG=$version hack/tool.sh goreleaser release --clean --skip=publish,validate
cp dist/programs/*.tar.gz dist/programs/*.zip dist/programs/*.sbom.json dist/programs/krew/nfsbench.yaml "$out/"
(cd "$out" && sha256sum -- *.* >checksums.txt)

release_notes "$version" >"$out/notes"
say "
$out has the release $version."
