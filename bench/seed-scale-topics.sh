#!/bin/sh
# Topics of a corpus that does not fit the memory it may use: made from a seed,
# two sweeps with its tokens on disk.
#
#   ./dev bench seed-scale --topics [--tokens T] [--k K] [--scratch DIR]
#
# --tokens T    tokens, about (10,000,000)
# --k K         topics of the model (100)
# --scratch DIR where the corpus and the tokens go (build/); removed at the end
#
# The same sweeps run in memory, with as many blocks, if a quarter of the free
# memory holds them. Prints tokens/s of sampling, bytes a token, peak memory, the
# disk's rate. Ends with 1 unless the memory is kept to, the bits are those of
# the run in memory, the model has the corpus's tokens, and the likelihood of a
# sample, recomputed from the files, is above that of the words' frequencies.
set -eu
export LC_ALL=C
tokens=10000000 topics=100 scratch=$STRADS_BUILD
while [ $# -gt 0 ]; do
    case $1 in
    --topics) shift ;;
    --tokens) tokens=$2 && shift 2 ;;
    --k) topics=$2 && shift 2 ;;
    --scratch) scratch=$2 && shift 2 ;;
    *)
        echo "seed-scale --topics knows --tokens T, --k K, --scratch DIR, not $1" >&2
        exit 2
        ;;
    esac
done
work=$(mktemp -d "$scratch/seed-topics-XXXXXX")
trap 'rm -rf "$work"' EXIT
documents=$((tokens / 300 + 1))
"$STRADS_BUILD/bench/with_synthetic" lda "$documents" 5000 100 300 1 \
    "$work/corpus"
python3 - "$STRADS_BIN" "$work" "$topics" <<'END'
import array, json, math, os, subprocess, sys, time
strads, work, topics = sys.argv[1:]
corpus = work + "/corpus"
SAMPLE, BLOCKS = 200, 64
bad = []


def check(is_bad, text):
    if is_bad:
        bad.append(text)


def run(*words):
    """Runs strads; returns its usage: seconds, bytes at the peak, bytes of
    disk."""
    started = time.monotonic()
    child = subprocess.Popen([strads, *words], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    told = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    return dict(code=status, told=told, wall=time.monotonic() - started,
                peak=used.ru_maxrss * 1024,
                disk=512 * (used.ru_inblock + used.ru_oublock),
                cpu=used.ru_utime + used.ru_stime)


def rows_of(path, width):
    """The rows of an array of f64 in numpy's format."""
    with open(path, "rb") as file:
        head = file.read(10)
        file.seek(10 + int.from_bytes(head[8:10], "little"))
        every = array.array("d", file.read())
    return [every[i:i + width] for i in range(0, len(every), width)]


WORDS = 5000
entries, tokens = 0, 0
counts = [0] * WORDS
sample = []
with open(corpus) as lines, open(work + "/sample", "w") as out:
    for k, line in enumerate(lines):
        pairs = [tuple(map(int, p.split(":"))) for p in line.split()[1:]]
        for word, n in pairs:
            counts[word] += n
            tokens += n
        entries += len(pairs)
        if k < SAMPLE:
            sample.append(pairs)
            out.write(line)
documents = k + 1
# The process, counts of documents and words, some blocks; none of the entries.
rows = documents * (2 * int(topics) if int(topics) <= 128 else 400)
limit = 40 * 2**20 + rows + 32 * min(WORDS * int(topics), tokens)
train = ["lda", "train", corpus, "--topics", topics, "--sweeps", "2", "--samples",
         "1", "--seed", "1", "--alpha", ".1", "--beta", ".01", "--partitions", "2",
         "--blocks", str(BLOCKS), "--quiet"]
print(f"{documents} documents, {tokens} tokens, {entries} entries; in memory "
      f"{(8 * entries + rows) / 2**20:.0f} MB, allowed {limit / 2**20:.0f} MB")


def show(name, r):
    last = [json.loads(x) for x in open(work + f"/{name}.jsonl")]
    last = [x for x in last if x.get("event") == "round"][-1]
    print(f"{name}: {2 * tokens / last['seconds'] / 1e6:.2f} M tokens/s in the "
          f"sweeps, {last['cpu_seconds']:.1f} CPU s; whole run {r['wall']:.1f} s, "
          f"{r['cpu']:.1f} CPU s, peak {r['peak'] / 2**20:.0f} MB, disk "
          f"{r['disk'] / 1e6 / r['wall']:.0f} MB/s, "
          f"{r['disk'] / tokens:.1f} bytes a token")


r = run(*train, "--scratch", work, "--memory", str(limit), "--model",
        work + "/disk.json", "--log", work + "/disk.jsonl")
check(r["code"] != 0, "the run from disk failed: " + r["told"])
if not bad:
    show("disk", r)
    check(r["peak"] > limit, "the run from disk takes more than it may")
    model = json.load(open(work + "/disk.json"))
    check(model["tokens"] != tokens, "the model has other tokens")
    free = next(int(x.split()[1]) * 1024 for x in open("/proc/meminfo")
                if x.startswith("MemAvailable"))
    if 8 * entries + 6 * tokens + rows < free // 4:
        m = run(*train, "--model", work + "/memory.json", "--log",
                work + "/memory.jsonl")
        show("memory", m)
        same = (open(work + "/disk.json.npy", "rb").read() ==
                open(work + "/memory.json.npy", "rb").read())
        check(not same, "the bits are not those of the run in memory")
    run("lda", "infer", work + "/disk.json", work + "/sample", "--format", "npy",
        "--output", work + "/theta.npy", "--quiet")
    run("lda", "topics", work + "/disk.json", "--matrix", work + "/phi.npy",
        "--output", work + "/topics.txt")
    theta = rows_of(work + "/theta.npy", int(topics))
    phi = rows_of(work + "/phi.npy", WORDS)
    own = plain = size = 0
    for d, pairs in enumerate(sample):
        for word, n in pairs:
            own += n * math.log(sum(t * p[word] for t, p in zip(theta[d], phi)))
            plain += n * math.log(counts[word] / tokens)
            size += n
    print(f"log-likelihood of {SAMPLE} documents: {own / size:.3f} a token, by "
          f"the words' frequencies {plain / size:.3f}")
    check(not own > plain, "the sample is not explained by topics")
for text in bad:
    print("seed-scale: " + text, file=sys.stderr)
sys.exit(1 if bad else 0)
END
