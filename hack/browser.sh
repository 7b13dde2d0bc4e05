#!/usr/bin/env bash
# Prints the path of a browser that can be driven without a screen. Installs
# Debian's chromium where this is root and there is apt.
# usage: hack/browser.sh
# exit codes: 0 printed, 3 there is no browser and none can be installed
set -euo pipefail
for part in common.sh packages.sh; do
	# shellcheck source=/dev/null
	source "$(dirname "${BASH_SOURCE[0]}")/lib/$part"
done

find_browser() {
	local name
	for name in "${NFSBENCH_BROWSER:-}" chromium chromium-browser google-chrome; do
		if [[ -n $name ]] && command -v "$name"; then
			return 0
		fi
	done
	return 1
}

refuse() {
	echo "hack/browser.sh: $1: install Chromium, or set NFSBENCH_BROWSER to one" >&2
	exit 3
}

find_browser && exit 0
can_install || refuse "there is no browser, and only root can install one, with apt-get"
(install_packages chromium fonts-liberation) || refuse "chromium cannot be installed"
find_browser || refuse "chromium was installed and is not found"
