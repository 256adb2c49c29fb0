"""Matrix factorisation; mf.sh calls this. Parts: speed, error, methods, grid,
peer, implicit."""
import os
import subprocess
import tempfile
import time
import warnings

import numpy as np

import with_models as m

RANKS = (16, 40, 100)
WANTED = {16: 220, 40: 95, 100: 45}  # M ratings a second of a core


def make_ratings(place, quick, prefix=""):
    sizes = ["3000", "1000", "3e5"] if quick else ["200000", "20000", "20e6"]
    train, test = (os.path.join(place, prefix + x)
                   for x in ("train.txt", "test.txt"))
    m.Run(os.path.join(m.PROGRAMS, "with_synthetic"), "mf", *sizes, "16", "0.5",
          "1", train, test)
    return train, test


def count_lines(path):
    with open(path, "rb") as f:
        return sum(block.count(b"\n") for block in
                   iter(lambda: f.read(1 << 22), b""))


# ---- speed ------------------------------------------------------------------

def strads_speed(place, train, rank, workers, sweeps, ratings):
    reports, peak = m.train(place, "mf", "train", train, "--rank", str(rank),
                            "--sweeps", str(sweeps), "--workers", str(workers))
    return {**rates(reports, ratings), "bytes": peak}


def rates(reports, ratings):
    first, end = reports[0], reports[-1]
    done = 1e-6 * ratings * (end["sweep"] - first["sweep"])
    return {"cpu": done / (end["cpu_seconds"] - first["cpu_seconds"]),
            "wall": done / (end["seconds"] - first["seconds"]),
            "preparation": end["preparation_cpu_seconds"]}


def pair_speed(place, train, rank, sweeps, ratings):
    """Two independent processes of one worker at once, on a processor each: this
    machine's capacity for two workers; and twice the slower one, as if they waited
    for each other after each sweep."""
    logs = [os.path.join(place, "pair.%d" % k) for k in range(2)]
    processors = sorted(os.sched_getaffinity(0))
    pair = [subprocess.Popen(
        [m.STRADS, "mf", "train", train, "--rank", str(rank), "--sweeps",
         str(sweeps), "--workers", "1", "--quiet", "--log", log],
        preexec_fn=lambda k=k: os.sched_setaffinity(0, processors[k:k + 1]))
            for k, log in enumerate(logs)]
    if any([process.wait() for process in pair]):
        raise RuntimeError("one of two processes failed")
    a, b = (rates(m.read_log(log), ratings) for log in logs)
    return {"cpu": m.median([a["cpu"], b["cpu"]]),
            "wall": a["wall"] + b["wall"],
            "slower": min(a["wall"], b["wall"]),
            "preparation": m.median([a["preparation"], b["preparation"]])}


def speed(place, options, train, test):
    sweeps, ratings = 10, count_lines(train)
    print("SGD, %d ratings: M ratings a CPU second (cpu) and a second (wall),"
          "\nsweeps 2 to %d, measuring what is held out included; CPU seconds "
          "of preparation\n(prepare); medians of %d in turn"
          % (ratings, sweeps, options.runs))
    print("%5s %-10s %8s %8s %8s" % ("rank", "solver", "cpu", "wall",
                                     "prepare"))
    for rank in RANKS:
        solvers = {
            "strads-1": lambda: strads_speed(place, train, rank, 1, sweeps,
                                             ratings),
            "strads-2": lambda: strads_speed(place, train, rank, 2, sweeps,
                                             ratings)}
        if len(os.sched_getaffinity(0)) > 1:
            solvers["two alone"] = lambda: pair_speed(place, train, rank,
                                                      sweeps, ratings)
        runs = {solver: [] for solver in solvers}
        for _ in range(options.runs):
            for solver, run in solvers.items():
                runs[solver].append(run())
        show_speed(rank, runs)


