# shellcheck shell=bash
# The lab's NFS server and its private rpcbind. Sourced by ganesha.sh; pnfs.sh uses what
# both need.

source "$(dirname "${BASH_SOURCE[0]}")/../lib/packages.sh"

# load_settings reads the options that up has saved; declare would make them local without -g.
load_settings() {
	# shellcheck source=/dev/null
	source <(sed 's/^declare --/declare -g --/' "$STATE_DIR/settings")
}

start_server() {
	local folders=("${DATA:-$STATE_DIR/data}" "$STATE_DIR/denied" "$STATE_DIR/recovery")
	mkdir -p "${folders[@]}"
	# Clients are anybody: a load pod is user 65532.
	[[ -n $DATA ]] || chmod 1777 "$STATE_DIR/data"
	write_config >"$STATE_DIR/ganesha.conf"
	# rpcbind keeps its socket in /run; a tmpfs of its own keeps it apart from the host's.
	start rpcbind ip netns exec "$NETNS" unshare -m \
		sh -c 'mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/rpcbind /run/ganesha && chmod 1777 /run/rpcbind && exec rpcbind -f -w'
	comes_up rpcbind rpcbind inside test -S /run/rpcbind.sock
	start_ganesha
}

# The server allocates 1 MiB for each large READ. By default, glibc returns that memory to
# the kernel and takes it back page by page, which halves the rate of NFSv4 and makes it
# change from run to run.
start_ganesha() {
	local wrong=()
	if [[ -n ${WRONG_DATA:-} ]]; then wrong=(LD_PRELOAD="$STATE_DIR/wrong-data.so" WRONG_DATA="$STATE_DIR/wrong-data"); fi
	start ganesha nsenter -t "$(pid_of rpcbind)" -m -n \
		env MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=$((32 << 20)) MALLOC_TRIM_THRESHOLD_=$((1 << 30)) "${wrong[@]}" \
		ganesha.nfsd -F -f "$STATE_DIR/ganesha.conf" -L "$STATE_DIR/log/ganesha.nfsd.log" -p "$STATE_DIR/ganesha.pid"
}

# crash_server ends the NFS server as a power cut does; its rpcbind stays.
crash_server() {
	local pid
	pid=$(pid_of ganesha) || die "$NAME does not run"
	kill -KILL "$pid"
	while pid_of ganesha >/dev/null; do sleep 0.02; done
}

# revive_server starts it again and waits until it answers.
revive_server() {
	load_settings
	pid_of rpcbind >/dev/null || die "$NAME does not run"
	if pid_of ganesha >/dev/null; then die "$NAME has not crashed"; fi
	start_ganesha
	comes_up ganesha "NFS server $NAME" answers "$(address "${SUBNETS%%,*}" 2)"
}

# inside COMMAND... runs a command where the server lives.
inside() { nsenter -t "$(pid_of rpcbind)" -m -n "$@"; }

# answers LIF succeeds when NFS, MOUNT and rpcbind accept connections there.
answers() {
	local lif=$1 port
	for port in 111 2049 20048; do
		timeout 10 bash -c "exec 3<>/dev/tcp/$lif/$port" 2>/dev/null || return 1
	done
}

# state_config prints how long the server keeps the state of NFSv4 clients, and whether
# they may reclaim it after a restart. During a grace period nobody else may open a file.
state_config() {
	if [[ -z $GRACE ]]; then
		echo "Graceless = true;"
	else
		echo "Lease_Lifetime = $GRACE; Grace_Period = $GRACE;"
	fi
}

# common_config FOLDER [SETTING...] prints what all NFS servers of the lab share. FOLDER keeps
# the clients that may reclaim their state; the SETTINGs are for the block of NFSv4.
common_config() {
	local folder=$1
	shift
	cat <<-CONF
		NFS_CORE_PARAM {
			NFS_Port = 2049;
			MNT_Port = 20048;
			Enable_NLM = false;
			Enable_RQUOTA = false;
			# MOUNT takes the names that clients see, not those of this machine.
			mount_path_pseudo = true;
		}
		NFSv4 {
			Minor_Versions = 0, 1, 2;
			RecoveryBackend = fs;
			RecoveryRoot = "$folder";
			$(state_config)
			$*
		}
		EXPORT_DEFAULTS {
			Protocols = 3, 4;
			Transports = TCP, UDP;
			SecType = sys;
			Squash = No_Root_Squash;
		}
		LOG { Default_Log_Level = WARN; }
	CONF
}

write_config() {
	common_config "$STATE_DIR/recovery"
	cat <<-CONF
		EXPORT {
			Export_Id = 1;
			Path = "${DATA:-$STATE_DIR/data}";
			Pseudo = /export/data;
			Access_Type = RW;
			MaxRead = 1048576;
			MaxWrite = 1048576;
			PrefRead = 1048576;
			PrefWrite = 1048576;
			FSAL { Name = VFS; }
		}
		EXPORT {
			Export_Id = 2;
			Path = "$STATE_DIR/denied";
			Pseudo = /export/denied;
			Access_Type = NONE;
			# Nobody has this address: it is reserved for documents.
			CLIENT { Clients = 198.51.100.1; Access_Type = RW; }
			FSAL { Name = VFS; }
		}
	CONF
}
