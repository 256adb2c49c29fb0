"""Linear models against what installs from Debian; linear.sh calls this.

For each row (a problem) all solvers run through their tolerances, loose to
tight; the fastest that reaches a target represents its solver, and runs again
in turn with the others'. with_yardstick.py computes the objectives."""
import argparse
import fnmatch
import gzip
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile

import numpy as np

import with_linear_solvers as solvers
import with_yardstick as yardstick

TARGETS = (1e-3, 1e-6)
REFERENCE = "1e-12"
SLOW = 5.0    # seconds: not run again
HOPELESS = 4  # times the best peer so far, and above a second: skipped
CLOSE = 1.5   # times the fastest of one run each: also run again
ENOUGH = .5   # seconds of fits to run again for, but no more turns than
TURNS_MAX = 15
SYNTHETIC = {
    "mid": [],
    "mid-signs": ["--signs"],
    "big": ["--rows", "20000", "--columns", "1000000", "--support", "1000",
            "--seed", "3"],
    "dense_ar": ["--dense", "--rows", "200", "--columns", "10000",
                 "--support", "30", "--seed", "4"],
}
SHORT = {"lasso": "lasso", "path": "path", "l1-logistic": "l1log",
         "l2-logistic": "l2log", "squared-hinge": "sqhinge", "hinge": "hinge"}


def list_rows():
    """(kind, data, ratio or C) of the table's rows, in its order."""
    for data in ("sotu-year", "msdocs-driver", "micro-singh", "mid",
                 "dense_ar"):
        yield "lasso", data, 0.1
        yield "lasso", data, 0.01
    yield "lasso", "big", 0.1
    for data in ("sotu-year", "micro-golub"):
        yield "path", data, 0.01
    for data in ("sotu-party", "msdocs-driver", "micro-alon", "mid-signs"):
        yield "l1-logistic", data, 0.1
        yield "l1-logistic", data, 0.01
    for kind in ("l2-logistic", "squared-hinge", "hinge"):
        for data in ("sotu-party", "msdocs-driver", "fmnist-shirt-tshirt"):
            yield kind, data, 1.0


# ---- data -------------------------------------------------------------------

