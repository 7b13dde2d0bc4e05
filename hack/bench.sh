#!/usr/bin/env bash
# Measure nfsbench beside the programs of others: on links of known speed and over
# the loopback, against NFS-Ganesha in a network namespace of its own and against
# the pNFS array of the lab, and on a folder of this machine.
#
# usage: hack/bench.sh [OPTION...]
#
#   --list           show the rows and end
#   --rows LIST      measure these only, by name or its beginning (read, 1gbe, random-j1-d16);
#                    quick: few, which use every program and place; others: all but capacity
#   --peers LIST     beside these only: fio, libnfs, nfs-cat, iperf3, "bare socket"
#   --repeats N      measurements of each contender (default 5), in turns
#   --seconds N      length of each measured window (default 5)
#   --nfsbench FILE  measure this build instead of that of the working tree
#   --other FILE     measure this other build beside it, for before and after
#   --out FOLDER     where results.json and results.md go (default bin/bench)
#   --directory DIR  folder with O_DIRECT for the Kernel engine and fio (default /var/tmp)
#   --name NAME      of the lab, --subnet A.B of its links: several may run at once
#   --short          capacity rows: search once, and sweep only near the capacity
#   --no-record      leave the records and docs/performance.md as they are, as --nfsbench, --other and --short do
#
#   FIO=FILE         a fio that has the nfs engine
#
# All rows take about an hour and a half; the capacity rows alone (--rows capacity) about
# 30 minutes, and with --short about 10. When all were measured without --rows and
# --peers, all capacity rows, or all others, their tables go into test/lab/records/performance.md,
# all repeats into performance.json and performance-capacity.json beside it, and tables
# of one screen into docs/performance.md. Interrupting keeps what was measured. Needs root, and installs the Debian packages that are
# missing.
set -euo pipefail
REPO_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
for part in lib/common.sh lab/server.sh bench/packages.sh bench/fio.sh; do
	# shellcheck source=/dev/null
	source "$REPO_DIR/hack/$part"
done

options=() ours='' record=yes list=no
while (($#)); do
	case $1 in
	-h | --help) help_of "$0"; exit 0 ;;
	--list) list=yes ;;
	--no-record) record=no ;;
	--short) options+=(--short) record=no ;;
	--nfsbench) ours=$(realpath "${2:?$1 needs a value}") record=no && shift ;;
	--other) options+=("$1" "$(realpath "${2:?$1 needs a value}")") record=no && shift ;;
	--out | --directory) options+=("$1" "$(realpath -m "${2:?$1 needs a value}")") && shift ;;
	--rows | --peers | --repeats | --seconds | --name | --subnet) options+=("$1" "${2:?$1 needs a value}") && shift ;;
	*) die "unexpected argument $1 (see --help)" ;;
	esac
	shift
done

cd "$REPO_DIR"
mkdir -p bin/bench
go build -C test/lab -trimpath -o "$REPO_DIR/bin/bench/bench" ./bench
if [[ $list == yes ]]; then exec bin/bench/bench --list "${options[@]}"; fi
[[ $EUID == 0 ]] || die "network namespaces need root"

bench_packages
note="$ours"
if [[ -z $ours ]]; then
	CGO_ENABLED=0 go build -trimpath -o bin/bench/nfsbench ./cmd/nfsbench
	ours=$REPO_DIR/bin/bench/nfsbench
	note=$(git describe --always --dirty 2>/dev/null || true)
fi
peers_build bin/bench
fio_with_nfs >/dev/null || fio_build || say "no fio with an nfs engine: its columns stay empty"
if fio=$(fio_with_nfs); then
	options+=(--fio "$fio" --fio-note "with its nfs engine on Debian's libnfs")
else
	options+=(--fio-note "none with the nfs engine: Debian compiles it without, and its source was not to be had")
fi
if [[ $record == yes ]]; then options+=(--publish test/lab/records/performance.md --summary docs/performance.md); fi
# From here on one process answers to signals and cleans up.
exec bin/bench/bench --repo "$REPO_DIR" --nfsbench "$ours" --nfsbench-note "$note" --reader bin/bench/libnfs-reader \
	--socket bin/bench/bare-socket "${options[@]}"
