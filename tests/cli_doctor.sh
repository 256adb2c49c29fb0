#!/bin/sh
# strads doctor: its table in all formats, and faults with their advice.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

gives 0 doctor
for check in build kernels cores memory files clock tcp ipc "host name" nng disk \
    GSL BLAS ssh; do
    grep -q "^\(ok\|note\)  *$check  *[^ ]" out || fail "no line of $check"
done
[ -z "$(find "$folder" -name 'strads-doctor*')" ] || fail "files are left"
gives 0 doctor --format csv
[ "$(head -1 out)" = "check,verdict,found,advice" ] || fail "the csv header"
[ "$(wc -l <out)" -eq 15 ] || fail "csv has $(wc -l <out) lines"
gives 0 doctor --format json --output found.json
[ "$(grep -c '"verdict": "' found.json)" -eq 14 ] || fail "json lines"

# What this process has: cores, limits, kernels
taskset -c 0 "$STRADS_BIN" doctor >out 2>err || fail "on one core"
grep -q '^[a-z]* *cores  *1 of ' out || fail "cores: $(grep cores out)"
(ulimit -n 100 && exec "$STRADS_BIN" doctor) >out 2>err || fail "100 files"
says out '100 open files' 'ulimit -n 1024'
STRADS_KERNELS=portable "$STRADS_BIN" doctor >out 2>err || fail "portable"
says out 'portable, by STRADS_KERNELS'

# A library that cannot be loaded
if grep -q 'nng  *libnng.so.1, version [12]' out; then
    mkdir bad
    echo "no library" >bad/libnng.so.1
    LD_LIBRARY_PATH=$folder/bad "$STRADS_BIN" doctor >out 2>err || fail "without nng"
    says out 'nng cannot be loaded' 'dialling ws:// and wss:// and --publish need it'
fi

# A fault: exit code 1, with what to do
code=0
STRADS_KERNELS=best "$STRADS_BIN" doctor >out 2>err || code=$?
[ "$code" -eq 1 ] || fail "a wrong set of kernels: exit $code"
says out 'fault' "STRADS_KERNELS is 'best'"
says err '1 of 14 checks found a fault'
code=0
TMPDIR=$folder/none "$STRADS_BIN" doctor >out 2>err || code=$?
[ "$code" -eq 1 ] || fail "no temporary folder: exit $code"
says out 'set TMPDIR to a folder that can be written'
says err '2 of 14 checks found a fault'
refuses 2 'one argument too many' doctor more
finish