class Data:
    """Finds, unpacks or makes data sets."""

    def __init__(self, place, source, strads):
        self.place, self.source, self.strads = place, source, strads
        os.makedirs(place, exist_ok=True)

    def synthesize(self, name):
        path = os.path.join(self.place, name + ".svm")
        if not os.path.exists(path):
            subprocess.run([self.strads, "data", "synth", "lasso", path,
                            "--quiet"] + SYNTHETIC[name], check=True)
        return path

    def find(self, name):
        """The file; None where there is none."""
        if name in SYNTHETIC:
            return self.synthesize(name)
        for folder in (self.source, self.source + "/linear"):
            for file in (name + ".train.svm", name + ".svm"):
                path = os.path.join(folder, file)
                if os.path.exists(path):
                    return path
                if os.path.exists(path + ".gz"):
                    return self.unpack(path + ".gz", file)
        return None

    def unpack(self, packed, file):
        path = os.path.join(self.place, file)
        if not os.path.exists(path):
            with gzip.open(packed) as text, open(path + ".new", "wb") as out:
                shutil.copyfileobj(text, out)
            os.rename(path + ".new", path)
        return path

    def checksum(self, file):
        said = subprocess.run([self.strads, "data", "info", "--format",
                               "json", file],
                              check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(said.stdout)["checksum"]


class Problem(yardstick.Measured):
    intercept = False

    def __init__(self, kind, name, at, file, parts, data):
        self.kind, self.ratio, self.file, self.parts = kind, at, file, parts
        self.data = name
        self.x, self.y = yardstick.read_text(file)
        self.rows, self.columns = self.x.shape
        yardstick.write_parts(self.x, self.y, parts)
        most = np.abs(self.x.T @ self.y).max() / self.rows
        self.key = "%s %s %g" % (kind, data.checksum(file), at)
        if kind == "path":
            self.weight = most
        elif kind == "lasso":
            self.weight = at * most
        elif kind == "l1-logistic":
            self.weight = at * most / 2
        else:
            self.weight = at

    def label(self):
        of = SHORT[self.kind] + " " + self.data
        if self.kind in ("lasso", "l1-logistic"):
            of += " /%g" % (1 / self.ratio)
        return of


# ---- one row ----------------------------------------------------------------

class Try:
    def __init__(self, solver, setting, seconds, objectives):
        self.solver, self.setting = solver, setting
        self.seconds, self.objectives = seconds, objectives
        self.again = []


class Row:
    """All tries on a problem, and their results."""

    def __init__(self, problem, bench):
        self.problem, self.bench = problem, bench
        self.tries = []
        self.out = os.path.join(bench.scratch, "w")
        self.optimum = bench.optimum(problem)

    def off(self, objectives):
        """The largest share by which objectives are above the best known."""
        return max((v - best) / best if best > 0 else 0
                   for v, best in zip(objectives, self.optimum))

    def attempt(self, solver, setting):
        cap = self.bench.cap
        seconds = solver.fit(self.problem, setting, self.out, cap)
        if seconds is None:
            return None
        found = self.problem.objectives(self.out)
        best = [min(pair) for pair in zip(found, self.optimum)]
        self.optimum = best
        self.tries.append(Try(solver, setting, seconds, found))
        return self.tries[-1]

    def explore(self, solver):
        for family in solver.families(self.problem):
            for setting in family:
                tried = self.attempt(solver, setting)
                if tried is None or self.off(tried.objectives) <= \
                        min(TARGETS) / 2 or self.is_hopeless(tried):
                    break

    def is_hopeless(self, tried):
        if tried.solver.mine:
            return False
        best = self.best_peer(min(TARGETS))
        return best is not None and \
            tried.seconds > max(1, HOPELESS * best.seconds)

    def reached(self, target):
        return [t for t in self.tries if self.off(t.objectives) <= target]

    def fastest(self, solver, target):
        mine = [t for t in self.reached(target) if t.solver is solver]
        return min(mine, key=lambda t: t.seconds, default=None)

    def best_peer(self, target):
        peers = [t for t in self.reached(target) if not t.solver.mine]
        return min(peers, key=lambda t: t.seconds, default=None)

    def chosen(self):
        """For each solver and target the fastest setting, and those that one run
        cannot distinguish from it; no try twice."""
        found = []
        for solver in self.bench.solvers:
            for target in TARGETS:
                first = self.fastest(solver, target)
                found += [t for t in self.reached(target)
                          if t.solver is solver and t not in found and
                          t.seconds <= CLOSE * first.seconds]
        return found

    def turns(self, chosen):
        """How often to run these in turn: short fits more often, because a single
        time of some milliseconds is inaccurate."""
        once = sum(t.seconds for t in chosen)
        return self.bench.runs if self.bench.runs == 1 else \
            min(max(self.bench.runs, round(ENOUGH / once)), TURNS_MAX)

    def run_in_turn(self):
        chosen = self.chosen()
        for _ in range(self.turns(chosen)):
            for t in chosen:
                if t.seconds > SLOW and not t.solver.mine:
                    continue
                seconds = t.solver.fit(self.problem, t.setting, self.out,
                                       self.bench.cap)
                if seconds is not None:
                    t.again.append(seconds)
        for t in chosen:
            if t.again:
                t.seconds = statistics.median(t.again)

    def wants_more(self, runs):
        """Of a command that took so many seconds each time."""
        more = self.bench.runs > 1 and sum(runs) < ENOUGH
        return more or len(runs) < self.bench.runs and sum(runs) < SLOW

    def run_shell(self):
        """{solver's name: seconds} of whole commands, to the last target."""
        runs = {}
        fits = {solver: self.fastest(solver, min(TARGETS))
                for solver in self.bench.solvers if solver.name != "strads-1"}
        fits = {solver: t for solver, t in fits.items() if t is not None}
        for _ in range(TURNS_MAX):
            for solver in list(fits):
                before = runs.setdefault(solver.name, [])
                if not self.wants_more(before):
                    continue
                seconds = solver.shell(self.problem, fits[solver].setting,
                                       self.out, self.bench.cap)
                if seconds is None:
                    del fits[solver]
                else:
                    before.append(seconds)
        return {name: statistics.median(times)
                for name, times in runs.items() if times}

    def result(self):
        for solver in self.bench.solvers:
            self.explore(solver)
        self.run_in_turn()
        shell = self.run_shell()
        for solver in self.bench.solvers:
            solver.close()
        return [self.at_target(target, shell) for target in TARGETS]

    def at_target(self, target, shell):
        line = {"bench": "linear", "row": self.problem.label(),
                "target": target, "optimum_gap": self.bench.gap(self.problem)}
        for solver in self.bench.solvers:
            t = self.fastest(solver, target)
            line[solver.name] = t and t.seconds
            line[solver.name + "_setting"] = t and t.setting
        peer = self.best_peer(target)
        line["peer"] = peer and peer.solver.name
        line["peer_seconds"] = peer and peer.seconds
        if target == min(TARGETS):
            others = [v for k, v in shell.items() if k != "strads-2"]
            line["shell"] = shell.get("strads-2")
            line["shell_peer"] = min(others, default=None)
        line["load"] = os.getloadavg()[0]
        return line


# ---- the table --------------------------------------------------------------

def ratio(a, b):
    return a / b if a is not None and b else None


def text(x, form):
    return "-" if x is None else form % x


def cells(line):
    """The columns of both tables: label, target, seconds and ratios."""
    one, two = line["strads-1"], line["strads-2"]
    peer = line["peer_seconds"]
    return [line["row"], "%.0e" % line["target"]] + \
        [text(x, "%.4f") for x in (one, two, peer)] + \
        [text(ratio(x, peer), "%.2f") for x in (one, two)] + \
        [text(ratio(line.get("shell"), line.get("shell_peer")), "%.2f"),
         line["peer"] or "-"]


HEADS = ["row", "to", "1 w", "2 w", "peer", "1 w", "2 w", "sh", "who"]


def print_line(columns):
    print("%-27s %5s %7s %7s %7s %5s %5s %5s %s" % tuple(columns),
          flush=True)


def summary(lines):
    """The share of rows that keep each bound, of those that have a peer."""
    final = [x for x in lines if x["target"] == min(TARGETS)]
    compared = [x for x in final if x["peer_seconds"]]
    print()
    for workers, bound in (("strads-2", .35), ("strads-2", .6),
                           ("strads-1", .6)):
        within = [x for x in compared if x[workers] is not None and
                  x[workers] <= bound * x["peer_seconds"]]
        print("%s at most %.2f x the best peer: %d of %d rows" %
              (workers, bound, len(within), len(compared)))
    shells = [x for x in final if x["shell"] and x["shell_peer"]]
    within = [x for x in shells if x["shell"] <= .3 * x["shell_peer"]]
    print("from the shell at most 0.30 x: %d of %d rows" %
          (len(within), len(shells)))
    for x in final:
        if not x["peer_seconds"]:
            print("%s: no peer reached the target" % x["row"])
        if x["strads-2"] is None or x["strads-1"] is None:
            print("%s: strads did not reach the target" % x["row"])
        if x["optimum_gap"] > min(TARGETS) / 10:
            print("%s: the optimum is known to a gap of %.0e only" %
                  (x["row"], x["optimum_gap"]))


def write_markdown(lines, path):
    with open(path, "w") as f:
        f.write("| " + " | ".join(HEADS) + " |\n")
        f.write("|---" * len(HEADS) + "|\n")
        for line in lines:
            f.write("| " + " | ".join(cells(line)) + " |\n")


# ---- the whole --------------------------------------------------------------

class Bench:
    def __init__(self, options):
        build, strads = os.environ["STRADS_BUILD"], os.environ["STRADS_BIN"]
        self.place = os.path.join(build, "bench", "linear")
        self.data = Data(self.place, os.environ["STRADS_DATA"], strads)
        self.scratch = tempfile.mkdtemp()
        self.cap = 5 if options.quick else 30
        self.runs = 1 if options.quick else 3
        self.solvers = [solvers.Strads(strads, self.scratch, 1),
                        solvers.Strads(strads, self.scratch, 2),
                        solvers.Glmnet(), solvers.Sklearn(),
                        solvers.Liblinear()]
        self.known_path = os.path.join(self.place, "optima.json")
        self.known = {}
        if os.path.exists(self.known_path):
            with open(self.known_path) as f:
                self.known = json.load(f)

    def optimum(self, problem):
        """Objectives of a tight fit by strads, kept for the next time; all
        that others find below it counts in its place."""
        if problem.key not in self.known:
            out = os.path.join(self.scratch, "w")
            first = self.solvers[1]
            first.fit(problem, REFERENCE, out, 2 * self.cap)
            with open(first.log) as log:
                gap = json.loads(log.readlines()[-1])["gap"]
            self.keep(problem, problem.objectives(out), gap)
        return self.known[problem.key]["objectives"]

    def keep(self, problem, objectives, gap):
        self.known[problem.key] = {"objectives": objectives, "gap": gap}
        with open(self.known_path, "w") as f:
            json.dump(self.known, f)

    def gap(self, problem):
        gap = self.known[problem.key]["gap"]
        return math.inf if gap is None else gap

    def run(self, kind, name, at):
        file = self.data.find(name)
        if file is None:
            return []
        parts = os.path.join(self.scratch, "parts")
        problem = Problem(kind, name, at, file, parts, self.data)
        row = Row(problem, self)
        lines = row.result()
        self.keep(problem, row.optimum, self.gap(problem))
        return lines

    def close(self):
        for solver in self.solvers:
            solver.close()
        shutil.rmtree(self.scratch)


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench linear")
    parser.add_argument("--rows", default="*", metavar="PATTERN",
                        help="rows KIND/DATA/RATIO to run: 'lasso/mid/*'")
    parser.add_argument("--quick", action="store_true",
                        help="one run each, caps of 5 s")
    return parser.parse_args()


def main():
    options = read_options()
    bench = Bench(options)
    lines = []
    print("Load %.2f on %d cores. Seconds of the fit alone; medians of %d, and "
          "of up to %d of\nwhat is short, in turn; caps of %d s. 1 w, 2 w: "
          "strads with so many workers, and\nby the best peer's time; sh: "
          "whole commands, strads by the best peer." %
          (os.getloadavg()[0], os.cpu_count(), bench.runs,
           TURNS_MAX if bench.runs > 1 else 1, bench.cap))
    print_line(HEADS)
    try:
        for kind, name, at in list_rows():
            if not fnmatch.fnmatch("%s/%s/%g" % (kind, name, at),
                                   options.rows):
                continue
            for line in bench.run(kind, name, at):
                lines.append(line)
                print_line(cells(line))
    finally:
        bench.close()
    summary(lines)
    with open(os.path.join(bench.place, "rows.jsonl"), "w") as f:
        for line in lines:
            f.write(json.dumps(line) + "\n")
    write_markdown(lines, os.path.join(bench.place, "rows.md"))
    print("JSON lines and Markdown: rows.jsonl and rows.md in %s" %
          bench.place)


if __name__ == "__main__":
    main()
