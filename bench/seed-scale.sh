#!/bin/sh
# The Lasso that outgrows memory: 100,000 rows, 100,000,000 columns and 5 G
# entries, made from a seed as a pack, then trained from the disk: one lambda,
# and a path of six.
#
#   ./dev bench seed-scale [--scale S] [--scratch DIR] [--ratio R] [--keep]
#   ./dev bench seed-scale --topics ...     see seed-scale-topics.sh
#
# --scale S     the share of the columns (1; .01 has 1,000,000 of them)
# --scratch DIR where the pack goes (build/); removed at the end
# --ratio R     lambda, and the last one of the path, as a share of lambda_max
#               (0.1)
# --keep        leave the pack there, and use one that is there
#
# Prints the disk's rate by dd and that of the passes, CPU, peak memory, the
# gaps. Ends with 1 unless the fits are certified, below the bound of memory,
# find the columns that the labels were made of, and the path takes at most two
# passes more than it has lambdas.
set -eu
export LC_ALL=C
[ "${1:-}" != --topics ] || exec sh "${0%.sh}-topics.sh" "$@"
scale=1 scratch=$STRADS_BUILD ratio=0.1 keep=
while [ $# -gt 0 ]; do
    case $1 in
    --scale) scale=$2 && shift 2 ;;
    --scratch) scratch=$2 && shift 2 ;;
    --ratio) ratio=$2 && shift 2 ;;
    --keep) keep=yes && shift ;;
    *)
        echo "seed-scale knows --scale S, --scratch DIR, --ratio R, --keep, not $1" >&2
        exit 2
        ;;
    esac
done
rows=100000
columns=$(awk -v s="$scale" 'BEGIN { printf "%.0f", 1e8 * s }')
pack=$scratch/seed-$columns.pack
work=$(mktemp -d)
cleanup() {
    rm -rf "$work"
    [ -n "$keep" ] || rm -f "$pack"
}
trap cleanup EXIT

# 3 bytes an entry, and 25 GB stay free for others.
need=$(awk -v c="$columns" 'BEGIN { printf "%.0f", c * 50 * 3.1 / 1024 }')
free=$(df -Pk "$scratch" | awk 'NR == 2 { print $4 }')
if [ ! -e "$pack" ] && [ "$scale" = 1 ] &&
    [ "$free" -lt $((need + 25 * 1024 * 1024)) ]; then
    echo "seed-scale: $scratch has $((free / 1024 / 1024)) GB free, and" \
        "$((need / 1024 / 1024 + 25)) are needed: give --scratch DIR or --scale" >&2
    exit 1
fi
if [ ! -e "$pack" ]; then
    echo "making $columns columns with 50 entries each in $pack"
    "$STRADS_BUILD/bench/with_wide" "$rows" "$columns" 50 1 "$pack"
fi

# dd's rate over at most 4 GB of the same file, past the page cache.
disk_rate() {
    dd if="$pack" of=/dev/null iflag=direct bs=4M count=1000 2>&1 |
        sed -n 's/.*, \([0-9.]* [kMG]B\/s\)$/\1/p'
}
before=$(disk_rate) || before=
python3 - "$STRADS_BIN" "$pack" "$ratio" "$work" "$scale" "$before" <<'END'
import csv, json, os, re, resource, subprocess, sys, time
strads, pack, ratio, work, scale, disk = sys.argv[1:]
LAMBDAS = 6
size = os.path.getsize(pack)
bad = []


def check(is_bad, text):
    if is_bad:
        bad.append(text)


def run(verb, *more):
    """Runs a command, prints its figures; returns its passes and its model."""
    command = [strads, "lasso", verb, pack, "--cut", "columns", *more,
               "--model", work + "/m.json"]
    if float(scale) == 1:
        command += ["--memory", "2G"]
    print(f"strads lasso {verb} PACK --cut columns " + " ".join(more), flush=True)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    # GNU time is not everywhere: the peak is that of all children so far.
    child = subprocess.run(command, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - started
    sys.stderr.write(child.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    passes = int(re.search(r"(\d+) passes", child.stderr).group(1))
    peak = used.ru_maxrss / 1048576
    print(f"passes {passes}, {wall:.1f} s of wall time, {cpu:.1f} s of CPU, "
          f"peak {peak:.2f} GB")
    print(f"read {passes * size / 1e9:.1f} GB, {passes * size / wall / 1e9:.2f} "
          f"GB/s over the whole run; dd reads {disk or 'at an unknown rate'}")
    check(child.returncode != 0, f"{verb} did not converge")
    check(peak > 2, f"the peak of {verb} exceeds 2 GB")
    return passes, json.load(open(work + "/m.json"))


def find_origin(model):
    """Prints how many of the columns that made the labels it has."""
    columns, index = model["columns"], model["coefficients"]["index"]
    every = max(columns // 200, 1)
    true = set(range(every // 2 + 1, columns + 1, every))  # from 1 on
    hits = len(true & set(index))
    print(f"{len(index)} nonzeros, {hits} of {len(true)} columns of the origin "
          "among them")
    check(hits < .95 * len(true), "a fit misses columns")


passes, model = run("train", "--lambda-ratio", ratio)
print(f"gap {model['fit']['gap']:.1e}")
check(not model["fit"]["gap"] <= 1e-6, "the gap exceeds 1e-6")
find_origin(model)
passes, model = run("path", "--points", str(LAMBDAS), "--ratio", ratio, "-o",
                    work + "/path.csv")
points = list(csv.DictReader(open(work + "/path.csv")))
print("gaps " + " ".join(f"{float(p['gap']):.1e}" for p in points))
check(len(points) != LAMBDAS, f"the path has {len(points)} points")
check(not all(float(p["gap"]) <= 1e-6 for p in points), "a gap exceeds 1e-6")
check(passes > LAMBDAS + 2, f"the path took {passes} passes for {LAMBDAS} lambdas")
find_origin(model)
for text in bad:
    print("seed-scale: " + text, file=sys.stderr)
sys.exit(1 if bad else 0)
END
