"""python -m strads PROGRAM.py DATA: trains a user-defined program from a file.

`strads run PROGRAM.py DATA` starts this module. The file defines one subclass
of strads.Program, or selects one by `program = MyProgram(...)`. Exit codes are
the command's: 0 done, 1 failed, 2 wrong usage or input, 3 not converged, 130
stopped; after 3 and 130 the current model is written.
"""
import argparse
import runpy
import sys
import warnings

from . import engine
from .model import Model
from .program import Program

_BOUNDS = ("rounds", "time")


def parse(words):
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="strads run", description="Trains a program in Python.")
    parser.add_argument("program", metavar="PROGRAM.py")
    parser.add_argument("data", metavar="DATA")
    parser.add_argument("--model", metavar="FILE", default="model.json",
                        help="write the model here (default: model.json)")
    parser.add_argument("--labels", metavar="FILE",
                        help="labels of MatrixMarket data, one a line")
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="threads (default: one per core)")
    parser.add_argument("--partitions", type=int, default=0, metavar="K",
                        help="of the data (default: by its size)")
    parser.add_argument("--tolerance", type=float, default=1e-6, metavar="T",
                        help="relative gap to stop at (default: 1e-6)")
    parser.add_argument("--max-rounds", type=int, default=0, metavar="N",
                        help="rounds at most (default: any)")
    parser.add_argument("--time-limit", type=float, default=0, metavar="S",
                        help="seconds at most (default: any)")
    parser.add_argument("--seed", type=int, default=0, metavar="S",
                        help="of all draws (default: 0)")
    parser.add_argument("--policy", default="priority",
                        choices=("priority", "uniform", "cyclic"),
                        help="what chooses blocks (default: priority)")
    parser.add_argument("--quiet", action="store_true",
                        help="print errors only")
    return parser.parse_args(words)


def load(path):
    """The program that a file defines."""
    try:
        names = runpy.run_path(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: cannot be read: no such file") from None
    if isinstance(names.get("program"), Program):
        return names["program"]
    kinds = [kind for kind in names.values() if isinstance(kind, type)
             and issubclass(kind, Program) and kind is not Program]
    if len(kinds) != 1:
        raise ValueError(f"{path}: defines {len(kinds)} programs; expected one "
                         "subclass of strads.Program, or `program = ...`")
    return kinds[0]()


def main(words=None):
    """Trains and writes the model; returns an exit code."""
    given = parse(words)

    def say(text):
        if not given.quiet:
            print(f"strads: {text}", file=sys.stderr)
    try:
        program = load(given.program)
    except ValueError as wrong:
        print(f"strads: {wrong}", file=sys.stderr)
        return 2
    code = 0
    # The end of the run is reported below.
    warnings.simplefilter("ignore", engine.ConvergenceWarning)
    try:
        program.fit(engine.File(given.data, given.labels),
                    n_jobs=given.workers or -1, partitions=given.partitions,
                    tol=given.tolerance, max_rounds=given.max_rounds,
                    time_limit=given.time_limit, seed=given.seed,
                    policy=given.policy)
    except KeyboardInterrupt:
        code = 130
    except (OSError, ValueError, MemoryError, engine.StradsError) as wrong:
        print(f"strads: {wrong}", file=sys.stderr)
        return 1 if isinstance(wrong, (MemoryError, engine.StradsError)) else 2
    if not hasattr(program, "end_"):
        say("stopped before there was a model")
        return code
    end, last = program.end_, program.progress_
    code = code or (3 if end in _BOUNDS else 0)
    say(f"{program.name}: ended ({end}) after {last.round} rounds and "
        f"{last.seconds:.3g} s: objective {last.objective:.9g}, gap "
        f"{last.gap:.1e}, seed {given.seed}")
    values = program.values_
    Model(program.name, values[:, 0] if values.shape[1] == 1 else values.T,
          0.0 if values.shape[1] == 1 else [0.0] * values.shape[1],
          fit={"objective": last.objective, "gap": last.gap,
               "rounds": last.round, "seconds": last.seconds,
               "seed": given.seed,
               "partitions": program.partitions_}).save(given.model)
    say(f"the model is in {given.model}")
    return code


if __name__ == "__main__":
    sys.exit(main())
