#!/usr/bin/env bash
# Print a folder with Debian's Prometheus, its promtool, and node_exporter, which
# tests run as they are: the real formats, the real API, the real judge of rules.
#
# usage: hack/lab/monitors.sh
#
# They are unpacked into the cache and not installed: installed, each would start
# a daemon that listens on every address of the machine. What is on the PATH is
# taken from there. Needs apt-get where something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../lib/common.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

dir=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/monitors
missing=()
for name in prometheus promtool prometheus-node-exporter; do
	[[ -x $dir/$name ]] || missing+=("$name")
done
if ((${#missing[@]})); then
	mkdir -p "$dir"
	debs=$(mktemp -d "$dir/.debs.XXXXXX")
	trap 'rm -rf "$debs"' EXIT
	for name in "${missing[@]}"; do
		if found=$(command -v "$name"); then
			ln -sf "$found" "$dir/$name"
			continue
		fi
		command -v apt-get >/dev/null || die "$name is not here, and there is no apt-get to get it; put it on the PATH"
		package=${name/#promtool/prometheus}
		say "getting $package for $name ..."
		if [[ ! -d $debs/$package.d ]]; then
			(
				cd "$debs"
				# As root, apt would fetch as a user who may not write here.
				options=(-qq -o APT::Sandbox::User="$(id -un)")
				apt-get download "${options[@]}" "$package" >&2 2>/dev/null ||
					{ [[ $EUID == 0 ]] && apt-get update -qq >&2 && apt-get download "${options[@]}" "$package" >&2; }
			) || die "$package cannot be downloaded; run apt-get update, or put $name on the PATH"
			dpkg-deb --extract "$debs/$package"_*.deb "$debs/$package.d"
		fi
		mv "$debs/$package.d/usr/bin/$name" "$dir/$name"
	done
fi
echo "$dir"
