#!/usr/bin/env bash
# Print a C compiler that links against an old glibc, for CC. Database images are
# as old as Oracle Linux 7, and a program runs with no glibc older than its own.
#
# usage: hack/oracle/zig.sh [ARCH]
#
# ARCH is amd64 or arm64 (default $GOARCH, else that of this machine). The
# compiler is zig, from the package ziglang of PyPI (90 MB, fetched once), which
# brings headers and stubs of every glibc along.
#
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/common.sh
source "$here/../lib/common.sh"
case ${1:-} in -h | --help) help_of "$0"; exit 0 ;; esac

case ${1:-${GOARCH:-$(go env GOARCH)}} in
amd64) target=x86_64 ;;
arm64) target=aarch64 ;;
*) die "Oracle's client exists for amd64 and arm64 only" ;;
esac
glibc=$(cat "$here/glibc.version")

# The name says what is in it: another version is another folder.
key=$(sha256sum "$here/zig.txt" | cut -c1-12)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/zig-$key
mkdir -p "${folder%/*}"

install() {
	local began=$SECONDS
	python3 -c 'import venv, ensurepip' 2>/dev/null ||
		die "oraload needs python3 with venv and pip, for its compiler (Debian: apt-get install python3-venv); ORALOAD=no builds the image without it"
	say "fetching the compiler of oraload (90 MB, once) ..."
	rm -rf "$folder.new"
	python3 -m venv "$folder.new"
	"$folder.new/bin/python3" -m pip install -q --disable-pip-version-check --require-hashes --only-binary :all: -r "$here/zig.txt" >&2 ||
		die "the package ziglang could not be fetched from PyPI; ORALOAD=no builds the image without oraload"
	# A virtual environment has its own path in it; the compiler has not.
	mv "$("$folder.new/bin/python3" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')" "$folder.zig"
	rm -rf "$folder.new"
	mv -T "$folder.zig" "$folder"
	say "fetched it in $((SECONDS - began)) s"
}

# Two scripts that start at once must not fetch it twice.
exec 9>"$folder.lock"
flock 9
if [[ ! -x $folder/zig ]]; then install; fi

wrapper=$folder/cc-$target-$glibc
if [[ ! -x $wrapper ]]; then
	cat >"$wrapper.new" <<END
#!/bin/sh
ZIG_GLOBAL_CACHE_DIR='$folder-cache' ZIG_LOCAL_CACHE_DIR='$folder-cache' exec '$folder/zig' cc -target $target-linux-gnu.$glibc "\$@"
END
	chmod +x "$wrapper.new"
	mv "$wrapper.new" "$wrapper"
fi
echo "$wrapper"
