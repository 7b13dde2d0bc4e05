#!/usr/bin/env bash
# A small virtual machine with the NFS server and client of a Linux kernel, for
# machines whose own kernel has neither. Needs no KVM, no root and no network.
#
# usage: hack/vm/run.sh prepare                   get what is missing, build the guest
#        hack/vm/run.sh boot --job DIR --out FILE [OPTION...]
#                                                 run DIR/run in a fresh guest
#
#   --job DIR        becomes /job in the guest; /job/run is started
#   --out FILE       gets what the job left in /out, as a tar archive
#   --console FILE   gets what the guest said (default: standard error)
#   --timeout S      the guest ends by itself after so long (default 300)
#
# The job finds knfsd's tools, mount.nfs, busybox, 2 CPUs, 2 GiB of memory, an
# empty ext4 file system of 1 GiB on /dev/vda, only the loopback network, and
# the functions of /lib/nfsd.sh. It ends with the exit code of the job, or
#   3   this machine cannot have such a guest, and why
#   4   the guest did not come to its end
# Debian packages (kernel, QEMU, nfs-kernel-server...) are unpacked into the
# cache, not installed: the host gets no NFS server.
set -euo pipefail
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench
PATH=$PATH:/usr/sbin:/sbin
for part in "$VM_DIR/../lib/common.sh" "$VM_DIR/packages.sh" "$VM_DIR/image.sh" "$VM_DIR/qemu.sh"; do
	# shellcheck source=/dev/null
	source "$part"
done

readonly DIED=4

parse() {
	JOB='' OUT='' CONSOLE='' TIMEOUT=300
	while (($#)); do
		case $1 in
		--job) JOB=${2:?--job needs a value} ;;
		--out) OUT=${2:?--out needs a value} ;;
		--console) CONSOLE=${2:?--console needs a value} ;;
		--timeout) TIMEOUT=${2:?--timeout needs a value} ;;
		*) die "unexpected argument $1 (see --help)" ;;
		esac
		shift 2
	done
	[[ -x $JOB/run ]] || die "--job: $JOB/run is not a program"
	[[ -n $OUT ]] || die "--out is missing (see --help)"
}

WORK='' QEMU_PID=''
cleanup() {
	local code=$?
	if [[ -n $QEMU_PID ]]; then
		kill "$QEMU_PID" 2>/dev/null || true
		wait "$QEMU_PID" || true
	fi
	if [[ -n $WORK ]]; then rm -rf "$WORK"; fi
	exit $code
}

boot() {
	WORK=$(mktemp -d)
	trap cleanup EXIT
	trap 'exit 143' TERM INT HUP
	pack_job "$JOB" "$WORK/job.cpio"
	cat "$GUEST_DIR/base.cpio.gz" "$WORK/job.cpio" >"$WORK/initrd"
	truncate -s 1G "$WORK/data"
	mkfs.ext4 -q "$WORK/data"
	truncate -s 256M "$WORK/out"
	start_qemu
	wait "$QEMU_PID" || say "QEMU ended with $?"
	QEMU_PID=''
	if [[ -z $CONSOLE ]]; then cat "$WORK/console" >&2; fi
	# No archive at all is a disk of zeros, which tar takes for an empty one.
	cp --sparse=always "$WORK/out" "$OUT"
	local status
	status=$(tar -xOf "$OUT" ./status 2>/dev/null) || status=$DIED
	exit "${status:-$DIED}"
}

# start_qemu gives the guest a little longer than it gives itself.
start_qemu() {
	qemu_command
	timeout --kill-after=5 $((TIMEOUT + 60)) "${QEMU[@]}" -m 2048 \
		-serial "file:${CONSOLE:-$WORK/console}" -initrd "$WORK/initrd" \
		-append "$KERNEL_ARGUMENTS nfsbench.timeout=$TIMEOUT" \
		-drive "file=$WORK/data,format=raw,if=virtio,cache=unsafe" \
		-drive "file=$WORK/out,format=raw,if=virtio,cache=unsafe" \
		>&2 </dev/null &
	QEMU_PID=$!
}

command=${1:---help}
case $command in
-h | --help) help_of "$0" ;;
prepare) prepare_guest ;;
boot)
	shift
	parse "$@"
	prepare_guest
	boot
	;;
*) die "unexpected argument $command (see --help)" ;;
esac
