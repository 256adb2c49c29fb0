#!/bin/sh
# The Lasso that outgrows memory: 100,000 rows, 100,000,000 columns and 5 G
# entries, made from a seed as a pack, then trained from the disk.
#
#   ./dev bench seed-scale [--scale S] [--scratch DIR] [--ratio R] [--keep]
#
# --scale S     the share of the columns (1; .01 has 1,000,000 of them)
# --scratch DIR where the pack goes (build/); removed at the end
# --ratio R     lambda as a share of lambda_max (0.1)
# --keep        leave the pack there, and use one that is there
#
# Prints the disk's rate by dd and that of the passes, CPU, peak memory, the
# gap. Ends with 1 unless the fit is certified, below the bound of memory, and
# finds the columns that the labels were made of.
set -eu
export LC_ALL=C
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
import json, os, re, resource, subprocess, sys, time
strads, pack, ratio, work, scale, disk = sys.argv[1:]
size = os.path.getsize(pack)
command = [strads, "lasso", "train", pack, "--cut", "columns", "--lambda-ratio",
           ratio, "--model", work + "/m.json", "--log", work + "/l.jsonl"]
if float(scale) == 1:
    command += ["--memory", "2G"]
print("strads lasso train PACK " + " ".join(command[4:8]), flush=True)
started = time.monotonic()
run = subprocess.run(command, stderr=subprocess.PIPE, text=True)
wall = time.monotonic() - started
sys.stderr.write(run.stderr)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
passes = int(re.search(r"(\d+) passes", run.stderr).group(1))
found = json.load(open(work + "/m.json"))
fit, index = found["fit"], found["coefficients"]["index"]
columns = found["columns"]
every = max(columns // 200, 1)
true = set(range(every // 2 + 1, columns + 1, every))  # from 1 on
hits = len(true & set(index))
peak = used.ru_maxrss / 1048576
print(f"passes {passes}, {wall:.1f} s of wall time, "
      f"{used.ru_utime + used.ru_stime:.1f} s of CPU, peak {peak:.2f} GB")
print(f"read {passes * size / 1e9:.1f} GB, {passes * size / wall / 1e9:.2f} GB/s "
      f"over the whole run; dd reads {disk or 'at an unknown rate'}")
print(f"gap {fit['gap']:.1e}, {len(index)} nonzeros, {hits} of {len(true)} "
      "columns of the origin among them")
bad = [text for text, is_bad in (
    ("it did not converge", run.returncode != 0),
    ("its gap exceeds 1e-6", not fit["gap"] <= 1e-6),
    ("its peak exceeds 2 GB", peak > 2),
    ("it misses columns", hits < .95 * len(true))) if is_bad]
for text in bad:
    print("seed-scale: " + text, file=sys.stderr)
sys.exit(1 if bad else 0)
END
