# shellcheck shell=bash
# Debian packages that are installed where something is missing. Sourced, never run. Needs common.sh.

# need_packages COMMAND:PACKAGE... installs the packages whose commands, or whose files,
# are missing.
need_packages() {
	local pair missing=()
	for pair in "$@"; do
		have "${pair%%:*}" || missing+=("${pair##*:}")
	done
	if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
}

# have PATTERN succeeds when there is such a command or such a file.
have() { if [[ $1 == /* ]]; then compgen -G "$1" >/dev/null; else command -v "$1" >/dev/null; fi; }

# install_packages PACKAGE... installs packages, and starts none of their daemons. It waits five minutes for another
# apt, such as the unattended upgrades of a new machine.
install_packages() {
	local tries=0 said
	can_install || die "missing: $*; install them first, or do this as root on a machine with apt-get"
	say "installing $* ..."
	# apt waits for the lock of dpkg, but not for the lock of its lists. Otherwise the lists that are there may do.
	until said=$(LC_ALL=C apt-get update -qq 2>&1); do
		say "$said"
		[[ $said == *"Could not get lock"* ]] && ((++tries < 30)) || break
		sleep 10
	done
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends \
		"$@" >&2
}

can_install() { [[ $EUID == 0 ]] && command -v apt-get >/dev/null; }
