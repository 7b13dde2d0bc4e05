#!/usr/bin/env bash
# Run the conformance suite of databases against a real one. It is the suite that
# the stand-in of the tests passes, with the same texts and the same loader.
#
# usage: ORACLE_DSN=oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB hack/oracle/test.sh
#
# Needs a C compiler and Oracle's client libraries (Instant Client is enough) on
# LD_LIBRARY_PATH or below $ORACLE_HOME/lib. It makes schemas NFSBENCH..., loads
# some megabytes, reads them, and drops all again. It sets no parameter and takes
# no AWR snapshot, so it needs no Diagnostics Pack. Publishing figures of an
# Oracle database may need Oracle's consent: read your licence.
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
[[ -n ${ORACLE_DSN:-} ]] || die "set ORACLE_DSN=oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB (see --help)"
if [[ -n ${ORACLE_HOME:-} ]]; then
	export LD_LIBRARY_PATH=$ORACLE_HOME/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
CGO_ENABLED=1 go test -tags oracledb -count=1 -timeout 3h -v -run TestAgainstADatabase ./cmd/oraload
