# shellcheck shell=bash
# What every script needs: messages, help, and how Go compiles. Sourced, never run.

# The same for programs, tests and linters: what is compiled with other settings is
# compiled again.
export CGO_ENABLED=${CGO_ENABLED:-0} GOFLAGS=${GOFLAGS--trimpath}

# Where the images of this source are. Nothing is pulled from localhost: what a cluster
# runs was loaded into it, or it does not start.
REGISTRY=${REGISTRY:-localhost/nfsbench}

say() { printf '%s\n' "$*" >&2; }

die() {
	say "error: $*"
	exit 1
}

# help_of FILE prints the comment block at the head of a script as its help.
help_of() { sed -n '2,/^[^#]/{s/^# \{0,1\}//;t show;d;:show;p}' "$1"; }

# version_in FILE MODULE prints the version of a module that a file of versions requires.
version_in() { awk -v m="$2" '$1 == m && $2 ~ /^v/ {print $2} $1 == "require" && $2 == m {print $3}' "$1" | head -n 1; }

# versions_file VARIABLE FOLDER MODULE prints the file of versions in a folder whose MODULE has the
# minor version that the variable names, such as 1.36. Without a value it is go.mod, the newest.
versions_file() {
	local wanted=${!1:-} file minor minors=()
	for file in "$2"/go.mod "$2"/[0-9]*.mod; do
		minor=$(version_in "$file" "$3" | sed 's/^v\([0-9]*\.[0-9]*\).*/\1/')
		if [[ -z $wanted || $wanted == "$minor" ]]; then
			echo "$file"
			return
		fi
		minors+=("$minor")
	done
	die "$1=$wanted: use one of ${minors[*]}, or leave it out for the newest"
}

# container_engine ENGINE... prints the first that works of docker, podman and kubectl; $ENGINE if it is set.
container_engine() {
	local engine working=(info)
	if [[ -n ${ENGINE:-} ]]; then
		[[ " $* " == *" $ENGINE "* ]] || die "ENGINE is $ENGINE; use one of $*"
		echo "$ENGINE"
		return
	fi
	for engine in "$@"; do
		[[ $engine != kubectl ]] || working=(get --raw /readyz)
		if "$engine" "${working[@]}" >/dev/null 2>&1; then
			echo "$engine"
			return
		fi
	done
	die "none of $* answers: start one, or see --help"
}

# have_ipv6 succeeds where this machine has IPv6.
have_ipv6() { [[ $(cat /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null) == 0 ]]; }
