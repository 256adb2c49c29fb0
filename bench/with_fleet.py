"""Linear models on random problems against Debian's peers; fleet.sh calls this.

Problem I of seed S is the same however many are drawn: its shape, data, loss,
penalty and weight come from (S, I). People chose the rows of `bench linear`; these
are random, so they reveal tuning to rows. with_linear.py measures each problem."""
import argparse
import ctypes
import glob
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse
from scipy.signal import lfilter

import with_linear as linear
import with_linear_solvers as solvers
import with_yardstick as yardstick

ENTRIES_MIN, ENTRIES_MAX = 1000, 4000000
SPARSE = .1   # below this density entries are drawn, not columns
FINE = 4096   # numbers are multiples of 1 / FINE, so that text is short
OTHERS = .25  # of problems are slices of data that people collected
NUMBERS = ("lasso", "elastic-net", "path", "cv", "epsilon", "squared-epsilon")
BY_LAMBDA = ("lasso", "elastic-net", "path", "l1-logistic", "elastic-logistic",
             "l1-squared-hinge", "poisson", "multinomial", "cv",
             "cv-logistic")
# The most common kinds are listed twice.
KINDS = ("lasso", "lasso", "path", "elastic-net", "l1-logistic", "l1-logistic",
         "elastic-logistic", "l2-logistic", "l2-logistic", "squared-hinge",
         "hinge", "l1-squared-hinge", "epsilon", "squared-epsilon")
# Drawn only if --kind names them, so that a seed's other problems do not change.
OTHER_KINDS = ("poisson", "multinomial", "cv", "cv-logistic")
WITH_INTERCEPT = ("poisson", "multinomial")
# Peers with an unpenalised intercept, like strads.
INTERCEPT = ("lasso", "elastic-net", "l1-logistic", "elastic-logistic",
             "l2-logistic")


# ---- drawing ----------------------------------------------------------------

def between(rng, low, high):
    """Uniform in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_shape(rng, entries_max):
    while True:
        n = round(between(rng, 50, 50000))
        p = round(between(rng, 20, 200000))
        density = between(rng, 1e-4, 1)
        if rng.random() < .3:
            density = 1.0
        if ENTRIES_MIN <= n * p * density <= entries_max and n * density >= .5:
            return n, p, density


def draw_dense(rng, n, p, density, rho):
    x = rng.standard_normal((n, p))
    if rng.random() < .5:  # each column beside its neighbour
        x[:, 1:] *= math.sqrt(1 - rho * rho)
        x = lfilter([1], [1, -rho], x, axis=1)
    else:  # all columns with all others
        x *= math.sqrt(1 - rho)
        x += math.sqrt(rho) * rng.standard_normal((n, 1))
    if rng.random() < .3:  # as of images and counts: no column is centred
        x = np.abs(x)
    if density < 1:
        x *= rng.random((n, p)) < density
    return scipy.sparse.csr_matrix(np.rint(x * FINE) / FINE)


def draw_sparse(rng, n, p, density, rho):
    """A column's neighbour has its entries, too, with probability rho."""
    m = int(n * p * density / (1 + rho))
    popular = (np.arange(p) + 1.0) ** -rng.choice([0, .5, 1])
    long = rng.lognormal(0, rng.choice([0, .7]), n)
    row = rng.choice(n, m, p=long / long.sum())
    col = rng.permutation(p)[rng.choice(p, m, p=popular / popular.sum())]
    value = {0: np.ones, 1: lambda k: np.abs(rng.standard_normal(k)) + .1,
             2: rng.standard_normal}[rng.integers(3)](m)
    also = (rng.random(m) < rho) & (col ^ 1 < p)
    near = value[also] * (1 + (1 - rho) * rng.standard_normal(also.sum()))
    x = scipy.sparse.csr_matrix(
        (np.concatenate([value, near]),
         (np.concatenate([row, row[also]]),
          np.concatenate([col, col[also] ^ 1]))), shape=(n, p))
    x.data = np.rint(np.clip(x.data, -30, 30) * FINE) / FINE
    return x


