#!/usr/bin/env bash
# Build the documentation site of this source into bin/site. A link to a page, a file or a heading
# that is not there is an error.
#
# usage: hack/docs.sh              build
#        hack/docs.sh serve        show it at http://127.0.0.1:8000, as it was when this was called
#        hack/docs.sh publish VERSION   add the version to the branch gh-pages; pushes nothing
#
# MkDocs and its theme are pinned in docs/requirements.txt, in a virtual environment in the cache,
# made at the first use from PyPI.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/common.sh
source "$here/lib/common.sh"
cd "$here/.."

tools=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/docs-$(sha256sum hack/docs/requirements.txt | cut -c1-12)
if [[ ! -e $tools/ready ]]; then
	command -v python3 >/dev/null || die "python3 is missing: the site needs it (Debian: python3, python3-venv)"
	say "installing MkDocs ..."
	rm -rf "$tools"
	python3 -m venv "$tools" >&2
	"$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement hack/docs/requirements.txt >&2
	touch "$tools/ready"
fi
export NO_MKDOCS_2_WARNING=1 PATH=$tools/bin:$PATH

# The pages and what they link to, as git knows them, or would with what is new.
rm -rf bin/docs
mkdir -p bin/docs
git ls-files --cached --others --exclude-standard -- '*.md' docs config charts/nfsbench/values.yaml |
	grep -v '^config/crd/' | while read -r file; do [[ ! -e $file ]] || echo "$file"; done | tar -cf - -T - | tar -xf - -C bin/docs
cp hack/docs/site.css bin/docs/

case ${1:-build} in
-h | --help) help_of "$0" ;;
build) mkdocs build --strict --config-file hack/docs/mkdocs.yml 2>&1 | { grep -vE "^(INFO|$)" >&2 || true; } ;;
serve) mkdocs serve --config-file hack/docs/mkdocs.yml ;;
publish) mike deploy --config-file hack/docs/mkdocs.yml --update-aliases "${2:?which version?}" latest ;;
*) die "unexpected argument $1 (see --help)" ;;
esac
