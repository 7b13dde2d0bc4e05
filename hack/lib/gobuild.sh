# shellcheck shell=bash
# Build Go programs into the cache, with progress. Sourced, never run. Needs common.sh.

# build_cached FOLDER NAME TITLE MODULE LDFLAGS PACKAGE... builds the programs of
# the packages into FOLDER, unless they exist and were built from the same sources.
# NAME is one of the programs. BUILD_MODFILE=FILE takes the versions from FILE instead of
# the module's go.mod.
build_cached() {
	local folder=$1 name=$2 title=$3 module=$4 flags=$5 key began=$SECONDS
	shift 5
	key=$(build_key "$module" "$@" <<<"$flags")
	if [[ -x $folder/$name && $(cat "$folder/.$name.key" 2>/dev/null) == "$key" ]]; then return; fi
	mkdir -p "$folder/new"
	gobuild "$title" "$module" -ldflags "-s -w $flags" -o "$folder/new/" "$@"
	mv -f "$folder/new/"* "$folder/"
	rmdir "$folder/new"
	echo "$key" >"$folder/.$name.key"
	say "built $title in $((SECONDS - began)) s"
}

# build_key MODULE PACKAGE... prints what programs of these packages depend on: the
# versions of their modules, their own sources, the compiler, and standard input.
build_key() {
	local module=$1
	shift
	(
		cd "$module"
		local modfile=${BUILD_MODFILE:-go.mod}
		cat - "$modfile" "${modfile%.mod}.sum"
		GOWORK=off go list -modfile="$modfile" -f '{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}' "$@" |
			xargs sha256sum | cut -d' ' -f1 | sort # not in the order of the paths, which depends on where the checkout is
		go env GOVERSION GOARCH
	) | sha256sum | cut -d' ' -f1
}

# gobuild TITLE MODULE ARGS... is go build with a line for each tenth of the
# packages. A compiler that collects its garbage less often ends a fifth sooner.
# BUILD_CGO=1 builds with a C compiler.
gobuild() {
	local title=$1 module=$2 jobs=()
	shift 2
	[[ -z ${BUILD_JOBS:-} ]] || jobs=(-p "$BUILD_JOBS")
	[[ -z ${BUILD_MODFILE:-} ]] || jobs+=(-modfile="$BUILD_MODFILE")
	say "building $title ..."
	(cd "$module" && GOWORK=off CGO_ENABLED="${BUILD_CGO:-0}" GOGC=400 go build -v -trimpath "${jobs[@]}" "$@") 2> >(
		awk -v title="$title" '
			/^[^ #:]+$/ { if (++n % 250 == 0) { printf "building %s: %d packages so far\n", title, n; fflush() }; next }
			{ print; fflush() }' >&2
	)
}