def draw_labels(rng, x):
    """Numbers: a few columns' sum, and noise."""
    n, p = x.shape
    support = rng.choice(p, round(between(rng, 1, max(2, min(n, p) / 2))),
                         replace=False)
    w = np.zeros(p)
    size = np.sqrt(np.asarray(x.multiply(x).mean(axis=0)).ravel()) + 1e-9
    w[support] = rng.standard_normal(len(support)) / size[support]
    y = x @ w
    y /= y.std() or 1
    y += between(rng, .01, 3) * rng.standard_normal(n)
    return y / y.std()


def draw_slice(rng, files, data, entries_max):
    """(name, X, labels) of some rows and columns of a file."""
    file = files[rng.integers(len(files))]
    name = os.path.basename(file).split(".")[0]
    x, y = yardstick.read_text(data.unpack(file, name + ".svm")
                               if file.endswith(".gz") else file)
    n = round(between(rng, 50, x.shape[0]))
    p = round(between(rng, min(200, x.shape[1]), x.shape[1]))
    rows = np.sort(rng.choice(x.shape[0], n, replace=False))
    cols = np.sort(rng.choice(x.shape[1], p, replace=False))
    x = x[rows][:, cols]
    n = min(n, max(50, int(n * entries_max / max(x.nnz, 1))))
    return name, x[:n].tocsr(), y[rows[:n]]


def write_text(x, y, path):
    x.sort_indices()
    words = ["%d:%.17g" % pair for pair in zip((x.indices + 1).tolist(),
                                               x.data.tolist())]
    with open(path, "w") as out:
        for i in range(len(y)):
            out.write(" ".join(["%.17g" % y[i]] +
                               words[x.indptr[i]:x.indptr[i + 1]]) + "\n")


