# shellcheck shell=sh
# The kernel's NFS server and client in the guest. Sourced by jobs.
# Every function returns something other than 0 when it did not do it.

# nfsd_start exports /export/data, an ext4 file system on a disk, to everybody.
nfsd_start() {
	for module in nfsd nfsv3 nfsv4; do modprobe "$module" || return; done
	mount -t ext4 /dev/vda /export/data || return
	mount -t nfsd nfsd /proc/fs/nfsd || return
	echo '/export/data *(rw,sync,no_subtree_check,no_root_squash)' >/etc/exports
	mkdir -p /run/rpcbind
	touch /var/lib/nfs/etab /var/lib/nfs/rmtab
	rpcbind -w && exportfs -a && nfsd_threads 8 && rpc.mountd --port 20048
}

# nfsd_threads N sets the number of threads; 0 stops the server. A server that
# starts has a new write verifier. Nobody has state to reclaim, so version 4
# need not wait for the end of its grace period.
nfsd_threads() {
	rpc.nfsd "$1" || return
	[ "$1" = 0 ] || echo Y >/proc/fs/nfsd/v4_end_grace
}

# nfsd_mount POINT OPTIONS [SOURCE] mounts the export with the kernel's client. There is
# no rpc.statd here, so version 3 has no locks.
nfsd_mount() {
	mkdir -p "$1" && mount.nfs "${3:-127.0.0.1:/export/data}" "$1" -o "$2"
}
