#!/usr/bin/env bash
# Regenerate everything that is generated, with the tools that hack/tools pins:
# deep copies, the CRD, the operator's role, the API reference, the chart's
# copies of these and its README, and the JSON Schemas of docs/schema.
#
# usage: hack/generate.sh
#
# hack/verify.sh tells whether it has anything to do.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
# shellcheck source=lib/common.sh
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/generate.sh; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

chart=charts/nfsbench
tool() { hack/tool.sh "$@"; }

tool controller-gen object crd \
	paths=./api/... output:crd:artifacts:config=config/crd/bases
tool controller-gen rbac:roleName=manager \
	paths=./controllers/... output:rbac:artifacts:config=config/rbac

# The chart can only read its own folder. Rules and dashboards are written there.
rm -rf "$chart/files/crds"
mkdir -p "$chart/files/crds"
cp config/crd/bases/*.yaml "$chart/files/crds/"
{
	echo "# Generated from the markers in controllers/ by hack/generate.sh."
	sed -n '/^rules:/,$p' config/rbac/role.yaml
} >"$chart/files/manager-role.yaml"
tool helm-docs --chart-search-root "$chart" --sort-values-order file --log-level warning

tool crd-ref-docs --log-level ERROR --renderer markdown --source-path api/v1alpha1 \
	--config hack/crd-ref-docs.yaml --output-path api/v1alpha1/REFERENCE.md

go test ./internal/runfile -run 'Schema|Example' -count=1 -update >/dev/null