class Problem(yardstick.Measured):
    """A problem, for with_linear.Row and the solvers."""

    def __init__(self, seed, at, bench):
        rng = np.random.default_rng([seed, at])
        self.seed, self.at = seed, at
        self.kind = bench.kind if bench.kind in OTHER_KINDS else \
            KINDS[rng.integers(len(KINDS))]
        self.parts = os.path.join(bench.scratch, "parts")
        self.file = os.path.join(bench.kept, "fleet-%d-%d.svm" % (seed, at))
        x, y = self.draw(rng, bench)
        if self.kind == "poisson":
            y = rng.poisson(np.exp(np.minimum(y, 3))).astype(float)
        elif self.kind == "multinomial":
            y = self.several_classes(rng, x, y)
        elif self.kind not in NUMBERS:
            y = self.classes(rng, y)
        else:
            y = np.rint(y * FINE) / FINE
        # The last column must occur in the text.
        x = x[:, :x.indices.max() + 1]
        self.x, self.y = x, y
        self.rows, self.columns = x.shape
        self.entries = x.nnz
        self.intercept = self.kind in WITH_INTERCEPT or \
            self.kind in INTERCEPT and bool(rng.random() < .5)
        self.ratio = .01 if self.kind in yardstick.PATHS else \
            1 / between(rng, 2, 1000)
        self.c = between(rng, .01, 100)
        self.weight = self.find_weight()
        yardstick.write_parts(x, y, self.parts)
        write_text(x, y, self.file)
        x.sort_indices()
        self.x = x.toarray() if x.nnz > .25 * x.shape[0] * x.shape[1] else x

    def draw(self, rng, bench):
        rho = 0.0 if rng.random() < .4 else 1 - between(rng, 1e-3, 1)
        self.rho = round(rho, 4)
        if bench.files and rng.random() < OTHERS:
            self.source, x, y = draw_slice(rng, bench.files, bench.data,
                                           bench.entries_max)
            return x, y
        n, p, density = draw_shape(rng, bench.entries_max)
        draw, self.source = (draw_dense, "dense") if density >= SPARSE else \
            (draw_sparse, "sparse")
        x = draw(rng, n, p, density, rho)
        if x.nnz == 0:
            x = draw_dense(rng, n, min(p, 20), 1, rho)
        y = draw_labels(rng, x)
        if rng.random() < .3:  # columns in units of their own, powers of two
            units = 2.0 ** np.rint(rng.normal(0, 2, x.shape[1]))
            x = (x @ scipy.sparse.diags(units)).tocsr()
        if self.kind not in BY_LAMBDA:  # C needs a unit
            norm = math.sqrt((x.data ** 2).sum() / x.shape[0])
            x = x * 2.0 ** round(math.log2(between(rng, .3, 10) / norm))
        return x, y

    @staticmethod
    def classes(rng, y):
        middle = np.quantile(y, rng.uniform(.2, .8)) \
            if len(np.unique(y)) > 2 else np.mean(y)
        side = np.where(y > middle, 1.0, -1.0)
        side[rng.random(len(y)) < rng.choice([0, .02, .2])] *= -1
        side[:2] = 1, -1
        return side

    @staticmethod
    def several_classes(rng, x, y):
        """3 to 10: of each a sum of its own beside the rest's; at least two rows
        of each, as glmnet asks."""
        k = rng.integers(3, 11)
        sums = np.stack([y] + [draw_labels(rng, x) for _ in range(k - 1)])
        y = (sums + rng.gumbel(size=sums.shape) * .5).argmax(axis=0)
        y[:2 * k] = np.arange(2 * k) % k
        return y.astype(float)

    def find_weight(self):
        if self.kind not in BY_LAMBDA:
            return self.c
        if self.kind == "multinomial":
            of = self.shares()
            return self.ratio / self.rows * \
                np.abs(self.x.T @ (of - of.mean(axis=0))).max()
        y = self.y - self.y.mean() if self.intercept else self.y
        most = np.abs(self.x.T @ y).max() / self.rows
        if self.kind in yardstick.PATHS:
            return most / (2 if "logistic" in self.kind else 1)
        if self.kind == "l1-squared-hinge":  # the C at which w ceases to be 0
            return 1 / (self.ratio * 2 * self.rows * most)
        if "logistic" in self.kind:
            most /= 2
        return self.ratio * most * (2 if "elastic" in self.kind else 1)

    def shape(self):
        return ("dense" if self.entries > SPARSE * self.rows * self.columns
                else "sparse") + \
            (" n > p" if self.rows > self.columns else " n <= p")

    def size(self):
        return "up to 1e5" if self.entries <= 1e5 else \
            "up to 1e6" if self.entries <= 1e6 else "above 1e6"

    def label(self):
        return "%d %s%s %s %d x %d %.0e %s" % (
            self.at, self.kind, "+b" if self.intercept else "", self.source,
            self.rows, self.columns, self.entries,
            "/%.0f" % (1 / self.ratio) if self.kind in BY_LAMBDA else
            "C=%.2g" % self.c)


# ---- solvers ----------------------------------------------------------------

