#!/usr/bin/env bash
# Build the images that stand for Oracle's in tests, without Docker. They hold no
# line of Oracle's: see test/lab/oracle.
#
#   oracle-standin          as container-registry.oracle.com/database/free: with a
#                           setuid oradism, a Direct NFS library to place, and make
#   oracle-standin-tools    nfsbench and the Oracle loader with the stand-in's
#                           driver: the image of a manager that tests this
#
# usage: hack/oracle/standin.sh [-o FOLDER]
#
# Prints the archives, one a line; hack/cluster/load.sh takes them.
#
#   -o FOLDER       where to write NAME.tar (default bin/image)
#   REGISTRY        default localhost/nfsbench: images are called REGISTRY/NAME:TAG
#   TAG             default dev
#   GOARCH          default that of this machine
#   BUILD_JOBS      packages compiled at once (default 2)
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
# shellcheck source=../lib/common.sh
source hack/lib/common.sh

out=bin/image
case ${1:-} in
-h | --help)
	help_of hack/oracle/standin.sh
	exit 0
	;;
-o) out=${2:?-o needs a folder} ;;
esac

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOARCH='' CGO_ENABLED=0 go build -C hack -trimpath -o "$work/pack" ./image/pack

build() { # NAME PACKAGE [FLAG...]
	CGO_ENABLED=0 go build -C "$2" -p "${BUILD_JOBS:-2}" -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "$work/$1" "${@:3}" .
}

# image NAME FLAGS... packs one image and prints its archive.
image() {
	local name=$1
	shift
	"$work/pack" -name "$REGISTRY/$name:${TAG:-dev}" -arch "${GOARCH:-$(go env GOARCH)}" -license LICENSE "$@" -o "$out/$name.tar"
	say "built $REGISTRY/$name:${TAG:-dev}"
	echo "$out/$name.tar"
}

say "building the stand-in for Oracle ..."
build standin ./test/lab/oracle/server
base=/opt/oracle
home=$base/product/26ai/dbhomeFree
oracle=uid=54321,gid=54321
echo 'root:x:0:0:root:/:/
oracle:x:54321:54321:oracle:/opt/oracle:/' >"$work/passwd"
echo 'root:x:0:
oinstall:x:54321:
dba:x:54322:oracle' >"$work/group"
echo 'The stand-in for libnfsodm.so: a file to place, with nothing in it.' >"$work/libnfsodm.so"
echo 'The stand-in for oradism: what counts is that it is setuid root.' >"$work/oradism"
echo '# dnfs_on and dnfs_off are in the stand-in itself, which is also make.' >"$work/ins_rdbms.mk"
# As the extension k8s of Oracle's Enterprise images leaves it: no interpreter in the first line.
printf '. %s\n' $base/runOracle.sh.k8s $base/runOracle.sh.orig >"$work/runOracle.sh"

common=(
	-user 54321:54321 -workdir $base
	-file "$work/passwd=/etc/passwd" -file "$work/group=/etc/group"
	-file "=$base/,mode=0755,$oracle" -file "=$base/oradata/,mode=0750,$oracle"
	-file "$work/standin=/usr/libexec/standin,mode=0755"
	-link "/usr/libexec/standin=$home/bin/oracle"
	-env "ORACLE_BASE=$base" -env "ORACLE_HOME=$home" -env ORACLE_SID=FREE
)
image oracle-standin "${common[@]}" \
	-file "$work/runOracle.sh=$base/runOracle.sh,mode=0755,$oracle" \
	-link /usr/libexec/standin=$base/runOracle.sh.k8s \
	-link /usr/libexec/standin=$base/runOracle.sh.orig \
	-link /usr/libexec/standin=/bin/bash \
	-link /proc/self/mounts=/etc/mtab \
	-link /usr/libexec/standin=$base/checkDBStatus.sh \
	-link /usr/libexec/standin=/usr/bin/make \
	-file "$work/libnfsodm.so=$home/lib/libnfsodm.so,mode=0644,$oracle" \
	-file "$work/ins_rdbms.mk=$home/rdbms/lib/ins_rdbms.mk,mode=0644,$oracle" \
	-file "=$home/rdbms/lib/odm/,mode=0755,$oracle" \
	-file "=$home/dbs/,mode=0755,$oracle" \
	-file "$work/oradism=$home/bin/oradism,mode=4750,gid=54321" \
	-env "PATH=$home/bin:/usr/bin:/bin" -env RUN_FILE=runOracle.sh -env CHECK_DB_FILE=checkDBStatus.sh -env ORACLE_EDITION=free \
	-entrypoint /bin/bash -entrypoint -c -entrypoint 'exec "$0"' -entrypoint $base/runOracle.sh

say "building nfsbench and the loader of test builds ..."
build nfsbench ./cmd/nfsbench -tags=clockskew
build oraload ./test/lab/oracle/oraload
image oracle-standin-tools -binary "$work/nfsbench" -file "$work/oraload=/oraload,mode=0755"
