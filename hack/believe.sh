#!/usr/bin/env bash
# Measure how often our findings are right: make real runs with and without something that
# falsifies a benchmark, and count how many of both the findings report.
#
# usage: hack/believe.sh [OPTION...]
#
#   --list         show the injections and end
#   --only NAME    those whose name has this in it, or aa: runs in which nothing is
#                  injected; may be repeated
#   --trials N     pairs of runs of each strength (default 2), half as many
#                  of those that are made alone
#   --aa N         runs in which nothing is injected (default 300)
#   --lanes N      runs at once (default 6): more use so much of two cores that honest
#                  runs are no longer steady
#   --first-lane N number of the first lane (default 0), of which names and subnets are made:
#                  several rigs may run at once, each with its own --out, if their lanes
#                  fit below 48
#   --seconds N    length of each measured window (default 12); at least 24 for databases, and
#                  33 or 36 where counters of storage are compared
#   --out FOLDER   where runs.jsonl, the results and table.md go (default bin/believe)
#   --judge-again  judge the results that are there again, for checks that have changed
#   --table-of FILE  make the table of such a runs.jsonl again
#   --no-record    leave the records and docs/accuracy.md as they are
#
# It takes more than an hour on two cores and says so at the start; --only, --aa and --trials make
# it shorter. When all injections were made, the tables go into test/lab/records/believe.md, all
# runs into believe.jsonl beside it, and the rates into docs/accuracy.md. Interrupting keeps what
# was measured. Needs root, and installs the
# Debian packages that are missing. What cannot run here is named and left out, and the docs
# stay as they are. The machine should do nothing else.
set -euo pipefail
REPO_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=lib/common.sh
source "$REPO_DIR/hack/lib/common.sh"
# shellcheck source=lab/server.sh
source "$REPO_DIR/hack/lab/server.sh"

options=() record=yes list=no measure=yes
while (($#)); do
	case $1 in
	-h | --help) help_of "$0"; exit 0 ;;
	--list) list=yes ;;
	--no-record) record=no ;;
	--judge-again) options+=("$1") measure=no ;;
	--table-of) options+=("$1" "${2:?$1 needs a value}") measure=no && shift ;;
	--only | --trials | --aa | --lanes | --first-lane | --seconds | --out)
		options+=("$1" "${2:?$1 needs a value}") && shift
		;;
	*) die "unexpected argument $1 (see --help)" ;;
	esac
	shift
done

cd "$REPO_DIR"
mkdir -p bin/believe
go build -C test/lab -trimpath -o "$REPO_DIR/bin/believe/believe" ./believe
if [[ $list == yes ]]; then exec bin/believe/believe --list; fi
if [[ $record == yes ]]; then options+=(--publish .); fi
if [[ $measure == no ]]; then exec bin/believe/believe "${options[@]}"; fi
[[ $EUID == 0 ]] || die "network namespaces need root"

# leave_out PLACE goes on without a place, the reason of which was printed.
leave_out() {
	say "$1 cannot run here (see above): it is left out, and the docs stay as they are"
	options+=(--without "$1")
}

# Before the lanes, which would all install at once.
(need_packages ganesha.nfsd:nfs-ganesha '/usr/lib/*/ganesha/libfsalvfs.so:nfs-ganesha-vfs' rpcbind:rpcbind \
	ip:iproute2 tc:iproute2 ethtool:ethtool iptables:iptables nsenter:util-linux) || leave_out "NFS-Ganesha"
hack/lab/pnfs.sh packages || leave_out "pNFS array"
hack/vm/run.sh prepare || leave_out "a kernel in a virtual machine"
CGO_ENABLED=0 go build -trimpath -o bin/believe/nfsbench ./cmd/nfsbench
CGO_ENABLED=0 go build -trimpath -tags clockjump -o bin/believe/nfsbench-jump ./cmd/nfsbench
# From here on one process answers to signals and cleans up.
exec bin/believe/believe "${options[@]}"
