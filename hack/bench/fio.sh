# shellcheck shell=bash
# fio with its nfs engine. Sourced by bench.sh.
#
# Debian compiles fio without that engine ("fio --enghelp=nfs" knows no such
# engine), but has fio's source: with libnfs' headers on the machine its own
# configure turns the engine on. Built once, into the cache.

FIO_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench/fio-nfs

# fio_with_nfs prints the path of such a fio: $FIO, that of the PATH, or ours.
fio_with_nfs() {
	local candidate
	for candidate in "${FIO:-}" "$(command -v fio || true)" "$FIO_CACHE/fio"; do
		if [[ -x $candidate ]] && "$candidate" --enghelp=nfs 2>/dev/null | grep -q nfs_url; then
			echo "$candidate"
			return
		fi
	done
	return 1
}

# fio_build makes one of Debian's source package. It fails, and says why, where
# that source is not to be had.
fio_build() (
	set -e
	build=$(mktemp -d)
	trap 'rm -rf "$build"' EXIT
	cd "$build"
	say "building fio with its nfs engine from Debian's source (once, some minutes) ..."
	fio_source >log 2>&1 || { tail -n 5 log >&2; exit 1; }
	mkdir source
	tar xf fio_*.orig.tar.* -C source --strip-components 1
	cd source
	# What is turned off is not needed and would only ask for more libraries.
	./configure --disable-native --disable-rados --disable-rbd --disable-http --disable-gfapi --disable-pmem >../log 2>&1
	nice make -j "$(nproc)" fio >../log 2>&1 || { tail -n 20 ../log >&2; exit 1; }
	mkdir -p "$FIO_CACHE"
	mv fio "$FIO_CACHE/fio.$$"
	mv "$FIO_CACHE/fio.$$" "$FIO_CACHE/fio"
)

# fio_source fetches fio's source package into the current folder: with lists of
# sources of our own, because most machines have none, and without a change to
# those of the machine.
fio_source() {
	local options key=/usr/share/keyrings/debian-archive-keyring.gpg signed=''
	if [[ -e $key ]]; then signed="[signed-by=$key] "; fi
	mkdir -p apt/parts apt/lists
	apt-cache policy fio |
		awk -v signed="$signed" '/^ +[0-9]+ [a-z]+:\/\// {split($3, part, "/"); print "deb-src " signed $2, part[1], part[2]; exit}' >apt/sources.list
	options=(-q -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o "Dir::Etc::sourceparts=$PWD/apt/parts" -o "Dir::State::lists=$PWD/apt/lists" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update
	apt-get "${options[@]}" source --download-only fio
}