def peers():
    """The installed ones; prints the missing ones."""
    def has(*command):
        return shutil.which(command[0]) and not subprocess.run(
            command, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode
    if has("Rscript", "--vanilla", "-e", "library(glmnet); library(Matrix)"):
        yield solvers.Glmnet()
    else:
        print("glmnet is not installed and takes no part", file=sys.stderr)
    if has(sys.executable, "-c", "import sklearn"):
        yield solvers.Sklearn()
    else:
        print("scikit-learn is not installed and takes no part",
              file=sys.stderr)
    try:
        ctypes.CDLL("liblinear.so.4")
        yield solvers.Liblinear()
    except OSError:
        print("liblinear is not installed and takes no part", file=sys.stderr)


class Row(linear.Row):
    """Fits alone: no commands."""

    def result(self):
        for solver in self.bench.solvers:
            self.explore(solver)
        self.run_in_turn()
        for solver in self.bench.solvers:
            solver.close()
        p = self.problem
        line = {"bench": "fleet", "seed": p.seed, "problem": p.at,
                "label": p.label(), "kind": p.kind, "shape": p.shape(),
                "size": p.size(), "rows": p.rows, "columns": p.columns,
                "entries": p.entries, "correlation": p.rho,
                "source": p.source, "intercept": p.intercept,
                "ratio": p.ratio if p.kind in BY_LAMBDA else None,
                "c": None if p.kind in BY_LAMBDA else p.c,
                "optimum_gap": self.bench.gap(p), "load": os.getloadavg()[0]}
        for target in linear.TARGETS:
            peer = self.best_peer(target)
            at = {"peer": peer and peer.solver.name,
                  "peer_seconds": peer and peer.seconds}
            for solver in self.bench.solvers:
                t = self.fastest(solver, target)
                at[solver.name] = t and t.seconds
                at[solver.name + "_setting"] = t and t.setting
            line["%.0e" % target] = at
        return line


class Bench:
    """The interface of with_linear.Row."""

    def __init__(self, options):
        build, strads = os.environ["STRADS_BUILD"], os.environ["STRADS_BIN"]
        self.scratch = tempfile.mkdtemp()
        self.place = os.path.join(build, "bench", "fleet")
        self.data = linear.Data(self.place, os.environ["STRADS_DATA"], strads)
        self.kept = options.keep or self.scratch
        os.makedirs(self.kept, exist_ok=True)
        self.cap, self.runs, self.kind = options.cap, 3, options.kind
        self.entries_max = options.entries
        self.files = sorted(
            f for folder in ("", "/linear") for end in ("svm", "svm.gz")
            for f in glob.glob("%s%s/*.train.%s" % (self.data.source, folder,
                                                    end)))
        mine = [solvers.Strads(strads, self.scratch, k) for k in (1, 2)]
        self.solvers = mine + list(peers())

    def optimum(self, problem):
        first = self.solvers[0]
        out = os.path.join(self.scratch, "w")
        first.fit(problem, linear.REFERENCE, out, 2 * self.cap)
        with open(first.log) as log:
            self.known = json.loads(log.readlines()[-1])["gap"]
        return problem.objectives(out)

    def gap(self, _):
        """None if strads itself does not know."""
        return self.known

    def close(self):
        for solver in self.solvers:
            solver.close()
        shutil.rmtree(self.scratch)


# ---- the distribution -------------------------------------------------------

def ratios(lines, target, top, bottom, cap):
    """top's seconds divided by bottom's, for problems in which bottom reached the
    target. If top did not, the limit is used, which is a lower bound."""
    found = []
    for line in lines:
        at = line["%.0e" % target]
        if at[bottom] is not None:
            over = at[top] if at[top] is not None else cap
            found.append(over / at[bottom])
    return sorted(found)


def quantile(values, q):
    return values[min(len(values) - 1, math.ceil(q * len(values)) - 1)]


def distribution(lines, target, top, bottom, cap):
    found = ratios(lines, target, top, bottom, cap)
    if not found:
        return None
    return {"n": len(found),
            "geometric_mean": math.exp(statistics.mean(map(math.log, found))),
            "median": statistics.median(found), "p90": quantile(found, .9),
            "worst": found[-1],
            "above_1": sum(x > 1 for x in found) / len(found)}


def tables(lines, cap):
    """Dicts: a group of problems, a target, the two solvers, a distribution."""
    groups = [("all", lines)]
    for key in ("kind", "shape", "size"):
        groups += [(name, [x for x in lines if x[key] == name])
                   for name in sorted({x[key] for x in lines})]
    for target in linear.TARGETS:
        for name, members in groups:
            for top, bottom in (("strads-1", "peer_seconds"),
                                ("strads-2", "peer_seconds"),
                                ("strads-2", "strads-1")):
                found = distribution(members, target, top, bottom, cap)
                if found:
                    yield {"bench": "fleet", "group": name, "target": target,
                           "of": top, "by": bottom, **found}


def print_tables(lines, cap):
    found = {(x["target"], x["group"], x["of"], x["by"]): x
             for x in tables(lines, cap)}
    for target in linear.TARGETS:
        print("\n%-17s %4s %s" % ("to %.0e" % target, "n", "   ".join(
            "%3s %5s %5s %5s %6s %5s" % (who, "mean", "med.", "p90", "worst",
                                         "> 1") for who in ("1 w", "2 w"))))
        for name in dict.fromkeys(group for _, group, _, _ in found):
            both = [found.get((target, name, who, "peer_seconds"))
                    for who in ("strads-1", "strads-2")]
            if all(both):
                print("%-17s %4d %s" % (name, both[0]["n"], "   ".join(
                    shares(x) for x in both)))
        x = found.get((target, "all", "strads-2", "strads-1"))
        if x:
            print("%-17s %4d %s" % ("2 w by 1 w", x["n"], shares(x)))
    last = "%.0e" % linear.TARGETS[-1]
    print()
    for x in lines:
        if x[last]["peer_seconds"] is None:
            print("%s: no peer within 1e-6 and %g s" % (x["label"], cap))
        if x[last]["strads-1"] is None or x[last]["strads-2"] is None:
            print("%s: strads not within 1e-6 and %g s" % (x["label"], cap))


def shares(x):
    return "    %5.2f %5.2f %5.2f %6.2f %3.0f %%" % (
        x["geometric_mean"], x["median"], x["p90"], x["worst"],
        100 * x["above_1"])


def print_line(line):
    words = []
    for target in linear.TARGETS:
        at = line["%.0e" % target]
        one, two, peer = at["strads-1"], at["strads-2"], at["peer_seconds"]
        words += [linear.text(x, "%.4f") for x in (one, two, peer)] + \
            [linear.text(linear.ratio(x, peer), "%.2f") for x in (one, two)] + \
            [at["peer"] or "-"]
    print("%-56s" % line["label"] + (" %8s %8s %8s %6s %6s %-9s" * 2) %
          tuple(words), flush=True)


def read_options():
    parser = argparse.ArgumentParser(
        prog="./dev bench fleet", description="Random linear problems against "
        "glmnet, scikit-learn and liblinear.")
    add = parser.add_argument
    add("--seed", type=int, default=1, metavar="S",
        help="names the problems (default 1)")
    add("--n", type=int, default=120, metavar="N",
        help="how many problems (default 120)")
    add("--only", type=int, action="append", metavar="I",
        help="this problem of the seed, from 0; may come again")
    add("--kind", metavar="KIND", help="problems of this kind alone; poisson, "
        "multinomial, cv and cv-logistic are drawn only so")
    add("--cap", type=float, default=10, metavar="SECONDS",
        help="a fit's time limit, for all solvers (default 10)")
    add("--entries", type=float, default=ENTRIES_MAX, metavar="M",
        help="entries a problem at most (default 4e6)")
    add("--keep", metavar="DIR", help="leave the problems there, as LIBSVM")
    add("--format", choices=("text", "json"), default="text",
        help="json: a line a problem, then a line a distribution")
    return parser.parse_args()


def main():
    options = read_options()
    bench = Bench(options)
    chatty = options.format == "text"
    if chatty:
        print("Seed %d; load %.2f on %d cores. Seconds of the fit alone, "
              "medians of runs in turn;\na fit may take %g s. To 1e-3, then to "
              "1e-6: strads with 1 worker and with 2, the\nbest peer, both by "
              "it, and who it is." %
              (options.seed, os.getloadavg()[0], os.cpu_count(), options.cap))
    lines = []
    try:
        for at in options.only or range(options.n):
            problem = Problem(options.seed, at, bench)
            if options.kind in (None, problem.kind):
                lines.append(Row(problem, bench).result())
                if chatty:
                    print_line(lines[-1])
                else:
                    print(json.dumps(lines[-1]), flush=True)
            if not options.keep:
                os.remove(problem.file)
    finally:
        bench.close()
    if chatty:
        print_tables(lines, options.cap)
    else:
        for x in tables(lines, options.cap):
            print(json.dumps(x))


if __name__ == "__main__":
    main()
