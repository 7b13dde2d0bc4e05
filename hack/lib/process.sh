# shellcheck shell=bash
# Background processes: start, look, stop, by recorded pid. Sourced, never run.
# Pids are in $STATE_DIR/run, what the processes say in $STATE_DIR/log.

# A pid alone may have been taken over by a stranger; with its start time it cannot.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# start NAME COMMAND... runs a process in a session of its own.
start() {
	local name=$1
	shift
	mkdir -p "$STATE_DIR/run" "$STATE_DIR/log"
	rm -f "$STATE_DIR/run/$name.pid"
	setsid bash -c 'exec 9>&-; echo $$ >"$0"; exec "$@"' "$STATE_DIR/run/$name.pid" "$@" \
		>>"$STATE_DIR/log/$name.log" 2>&1 </dev/null &
	while ! [[ -s $STATE_DIR/run/$name.pid ]]; do sleep 0.01; done
	echo "$(cat "$STATE_DIR/run/$name.pid") $(start_time "$(cat "$STATE_DIR/run/$name.pid")")" >"$STATE_DIR/run/$name.pid"
}

# pid_of NAME prints the pid of a process that start began, if it still runs.
pid_of() {
	local pid began
	read -r pid began 2>/dev/null <"$STATE_DIR/run/$1.pid" || return 1
	[[ -n $began && $(start_time "$pid") == "$began" ]] || return 1
	echo "$pid"
}

# ask NAME... tells processes to end and does not wait for them.
ask() {
	local name pid
	for name in "$@"; do
		if pid=$(pid_of "$name"); then kill -TERM "$pid" 2>/dev/null || true; fi
	done
}

# stop NAME [SECONDS] asks a process to end, insists after SECONDS (default 10),
# and returns when it is gone.
stop() {
	local pid patience=$((${2:-10} * 20))
	if pid=$(pid_of "$1"); then
		kill -TERM "$pid" 2>/dev/null || true
		while pid_of "$1" >/dev/null; do
			((patience-- > 0)) || kill -KILL "$pid" 2>/dev/null || true
			sleep 0.05
		done
	fi
	rm -f "$STATE_DIR/run/$1.pid"
}

# wait_for SECONDS WHAT COMMAND... repeats the command until it succeeds.
wait_for() {
	local deadline=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < deadline)) || die "$what is not ready; logs are in $STATE_DIR/log"
		sleep 0.2
	done
}

# comes_up NAME WHAT COMMAND... repeats the command until it succeeds or process NAME has ended. Its
# limit is there for what hangs: a machine may be ten times slower than another.
comes_up() {
	local name=$1 what=$2 deadline=$((SECONDS + 900))
	shift 2
	until "$@" >/dev/null 2>&1; do
		pid_of "$name" >/dev/null || die "$what is not ready: process $name has ended; logs are in $STATE_DIR/log"
		((SECONDS < deadline)) || die "$what is not ready; logs are in $STATE_DIR/log"
		sleep 0.2
	done
}
