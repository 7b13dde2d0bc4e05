#!/usr/bin/env bash
# Regenerate everything that is generated, with the tools that hack/tools pins:
# deep copies, the CRD, the operator's role, the API reference, the chart's
# copies of these and its README, Argo CD's ConfigMap with our health checks and
# actions, the JSON Schemas of docs/schema, docs/findings.md, and the table of wrong data in docs/faults.md.
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
# Bounds of maps and of Kubernetes' own types, which no marker reaches.
go test ./test/structure -run TestEveryPartOfASpecHasABound -count=1 -update >/dev/null
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
cp internal/policy/rules.yaml "$chart/files/policy-rules.yaml"
tool helm-docs --chart-search-root "$chart" --sort-values-order file --log-level warning

tool crd-ref-docs --log-level ERROR --renderer markdown --source-path api \
	--config hack/crd-ref-docs.yaml --output-path api/v1alpha1/REFERENCE.md
# It prints the Go struct of a rule about the items of a list.
sed -i 's/items:XValidation: \\{.*<nil>\\} <br \/>//' api/v1alpha1/REFERENCE.md

# indent BY FILE prints the file with each line indented.
indent() { sed "s/^/$(printf '%*s' "$1" '')/; s/ *$//" "$2"; }
argocd=config/gitops/argocd
{
	echo "# Generated from the scripts beside it by hack/generate.sh."
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n'
	for kind in NFSBenchmark NFSBenchmarkSuite; do
		echo "  resource.customizations.health.nfsbench.io_$kind: |"
		indent 4 "$argocd/$kind/health.lua"
		printf '  resource.customizations.actions.nfsbench.io_%s: |\n    discovery.lua: |\n' "$kind"
		indent 6 "$argocd/$kind/actions/discovery.lua"
		echo "    definitions:"
		for action in "$argocd/$kind"/actions/*/action.lua; do
			printf '    - name: %s\n      action.lua: |\n' "$(basename "$(dirname "$action")")"
			indent 8 "$action"
		done
	done
} >"$argocd/argocd-cm.yaml"

go test ./internal/runfile -run 'Schema|Example' -count=1 -update >/dev/null
go test ./internal/judge -run TestTheDocsHave -count=1 -update >/dev/null
go test ./internal/loadgen -run IsWrongAboutItsData -count=1 -update >/dev/null
