# shellcheck shell=bash
# The Debian packages that guest and QEMU are made of. Sourced by run.sh
# and node.sh.

PACKAGES=(nfs-kernel-server nfs-common rpcbind busybox-static cpio qemu-system-x86 xfsprogs iproute2)

readonly CANNOT=3 # the exit code

# cannot says why there is no guest on this machine.
cannot() {
	say "no virtual machine here: $*"
	exit $CANNOT
}

# find_packages sets KERNEL_PACKAGE and GUEST_DIR, which is named after all that
# goes into a guest: other versions of it are another guest.
find_packages() {
	[[ $(uname -m) == x86_64 ]] || cannot "the guest is for x86_64, this machine is $(uname -m)"
	command -v apt-get >/dev/null || cannot "the guest is made of Debian packages, and there is no apt-get"
	local versions
	if ! versions=$(versions); then
		if [[ $EUID == 0 ]]; then apt-get update -qq >&2; fi
		versions=$(versions) || cannot "apt knows no kernel linux-image-cloud-amd64, or not all of ${PACKAGES[*]}; run apt-get update"
	fi
	KERNEL_PACKAGE=${versions%%[[:space:]]*}
	local key
	key=$(cat - "$VM_DIR/packages.sh" "$VM_DIR/image.sh" "$VM_DIR/guest/"* <<<"$versions" | sha256sum)
	GUEST_DIR=$CACHE_DIR/vm-${key:0:12}
}

# versions prints the name of the kernel's package, and the version of each.
versions() {
	local kernel package version
	kernel=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" {print $2; exit}')
	[[ -n $kernel ]] || return 1
	for package in "$kernel" "${PACKAGES[@]}"; do
		version=$(apt-cache policy "$package" | awk '$1 == "Candidate:" {print $2}')
		[[ -n $version && $version != "(none)" ]] || return 1
		echo "$package $version"
	done
}

# unpack_packages DIR puts the packages, and what they need and the host has
# not, below DIR. Those that the host has are used where they are.
unpack_packages() {
	local debs=$GUEST_DIR/debs deb
	local options=(-qq -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 -o Dir::Cache::archives="$debs")
	say "getting the packages of a virtual machine ..."
	rm -rf "$debs" "$1"
	mkdir -p "$debs/partial" "$1"
	apt-get install -y --download-only --no-install-recommends "${options[@]}" "${PACKAGES[@]}" >&2 ||
		cannot "the packages cannot be downloaded"
	(cd "$debs" && apt-get download "${options[@]}" "$KERNEL_PACKAGE") >&2 || cannot "$KERNEL_PACKAGE cannot be downloaded"
	for deb in "$debs"/*.deb; do
		dpkg-deb --extract "$deb" "$1"
	done
	rm -rf "$debs"
}
