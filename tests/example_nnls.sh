#!/bin/sh
# examples/nnls, as its README describes: built outside the tree against an
# installed library, by make and pkg-config and by CMake; run on threads and on
# three processes. awk checks from model and data that w is a minimiser.
. "$STRADS_SOURCE/tests/example_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# minimises MODEL DATA BOUND: w >= 0; the step of a single column, max(c_j /
# a_j, -w_j) with c = X'(y - X w) and a_j = |x_j|^2, moves the fit by at most
# BOUND |y|; and the model's objective is |y - X w|^2 / 2n.
minimises() {
    awk -v bound="$3" -v told="$(member "$1" objective)" "$fit"'
    END {
        for (j in a) {
            if (w[j] < 0) exit 1
            d = a[j] > 0 ? c[j] / a[j] : 0
            if (d < -w[j]) d = -w[j]
            moves = sqrt(a[j] / yy) * distance(d, 0)
            if (moves > longest) longest = moves
        }
        wrong = distance(told, rr / (2 * n))
        printf "%s: longest step %.2g, objective off by %.2g\n",
            FILENAME, longest, wrong
        exit !(n > 0 && values > 0 && longest <= bound && wrong <= 1e-9 * told)
    }' "$1" "$2" >minimises.out ||
        fail "$1 is no minimiser: $(cat minimises.out)"
}

# Built outside the tree, from a copy, against an installed library
cp -R "$STRADS_SOURCE/examples/nnls" nnls
CFLAGS="-O2 -Werror" make -C nnls CC="$STRADS_CC" >make.log 2>&1 ||
    fail "make: $(cat make.log)"
{
    cmake -S nnls -B cmade -DCMAKE_PREFIX_PATH="$folder/prefix" \
        -DCMAKE_C_COMPILER="$STRADS_CC" && cmake --build cmade
} >cmake.log 2>&1 || fail "cmake: $(cat cmake.log)"

# Threads, policies, rounds in flight: the same minimum
gives 0 run nnls/nnls.so "$year_train" --workers 1 --model one.json
minimises one.json "$year_train" 1.1e-6
says one.json '"program": "nnls"' '"scan-every": 500'
objective=$(member one.json objective)
for words in "--workers 2 --partitions 2" \
    "--workers 2 --partitions 2 --policy uniform --depth 1" \
    "--workers 1 --policy cyclic --depth 4 --blocks 2" \
    "--workers 2 --partitions 5 --depth 2 --scan-every 50 --sweeps 1"; do
    : >other.json
    gives 0 run cmade/nnls.so "$year_train" $words --model other.json
    minimises other.json "$year_train" 1.1e-6
    near "$(member other.json objective)" "$objective" 1e-6 "nnls $words"
done

# Started at the minimum, the first scan converges; a start below 0 is refused
gives 0 run nnls/nnls.so "$year_train" --start one.json --model again.json
same "$(member again.json rounds)" 2 "rounds from the minimum"
sed '/"value"/s/\[[^,]*,/[-3,/' one.json >below.json
gives 0 run nnls/nnls.so "$year_train" --start below.json --model again.json
minimises again.json "$year_train" 1.1e-6

# Three processes: with the same partitions the same bits as in one
common="--deterministic --partitions 3 --tolerance 1e-7"
gives 0 run nnls/nnls.so "$year_train" $common --workers 2 --model one.json
minimises one.json "$year_train" 1.1e-7
grep -E '"(index|value)"' one.json >one.bits
for place in "ipc://$folder/run.sock" "tcp://127.0.0.1:0"; do
    : >three.json
    : >first.err
    start first run nnls/nnls.so "$year_train" $common --workers 1 --nodes 3 \
        --listen "$place" --model three.json
    first=$child
    url=$(url_of first)
    start second join "$url" --program cmade/nnls.so --workers 1
    second=$child
    start third join "$url" --program nnls/nnls.so --workers 1
    third=$child
    ends second "$second" 0
    ends third "$third" 0
    ends first "$first" 0
    minimises three.json "$year_train" 1.1e-7
    grep -E '"(index|value)"' three.json >three.bits || :
    cmp -s one.bits three.bits || fail "$url: three processes and one differ"
done

# A joining node needs the same program
: >first.err
start first run nnls/nnls.so "$year_train" --nodes 2 --workers 1 \
    --listen "ipc://$folder/alone.sock" --model none.json
first=$child
url=$(url_of first)
run join "$url" --workers 1
[ "$code" -eq 2 ] || fail "a join without the program: exit code $code"
says err "nnls"
kill -INT "$first" 2>/dev/null || :
wait "$first" || :
[ ! -e none.json ] || fail "a run that never began left a model"

# Input that the program itself refuses
refuses 2 '--sweeps 0: expected' run nnls/nnls.so "$year_train" --sweeps 0
printf '%s\n' '%%MatrixMarket matrix coordinate real general' \
    '2 2 2' '1 1 1' '2 2 3' >bare.mtx
run run nnls/nnls.so bare.mtx --model none.json
[ "$code" -ne 0 ] || fail "data without labels were accepted"
says err "nnls needs a label for each row: --labels FILE"
[ ! -e none.json ] || fail "data without labels left a model"
printf '%s\n' -1 6 >bare.labels
gives 0 run nnls/nnls.so bare.mtx --labels bare.labels --workers 3 \
    --partitions 3 --model bare.json
says bare.json '"index": [2]' '"value": [2]'
finish
