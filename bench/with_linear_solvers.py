"""The solvers of `bench linear`: strads and the peers. A solver has settings from
loose to tight for a problem, fits it with one of them, and writes coefficients in
with_yardstick.py's format."""
import datetime
import json
import math
import os
import select
import subprocess
import sys
import threading
import time

from with_yardstick import PATHS, POINTS

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDS = 5
STARTUP = 60  # seconds a peer may take to read its data


def powers(first, last):
    return ["1e-%d" % k for k in range(first, last + 1)]


class Solver:
    """The base of all solvers. `families` lists settings, a list for each way to
    use the solver; fit() returns seconds, or None when they were too many."""

    mine = False  # strads itself

    def families(self, problem):
        raise NotImplementedError

    def fit(self, problem, setting, out, cap):
        raise NotImplementedError

    def shell(self, problem, setting, out, cap):
        """Seconds of a whole command, loading included; None: has none."""
        return None

    def close(self):
        pass


def timed(command, cap):
    """Seconds that a command takes; None when too many, or it fails."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    # subprocess polls with a timeout, with pauses of up to 32 ms that would add to
    # the time of a short command; this one blocks.
    limit = threading.Timer(cap, child.kill)
    limit.start()
    failed = child.wait()
    seconds = time.perf_counter() - begun
    limit.cancel()
    return None if failed else seconds


# ---- strads -----------------------------------------------------------------

class Strads(Solver):
    mine = True

    def __init__(self, binary, scratch, workers):
        self.name = "strads-%d" % workers
        self.binary = binary
        self.workers = workers
        self.model = os.path.join(scratch, "model.json")
        self.log = os.path.join(scratch, "log.jsonl")

    def families(self, problem):
        return [["1e-1", "3e-2", "1e-2", "3e-3"] + powers(3, 9)]

    def path(self, program):
        return [program, "path", "--points", str(POINTS), "--ratio", "0.01",
                "--coefficients", self.model]

    def command(self, problem, tolerance, cap):
        weight = "%.17g" % problem.weight
        words = {
            "lasso": ["lasso", "train", "--lambda", weight],
            "elastic-net": ["lasso", "train", "--l1-ratio", ".5", "--lambda",
                            weight],
            "path": self.path("lasso"),
            "cv": self.path("lasso"),
            "cv-logistic": self.path("logistic"),
            "l1-logistic": ["logistic", "train", "--lambda", weight],
            "elastic-logistic": ["logistic", "train", "--l1-ratio", ".5",
                                 "--lambda", weight],
            "l2-logistic": ["logistic", "train", "--l1-ratio", "0", "--c",
                            weight],
            "squared-hinge": ["svm", "train", "--c", weight],
            "hinge": ["svm", "train", "--loss", "hinge", "--c", weight],
            "l1-squared-hinge": ["svm", "train", "--l1-ratio", "1", "--c",
                                 weight],
            "epsilon": ["svm", "train", "--loss", "epsilon", "--c", weight],
            "squared-epsilon": ["svm", "train", "--loss", "squared-epsilon",
                                "--c", weight],
            "poisson": ["glm", "train", "--loss", "poisson", "--lambda", weight],
            "multinomial": ["glm", "train", "--loss", "multinomial", "--lambda",
                            weight],
        }[problem.kind]
        words.append("--intercept" if problem.intercept else "--no-intercept")
        if problem.kind not in PATHS:
            words += ["--model", self.model]
        return [self.binary] + words + [
            "--workers", str(self.workers), "--tolerance", tolerance,
            "--log", self.log, "--time-limit", str(cap), "--quiet",
            problem.file]

    def run(self, problem, tolerance, cap):
        """Exit code 3 is a run that a bound ended, and is measured as well."""
        code = subprocess.run(self.command(problem, tolerance, cap),
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL).returncode
        if code not in (0, 3):
            sys.exit("strads ended with exit code %d" % code)
        with open(self.log) as lines:
            return json.loads(lines.readlines()[-1])

    def fit(self, problem, setting, out, cap):
        end = self.run(problem, setting, cap)
        if problem.kind in PATHS:
            self.write_path(problem, out)
        else:
            self.write_model(out)
        if end["reason"] == "time-limit":
            return None
        return self.cross_validate(problem, setting, cap) \
            if problem.kind.startswith("cv") else end["seconds"]

    def cross_validate(self, problem, tolerance, cap):
        """Seconds from the beginning of the path of all rows to the last fold's
        end: the log has the former, the command as a whole the latter."""
        words = self.command(problem, tolerance, cap)
        words[words.index("path")] = "cv"
        at = words.index("--coefficients")
        del words[at:at + 2]
        words += ["--folds", str(FOLDS), "--output", self.model + ".csv"]
        code = subprocess.run(words, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL).returncode
        if code == 3:
            return None
        if code:
            sys.exit("strads ended with exit code %d" % code)
        with open(self.log) as lines:
            of = [json.loads(line) for line in lines]
        begun, ended = (datetime.datetime.fromisoformat(
            next(x for x in of if x["event"] == event)["time"].rstrip("Z"))
            for event in ("start", "end"))
        return (ended - begun).total_seconds()

    def write_model(self, out):
        with open(self.model) as f:
            model = json.load(f)
        w = model["coefficients"]
        width = model.get("width", 1)
        with open(out, "w") as lines:
            if width > 1:
                self.write_classes(model, width, lines)
                return
            if model["intercept"]:
                lines.write("0 %.17g\n" % model["intercept"])
            for j, value in zip(w["index"], w["value"]):
                lines.write("%d %.17g\n" % (j, value))

    @staticmethod
    def write_classes(model, width, lines):
        """CLASS COLUMN VALUE, column 0 the intercept."""
        w = model["coefficients"]
        for k in range(width):
            lines.write("%d 0 %.17g\n" % (k, model["intercept"][k]))
        for at, value in enumerate(w["value"]):
            if value:
                lines.write("%d %d %.17g\n" % (at % width,
                                               w["index"][at // width], value))

    def write_path(self, problem, out):
        with open(self.model) as csv, open(out, "w") as lines:
            next(csv)
            for line in csv:
                words = line.rstrip("\n").split(",")
                down = math.log(problem.weight / float(words[0]))
                point = round(down / math.log(100) * (POINTS - 1))
                if words[1] != "0":
                    lines.write("%d %s %s\n" % (point, words[1], words[-1]))

    def shell(self, problem, setting, out, cap):
        return timed(self.command(problem, setting, cap), cap + STARTUP)


# ---- peers ------------------------------------------------------------------

class Server(Solver):
    """A peer with a process that keeps the data and answers a line per fit."""

    def __init__(self, name, command):
        self.name = name
        self.command = command
        self.process = None
        self.problem = None

    def start(self, problem):
        self.close()
        self.problem = problem
        self.process = subprocess.Popen(
            self.command + [problem.parts, problem.kind] +
            (["intercept"] if problem.intercept else []),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, bufsize=0)
        if self.answer(STARTUP) != "ready":
            sys.exit("%s does not start; is it installed?" % self.name)

    def answer(self, cap):
        """Its next line; None when it takes longer, or has ended."""
        pipe = self.process.stdout
        text = b""
        end = time.monotonic() + cap
        while not text.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                return None
            got = os.read(pipe.fileno(), 4096)
            if not got:
                return None
            text += got
        return text.decode().strip()

    def fit(self, problem, setting, out, cap):
        if self.problem is not problem or self.process is None:
            self.start(problem)
        line = "%.17g %s %s\n" % (problem.weight, setting, out)
        self.process.stdin.write(line.encode())
        seconds = self.answer(cap)
        if seconds is None:
            self.close()
            return None
        return float(seconds)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
        self.process = self.problem = None


class Glmnet(Server):
    def __init__(self):
        super().__init__("glmnet", ["Rscript", "--vanilla",
                                    HERE + "/with_glmnet.R"])

    def families(self, problem):
        tolerances = ["1e-%d" % k for k in (3, 5, 7, 9, 11, 13, 15)]
        if problem.kind in PATHS:
            return [["path/" + t for t in tolerances]]
        if problem.kind in ("lasso", "elastic-net", "l1-logistic",
                            "elastic-logistic", "l2-logistic", "poisson",
                            "multinomial"):
            return [["single/" + t for t in tolerances],
                    ["path/" + t for t in tolerances]]
        return []


class Sklearn(Server):
    def __init__(self):
        super().__init__("sklearn", [sys.executable,
                                     HERE + "/with_sklearn.py"])

    def families(self, problem):
        ways = {"lasso": ["single", "path"], "path": ["path"],
                "elastic-net": ["single", "path"],
                "l1-logistic": ["liblinear", "saga"],
                "elastic-logistic": ["saga"],
                "l2-logistic": ["lbfgs", "newton-cg", "liblinear"],
                "squared-hinge": ["dual", "primal"], "hinge": ["dual"],
                "l1-squared-hinge": ["primal"], "epsilon": ["dual"],
                "squared-epsilon": ["dual", "primal"]}
        # That of liblinear penalises the intercept.
        return [[way + "/" + t for t in powers(1, 10)]
                for way in ways.get(problem.kind, [])
                if not (problem.intercept and way == "liblinear")]

    def shell(self, problem, setting, out, cap):
        return timed(self.command + ["--shell", problem.file, problem.kind,
                                     "%.17g" % problem.weight, setting, out],
                     cap + STARTUP)


class Liblinear(Server):
    def __init__(self):
        super().__init__("liblinear", [sys.executable,
                                       HERE + "/with_liblinear.py"])

    def families(self, problem):
        solvers = {"l1-logistic": "6", "l2-logistic": "07",
                   "squared-hinge": "12", "hinge": "3",
                   "l1-squared-hinge": "5", "epsilon": ["13"],
                   "squared-epsilon": ["11", "12"]}
        if problem.intercept:  # it would penalise it
            return []
        return [[s + "/" + t for t in powers(1, 10)]
                for s in solvers.get(problem.kind, "")]

    def shell(self, problem, setting, out, cap):
        solver, eps = setting.split("/")
        c = problem.weight
        if problem.kind == "l1-logistic":
            c = 1 / (problem.rows * c)
        return timed(["liblinear-train", "-q", "-s", solver, "-e", eps, "-c",
                      "%.17g" % c, problem.file, out], cap + STARTUP)
