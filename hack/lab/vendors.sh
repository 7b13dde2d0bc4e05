#!/usr/bin/env bash
# Print a folder with the Python client libraries of NetApp (netapp-ontap) and Pure Storage
# (py-pure-client), whose schemas the tests in test/lab/vendors compare with what we ask and answer.
#
# usage: hack/lab/vendors.sh
#
# pip puts them into the cache, about 1 GB, and installs nothing. Another version of them or of Python is another folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../lib/common.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

python3 -m pip --version >/dev/null 2>&1 ||
	die "there is no python3 with pip: what arrays are asked is not compared with the client libraries of their vendors"
packages=(netapp-ontap==9.19.1.0 py-pure-client==1.96.0)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/vendors/$(printf '%s\n' "${packages[@]}" "$(python3 -V)" | cksum | cut -d ' ' -f 1)
if [[ ! -d $dir ]]; then
	say "getting ${packages[*]} ..."
	mkdir -p "${dir%/*}"
	new=$(mktemp -d "$dir.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$new" "${packages[@]}" >&2 2>/dev/null ||
		die "pip could not get ${packages[*]}"
	mv "$new" "$dir"
fi
echo "$dir"
