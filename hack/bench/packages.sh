# shellcheck shell=bash
# What the benchmark takes from the distribution. Sourced by bench.sh.

# bench_packages installs what is missing, and only that: iperf3 as the wire's own
# word, libnfs' programs and headers for the peers, a C compiler for ours of them.
bench_packages() {
	local pair missing=()
	for pair in iperf3:iperf3 nfs-cat:libnfs-utils gcc:gcc pkg-config:pkg-config make:make ip:iproute2; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
	done
	[[ -e /usr/include/nfsc/libnfs.h ]] || missing+=(libnfs-dev)
	[[ -e /usr/include/zlib.h ]] || missing+=(zlib1g-dev)
	[[ -e /usr/include/libaio.h ]] || missing+=(libaio-dev)
	[[ -e /usr/include/stdio.h ]] || missing+=(libc6-dev)
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || die "missing: ${missing[*]}; install them first"
	say "installing ${missing[*]} ..."
	apt-get update -qq >&2
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends "${missing[@]}" >&2
}

# peers_build FOLDER compiles what is in test/bench/peer.
peers_build() {
	local flags options=(-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra)
	read -ra flags <<<"$(pkg-config --cflags --libs libnfs)"
	gcc "${options[@]}" -o "$1/libnfs-reader" "$REPO_DIR/test/bench/peer/reader.c" "${flags[@]}"
	gcc "${options[@]}" -pthread -o "$1/bare-socket" "$REPO_DIR/test/bench/peer/socket.c" "${flags[@]}"
}
