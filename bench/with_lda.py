"""Topic models; lda.sh calls this. Parts: speed, steady, likelihood, peers,
ring. "bare" is with_lda_bare.c: the sampler's own callbacks without the engine,
on one thread."""
import os
import subprocess
import tempfile
import time

import numpy as np

import with_models as m

ALPHA, BETA = 0.1, 0.01


# ---- corpora ----------------------------------------------------------------

def corpora(place, quick):
    """(name, file) of the corpora that speed is measured on."""
    real = m.find("docword.msdocs.txt.gz", "docword.msdocs.txt")
    found = [("msdocs", real)] if real and not quick else []
    if quick or not real:
        found.append(("sotu-tiny", m.find("docword.sotu-tiny.txt")))
    sizes = ["2000", "5000", "20"] if quick else ["100000", "50000", "200"]
    made = os.path.join(place, "made.ldac")
    m.Run(os.path.join(m.PROGRAMS, "with_synthetic"), "lda", *sizes, "200",
          "1", made)
    return found + [("synthetic", made)]


# ---- speed and memory -------------------------------------------------------

def strads_speed(place, path, topics, workers, sweeps):
    """M tokens a CPU second and a second, of the second half of the sweeps."""
    half, end = m.train(
        place, "lda", "train", path, "--topics", str(topics), "--sweeps",
        str(sweeps), "--evaluate", str(sweeps // 2), "--workers", str(workers),
        "--seed", "1")[0][-2:]
    tokens = end["log_likelihood"] / end["log_likelihood_per_token"]
    drawn = 1e-6 * tokens * (end["sweep"] - half["sweep"])
    return {"cpu": drawn / (end["cpu_seconds"] - half["cpu_seconds"]),
            "wall": drawn / (end["seconds"] - half["seconds"]),
            "likelihood": end["log_likelihood_per_token"]}


def bare_sweeps(path, topics, sweeps):
    """Sweeps of the program's own callbacks in a loop without the engine."""
    text = m.Run(os.path.join(m.PROGRAMS, "with_lda_bare"), path, str(topics),
                 str(sweeps)).text
    return [m.json.loads(line) for line in text.splitlines()]


def bare_speed(path, topics, sweeps):
    half = bare_sweeps(path, topics, sweeps)[sweeps // 2:]
    drawn = 1e-6 * sum(x["tokens"] for x in half)
    return {key: drawn / sum(x[key] for x in half) for key in ("cpu", "wall")}


def show_memory(place, name, path):
    """The peak of a run of two sweeps, by tokens."""
    reports, peak = m.train(place, "lda", "train", path, "--topics", "100",
                            "--sweeps", "2", "--evaluate", "2", "--workers",
                            "1")
    end = reports[-1]
    tokens = end["log_likelihood"] / end["log_likelihood_per_token"]
    print("%-10s   100 peak memory: %.1f bytes a token, counts included"
          % (name, peak / tokens), flush=True)
    m.record("lda_memory", corpus=name, topics=100,
             bytes_a_token=peak / tokens)


def speed(place, options):
    sweeps = 4 if options.quick else 10
    print("M tokens a CPU second (cpu) and a second (wall), sweeps %d to %d;\n"
          "log-likelihood a token at the end; medians of %d in turn"
          % (sweeps // 2 + 1, sweeps, options.runs))
    print("%-10s %5s %-12s %7s %7s %11s" % ("corpus", "K", "solver", "cpu",
                                            "wall", "likelihood"))
    for name, path in corpora(place, options.quick):
        for topics in (100, 1000):
            compare_speed(place, options, name, path, topics, sweeps)
        if not options.quick:
            show_memory(place, name, path)


def compare_speed(place, options, name, path, topics, sweeps):
    solvers = {"strads-1": lambda: strads_speed(place, path, topics, 1, sweeps),
               "strads-2": lambda: strads_speed(place, path, topics, 2, sweeps),
               "bare": lambda: bare_speed(path, topics, sweeps)}
    runs = {solver: [] for solver in solvers}
    for _ in range(options.runs):
        for solver, run in solvers.items():
            runs[solver].append(run())
    for solver, seen in runs.items():
        figure = {key: m.median([x[key] for x in seen]) for key in seen[0]}
        print("%-10s %5d %-12s %7.2f %7.2f %11s" % (
            name, topics, solver, figure["cpu"], figure["wall"],
            m.show(figure.get("likelihood"), "%.4f")), flush=True)
        m.record("lda", corpus=name, topics=topics, solver=solver, **figure)
    # The base is the engine with one worker or the bare loop, the faster of them.
    ratio = m.median([b["wall"] / max(a["wall"], bare["wall"]) for a, b, bare
                      in zip(runs["strads-1"], runs["strads-2"],
                             runs["bare"])])
    print("%-10s %5d two workers: %.2f x one (wanted: 1.6)" %
          (name, topics, ratio))
    m.record("lda_two_workers", corpus=name, topics=topics, ratio=ratio)


def steady(place, options):
    """The effect on speed of tokens moving less from sweep to sweep."""
    last = 10 if options.quick else 60
    spans = [(x - 4, x) for x in (5, 10, 20, 40, 60) if x <= last]
    print("\nM tokens a CPU second of the bare loop, by sweeps")
    print("%-10s %5s " % ("corpus", "K") +
          "".join("%9s" % ("%d-%d" % span) for span in spans))
    for name, path in corpora(place, options.quick):
        for topics in (100, 1000):
            seen = bare_sweeps(path, topics, last)
            rates = [1e-6 * sum(x["tokens"] for x in seen[a - 1:b]) /
                     sum(x["cpu"] for x in seen[a - 1:b]) for a, b in spans]
            print("%-10s %5d " % (name, topics) +
                  "".join("%9.2f" % rate for rate in rates), flush=True)
            m.record("lda_steady", corpus=name, topics=topics, sweeps=spans,
                     rate=rates)


# ---- likelihood -------------------------------------------------------------

def likelihood(place, options):
    path = m.unpack(m.find("docword.sotu-tiny.txt"), place)
    sweeps = (1, 5, 10) if options.quick else (1, 5, 10, 20, 50)
    seeds = range(3 if options.quick else 4)
    seen = {"textbook": [], "strads-1": [], "strads-2": []}
    for seed in seeds:
        text = m.Run(os.path.join(m.PROGRAMS, "with_gibbs"), path, "20",
                     str(ALPHA), str(BETA), str(seed + 1),
                     *map(str, sweeps)).text
        seen["textbook"].append([float(x.split()[1])
                                 for x in text.splitlines()])
        for workers in (1, 2):
            reports, _ = m.train(place, "lda", "train", path, "--topics", "20",
                                 "--sweeps", str(sweeps[-1]), "--workers",
                                 str(workers), "--seed", str(seed))
            at = {x["sweep"]: x["log_likelihood_per_token"] for x in reports}
            seen["strads-%d" % workers].append([at[x] for x in sweeps])
    print("\nlog-likelihood a token on sotu-tiny, K = 20: mean and standard "
          "deviation of %d seeds" % len(seeds))
    print("%6s" % "sweep" + "".join("%20s" % solver for solver in seen))
    for k, sweep in enumerate(sweeps):
        line = "%6d" % sweep
        for solver, rows in seen.items():
            values = [row[k] for row in rows]
            mean, sd = np.mean(values), np.std(values, ddof=1)
            line += "  %10.4f (%.4f)" % (mean, sd)
            m.record("lda_likelihood", solver=solver, sweep=sweep, mean=mean,
                     deviation=sd)
        print(line)


# ---- peers ------------------------------------------------------------------

def perplexity(phi, document, word, count):
    """The likelihood of documents' even tokens, with mixes estimated from the odd
    ones (EM with fixed topics): the same measure for all."""
    token = np.repeat(np.arange(len(word)), count)
    first, second = token[::2], token[1::2]
    n = int(document.max()) + 1
    theta = np.full((n, len(phi)), 1.0 / len(phi))
    d, w = document[first], word[first]
    for _ in range(50):
        share = theta[d] * phi[:, w].T + 1e-100
        share /= share.sum(axis=1, keepdims=True)
        theta = np.full_like(theta, ALPHA)
        np.add.at(theta, d, share)
        theta /= theta.sum(axis=1, keepdims=True)
    p = (theta[document[second]] * phi[:, word[second]].T).sum(axis=1)
    return float(np.exp(-np.log(p).mean()))


def strads_topics(model, topics, words):
    pair = np.load(model + ".npy").astype(np.int64)
    phi = np.full((topics, words), BETA)
    phi[pair[:, 1], pair[:, 0]] += pair[:, 2]
    return phi / phi.sum(axis=1, keepdims=True)


def gensim_topics(entries, words, topics, passes):
    from gensim.models import LdaModel
    document, word, count = entries
    cut = np.flatnonzero(np.diff(document)) + 1
    bags = [list(zip(w.tolist(), c.tolist())) for w, c in
            zip(np.split(word, cut), np.split(count, cut))]
    began = time.process_time()
    model = LdaModel(bags, num_topics=topics, passes=passes, alpha=ALPHA,
                     eta=BETA, id2word={w: str(w) for w in range(words)},
                     random_state=1)
    return model.get_topics(), time.process_time() - began


def sklearn_topics(entries, words, topics, passes):
    import scipy.sparse
    from sklearn.decomposition import LatentDirichletAllocation
    document, word, count = entries
    x = scipy.sparse.csr_matrix((count, (document, word)),
                                (int(document.max()) + 1, words))
    model = LatentDirichletAllocation(topics, doc_topic_prior=ALPHA,
                                      topic_word_prior=BETA, max_iter=passes,
                                      learning_method="online", random_state=1)
    began = time.process_time()
    model.fit(x)
    phi = model.components_
    return (phi / phi.sum(axis=1, keepdims=True),
            time.process_time() - began)


def peers(place, options):
    """Some documents for training, others to be predicted."""
    real = None if options.quick else m.find("docword.msdocs.txt.gz",
                                             "docword.msdocs.txt")
    path = real or m.find("docword.sotu-tiny.txt")
    topics, most = (100, 12000) if real else (20, 1360)
    documents, words, document, word, count = m.read_corpus(path, place)
    cut = min(documents, most) * 9 // 10
    here = document < cut
    there = (document >= cut) & (document < most)
    held = (document[there] - cut, word[there], count[there])
    training = os.path.join(place, "training.txt")
    m.write_docword(training, cut, words, document[here], word[here],
                  count[here])
    tokens = int(count[here].sum())
    print("\npeers: %d documents, %d tokens, K = %d; held-out perplexity by "
          "completion" % (cut, tokens, topics))
    print("%-20s %10s %14s %11s" % ("solver", "CPU s", "K tokens/CPU s",
                                    "perplexity"))
    solvers = [("strads", n, None) for n in (20, 100)]
    passes = (1, 2) if options.quick else (1, 5)
    solvers += [("gensim", n, gensim_topics) for n in passes]
    solvers += [("sklearn", n, sklearn_topics) for n in passes]
    for name, sweeps, peer in solvers:
        if peer:
            phi, seconds = peer((document[here], word[here], count[here]),
                                words, topics, sweeps)
        else:
            model = os.path.join(place, "model")
            reports, _ = m.train(place, "lda", "train", training, "--topics",
                                 str(topics), "--sweeps", str(sweeps),
                                 "--evaluate", str(sweeps), "--workers", "1",
                                 "--model", model)
            seconds = reports[-1]["cpu_seconds"]
            phi = strads_topics(model, topics, words)
        rate = 1e-3 * tokens * sweeps / seconds
        at = perplexity(phi, *held)
        solver = "%s, %d sweeps" % (name, sweeps)
        print("%-20s %10.2f %14.0f %11.1f" % (solver, seconds, rate, at),
              flush=True)
        m.record("lda_peers", solver=name, sweeps=sweeps, cpu_seconds=seconds,
                 k_tokens_a_second=rate, perplexity=at)


# ---- the ring between processes ---------------------------------------------

def rate_of(reports):
    rates = [x["tokens_per_second"] for x in reports]
    return 1e-6 * m.median(rates[1:] or rates)


def over_nodes(place, path, nodes, sweeps):
    """M tokens a second of so many processes with a worker each, over tcp."""
    log = os.path.join(place, "log.jsonl")
    first = subprocess.Popen(
        [m.STRADS, "lda", "train", path, "--topics", "100", "--sweeps",
         str(sweeps), "--workers", "1", "--nodes", str(nodes), "--listen",
         "tcp://127.0.0.1:0", "--log", log], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    url = None
    for line in first.stderr:
        url = next((x.strip("`,.") for x in line.split() if "tcp://" in x),
                   None)
        if url:
            break
    others = [subprocess.Popen([m.STRADS, "join", url, "--workers", "1"],
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
              for _ in range(nodes - 1)]
    first.stderr.read()
    for child in [first, *others]:
        if child.wait() != 0:
            raise RuntimeError("a node of lda over tcp failed")
    return rate_of(m.read_log(log))


def ring(place, options):
    nodes, sweeps = 4, 3 if options.quick else 6
    name, path = corpora(place, options.quick)[-1]
    shares = []
    print("\n%s, K = 100, %d partitions, M tokens a second" % (name, nodes))
    for _ in range(options.runs):
        local = rate_of(m.train(place, "lda", "train", path, "--topics", "100",
                                "--sweeps", str(sweeps), "--workers",
                                str(nodes))[0])
        tcp = over_nodes(place, path, nodes, sweeps)
        shares.append(tcp / local)
        print("%d threads %.2f, %d processes over tcp %.2f: %.2f"
              % (nodes, local, nodes, tcp, tcp / local), flush=True)
        m.record("lda_ring", threads=local, processes=tcp)
    print("median share: %.2f (wanted: 0.85)" % m.median(shares))
    links(place, path, nodes)


def links(place, path, nodes):
    """Virtual seconds of a run on several networks, by blocks of the ring."""
    cost = os.path.join(place, "cost.json")
    print("simulated, %d nodes of a worker each, 3 sweeps, virtual seconds,\n"
          "by blocks on the ring: one a partition hides no transfer" % nodes)
    print("%-24s %8s %8s %8s" % ("network", "4 blocks", "8", "16"))
    for network in (("none", "0us", "1000Gbit"),
                    ("10 Gbit/s, 50 us", "50us", "10Gbit"),
                    ("1 Gbit/s, 1 ms", "1ms", "1Gbit"),
                    ("100 Mbit/s, 10 ms", "10ms", "100Mbit")):
        spans = []
        for blocks in (nodes, 2 * nodes, 4 * nodes):
            log = os.path.join(place, "simulated.jsonl")
            m.Run(m.STRADS, "simulate", "lda", path, "--topics", "100",
                  "--sweeps", "3", "--evaluate", "3", "--workers", str(nodes),
                  "--blocks", str(blocks), "--latency", network[1],
                  "--bandwidth", network[2], "--quiet", "--log", log,
                  *(["--cost", cost] if os.path.exists(cost)
                    else ["--save-cost", cost]))
            with open(log) as f:
                spans.append(m.json.loads(f.readlines()[-1])["makespan"])
        print("%-24s %8.3f %8.3f %8.3f" % (network[0], *spans), flush=True)
        m.record("lda_links", network=network[0], makespan=spans)


def main():
    options = m.parse(__doc__)
    parts = {"speed": speed, "steady": steady, "likelihood": likelihood,
             "peers": peers, "ring": ring}
    print("Load %.2f on %d cores." % (m.load(), os.cpu_count()))
    with tempfile.TemporaryDirectory() as place:
        for name, part in parts.items():
            if options.only in (None, name):
                part(place, options)
    m.print_records()


main()
