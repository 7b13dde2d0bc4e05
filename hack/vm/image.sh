# shellcheck shell=bash
# The guest's kernel and its root file system, an initramfs. Sourced by run.sh
# and node.sh.

MODULES=(virtio_pci virtio_blk virtio_net nfsd nfsv3 nfsv4 loop xfs overlay bridge veth sch_netem)
PROGRAMS=(exportfs rpc.nfsd rpc.mountd mount.nfs rpcbind mkfs.xfs tc)

# prepare_guest finds the guest in the cache, or builds it.
prepare_guest() {
	find_packages
	mkdir -p "$GUEST_DIR"
	exec 8>"$GUEST_DIR/lock"
	flock 8
	if [[ ! -e $GUEST_DIR/complete ]]; then build_guest; fi
	exec 8>&-
}

# build_guest makes $GUEST_DIR/{vmlinuz,base.cpio.gz} and leaves QEMU in root/.
build_guest() {
	local unpacked=$GUEST_DIR/root tree=$GUEST_DIR/tree release
	unpack_packages "$unpacked"
	release=${KERNEL_PACKAGE#linux-image-}
	rm -rf "$tree"
	mkdir -p "$tree"/{bin,sbin,lib,lib64,dev,proc,sys,run,tmp,etc,out,mnt,export/data,var/lib/nfs/v4recovery}
	ln -s ../run "$tree/var/run"
	cp "$(program busybox)" "$tree/bin/busybox"
	"$tree/bin/busybox" --list | while read -r applet; do ln -s busybox "$tree/bin/$applet" 2>/dev/null || true; done
	add_modules "$release"
	add_programs
	add_settings
	cp "$VM_DIR/guest/init" "$tree/init"
	cp "$VM_DIR/guest/nfsd.sh" "$tree/lib/nfsd.sh"
	chmod 755 "$tree/init"
	archive "$tree" | gzip -1 >"$GUEST_DIR/base.cpio.gz"
	# The kernel takes a second archive only at a multiple of four.
	truncate -s %4 "$GUEST_DIR/base.cpio.gz"
	cp "$unpacked/boot/vmlinuz-$release" "$GUEST_DIR/vmlinuz"
	rm -rf "$tree" "${unpacked:?}"/{lib/modules,boot,usr/share/doc}
	touch "$GUEST_DIR/complete"
}

# program NAME prints where a program is: unpacked, or of the host.
program() {
	local dir
	for dir in "$GUEST_DIR"/root/{usr/sbin,sbin,usr/bin,bin} /usr/sbin /sbin /usr/bin /bin; do
		if [[ -x $dir/$1 ]]; then
			echo "$dir/$1"
			return
		fi
	done
	die "no program $1 in the packages ${PACKAGES[*]}"
}

# add_modules copies the modules and what they depend on.
add_modules() {
	local from=$GUEST_DIR/root to=$GUEST_DIR/tree module file
	"$(program busybox)" depmod -b "$from" "$1"
	mkdir -p "$to/lib/modules/$1"
	for module in "${MODULES[@]}"; do
		# A line of modules.dep is "FILE: FILE..."; no line: it is in the kernel.
		sed -n "s|^\([^:]*/${module//_/[_-]}\.ko[^:]*\):|\1|p" "$from/lib/modules/$1/modules.dep" | tr ' ' '\n' | while read -r file; do
			[[ -n $file ]] || continue
			mkdir -p "$to/lib/modules/$1/$(dirname "$file")"
			cp "$from/lib/modules/$1/$file" "$to/lib/modules/$1/$file"
		done
	done
	"$(program busybox)" depmod -b "$to" "$1"
}

# add_programs copies the programs and the libraries that they are linked with.
add_programs() {
	local to=$GUEST_DIR/tree name
	for name in "${PROGRAMS[@]}"; do add_program "$(program "$name")" "$to" sbin; done
	cp -L /lib64/ld-linux-x86-64.so.2 "$to/lib64/"
}

# add_program FILE TREE FOLDER copies one program, and its libraries to /lib.
add_program() {
	local from=$GUEST_DIR/root to=$2 missing library linked
	local libraries=$from/usr/lib/x86_64-linux-gnu:$from/lib/x86_64-linux-gnu
	# A symbolic link would be written through, for example the one of busybox.
	rm -f "$to/$3/${1##*/}"
	cp -L "$1" "$to/$3/"
	linked=$(LD_LIBRARY_PATH=$libraries ldd "$1" 2>/dev/null) || return 0 # static
	missing=$(awk '/not found/ {print $1}' <<<"$linked")
	[[ -z $missing ]] || die "$1 needs $missing"
	grep -o '/[^ ]*' <<<"$linked" | while read -r library; do cp -nL "$library" "$to/lib/"; done
}

# add_settings writes the few files of /etc that RPC cannot do without.
add_settings() {
	local etc=$GUEST_DIR/tree/etc
	printf 'root:x:0:0::/:/bin/sh\n_rpc:x:100:65534::/run/rpcbind:/bin/false\nnobody:x:65534:65534::/:/bin/false\n' >"$etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$etc/group"
	printf '127.0.0.1 localhost guest\n' >"$etc/hosts"
	printf 'passwd: files\ngroup: files\nhosts: files\nprotocols: files\nservices: files\n' >"$etc/nsswitch.conf"
	printf 'tcp 6 TCP\nudp 17 UDP\n' >"$etc/protocols"
	printf 'sunrpc 111/tcp portmapper\nsunrpc 111/udp portmapper\nnfs 2049/tcp\n' >"$etc/services"
	cat >"$etc/netconfig" <<-'CONF'
		udp   tpi_clts     v inet     udp - -
		tcp   tpi_cots_ord v inet     tcp - -
		udp6  tpi_clts     v inet6    udp - -
		tcp6  tpi_cots_ord v inet6    tcp - -
		local tpi_cots_ord - loopback -   - -
	CONF
}

# pack_job DIR FILE makes the part of the initramfs that holds a job.
pack_job() {
	local top
	top=$(mktemp -d)
	chmod 755 "$top" # it becomes the guest's /
	mkdir "$top/job"
	cp -rL "$1/." "$top/job/"
	archive "$top" >"$2"
	rm -rf "$top"
}

# archive DIR writes a cpio archive whose files belong to root.
archive() {
	(cd "$1" && find . -print0 | "$(program cpio)" --quiet --null --create --format=newc --owner=0:0)
}
