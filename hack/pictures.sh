#!/usr/bin/env bash
# Make the pictures of README.md and docs/report.md from a run of this source: the load of the
# demo, against the embedded server behind two links of 1 Gbit/s in a network namespace. Takes a
# minute, and needs root, iproute2 and a browser (hack/browser.sh).
#
# usage: hack/pictures.sh [--keep] [RESULT]
#
# RESULT is a result file to draw instead of a new run, such as bin/demo-result.json.gz of `make demo`.
# It writes docs/images/demo.png, the report on a terminal of 86 columns, and docs/images/report.png,
# the first 2000 pixels of the HTML report. Look at both before you commit them.
#
#   --keep   also leave result, pages and logs in bin/pictures
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for part in common process ../lab/network; do
	# shellcheck source=/dev/null
	source "$here/lib/$part.sh"
done
cd "$here/.."

# The columns and the height of a line of the terminal, and the size of the report.
columns=86 line=19 report=1100,2000
NAME=pictures NETNS=nfsbench-pictures STATE_DIR=$PWD/bin/pictures
# What 1 Gbit/s leaves for a packet of 1514 bytes, beside preamble, checksum and gap.
SUBNETS=10.249.1.0/24,10.249.2.0/24 RATES=984mbit OFFLOAD=on

keep=no result=''
for arg in "$@"; do
	case $arg in
	-h | --help) help_of "$0"; exit 0 ;;
	--keep) keep=yes ;;
	-*) die "unknown option $arg (see --help)" ;;
	*) result=$(realpath -e "$arg") ;;
	esac
done

finish() {
	stop server
	remove_network
	[[ $keep == yes ]] || rm -rf "$STATE_DIR"
}

# plan prints the plan of config/samples/demo.yaml for this network.
plan() {
	cat <<-JSON
		{"version": "nfsbench.io/plan/v1", "run": {"name": "demo"}, "clients": 1, "seed": 1,
		 "engine": {"client": "DirectNFS", "nfsVersion": "NFSv3", "server": "demo", "export": "/export", "requireNFS": true,
		  "channels": [{"path": "10.249.1.2"}, {"path": "10.249.2.2"}], "ports": {"nfs": 2049, "mount": 2049}},
		 "workload": {"raw": {"pattern": "Read", "fileSize": "256Mi", "jobs": 4, "depth": 4, "directory": "nfsbench"}},
		 "schedule": {"baselineSeconds": 5, "warmupSeconds": 5, "durationSeconds": 30, "repetitions": 1},
		 "collect": {"intervalMilliseconds": 1000, "sources": [{"kind": "embedded", "name": "demo", "url": "http://10.249.1.2:8080"}]},
		 "link": {"bitsPerSecond": "1G"}, "expect": {"minWirePercent": 90}}
	JSON
}

measure() {
	[[ $(id -u) == 0 ]] || die "only root can make the links of the run; or name a RESULT (see --help)"
	say "measuring for 30 s ..."
	make_network
	mkdir "$STATE_DIR/data"
	start server ip netns exec "$NETNS" bin/nfsbench serve --dir "$STATE_DIR/data" --size 2Gi \
		--listen 10.249.1.2:2049 --listen 10.249.2.2:2049 --http 10.249.1.2:8080
	plan >"$STATE_DIR/plan.json"
	wait_for 10 "the server" bash -c ': </dev/tcp/10.249.1.2/2049'
	bin/nfsbench load --plan "$STATE_DIR/plan.json" --output "$1" --progress none >/dev/null
}

# page prints the text report as a page: colours of the terminal become classes.
page() {
	cat <<-'HTML'
		<!doctype html><meta charset="utf-8"><style>
		body { margin: 18px; background: #1d2025; color: #e8e8e8 }
		pre { margin: 0; font: 15px/19px "DejaVu Sans Mono", monospace }
		.c1 { font-weight: bold } .c2 { color: #9a9a9a } .c31 { color: #ff7b72 } .c32 { color: #5fd787 } .c33 { color: #e5c07b } .c36 { color: #5bd3e8 }
		</style><pre>
	HTML
	sed -E 's/\r//g; s/&/\&amp;/g; s/</\&lt;/g; s/\x1b\[0m/<\/span>/g
		s/\x1b\[([0-9]+)m\x1b\[([0-9]+)m/<span class="c\1 c\2">/g; s/\x1b\[([0-9]+)m/<span class="c\1">/g' "$1"
}

# shoot PAGE SIZE PICTURE lets a browser without a screen draw a page.
shoot() {
	"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$STATE_DIR/browser" \
		--window-size="$2" --screenshot="$3" "file://$1" 2>>"$STATE_DIR/browser.log" ||
		die "the browser drew no $3: $(tail -n 1 "$STATE_DIR/browser.log")"
	say "wrote $3"
}

browser=$("$here/browser.sh")
trap finish EXIT
finish
rm -rf "$STATE_DIR"
mkdir -p "$STATE_DIR"
CGO_ENABLED=0 go build -o bin/nfsbench ./cmd/nfsbench
if [[ -z $result ]]; then
	result=$STATE_DIR/result.json
	measure "$result"
fi
# shellcheck disable=SC2016 # the inner shell expands
LC_ALL=C.UTF-8 TERM=xterm-256color script -qec "stty cols $columns && exec bin/nfsbench report '$result'" /dev/null </dev/null >"$STATE_DIR/report.ansi"
page "$STATE_DIR/report.ansi" >"$STATE_DIR/demo.html"
bin/nfsbench report "$result" -o "$STATE_DIR/report.html"
shoot "$STATE_DIR/demo.html" "815,$(($(wc -l <"$STATE_DIR/report.ansi") * line + 36))" "$PWD/docs/images/demo.png"
shoot "$STATE_DIR/report.html" "$report" "$PWD/docs/images/report.png"
