#!/usr/bin/env bash
# An NFS "array" outside of the cluster: NFS-Ganesha in a network namespace of
# its own, with one link (a "LIF") per subnet.
#
# usage: hack/lab/ganesha.sh up [OPTION...]     start, or find running; print its addresses
#        hack/lab/ganesha.sh down [--name NAME] remove everything of it
#        hack/lab/ganesha.sh status [--name NAME]
#        hack/lab/ganesha.sh cut LIF | heal LIF [--name NAME]
#                                               make LIF 1, 2, ... fall silent and speak again
#        hack/lab/ganesha.sh crash | revive [--name NAME]
#                                               kill the server without warning; start it again
#
#   --name NAME      up to 8 letters and digits (default lab); several may run at once
#   --subnet LIST    subnets with a /24 mask, one LIF each
#                    (default 10.241.1.0/24,10.241.2.0/24 for lab; required for other names)
#   --rate LIST      shape the links, for example 984mbit or 200mbit,100mbit,off
#   --no-offload     let no packet be larger than the MTU, as on a real wire, but where the rate is off
#   --data FOLDER    serve this folder as /export/data (default: one that down removes)
#   --grace SECONDS  lease and grace period of NFSv4; default: a lease of 60 s and no grace
#                    period, in which case no state can be reclaimed after a restart
#   --wrong-data     let it be wrong about its data on request: see wrong-data.c; needs gcc
#   --json           print JSON instead of shell variables
#
# In each subnet: .1 the host, .2 the server, .250 nobody (an error by ARP in
# about 3 s), .251 an address that drops everything (a real timeout). Where the
# machine has IPv6, a LIF of 10.241.1.0/24 is fd00:10:241:1::2 too.
# Exports: /export/data for everybody; /export/denied, whose MOUNT is refused.
# NFSv3 and v4.0-4.2, 1 MiB transfers, port 2049; MOUNT on 20048; rpcbind on 111.
# Pods reach the LIFs through the host. Needs root and the Debian packages
# nfs-ganesha nfs-ganesha-vfs rpcbind ethtool.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for part in "$here/../lib/common.sh" "$here/../lib/process.sh" "$here/network.sh" "$here/server.sh"; do
	# shellcheck source=/dev/null
	source "$part"
done

parse() {
	NAME=lab SUBNETS='' RATES='' OFFLOAD=on DATA='' GRACE='' WRONG_DATA='' FORMAT=shell LIF=''
	while (($#)); do
		case $1 in
		--name) NAME=${2:?--name needs a value} && shift ;;
		--subnet) SUBNETS=${2:?--subnet needs a value} && shift ;;
		--rate) RATES=${2:?--rate needs a value} && shift ;;
		--data) DATA=$(realpath "${2:?--data needs a value}") && shift ;;
		--grace) GRACE=${2:?--grace needs a value} && shift ;;
		--no-offload) OFFLOAD=off ;;
		--wrong-data) WRONG_DATA=yes ;;
		--json) FORMAT=json ;;
		[1-9]) LIF=$1 ;;
		*) die "unexpected argument $1 (see --help)" ;;
		esac
		shift
	done
	[[ $NAME =~ ^[a-z0-9]{1,8}$ ]] || die "--name $NAME: use up to 8 lower-case letters and digits"
	[[ $GRACE =~ ^([1-9][0-9]{0,2})?$ ]] || die "--grace $GRACE: use a number of seconds"
	if [[ -z $SUBNETS && $NAME == lab ]]; then SUBNETS=10.241.1.0/24,10.241.2.0/24; fi
	STATE_DIR=${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/lab/$NAME
	NETNS=nfsbench-$NAME
}

