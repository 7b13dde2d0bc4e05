#!/usr/bin/env bash
# Run a development tool at the version that hack/tools pins. The first call
# builds it into the cache; later calls start it at once.
#
# usage: hack/tool.sh NAME [ARG...]
#        hack/tool.sh --list
#
#   BUILD_JOBS      packages compiled at once (default: as many as CPUs)
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
#
# The same without the cache: go tool -modfile=hack/tools/go.mod NAME
set -euo pipefail
hack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$hack/lib/common.sh"
source "$hack/lib/gobuild.sh"
tools=$hack/tools

# listed prints "name package module" for each tool that a go.mod under hack/tools lists.
listed() {
	local package file module name
	awk '/^\)/ { block = 0 } block { print $1, FILENAME } /^tool \(/ { block = 1 } /^tool [^(]/ { print $2, FILENAME }' \
		"$tools"/go.mod "$tools"/*/go.mod |
		while read -r package file; do
			module=${file%/*} name=${package##*/}
			# A last part such as v5 is a major version, not a name.
			if [[ $name =~ ^v[0-9]+$ ]]; then name=${package%/*} name=${name##*/}; fi
			# The only tool of a module is called as its folder.
			if [[ $module != "$tools" ]]; then name=${module##*/}; fi
			echo "$name $package $module"
		done
}

case ${1:-} in
-h | --help | "")
	help_of "$0"
	exit 0
	;;
--list)
	{ listed | cut -d' ' -f1; echo golangci-lint; echo observe; } | sort
	exit 0
	;;
esac

name=$1
shift
package=. sources=()
case $name in
golangci-lint) module=$tools/lint ;;
observe) module=$tools/observe sources=("$tools/observe"/*.go) ;; # ours, and so may change
*)
	read -r _ package module < <(listed | awk -v n="$name" '$1 == n') ||
		die "no tool $name; hack/tool.sh --list shows them"
	;;
esac
hash=$(cat "$module"/go.mod "$module"/go.sum <(cd "$module" && go env GOVERSION) "${sources[@]}" | sha256sum | cut -c1-16)
binary=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/tools/$name-$hash

if [[ ! -x $binary ]]; then
	mkdir -p "${binary%/*}"
	if [[ $name == vale ]]; then BUILD_CGO=1; fi # its parsers are in C
	gobuild "$name" "$module" -ldflags='-s -w' -o "$binary.$$" "$package"
	mv "$binary.$$" "$binary"
fi
exec "$binary" "$@"
