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

# have_ipv6 succeeds where this machine has IPv6.
have_ipv6() { [[ $(cat /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null) == 0 ]]; }