def show_speed(rank, runs):
    for solver, seen in runs.items():
        figure = {key: m.median([x[key] for x in seen]) for key in seen[0]}
        print("%5d %-10s %8.1f %8.1f %8.2f"
              % (rank, solver, figure["cpu"], figure["wall"],
                 figure["preparation"]))
        m.record("mf", rank=rank, solver=solver, **figure)
    two, alone, slower = (
        m.median([b[what] * times / a["wall"] for a, b in
                  zip(runs["strads-1"], runs.get(name, ()))])
        for name, what, times in (("strads-2", "wall", 1),
                                  ("two alone", "wall", 1),
                                  ("two alone", "slower", 2)))
    print("%5d wanted %d; two workers: %.2f x one (wanted: 1.8)"
          % (rank, WANTED[rank], two), flush=True)
    if alone:
        print("%5d two processes on their own: %.2f x, twice the slower one "
              "%.2f x" % (rank, alone, slower), flush=True)
    m.record("mf_two_workers", rank=rank, ratio=two, alone=alone,
             slower=slower)


# ---- error ------------------------------------------------------------------

def error(place, options, train, test):
    """Default options except the workers."""
    courses = {}
    ratings = count_lines(train)
    for workers in (1, 2):
        reports, peak = m.train(place, "mf", "train", train, "--test", test,
                                "--workers", str(workers))
        courses["strads-%d" % workers] = [(x["cpu_seconds"], x["test_rmse"])
                                          for x in reports]
        print("%d workers: %.1f bytes a rating at the peak, factors included"
              % (workers, peak / ratings))
        m.record("mf_memory", workers=workers, bytes_a_rating=peak / ratings)
    print("rank 16, default options: CPU seconds of training, test RMSE")
    print("%5s" % "sweep" + "".join("%20s" % x for x in courses))
    for k in range(max(map(len, courses.values()))):
        line = "%5d" % (k + 1)
        for solver, course in courses.items():
            if k < len(course):
                line += "   %7.3f %9.5f" % course[k]
                m.record("mf_error", solver=solver, sweep=k + 1,
                         cpu_seconds=course[k][0], test_rmse=course[k][1])
        print(line, flush=True)


# ---- methods ----------------------------------------------------------------

def methods(place, options, train, test):
    """The course of each method by default options, and its memory."""
    ratings = count_lines(train)
    print("\nrank 16, one worker, six sweeps: CPU seconds of training, test "
          "RMSE,\nbytes a rating at the peak with all factors")
    for method in ("sgd", "als", "cd", "ccd++"):
        reports, peak = m.train(place, "mf", "train", train, "--test", test,
                                "--workers", "1", "--method", method,
                                "--sweeps", "6")
        end = reports[-1]
        print("%-8s %8.2f %9.5f %8.1f" % (method, end["cpu_seconds"],
                                          end["test_rmse"], peak / ratings),
              flush=True)
        m.record("mf_method", method=method, cpu_seconds=end["cpu_seconds"],
                 test_rmse=end["test_rmse"], bytes_a_rating=peak / ratings)


# ---- a grid -----------------------------------------------------------------

def split(path, place):
    """A tenth of the lines for the test."""
    parts = [os.path.join(place, "grid." + x) for x in ("train", "test")]
    with open(path) as lines, open(parts[0], "w") as a, open(parts[1], "w") \
            as b:
        for k, line in enumerate(lines):
            (b if k * 7919 % 10 == 3 else a).write(line)
    return parts


def last_error(place, train, test, *more):
    return m.train(place, "mf", "train", train, "--test", test, "--workers",
                   "1", *more)[0][-1]["test_rmse"]


def grid(place, options, train, test):
    """Default options against the best of steps and penalties."""
    sets = {"generated, small": make_ratings(place, True, "small.")}
    votes = m.find("unvotes.txt.gz", "unvotes.txt")
    if votes:
        sets["unvotes"] = split(m.unpack(votes, place), place)
    if not options.quick:
        sets["generated"] = (train, test)
    print("\nrank 16, 20 sweeps: test RMSE by default options, and the best "
          "of a grid")
    for name, (a, b) in sets.items():
        default = last_error(place, a, b)
        best = min((last_error(place, a, b, "--step", step, "--lambda", weight),
                    step, weight)
                   for step in ("0.04", "0.08", "0.16")
                   for weight in ("0.01", "0.02", "0.04", "0.08"))
        print("%-18s %9.5f %9.5f (step %s, lambda %s): %+.2f %%"
              % (name, default, *best, 100 * (default / best[0] - 1)),
              flush=True)
        m.record("mf_grid", data=name, default=default, best=best[0],
                 step=float(best[1]), weight=float(best[2]))


# ---- a peer -----------------------------------------------------------------

