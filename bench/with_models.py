"""Shared by the benchmarks of lda and mf: runs of strads and of programs, their
memory and their logs, tables and JSON lines."""
import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

STRADS = os.environ["STRADS_BIN"]
PROGRAMS = os.path.join(os.environ["STRADS_BUILD"], "bench")
DATA = os.environ["STRADS_DATA"]


def parse(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true",
                        help="the samples alone, short runs")
    parser.add_argument("--runs", type=int, default=3,
                        help="in turn; medians are shown (default 3)")
    parser.add_argument("--only", metavar="PART",
                        help="one part of the benchmark, by its name")
    options = parser.parse_args()
    if options.quick:
        options.runs = 1
    return options


def load():
    with open("/proc/loadavg") as f:
        return float(f.read().split()[0])


def find(*names):
    """The first file of those names below the data's folder, or None."""
    for name in names:
        for folder in (".", "bow", "ratings", "linear"):
            path = os.path.join(DATA, folder, name)
            if os.path.exists(path):
                return path
    return None


def unpack(path, place):
    """A plain file with the text of `path`."""
    if not path.endswith(".gz"):
        return path
    plain = os.path.join(place, os.path.basename(path)[:-3])
    if not os.path.exists(plain):
        with gzip.open(path, "rb") as a, open(plain, "wb") as b:
            shutil.copyfileobj(a, b)
    return plain


def read_corpus(path, place):
    """documents, words, and the entries' document, word and count."""
    plain = unpack(path, place)
    if not plain.endswith(".ldac"):
        with open(plain) as f:
            documents, words, _ = (int(f.readline()) for _ in range(3))
            flat = np.fromfile(f, dtype=np.int64, sep=" ").reshape(-1, 3)
        return documents, words, flat[:, 0] - 1, flat[:, 1] - 1, flat[:, 2]
    document, word, count = [], [], []
    with open(plain) as f:
        for d, line in enumerate(f):
            pairs = np.array(line.replace(":", " ").split()[1:], dtype=np.int64)
            document.append(np.full(len(pairs) // 2, d))
            word.append(pairs[::2])
            count.append(pairs[1::2])
    words = max(int(w.max()) for w in word if len(w)) + 1
    return (len(word), words, np.concatenate(document), np.concatenate(word),
            np.concatenate(count))


def write_docword(path, documents, words, document, word, count):
    with open(path, "w") as f:
        f.write("%d\n%d\n%d\n" % (documents, words, len(word)))
        np.savetxt(f, np.column_stack([document + 1, word + 1, count]),
                   fmt="%d")


# A process inherits the peak memory of its parent, and these programs hold whole
# corpora, so a small process starts the command.
LAUNCH = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
with open(sys.argv[1], "w") as out:
    print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, file=out)
"""


class Run:
    """A command that has ended: its text, its peak memory in bytes."""

    def __init__(self, *command):
        with tempfile.NamedTemporaryFile("r") as end:
            done = subprocess.run([sys.executable, "-S", "-c", LAUNCH,
                                   end.name, *command], text=True,
                                  capture_output=True, check=False)
            status, kilobytes = map(int, end.read().split() or (-1, 0))
        self.text = done.stdout
        self.bytes = kilobytes * 1024
        if status not in (0, 3):
            raise RuntimeError("%s: %s" % (" ".join(command), done.stderr))


def train(place, *arguments):
    """Reports of a run of strads, as a list of dicts, and its memory."""
    log = os.path.join(place, "log.jsonl")
    run = Run(STRADS, *arguments, "--quiet", "--log", log)
    return read_log(log), run.bytes


def read_log(log):
    with open(log) as f:
        lines = [json.loads(line) for line in f]
    return [line for line in lines if line.get("event") == "round"]


records = []


def record(bench, **what):
    records.append(json.dumps({"bench": bench, **what, "load": load()}))


def print_records():
    print("\n" + "\n".join(records), flush=True)


def median(numbers):
    known = [x for x in numbers if x is not None]
    return statistics.median(known) if known else None


def show(number, form="%.2f"):
    return "-" if number is None else form % number
