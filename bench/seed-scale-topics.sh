#!/bin/sh
# Topics of a corpus that does not fit the memory it may use: made from a seed,
# two sweeps with its tokens on disk.
#
#   ./dev bench seed-scale --topics [--tokens T] [--words W] [--k K]
#                                   [--scratch DIR]
#
# --tokens T    tokens, about (10,000,000)
# --words W     different words (5,000)
# --k K         topics of the model (100)
# --scratch DIR where the corpus and the tokens go (build/); removed at the end
#
# The same sweeps run in memory, with as many blocks, if a quarter of the free
# memory holds them. Prints tokens/s of sampling, bytes a token, peak memory, the
# disk's rate. Ends with 1 unless the memory is kept to, the bits are those of
# the run in memory, the model has the corpus's tokens, and the likelihood of a
# sample, recomputed from the model's counts, is above that of the words'
# frequencies.
set -eu
export LC_ALL=C
tokens=10000000 words=5000 topics=100 scratch=$STRADS_BUILD
while [ $# -gt 0 ]; do
    case $1 in
    --topics) shift ;;
    --tokens) tokens=$2 && shift 2 ;;
    --words) words=$2 && shift 2 ;;
    --k) topics=$2 && shift 2 ;;
    --scratch) scratch=$2 && shift 2 ;;
    *)
        echo "seed-scale --topics knows --tokens T, --words W, --k K, --scratch DIR, not $1" >&2
        exit 2
        ;;
    esac
done
# 6 bytes a token in the corpus, 6 in the scratch; 25 GB stay free for others.
need=$(awk -v t="$tokens" 'BEGIN { printf "%.0f", t * 12 / 1024 }')
free=$(df -Pk "$scratch" | awk 'NR == 2 { print $4 }')
if [ "$tokens" -gt 100000000 ] && [ "$free" -lt $((need + 25 * 1024 * 1024)) ]; then
    echo "seed-scale: $scratch has $((free / 1024 / 1024)) GB free, and" \
        "$((need / 1024 / 1024 + 25)) are needed: give --scratch DIR or --tokens" >&2
    exit 1
fi
work=$(mktemp -d "$scratch/seed-topics-XXXXXX")
trap 'rm -rf "$work"' EXIT
documents=$((tokens / 300 + 1))
made=$("$STRADS_BUILD/bench/with_synthetic" lda "$documents" "$words" 100 300 1 \
    "$work/corpus")
python3 - "$STRADS_BIN" "$work" "$topics" "$words" "$made" <<'END'
import array, bisect, json, math, mmap, os, subprocess, sys, time
strads, work, topics, WORDS, made = sys.argv[1:]
corpus = work + "/corpus"
WORDS = int(WORDS)
documents, tokens, entries = (int(made.split()[i]) for i in (0, 2, 4))
SAMPLE, BLOCKS, BETA = 50, 64, .01
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


class Counts:
    """A model's counts, in the order of their words."""

    def __init__(self, path):
        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        head = 10 + int.from_bytes(mapped[8:10], "little")
        self.rows = memoryview(mapped)[head:].cast("I")

    def __len__(self):
        return len(self.rows) // 3

    def __getitem__(self, k):
        return self.rows[3 * k]

    def of_word(self, word):
        """Its topics and how often each has it."""
        for k in range(bisect.bisect_left(self, word), len(self)):
            if self[k] != word:
                return
            yield self.rows[3 * k + 1], self.rows[3 * k + 2]


sample = []
with open(corpus) as lines, open(work + "/sample", "w") as out:
    for line, _ in zip(lines, range(SAMPLE)):
        sample.append([tuple(map(int, p.split(":"))) for p in line.split()[1:]])
        out.write(line)
# The process, counts of documents and words, some blocks; none of the entries.
rows = (2 * int(topics) * documents if int(topics) <= 128
        else 64 * documents + 4 * tokens)
free = next(int(x.split()[1]) * 1024 for x in open("/proc/meminfo")
            if x.startswith("MemAvailable"))
limit = min(40 * 2**20 + rows + 32 * min(WORDS * int(topics), tokens), free)
train = ["lda", "train", corpus, "--topics", topics, "--sweeps", "2", "--samples",
         "1", "--seed", "1", "--alpha", ".1", "--beta", str(BETA), "--partitions", "2",
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
    check(model["tokens"] != tokens or sum(model["topic-tokens"]) != tokens,
          "the model has other tokens")
    if 8 * entries + 6 * tokens + rows < free // 4:
        m = run(*train, "--model", work + "/memory.json", "--log",
                work + "/memory.jsonl")
        show("memory", m)
        same = (open(work + "/disk.json.npy", "rb").read() ==
                open(work + "/memory.json.npy", "rb").read())
        check(not same, "the bits are not those of the run in memory")
    run("lda", "infer", work + "/disk.json", work + "/sample", "--format", "npy",
        "--output", work + "/theta.npy", "--quiet")
    theta = rows_of(work + "/theta.npy", int(topics))
    counts = Counts(work + "/disk.json.npy")
    of_word = {}
    for pairs in sample:
        for word, _ in pairs:
            of_word.setdefault(word, list(counts.of_word(word)))
    scale = [1 / (n + WORDS * BETA) for n in model["topic-tokens"]]
    own = plain = size = 0
    for shares, pairs in zip(theta, sample):
        weight = [t * s for t, s in zip(shares, scale)]
        unseen = BETA * sum(weight)
        for word, n in pairs:
            p = unseen + sum(weight[k] * c for k, c in of_word[word])
            own += n * math.log(p)
            plain += n * math.log(sum(c for _, c in of_word[word]) / tokens)
            size += n
    print(f"log-likelihood of {SAMPLE} documents: {own / size:.3f} a token, by "
          f"the words' frequencies {plain / size:.3f}")
    check(not own > plain, "the sample is not explained by topics")
for text in bad:
    print("seed-scale: " + text, file=sys.stderr)
sys.exit(1 if bad else 0)
END
