#!/bin/sh
# strads lasso, glm and logistic path and cv by columns: the tables of the
# programs by rows, from memory and from packs, on several workers and two
# processes; checkpoints, stops, the line in the terminal.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

cp "$year_train" year.svm
cp "$party" party.svm
for name in year party; do
    gives 0 data pack $name.svm --output $name.pack
done
awk '{ print NR % 4 / 2 }' year.svm >weights
common="--points 12 --ratio 0.05 --tolerance 1e-8"

# same_tables WHAT BOUND A B: the numbers of two tables agree: lambda, nonzeros
# and objective of a path; lambda, nonzeros and error of a cross-validation.
same_tables() {
    python3 - "$2" "$3" "$4" <<'END' || fail "$1: other tables"
import csv, sys
bound = float(sys.argv[1])
a, b = (list(csv.DictReader(open(name))) for name in sys.argv[2:])
assert len(a) == len(b) > 1, (len(a), len(b))
assert a[0].keys() == b[0].keys()
for p, q in zip(a, b):
    for key in ("lambda", "objective", "error", "accuracy"):
        if key in p and p["nonzeros"] != "0":
            x, y = float(p[key]), float(q[key])
            assert abs(x - y) <= bound * abs(x) + (key == "accuracy") * .01, (key, p, q)
    assert abs(int(p["nonzeros"]) - int(q["nonzeros"])) <= 3, (p, q)
    assert float(q.get("gap", 0)) <= 1e-6, q
END
}

for program in "lasso year" "lasso year --weights weights --l1-ratio 0.5" \
    "glm year --loss huber --no-intercept" \
    "logistic party" "glm party --loss squared-hinge"; do
    set -- $program
    command=$1 data=$2
    shift 2
    gives 0 $command path $data.svm "$@" $common --cut rows --output rows.csv
    gives 0 $command path $data.pack "$@" $common --cut columns \
        --output columns.csv --model m.json
    says err "solved by columns: " "12 points from lambda"
    same_tables "$program path" 1e-7 rows.csv columns.csv
    gives 0 $command cv $data.svm "$@" $common --folds 4 --cut rows \
        --output rows.csv
    gives 0 $command cv $data.pack "$@" $common --folds 4 --cut columns \
        --output columns.csv --model cv.json
    says err "best: lambda" "within one standard error: lambda"
    same_tables "$program cv" 1e-3 rows.csv columns.csv
done
# A model of a path is its last point; one of a choice is among the points.
gives 0 lasso path year.pack $common --cut columns --model m.json \
    --output columns.csv --coefficients all.csv --svg path.svg
near "$(member m.json objective)" "$(tail -n 1 columns.csv | cut -d, -f3)" \
    1e-12 "the model and the last point"
gives 0 lasso predict m.json year.pack
gives 0 lasso cv year.pack $common --folds 3 --cut columns --choose best \
    --model cv.json --output cv.csv --svg cv.svg
best=$(sed -n 's/best.*//p' cv.csv | cut -d, -f1)
grep -q "^$best," columns.csv || fail "the choice is no point of the path"
gives 0 lasso cv year.pack --cut columns --points 4 --folds 3 \
    --l1-ratios 0.5,1 --output both.csv
same "$(wc -l <both.csv | tr -d ' ')" 9 "lines of two mixtures"
awk '{ print NR % 5 + 1 }' year.svm >folds
for cut in rows columns; do
    gives 0 lasso cv year.pack $common --cut $cut --fold-file folds \
        --output $cut.csv
done
same_tables "folds of a file" 1e-3 rows.csv columns.csv

# The bits on any number of workers, and on two processes.
for verb in path "cv --folds 3"; do
    for workers in 1 2 4; do
        gives 0 lasso $verb year.pack $common --cut columns \
            --workers $workers --partitions $workers --model bits$workers.json \
            --output bits$workers.csv
    done
    same_bits "$verb" bits1.json bits2.json bits4.json
    gives 0 lasso $verb year.pack $common --cut columns --partitions 2 \
        --pools 2 --model pools.json --output pools.csv
    on_two 0 lasso $verb year.pack $common --cut columns --partitions 2 \
        --pools 2 --model two.json --output two.csv
    same_bits "$verb on two processes" pools.json two.json
    same_tables "$verb on two processes" 1e-7 bits1.csv two.csv
done
cmp -s two.csv pools.csv || fail "two processes have other errors"
refuses 2 "is for one process" lasso cv year.pack --nodes 2 \
    --listen tcp://127.0.0.1:0

# By itself where the entries do not fit the memory, and then within it.
if [ -z "${STRADS_SANITIZE:-}" ]; then # which have memory of their own
    "$STRADS_BUILD/bench/with_wide" 2000 150000 50 3 wide.pack >out ||
        fail "no wide pack"
    for verb in path "cv --folds 3"; do
        gives 0 lasso $verb wide.pack --points 5 --ratio 0.3 --memory 70M \
            --output small.csv
        says err "lasso-path-columns on wide.pack"
        gives 0 lasso $verb wide.pack --points 5 --ratio 0.3 --memory 2G \
            --output large.csv
        says err "strads: lasso-path on wide.pack"
        same_tables "the wide pack, $verb" 1e-3 large.csv small.csv
    done
    # Passes show bytes in a terminal, and not in a pipe.
    "$STRADS_BUILD/bench/with_wide" 2000 400000 50 3 wide.pack >out ||
        fail "no wide pack"
    line="lasso path wide.pack --points 40 --ratio 0.4 --cut columns --workers 1"
    gives 0 $line
    ! grep -q "pass:" err || fail "a pass in a pipe"
    python3 - "$STRADS_BIN" $line --output t.csv <<'END' || fail "no pass in a terminal"
import os, pty, re, sys
seen = b""
def keep(fd):
    global seen
    data = os.read(fd, 65536)
    seen += data
    return data
assert pty.spawn(sys.argv[1:], keep) == 0, seen
assert re.search(rb"point \d+ of 40  .*pass: .* of .*B/s, .* left", seen), seen
END
fi

# Stops; a checkpoint continues.
hard="--points 2000 --ratio 0.001 --tolerance 1e-9 --cut columns"
interrupts away INT lasso path year.pack $hard
start cut lasso path year.pack $hard --checkpoint points \
    --checkpoint-every 0.05 --model cut.json --log cut.jsonl
until_there '"event": "round"' cut.jsonl 3
sleep 0.2
kill -TERM "$child"
ends cut "$child" 130
short="--points 12 --ratio 0.05 --tolerance 1e-8 --cut columns --max-rounds 20"
gives 3 lasso cv year.pack $short --folds 3 --checkpoint folds.d \
    --checkpoint-every 0.001
says err "and has no errors"
gives 0 lasso cv year.pack $common --cut columns --folds 3 --resume folds.d \
    --output resumed.csv
gives 0 lasso cv year.pack $common --cut columns --folds 3 --output straight.csv
same_tables "a resumed cross-validation" 1e-4 straight.csv resumed.csv

gives 0 simulate lasso-path-columns year.svm --points 3 --cost 2ns
cp out by-name
gives 0 simulate lasso-path year.svm --cut columns --points 3 --cost 2ns
cmp -s out by-name || fail "--cut columns simulated another program"
finish
