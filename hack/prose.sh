#!/usr/bin/env bash
# Check the words of the documentation: terms of the glossary, plain constructions, the length of
# sentences. The rules are in hack/docs/styles. Code, quotations and generated text are left out.
#
# usage: hack/prose.sh [FILE...]   without files: every page that git knows
#
# A rule that is wrong in one place is turned off there: <!-- vale House.Terms = NO --> ... = YES.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/prose.sh; exit 0 ;;
esac

generated='^(api/v1alpha1/REFERENCE|charts/nfsbench/README|test/.*\.golden|test/lab/oraclesql/references|test/lab/records/.*)\.md$'
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- "${@:-*.md}" | grep -vE "$generated" | sort -u |
	while read -r file; do [[ ! -e $file ]] || echo "$file"; done)
if ((${#files[@]})); then hack/tool.sh vale --config hack/docs/vale.ini --output line "${files[@]}"; fi
