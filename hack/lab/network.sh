# shellcheck shell=bash
# The lab's network: a namespace and one veth pair per LIF. Sourced by ganesha.sh
# and pnfs.sh.

# address SUBNET N prints the N-th address of a /24.
address() {
	[[ $1 =~ ^([0-9]+\.[0-9]+\.[0-9]+)\.0/24$ ]] || die "subnet $1: use the form 10.241.1.0/24"
	echo "${BASH_REMATCH[1]}.$2"
}

# address6 SUBNET N prints the N-th address of the /64 that goes with a /24: of 10.241.1.0/24 it
# is fd00:10:241:1::/64.
address6() {
	local v4
	v4=$(address "$1" 0)
	v4=${v4%.0}
	echo "fd00:${v4//./:}::$2"
}

# host_link I prints the name of the host's end of LIF I.
host_link() { echo "nb-$NAME-$1"; }

make_network() {
	local subnet i=0 rates
	IFS=, read -ra rates <<<"$RATES"
	ip netns add "$NETNS"
	ip -n "$NETNS" link set lo up
	for subnet in ${SUBNETS//,/ }; do
		i=$((i + 1))
		make_lif "$i" "$subnet"
		# One rate counts for all links.
		shape_lif "$i" "${rates[i - 1]:-${rates[0]:-}}"
	done
}

make_lif() {
	local i=$1 subnet=$2 link host server
	link=$(host_link "$i") host=$(address "$subnet" 1) server=$(address "$subnet" 2)
	# With two links to one subnet, packets would take the one that was first.
	if [[ -n $(ip -o addr show to "$subnet") ]]; then die "subnet $subnet is in use on this machine"; fi
	ip link add "$link" type veth peer name "lif$i" netns "$NETNS"
	ip addr add "$host/24" dev "$link"
	ip link set "$link" up
	ip -n "$NETNS" addr add "$server/24" dev "lif$i"
	ip -n "$NETNS" link set "lif$i" up
	# Whatever comes in by a LIF is answered by the same, as arrays do it.
	ip -n "$NETNS" route add default via "$host" dev "lif$i" metric "$i"
	ip -n "$NETNS" route add default via "$host" dev "lif$i" table "$((100 + i))"
	ip -n "$NETNS" rule add from "$server" table "$((100 + i))"
	mute "$(address "$subnet" 251)" "$link"
	if have_ipv6; then make_lif6 "$i" "$subnet" "$link"; fi
}

make_lif6() {
	local i=$1 subnet=$2 link=$3 host server
	host=$(address6 "$subnet" 1) server=$(address6 "$subnet" 2)
	# Nobody else is there: without nodad an address is of no use for its first second.
	ip addr add "$host/64" dev "$link" nodad
	ip -n "$NETNS" addr add "$server/64" dev "lif$i" nodad
	ip -n "$NETNS" -6 route add default via "$host" dev "lif$i" metric "$i"
	ip -n "$NETNS" -6 route add default via "$host" dev "lif$i" table "$((100 + i))"
	ip -n "$NETNS" -6 rule add from "$server" table "$((100 + i))"
}

shape_lif() {
	local i=$1 rate=$2 link
	link=$(host_link "$i")
	if [[ $OFFLOAD == off && $rate != off ]]; then
		ethtool -K "$link" tso off gso off gro off >/dev/null
		ip netns exec "$NETNS" ethtool -K "lif$i" tso off gso off gro off >/dev/null
	fi
	[[ -n $rate ]] || return 0
	if [[ $rate == off ]]; then
		tc qdisc del dev "$link" root 2>/dev/null || true
		tc -n "$NETNS" qdisc del dev "lif$i" root 2>/dev/null || true
		return
	fi
	tc qdisc replace dev "$link" root tbf rate "$rate" burst 64kb latency 20ms
	tc -n "$NETNS" qdisc replace dev "lif$i" root tbf rate "$rate" burst 64kb latency 20ms
}

# mute ADDRESS LINK lets packets to an address vanish: they go to a station
# that does not exist, so that neither an answer nor an error ever comes.
mute() { ip neigh replace "$1" lladdr 02:00:00:00:00:fb dev "$2" nud permanent; }

cut_lif() {
	[[ -n $LIF ]] || die "which LIF? (see --help)"
	load_settings
	mute "$(address "$(nth_subnet)" 2)" "$(host_link "$LIF")"
	if have_ipv6; then mute "$(address6 "$(nth_subnet)" 2)" "$(host_link "$LIF")"; fi
}

heal_lif() {
	[[ -n $LIF ]] || die "which LIF? (see --help)"
	load_settings
	ip neigh del "$(address "$(nth_subnet)" 2)" dev "$(host_link "$LIF")" 2>/dev/null || true
	ip neigh del "$(address6 "$(nth_subnet)" 2)" dev "$(host_link "$LIF")" 2>/dev/null || true
}

# nth_subnet prints the subnet of LIF $LIF.
nth_subnet() {
	local subnets
	IFS=, read -ra subnets <<<"$SUBNETS"
	((LIF <= ${#subnets[@]})) || die "there is no LIF $LIF"
	echo "${subnets[LIF - 1]}"
}

remove_network() {
	remove_links
	if [[ -e /run/netns/$NETNS ]]; then ip netns del "$NETNS"; fi
}

remove_links() {
	local link
	for link in $(ip -o link show type veth | sed -n "s/^[0-9]*: \($(host_link '[0-9]*')\)@.*/\1/p"); do
		ip link del "$link"
	done
}
