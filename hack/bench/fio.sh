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
		if [[ -x $candidate ]] && fio_has_engines "$candidate"; then
			echo "$candidate"
			return
		fi
	done
	return 1
}

# fio_has_engines FIO succeeds where all engines are there that the rows use.
fio_has_engines() {
	"$1" --enghelp=nfs 2>/dev/null | grep -q nfs_url && "$1" --enghelp=libaio >/dev/null 2>&1 && "$1" --enghelp=io_uring >/dev/null 2>&1
}

# fio_build makes one of Debian's source package. It fails, and says why, where
# that source is not to be had.
fio_build() {
	local build built=no
	build=$(mktemp -d)
	say "building fio with its nfs engine from Debian's source (once, some minutes) ..."
	if (cd "$build" && fio_source && fio_compile) >"$build/log" 2>&1; then built=yes; else tail -n 10 "$build/log" >&2; fi
	rm -rf "$build"
	[[ $built == yes ]]
}

# fio_compile builds the source package in the current folder. What is turned off
# is not needed and would only ask for more libraries. Called where set -e is
# off, so each step asks for the one before.
fio_compile() {
	mkdir source &&
		find . -maxdepth 1 -name 'fio_*.orig.tar.*' ! -name '*.asc' -exec tar xf {} -C source --strip-components 1 ';' &&
		cd source &&
		./configure --disable-native --disable-rados --disable-rbd --disable-http --disable-gfapi --disable-pmem &&
		nice make -j "$(nproc)" fio &&
		fio_has_engines ./fio &&
		mkdir -p "$FIO_CACHE" &&
		cp fio "$FIO_CACHE/fio.$$" &&
		mv "$FIO_CACHE/fio.$$" "$FIO_CACHE/fio"
}

# fio_source fetches fio's source package into the current folder: with lists of
# sources of our own, because most machines have none, and without a change to
# those of the machine.
fio_source() {
	local options key=/usr/share/keyrings/debian-archive-keyring.gpg signed=''
	if [[ -e $key ]]; then signed="[signed-by=$key] "; fi
	mkdir -p apt/parts apt/lists || return 1
	apt-cache policy fio |
		awk -v signed="$signed" '/^ +[0-9]+ [a-z]+:\/\// {split($3, part, "/"); print "deb-src " signed $2, part[1], part[2]; exit}' >apt/sources.list
	options=(-q -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o "Dir::Etc::sourceparts=$PWD/apt/parts" -o "Dir::State::lists=$PWD/apt/lists" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update &&
		apt-get "${options[@]}" source --download-only fio
}
