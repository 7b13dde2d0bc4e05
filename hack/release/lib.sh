# shellcheck shell=bash
# What push.sh and release.sh share: images as OCI layouts, and a chart that names them by
# digest. Sourced, never run. Needs REPO_DIR.

# Where a release is: the chart says so in one place. common.sh then gives REGISTRY the default of
# developers.
RELEASE_REGISTRY=${REGISTRY:-$(awk '$1 == "registry:" {print $2; exit}' "$REPO_DIR/charts/nfsbench/values.yaml")}
# shellcheck source=../lib/common.sh
source "$REPO_DIR/hack/lib/common.sh"

IMAGES=(manager nfsbench)

# release_version prints the version of this source: VERSION, or the tag of this commit, or
# one that sorts before every release.
release_version() {
	local version=${VERSION:-$(git -C "$REPO_DIR" describe --tags --exact-match --match 'v*' 2>/dev/null || true)}
	version=${version:-v0.0.0-$(git -C "$REPO_DIR" rev-list --count HEAD).g$(git -C "$REPO_DIR" rev-parse --short HEAD)}
	[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
		die "VERSION=$version is not a version such as v1.2.3 or v1.2.3-rc.1"
	echo "$version"
}

# build_layouts FOLDER VERSION ARCH... writes FOLDER/NAME, an OCI layout with the image NAME
# for each processor, and FOLDER/NAME.digest.
build_layouts() {
	local folder=$1 version=$2 arch name revision
	shift 2
	local folders=("${@/#/$folder/}")
	revision=$(git -C "$REPO_DIR" rev-parse HEAD)
	mkdir -p "$folder"
	GOARCH='' CGO_ENABLED=0 go build -C "$REPO_DIR/hack" -trimpath -o "$(realpath "$folder")/index" ./image/index
	for arch in "$@"; do
		say "images for $arch ..."
		GOARCH=$arch TAG=$version VERSION=$version REVISION=$revision "$REPO_DIR/hack/image/build.sh" -o "$folder/$arch" >/dev/null
	done
	for name in "${IMAGES[@]}"; do
		rm -rf "${folder:?}/$name"
		"$folder/index" -o "$folder/$name" "${folders[@]/%//$name.tar}" >"$folder/$name.digest"
	done
	rm -f "$folder/index"
}

# package_chart FOLDER VERSION REGISTRY IMAGES writes the chart to FOLDER, with the images of
# REGISTRY by the digests in the folder IMAGES.
package_chart() {
	local folder=$1 version=$2 registry=$3 images=$4 work name rendered
	work=$(mktemp -d)
	cp -r "$REPO_DIR/charts/nfsbench" "$work/nfsbench"
	sed -i "s|^  registry: .*|  registry: $registry|" "$work/nfsbench/values.yaml"
	for name in "${IMAGES[@]}"; do
		sed -i "/^  $name:/,/digest:/s|digest: .*|digest: $(<"$images/$name.digest")|" "$work/nfsbench/values.yaml"
	done
	"$REPO_DIR/hack/tool.sh" helm package "$work/nfsbench" --version "${version#v}" --app-version "$version" -d "$folder" >/dev/null
	rendered=$("$REPO_DIR/hack/tool.sh" helm template nfsbench "$folder/nfsbench-${version#v}.tgz")
	rm -rf "$work"
	for name in "${IMAGES[@]}"; do
		[[ $rendered == *"$registry/$name@$(<"$images/$name.digest")"* ]] || die "the chart does not name $registry/$name by its digest"
	done
	echo "$folder/nfsbench-${version#v}.tgz"
}

# archive FOLDER NAME... prints a tar archive that depends on the content of the files only.
archive() { tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX,u=rwX -c "${@:2}"; }

# push_release FOLDER VERSION REGISTRY CHART pushes the layouts in FOLDER and the chart. With
# PLAIN_HTTP=yes the registry has no TLS.
push_release() {
	local folder=$1 version=$2 registry=$3 chart=$4 name insecure=() plain=()
	if [[ ${PLAIN_HTTP:-no} == yes ]]; then insecure=(--insecure) plain=(--plain-http); fi
	for name in "${IMAGES[@]}"; do
		say "pushing $registry/$name:$version ..."
		"$REPO_DIR/hack/tool.sh" crane push "${insecure[@]}" --index "$folder/$name" "$registry/$name:$version" >&2
	done
	say "pushing the chart ..."
	"$REPO_DIR/hack/tool.sh" helm push "${plain[@]}" "$chart" "oci://$registry/charts" >&2
}
