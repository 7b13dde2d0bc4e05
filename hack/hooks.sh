#!/usr/bin/env bash
# Let git run `make check` before each push from this clone, or no longer.
#
# usage: hack/hooks.sh [--remove]
#
# Sets core.hooksPath of this clone to hack/hooks. `git push --no-verify` skips it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/hooks.sh ;;
"")
	git config core.hooksPath hack/hooks
	say "git runs hack/hooks/pre-push from now on; hack/hooks.sh --remove ends that"
	;;
--remove) git config --unset core.hooksPath || true ;;
*) die "unexpected argument $1 (see --help)" ;;
esac
