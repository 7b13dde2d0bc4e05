#!/usr/bin/env bash
# Run the conformance suite of databases against a real one, and write a report that
# can be sent to the makers of nfsbench. It is the suite that the stand-in of the tests
# passes, with the same texts and the same loader.
#
# usage: IMAGE=container-registry.oracle.com/database/free:latest hack/oracle/test.sh
#        ORACLE_DSN=oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB hack/oracle/test.sh
#
# With IMAGE it starts a container of that image with docker or podman, or a pod in the
# cluster of kubectl, waits until its database is ready, runs the suite inside, and
# removes the container. The suite uses the image's own client. It needs python3 with
# venv and pip, and PyPI once for a compiler (90 MB). The database lies in the container:
# leave 10 GB of room.
#
# With ORACLE_DSN it needs a C compiler and Oracle's client libraries (Instant Client is
# enough) on LD_LIBRARY_PATH or below $ORACLE_HOME/lib.
#
# It makes schemas NFSBENCH..., loads some megabytes, reads them, and drops them again. It
# sets no parameter and takes no AWR snapshot, so it needs no Diagnostics Pack. It empties the
# buffer cache while it reads at random: use no database that others work with.
# Publishing figures of an Oracle database may need Oracle's consent: read your licence.
# The report has none, and no address, name or password of yours.
#
#   REPORT          the report (default _output/oracle-report.md)
#   ENGINE          docker, podman or kubectl (default the first that works)
#   SID, PDB        of the image (default by its name: FREE, XE, else ORCLCDB)
#   READY_MINUTES   until the database must be ready (default 60)
#   WORDS           further words of the DSN, such as calibrate=true&seconds=30
#   SUITE           a program to run in place of building the suite
#
# Further words of ORACLE_DSN, behind the ?:
#   directNFS=true    the datafiles are on Direct NFS, and the views must say so
#   calibrate=true    call CALIBRATE_IO as well: ten minutes and more
#   tablespace=NAME   for the schemas (default NFSBENCH, made if it is not there)
#   seconds=N         of each load (default 10)
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
# shellcheck source=../lib/common.sh
source hack/lib/common.sh

case ${1:-} in
-h | --help)
	help_of hack/oracle/test.sh
	exit 0
	;;
esac
report=$(realpath -m "${REPORT:-_output/oracle-report.md}")
mkdir -p "${report%/*}"
rm -f "$report"
ORACLE_PROGRAM=$(git describe --always --dirty 2>/dev/null || echo unknown)

# told ends the script as the suite did, and says where the report is.
told() {
	if [[ -s $report ]]; then say "the report is in $report: read it, and send it"; fi
	exit "$1"
}

if [[ -z ${IMAGE:-} ]]; then
	[[ -n ${ORACLE_DSN:-} ]] || die "set IMAGE=... or ORACLE_DSN=oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB (see --help)"
	if [[ -n ${ORACLE_HOME:-} ]]; then
		export LD_LIBRARY_PATH=$ORACLE_HOME/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	fi
	export ORACLE_REPORT=$report ORACLE_PROGRAM
	code=0
	CGO_ENABLED=1 go test -C test/lab -tags oracledb -count=1 -timeout 3h -v -run TestAgainstADatabase ./oraclesuite || code=$?
	told "$code"
fi

engine=$(container_engine docker podman kubectl)

case ${IMAGE##*/} in
*free*) sid=FREE ;;
*express* | *-xe*) sid=XE ;;
*) sid=ORCLCDB ;;
esac
sid=${SID:-$sid}
pdb=${PDB:-${sid%CDB}PDB1}
password=N_$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
name=nfsbench-test-oracle-$$

if [[ -n ${SUITE:-} ]]; then
	suite=$SUITE
else
	suite=bin/oracle.test
	say "building the suite ..."
	CC=$(hack/oracle/zig.sh) CGO_ENABLED=1 CGO_CFLAGS='-O2 -g0' go test -C test/lab -c -tags oracledb,netgo,osusergo -trimpath -ldflags='-s -w' -o "$(realpath -m "$suite")" ./oraclesuite
fi

# inside COMMAND... runs a program in the container, with our standard input.
inside() {
	if [[ $engine == kubectl ]]; then
		kubectl exec -i "$name" -- "$@"
	else
		"$engine" exec -i "$name" "$@"
	fi
}

# last prints the end of what the image printed.
last() { "$engine" logs --tail 20 "$name" 2>&1 || true; }

remove() {
	if [[ $engine == kubectl ]]; then
		kubectl delete pod "$name" --ignore-not-found --wait=false >/dev/null 2>&1 || true
	else
		"$engine" rm -f -v "$name" >/dev/null 2>&1 || true
	fi
}
trap remove EXIT
trap 'exit 130' INT TERM

# The password goes by the environment and by standard input: arguments can be seen by all.
say "starting $IMAGE with $engine ..."
if [[ $engine == kubectl ]]; then
	kubectl create -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: {name: $name}
spec:
  hostname: nfsbench-database
  restartPolicy: Never
  automountServiceAccountToken: false
  containers:
  - name: database
    image: $IMAGE
    env: [{name: ORACLE_PWD, value: $password}]
    resources: {requests: {memory: 4Gi}}
END
else
	export "ORACLE_PWD=$password"
	"$engine" run -d --name "$name" --hostname nfsbench-database --ulimit nofile=1024:65536 --shm-size 1g -e ORACLE_PWD "$IMAGE" >/dev/null
	unset ORACLE_PWD
fi

running() {
	if [[ $engine == kubectl ]]; then
		[[ $(kubectl get pod "$name" -o 'jsonpath={.status.phase}') =~ ^(Pending|Running)$ ]]
	else
		[[ $("$engine" inspect -f '{{.State.Running}}' "$name") == true ]]
	fi
}

say "waiting for its database; an image without one creates it first ..."
until inside sh -c '"$ORACLE_BASE"/checkDBStatus.sh' >/dev/null 2>&1 </dev/null; do
	running || die "the container ended: $(last)"
	((SECONDS < ${READY_MINUTES:-60} * 60)) || die "the database was not ready within ${READY_MINUTES:-60} minutes: $(last)"
	sleep "${POLL_SECONDS:-10}"
done

say "running the suite ..."
inside sh -c 'cat >/tmp/oracle.test && chmod 755 /tmp/oracle.test' <"$suite"
code=0
inside sh -c 'read -r ORACLE_DSN && read -r ORACLE_PROGRAM && read -r ORACLE_IMAGE &&
export ORACLE_DSN ORACLE_PROGRAM ORACLE_IMAGE ORACLE_REPORT=/tmp/oracle-report.md LD_LIBRARY_PATH="$ORACLE_HOME/lib" &&
cd /tmp && exec ./oracle.test -test.v -test.timeout 3h -test.run TestAgainstADatabase' <<END || code=$?
oracle://sys:$password@localhost:1521/$sid?pdb=$pdb${WORDS:+&$WORDS}
$ORACLE_PROGRAM
$IMAGE
END
inside cat /tmp/oracle-report.md >"$report" </dev/null || say "the suite wrote no report"
told "$code"