def peer(place, options, train, test):
    """scikit-learn's NMF takes missing ratings as 0, so ratings are shifted above
    0, and only its time is compared."""
    import scipy.sparse
    from sklearn.decomposition import NMF
    small = make_ratings(place, True, "small.")
    data = np.loadtxt(small[0])
    rest = np.loadtxt(small[1])
    shape = (int(max(data[:, 0].max(), rest[:, 0].max())) + 1,
             int(max(data[:, 1].max(), rest[:, 1].max())) + 1)
    least = min(data[:, 2].min(), rest[:, 2].min()) - 1
    x = scipy.sparse.csr_matrix(
        (data[:, 2] - least, (data[:, 0].astype(int), data[:, 1].astype(int))),
        shape)
    model = NMF(16, init="random", max_iter=20, random_state=1)
    warnings.simplefilter("ignore")  # it has not converged in 20 sweeps
    began = time.process_time()
    user = model.fit_transform(x)
    seconds = time.process_time() - began
    item = model.components_.T
    guess = (user[rest[:, 0].astype(int)] *
             item[rest[:, 1].astype(int)]).sum(axis=1) + least
    report = m.train(place, "mf", "train", small[0], "--test", small[1],
                     "--workers", "1")[0][-1]
    print("\n%d ratings, rank 16, 20 sweeps: CPU seconds, test RMSE"
          % len(data))
    for name, cpu, rmse in (
            ("strads", report["cpu_seconds"], report["test_rmse"]),
            ("sklearn NMF", seconds,
             float(np.sqrt(((guess - rest[:, 2]) ** 2).mean())))):
        print("%-12s %9.4f %9.4f" % (name, cpu, rmse))
        m.record("mf_peer", solver=name, cpu_seconds=cpu, test_rmse=rmse)


# ---- implicit feedback ------------------------------------------------------

def implicit(place, options, train, test):
    """Conjugate gradients beside with_implicit.c, and exact solutions: CPU seconds
    of five sweeps, and the objective after them."""
    program = os.path.join(m.PROGRAMS, "with_implicit")
    sizes = ["2000", "1000", "100000"] if options.quick else \
        ["50000", "10000", "5000000"]
    counts = os.path.join(place, "counts.txt")
    subprocess.run([program, "make", *sizes, "1", counts], check=True)
    print("\nimplicit, %s counts, 5 sweeps, 3 steps: CPU seconds, objective; "
          "medians of %d in turn" % (sizes[2], options.runs))

    def ours(rank, *more):
        end = m.train(place, "mf", "train", counts, "--implicit", "--rank",
                      str(rank), "--sweeps", "5", "--patience", "5",
                      "--workers", "1", *more)[0][-1]
        return end["cpu_seconds"], end["objective"]

    def theirs(rank):
        end = subprocess.run([program, "cg", counts, str(rank), "5", "3", "1",
                              "1"], check=True, capture_output=True).stdout
        return tuple(map(float, end.split()))

    for rank in (64, 128, 256):
        solvers = {"strads": lambda: ours(rank), "plain C": lambda: theirs(rank)}
        if options.quick or rank < 256:
            solvers["exact"] = lambda: ours(rank, "--cg-steps", "0")
        runs = {name: [] for name in solvers}
        for _ in range(options.runs):
            for name, run in solvers.items():
                runs[name].append(run())
        for name, seen in runs.items():
            cpu = m.median([x[0] for x in seen])
            print("%5d %-10s %8.2f %14.7g" % (rank, name, cpu, seen[0][1]),
                  flush=True)
            m.record("mf_implicit", rank=rank, solver=name, cpu_seconds=cpu,
                     objective=seen[0][1])
        ratio = m.median([a[0] / b[0] for a, b in
                          zip(runs["strads"], runs["plain C"])])
        print("%5d %.2f x plain C (wanted: at most 1)" % (rank, ratio),
              flush=True)


def main():
    options = m.parse(__doc__)
    parts = {"speed": speed, "error": error, "methods": methods, "grid": grid,
             "peer": peer, "implicit": implicit}
    print("Load %.2f on %d cores." % (m.load(), os.cpu_count()))
    with tempfile.TemporaryDirectory() as place:
        train, test = make_ratings(
            place, options.quick or options.only == "implicit")
        for name, part in parts.items():
            if options.only in (None, name):
                part(place, options, train, test)
    m.print_records()


main()