up() {
	if [[ -e $STATE_DIR/settings ]] && pid_of ganesha >/dev/null; then
		say "$NAME already runs, with the options that it was started with"
	else
		[[ -n $SUBNETS ]] || die "--name $NAME needs --subnet"
		down
		need_packages ganesha.nfsd:nfs-ganesha '/usr/lib/*/ganesha/libfsalvfs.so:nfs-ganesha-vfs' rpcbind:rpcbind \
			ip:iproute2 tc:iproute2 ethtool:ethtool
		mkdir -p "$STATE_DIR"
		if [[ -n $WRONG_DATA ]]; then make_wrong_data; fi
		save_settings
		make_network
		start_server
		comes_up ganesha "NFS server $NAME" answers "$(address "${SUBNETS%%,*}" 2)"
	fi
	describe
}

down() {
	[[ -d $STATE_DIR ]] || return 0
	stop ganesha
	stop rpcbind
	remove_network
	rm -rf --one-file-system "$STATE_DIR"
}

status() {
	local part healthy=0
	[[ -e $STATE_DIR/settings ]] || die "$NAME does not run"
	load_settings
	for part in ganesha rpcbind; do
		printf '%-10s %s\n' "$part" "$(pid_of "$part" || echo "not running")"
	done
	if answers "$(address "${SUBNETS%%,*}" 2)"; then echo "answers    yes"; else echo "answers    no" && healthy=1; fi
	describe
	return "$healthy"
}

# make_wrong_data makes the library of --wrong-data, and the file by which tests talk to it.
make_wrong_data() {
	need_packages gcc:gcc /usr/include/stdio.h:libc6-dev
	gcc -shared -fPIC -O2 -Wall -Wextra -o "$STATE_DIR/wrong-data.so" "$here/wrong-data.c"
	truncate -s 4096 "$STATE_DIR/wrong-data"
}

# save_settings keeps what later commands must know. down needs none of it.
save_settings() { declare -p SUBNETS RATES OFFLOAD DATA GRACE WRONG_DATA >"$STATE_DIR/settings"; }

# describe prints where the server is.
describe() {
	local subnet lifs=() lifs6=() hosts=()
	load_settings
	for subnet in ${SUBNETS//,/ }; do
		lifs+=("$(address "$subnet" 2)")
		if have_ipv6; then lifs6+=("$(address6 "$subnet" 2)"); fi
		hosts+=("$(address "$subnet" 1)")
	done
	local silent unreachable
	silent=$(address "${SUBNETS%%,*}" 251)
	unreachable=$(address "${SUBNETS%%,*}" 250)
	if [[ $FORMAT == json ]]; then
		printf '{"name":"%s","netns":"%s","lifs":[%s],"lifs6":[%s],"hosts":[%s],"export":"/export/data","denied":"/export/denied","unreachable":"%s","silent":"%s","data":"%s","wrongData":"%s"}\n' \
			"$NAME" "$NETNS" "$(quoted "${lifs[@]}")" "$(quoted "${lifs6[@]}")" "$(quoted "${hosts[@]}")" "$unreachable" "$silent" "${DATA:-$STATE_DIR/data}" "$STATE_DIR/wrong-data"
		return
	fi
	printf 'LAB_%s=%q\n' NAME "$NAME" NETNS "$NETNS" LIFS "${lifs[*]}" LIFS6 "${lifs6[*]}" HOSTS "${hosts[*]}" EXPORT /export/data \
		DENIED /export/denied UNREACHABLE "$unreachable" SILENT "$silent" DATA "${DATA:-$STATE_DIR/data}"
}

quoted() {
	local list
	(($#)) || return 0
	list=$(printf '"%s",' "$@")
	echo "${list%,}"
}

command=${1:---help}
case $command in
-h | --help) help_of "$0"; exit 0 ;;
up | down | status | cut | heal | crash | revive) ;;
*) die "unexpected argument $command (see --help)" ;;
esac
shift
parse "$@"
[[ $EUID == 0 ]] || die "network namespaces need root"
case $command in
cut | heal) "${command}_lif" ;;
crash | revive) "${command}_server" ;;
*) "$command" ;;
esac
