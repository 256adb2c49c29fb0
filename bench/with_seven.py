"""The ways of distributed learning on one linear SVM, same kernel, same data, by
with_seven.c: on threads of this machine, in turn, and on simulated nodes.

    python3 bench/with_seven.py TRAIN TEST [--lambda L] [--passes N] [--threads T]
        [--nodes N] [--runs R]

Prints the seconds to 1.06 of the optimum's share of wrong test rows and to gaps of
the objective; medians of runs. Curves, of each way's run of the median end, go to
seven.svg beside the programs. STRADS_BUILD is the folder of the release build.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
from pathlib import Path

from reproduce import BUILD, COLOURS, drawing, told, when

WAYS = {"0": "synchronous SGD", "all-reduce": "all-reduce", "4": "SSP, staleness 4",
        "hogwild": "Hogwild", "all": "peers, all", "exponential": "peers, exponential",
        "scheduled": "scheduled"}
GAPS = (1e-1, 1e-2, 1e-3)
ENTRY = 2  # ns that a simulated node takes for an entry


def run(way, o, workers, *ns):
    words = [BUILD / "bench/with_seven", way, o.train, o.test, o.lambda_, o.passes,
             workers, *ns]
    lines = subprocess.run([str(w) for w in words], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    curve = sorted(tuple(float(x) for x in line.split()) for line in lines[:-1])
    if way == "scheduled":  # a run for each tolerance: the Pareto front
        curve = [p for k, p in enumerate(curve) if not k or
                 p[1] < min(q[1] for q in curve[:k])]
    return curve, float(lines[-1].split()[1])


def measure(o, workers, runs, *ns):
    """{way: [curve of each run]} and {way: bytes}."""
    curves, sent = {w: [] for w in WAYS}, {}
    for _ in range(runs):
        for way in WAYS:
            if way == "hogwild" and ns:
                continue  # of one machine's memory
            curve, sent[way] = run(way, o, workers, *ns)
            curves[way].append(curve)
    return curves, sent


def middle(times):
    times = sorted(math.inf if t is None else t for t in times)
    return None if times[len(times) // 2] == math.inf else statistics.median_low(times)


def tabulate(title, curves, sent, best, wrong):
    print(f"\n{title}")
    print(f"{'':20}{'s to ' + format(wrong, '.2%') + ' wrong':>18}" +
          "".join(f"{'s to gap ' + format(g, 'g'):>16}" for g in GAPS) + f"{'MB':>9}")
    for way, each in curves.items():
        if not each:
            continue
        at = [middle([when([(p[0], p[2]) for p in c], wrong) for c in each])]
        at += [middle([when([(p[0], p[1] / best - 1) for p in c], g) for c in each])
               for g in GAPS]
        cells = ["-" if t is None else told(t) for t in at]
        print(f"{WAYS[way]:20}{cells[0]:>18}" + "".join(f"{c:>16}" for c in cells[1:]) +
              f"{sent[way] / 1e6:9.0f}")
        print(json.dumps({"bench": "seven", "where": title, "way": way,
                          "seconds_to_wrong": at[0],
                          **{f"seconds_to_{g:g}": t for g, t in zip(GAPS, at[1:])},
                          "bytes": sent[way]}), file=record)


def draw(path, title, rows):
    """rows: [(what, x, {way: curve}, best, wrong)], a pair of pictures each."""
    width, height, left = 1280, 90 + 375 * len(rows), 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" font-family="system-ui, DejaVu Sans, '
           'sans-serif" font-size="13"><style>.grid { stroke: #e6eaee } text { fill: '
           '#57606a } .title { fill: #1f2328; font-weight: 600 }</style>'
           f'<rect width="{width}" height="{height}" fill="#fff"/>'
           f'<text class="title" x="{left}" y="34" font-size="19">{title}</text>']
    x = left
    for k, name in enumerate(WAYS.values()):
        out.append(f'<rect x="{x:.0f}" y="54" width="18" height="4" rx="2" '
                   f'fill="{COLOURS[k]}"/><text x="{x + 25:.0f}" y="61">{name}</text>')
        x += 60 + 7.6 * len(name)
    for k, (what, x_name, curves, best, wrong) in enumerate(rows):
        y = 104 + 375 * k
        gaps = {w: [(p[0], p[1] / best - 1) for p in c if 1e-6 < p[1] / best - 1 < 1]
                for w, c in curves.items()}
        test = {w: [(p[0], 100 * p[2]) for p in c if p[2] < 2 * wrong]
                for w, c in curves.items()}
        for side, (name, which, axes) in enumerate((
                ("objective above the optimum, relative", gaps, "xy"),
                ("wrong test rows, %", test, "x"))):
            x = left + side * (width / 2 - 4)
            out.append(f'<text class="title" x="{x}" y="{y}" font-size="14">{what}: '
                       f'{name}</text>' + drawing(x_name, name, which, axes).replace(
                           "<svg ", f'<svg x="{x}" y="{y + 8}" width="600" '
                           'height="330" ', 1))
    path.write_text("".join(out) + "</svg>\n", encoding="utf-8")
    print(f"\ncurves: {path}")


parser = argparse.ArgumentParser(prog="./dev bench seven", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("train")
parser.add_argument("test")
parser.add_argument("--lambda", dest="lambda_", default="1e-5", help="of |w|^2 / 2")
parser.add_argument("--passes", default=20, help="over the rows, of all but `scheduled`")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--nodes", type=int, default=16, help="simulated ones")
parser.add_argument("--runs", type=int, default=5, help="on threads")
options = parser.parse_args()
record = (BUILD / "bench/seven.json").open("w", encoding="utf-8")
print(f"Load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores; "
      f"{Path(options.train).stem}, lambda {options.lambda_}; medians of {options.runs}.")
here, sent_here = measure(options, options.threads, options.runs)
there, sent_there = measure(options, options.nodes, 1, ENTRY)
last = min((c[-1] for c in here["scheduled"] + there["scheduled"]), key=lambda p: p[1])
target = 1.06 * last[2]
print(f"optimum {last[1]:.6g}, of the test rows {last[2]:.2%} wrong")
tabulate(f"{options.threads} threads", here, sent_here, last[1], target)
tabulate(f"{options.nodes} simulated nodes: {ENTRY} ns an entry, 50 us, 10 Gbit/s", there,
         sent_there, last[1], target)
draw(BUILD / "bench/seven.svg",
     f"One linear SVM, the ways to share it ({Path(options.train).stem})",
     [(f"{options.threads} threads", "seconds",
       {w: sorted(c, key=lambda r: r[-1])[len(c) // 2] if c else []
        for w, c in here.items()}, last[1], target),
      (f"{options.nodes} simulated nodes", "simulated seconds",
       {w: c[0] if c else [] for w, c in there.items()}, last[1], target)])
