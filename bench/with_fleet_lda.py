"""Topic models on random corpora against textbook Gibbs sampling; fleet-lda.sh
calls this.

Corpus I of seed S is the same however many are drawn: its kind, sizes and words
come from (S, I). strads has no options but the number of topics and one worker.
The peer is `with_gibbs learn` with 300 sweeps: an alpha of each topic and a beta
by Minka's fixed point. Both models are measured by `strads lda evaluate` on the
held-out fifth of the documents: perplexity of one half of each given the other."""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile

import numpy as np

import with_models as m

KINDS = ("even", "uneven", "correlated", "sample")
SWEEPS = 300
TOKENS_MIN, TOKENS_MAX = 20000, 400000


def between(rng, low, high):
    """Uniform in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_shares(rng, kind, documents, topics):
    """Shares of topics in documents: all alike, frequent and rare, or by groups
    that occur together."""
    if kind == "even":
        return rng.dirichlet(np.full(topics, between(rng, .03, .5)), documents)
    if kind == "uneven":
        weight = 1 / np.arange(1, topics + 1)
        return rng.dirichlet(between(rng, 2, 20) * weight / weight.sum(),
                             documents)
    factors = rng.standard_normal((max(2, topics // 5), topics))
    logits = rng.standard_normal((documents, len(factors))) @ factors
    shares = np.exp(logits + rng.standard_normal(topics))
    return shares / shares.sum(axis=1, keepdims=True)


def draw_corpus(rng, kind):
    while True:
        documents = round(between(rng, 300, 6000))
        length = between(rng, 15, 300)
        if TOKENS_MIN <= documents * length <= TOKENS_MAX:
            break
    words, topics = round(between(rng, 500, 12000)), round(between(rng, 5, 80))
    base = 1 / np.arange(1, words + 1)
    phi = np.stack([rng.gamma(np.maximum(
        base / base.sum() * between(rng, 20, 500), 1e-3)) + 1e-12
        for _ in range(topics)])
    phi /= phi.sum(axis=1, keepdims=True)
    shares = draw_shares(rng, kind, documents, topics)
    bursty = kind == "correlated"  # a word that occurs once occurs again
    row, col, count = [], [], []
    for d in range(documents):
        n = 2 + round(length * rng.lognormal(0, .6))
        p = shares[d] @ phi
        if bursty:
            p = rng.gamma(np.maximum(300 * p, 1e-6))
            p /= p.sum()
        each = rng.multinomial(n, p)
        at = np.flatnonzero(each)
        row.append(np.full(len(at), d))
        col.append(at)
        count.append(each[at])
    return (documents, words, np.concatenate(row), np.concatenate(col),
            np.concatenate(count)), topics


def draw_sample(rng, files, place):
    """A random part of the documents of a file."""
    documents, words, row, col, count = m.read_corpus(
        files[rng.integers(len(files))], place)
    kept = rng.permutation(documents)
    lengths = np.bincount(row, weights=count, minlength=documents)[kept]
    kept = kept[:1 + np.searchsorted(np.cumsum(lengths),
                                     between(rng, TOKENS_MIN, TOKENS_MAX))]
    number = np.full(documents, -1)
    number[kept] = np.arange(len(kept))
    has = number[row] >= 0
    return (len(kept), words, number[row[has]], col[has],
            count[has]), round(between(rng, 5, 100))


def split(rng, corpus, place):
    """Writes four fifths of the documents and the others."""
    documents, words, row, col, count = corpus
    order = rng.permutation(documents)
    for name, part in (("test", order[:documents // 5]),
                       ("train", order[documents // 5:])):
        number = np.full(documents, -1)
        number[part] = np.arange(len(part))
        has = np.flatnonzero(number[row] >= 0)
        has = has[np.argsort(number[row[has]], kind="stable")]
        m.write_docword(os.path.join(place, name), len(part), words,
                          number[row[has]], col[has], count[has])


def cpu_of(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(w) for w in words], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def perplexity(model, test):
    out = subprocess.run([m.STRADS, "lda", "evaluate", model, test, "--seed",
                          "7", "--format", "json"], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True).stdout
    return next(json.loads(line)["perplexity"] for line in out.splitlines()
                if '"completion"' in line)


def measure(seed, index, kinds, files, place):
    rng = np.random.default_rng([seed, index])
    kind = kinds[index % len(kinds)]
    corpus, topics = (draw_sample(rng, files, place) if kind == "sample"
                      else draw_corpus(rng, kind))
    split(rng, corpus, place)
    train, test, ours, theirs = (os.path.join(place, n) for n in (
        "train", "test", "ours.json", "theirs.json"))
    seconds = cpu_of(m.STRADS, "lda", "train", train, "--topics", topics,
                     "--workers", 1, "--seed", index, "--model", ours)
    peer = cpu_of(os.path.join(m.PROGRAMS, "with_gibbs"), "learn", train,
                  topics, index, SWEEPS, theirs)
    return {"index": index, "kind": kind, "documents": corpus[0],
            "words": corpus[1], "tokens": int(corpus[4].sum()),
            "topics": topics, "seconds": seconds, "peer_seconds": peer,
            "perplexity": perplexity(ours, test),
            "peer_perplexity": perplexity(theirs, test)}


def summary(rows, kind):
    worse = [r["perplexity"] / r["peer_perplexity"] for r in rows]
    slower = [r["seconds"] / r["peer_seconds"] for r in rows]
    print(f"{kind:<11}{len(rows):>4}  perplexity {statistics.median(worse):.3f}"
          f" (worst {max(worse):.3f})  processor time "
          f"{statistics.median(slower):.3f} (worst {max(slower):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    o = parser.parse_args()
    kinds = (o.kind,) if o.kind else KINDS
    files = [f for f in (m.find("docword.sotu-tiny.txt"),
                         m.find("docword.msdocs.txt.gz")) if f]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for index in range(o.n):
            row = measure(o.seed, index, kinds, files, place)
            rows.append(row)
            if o.format == "json":
                print(json.dumps(row), flush=True)
                continue
            print(f"{row['index']:>4} {row['kind']:<10} {row['documents']:>6} x "
                  f"{row['words']:<6}{row['tokens']:>8} tokens "
                  f"{row['topics']:>3} topics  {row['perplexity']:9.1f} "
                  f"{row['peer_perplexity']:9.1f}  {row['seconds']:7.2f} s "
                  f"{row['peer_seconds']:7.2f} s", flush=True)
    if o.format == "text":
        print("of strads divided by those of textbook Gibbs sampling, "
              f"{SWEEPS} sweeps, learned priors:")
        for kind in kinds[:o.n]:
            summary([r for r in rows if r["kind"] == kind], kind)


if __name__ == "__main__":
    main()
