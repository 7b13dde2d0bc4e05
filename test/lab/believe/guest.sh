#!/bin/sh
# What a guest does: starts the server, and for each folder /job/N mounts the export and runs
# plan.json with a collector beside it. inject.sh has the functions before and beside, which are
# the injection.
# shellcheck source=../../../hack/vm/guest/nfsd.sh
. /lib/nfsd.sh
export PATH="/job:$PATH"

give_up() {
	echo "guest: cannot $*"
	exit 1
}

# await SECONDS COMMAND... repeats a command until it succeeds.
await() {
	tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# network MILLISECONDS ARGUMENT... delays each packet by so much more than usual, and gives the
# network something else that netem does. The usual delay makes the network the limit of a load: an
# emulated CPU is not steady. The tc of busybox does not know netem.
network() {
	delay=$(($1 + 4))
	shift
	modprobe sch_netem && /sbin/tc qdisc replace dev lo root netem limit 100000 delay "${delay}ms" "$@"
}

# measuring is true when the load has begun its window.
# shellcheck disable=SC2317 # await calls it
measuring() { grep -q '"span":"Measure"' "$dir/events.jsonl"; }

# one N makes the run of /job/N. What beside has started ends with it.
one() {
	job=/job/$1
	dir=/tmp/run$1
	out=/out/$1
	OPTIONS=vers=4.1
	before() { :; }
	beside() { :; }
	# shellcheck source=/dev/null
	. "$job/inject.sh"
	mkdir -p "$dir" "$out" /mnt/nfs
	network 0 || give_up "delay packets"
	before || give_up "inject"
	if [ -n "$OPTIONS" ]; then nfsd_mount /mnt/nfs "$OPTIONS" || give_up "mount with $OPTIONS"; fi
	nfsbench collect --plan "$job/plan.json" --run-dir "$dir" --output-dir "$out" 2>"$out/collector" &
	collector=$!
	await 60 test -e "$dir/collector-ready" || give_up "start the collector"
	nfsbench load --plan "$job/plan.json" --run-dir "$dir" --progress json >"$out/stdout" 2>"$out/stderr" &
	load=$!
	touch "$dir/inject"
	if await 120 measuring; then beside & fi
	wait $load
	rm "$dir/inject"
	await 60 test -e "$dir/collector-final" || give_up "publish the result"
	kill $collector
	/sbin/tc qdisc del dev lo root 2>/dev/null
	umount /mnt/nfs
	rm -rf /export/data/believe /export/data/local
}

# injecting is true as long as the load runs.
injecting() { [ -e "$dir/inject" ]; }

# In all runs packets have the size of those of Ethernet: without it, netem seems to cost more.
ip link set lo mtu 1500 || give_up "set the MTU"
nfsd_start || give_up "start the server"
for run in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	if [ -e /job/$run ]; then one $run; fi
done
exit 0
