# shellcheck shell=bash
# What the benchmark takes from the distribution. Sourced by bench.sh.

# bench_packages installs what is missing: iperf3, the programs and headers of libnfs for the peers,
# and a C compiler for our own peers.
bench_packages() {
	need_packages iperf3:iperf3 nfs-cat:libnfs-utils gcc:gcc pkg-config:pkg-config make:make ip:iproute2 \
		/usr/include/nfsc/libnfs.h:libnfs-dev /usr/include/zlib.h:zlib1g-dev /usr/include/libaio.h:libaio-dev \
		/usr/include/stdio.h:libc6-dev
}

# peers_build FOLDER compiles what is in test/lab/bench/peer.
peers_build() {
	local flags options=(-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra)
	read -ra flags <<<"$(pkg-config --cflags --libs libnfs)"
	gcc "${options[@]}" -o "$1/libnfs-reader" "$REPO_DIR/test/lab/bench/peer/reader.c" "${flags[@]}"
	gcc "${options[@]}" -pthread -o "$1/bare-socket" "$REPO_DIR/test/lab/bench/peer/socket.c" "${flags[@]}"
}
