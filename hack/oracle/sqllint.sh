#!/usr/bin/env bash
# Parse SQL files as Oracle's dialect, and print each section that does not parse.
#
# usage: hack/oracle/sqllint.sh FILE...
#
# Ends with 1 where something does not parse, and with 2 where the parser cannot
# be had. The parser is sqlfluff, pinned in sqllint.txt, in a virtual environment
# of its own in the cache; it is made at the first use, from PyPI.
#
# A file that has parsed is remembered in the cache, and not parsed again until it, the
# parser or these scripts change: to parse all takes a minute.
#
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/common.sh
source "$here/../lib/common.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") die "which files? (see --help)" ;;
esac

unavailable() { say "error: $*"; exit 2; }

command -v python3 >/dev/null || unavailable "python3 is missing: the check of the SQL texts needs it (Debian: python3, python3-venv)"

version=$(sed -n 's/^sqlfluff==//p' "$here/sqllint.txt")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/sqlfluff-$version
pins=$(sha256sum "$here/sqllint.txt" | cut -c1-16)

# prepare makes the environment anew unless it is that of these pins.
prepare() {
	[[ "$(cat "$folder/pins" 2>/dev/null)" != "$pins" ]] || return 0
	say "installing sqlfluff $version ..."
	rm -rf "$folder"
	python3 -m venv "$folder" >&2 || return
	"$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$here/sqllint.txt" >&2 || return
	printf '%s\n' "$pins" >"$folder/pins"
}

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
prepare || unavailable "sqlfluff $version cannot be installed from PyPI: see above"
exec 9>&-

# key FILE prints what the answer to a file depends on.
key() { cat "$1" "$here/sqllint.py" "$here/dialect.py" "$here/sqllint.txt" | sha256sum | cut -d' ' -f1; }

mkdir -p "$folder/parsed"
new=()
for file in "$@"; do
	[[ -e $folder/parsed/$(key "$file") ]] || new+=("$file")
done
((${#new[@]})) || exit 0
"$folder/bin/python" -B "$here/sqllint.py" "${new[@]}"
for file in "${new[@]}"; do touch "$folder/parsed/$(key "$file")"; done
