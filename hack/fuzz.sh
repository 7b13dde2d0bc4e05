#!/usr/bin/env bash
# Fuzz every parser of untrusted bytes, one after the other.
#
# usage: hack/fuzz.sh
#
#   FUZZTIME   for each fuzz test (default 30s)
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
source hack/lib/common.sh
case ${1:-} in -h | --help) help_of hack/fuzz.sh; exit 0 ;; esac

mapfile -t tests < <(grep -rhoE --include='*_test.go' '^func (Fuzz[A-Za-z0-9_]+)' -H . | sed -E 's|^\./(.*)/[^/]+:func (.*)|\1 \2|' | sort)
n=0
for entry in "${tests[@]}"; do
	read -r package name <<<"$entry"
	n=$((n + 1))
	say "[$n of ${#tests[@]}] $name in $package"
	go test "./$package" -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" -parallel 2
done
