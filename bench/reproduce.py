#!/usr/bin/env python3
"""Draws the figures of the papers behind this engine again: runs the programs of
bench/ and the command, and writes one self-contained HTML page that gives the command
of each number.

    reproduce.py [--quick] [--output FILE.html]

STRADS_BUILD is the folder of the release build. --quick: the same on little data, to
test that everything runs; its numbers mean nothing.
"""
import argparse
import html
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("STRADS_BUILD", SOURCE / "build/release"))
STRADS = BUILD / "bin/strads"
COLOURS = ["#0b5cc4", "#b3261e", "#1a7f37", "#8250df", "#b8860b", "#57606a",
           "#0e7490"]
QUICK = False
scratch = Path()
sections = []


def shown(words):
    """A command as a reader types it, in the root of the tree."""
    text = " ".join(shlex.quote(str(w)) for w in words)
    for at, name in ((BUILD, "build/release"), (SOURCE, "."), (scratch, "/tmp/r")):
        text = text.replace(f"{at}/", f"{name}/")
    return text.replace("build/release/bin/strads", "strads").replace(" ./", " ")


def run(*words, diverges=False):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode and not (diverges and done.stdout):
        sys.exit(f"reproduce: {shown(words)}: exit code {done.returncode}: "
                 f"{done.stderr.strip()[-600:]}")
    return done.stdout


def numbers(text):
    return [[float(x) for x in line.split()] for line in text.splitlines()
            if re.match(r"[-\d]", line)]


def rounds(log):
    events = [json.loads(line) for line in open(log, encoding="utf-8")]
    return [e for e in events if e["event"] == "round"], events[-1]


def when(curve, target):
    """The first x of a falling curve of (x, y) at which y <= target."""
    return next((p[0] for p in curve if p[1] <= target), None)


def told(x, digits=3):
    return "not reached" if x is None else f"{x:.{digits}g}"


# ---- drawing ---------------------------------------------------------------

def ticks(low, high, logarithmic):
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        step = max(1, (last - first) // 5)
        within = (1,) if last - first > 3 else (1, 2, 5)
        return [m * 10.0 ** k for k in range(first, last + 1, step) for m in within
                if low * .999 <= m * 10.0 ** k <= high * 1.001]
    raw = (high - low) / 5 or 1
    step = 10 ** math.floor(math.log10(raw))
    step *= next(m for m in (1, 2, 5, 10) if m * step >= raw)
    return [k * step for k in range(math.ceil(low / step - 1e-9),
                                    math.floor(high / step + 1e-9) + 1)]


def word(x):
    if x and (abs(x) >= 1e5 or abs(x) < 1e-3):
        return f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{x:.4g}"


def drawing(x_name, y_name, curves, logarithmic="", marks=()):
    """An SVG of curves {name: [(x, y), ...]}; `logarithmic` has x, y or both."""
    width, height, left, right, top, bottom = 620, 330, 58, 14, 12, 46
    lx, ly = "x" in logarithmic, "y" in logarithmic
    curves = {n: [(p[0], p[1]) for p in c if math.isfinite(p[1]) and
                  (p[0] > 0 or not lx) and (p[1] > 0 or not ly)]
              for n, c in curves.items()}
    xs = [p[0] for c in curves.values() for p in c]
    ys = [p[1] for c in curves.values() for p in c]
    low_x, high_x, low_y, high_y = min(xs), max(xs), min(ys), max(ys)
    if not ly:
        pad = (high_y - low_y) * .05 or 1
        low_y, high_y = low_y - pad, high_y + pad

    def place(v, low, high, is_log, a, b):
        if is_log:
            v, low, high = math.log10(v), math.log10(low), math.log10(high)
        return a + (b - a) * (v - low) / ((high - low) or 1)

    def at_x(v):
        return place(v, low_x, high_x, lx, left, width - right)

    def at_y(v):
        return place(v, low_y, high_y, ly, height - bottom, top)

    out = [f'<svg viewBox="0 0 {width} {height}" role="img" '
           f'aria-label="{html.escape(y_name)} over {html.escape(x_name)}">']
    for t in ticks(low_y, high_y, ly):
        out.append(f'<path class="grid" d="M{left} {at_y(t):.1f}H{width - right}"/>'
                   f'<text x="{left - 7}" y="{at_y(t) + 4:.1f}" '
                   f'text-anchor="end">{word(t)}</text>')
    for t in ticks(low_x, high_x, lx):
        out.append(f'<path class="grid" d="M{at_x(t):.1f} {top}V{height - bottom}"/>'
                   f'<text x="{at_x(t):.1f}" y="{height - bottom + 17}" '
                   f'text-anchor="middle">{word(t)}</text>')
    for x, name in marks:
        out.append(f'<path d="M{at_x(x):.1f} {top}V{height - bottom}" stroke="#57606a"'
                   f' stroke-dasharray="4 3"/><text x="{at_x(x) + 5:.1f}" '
                   f'y="{top + 12}">{html.escape(name)}</text>')
    for k, c in enumerate(curves.values()):
        thin, last = [], None
        for p in c:  # no more points than pixels
            at = (at_x(p[0]), at_y(p[1]))
            if last is None or p is c[-1] or math.dist(at, last) >= 1.5:
                thin.append(f"{at[0]:.1f} {at[1]:.1f}")
                last = at
        if thin:
            out.append(f'<path d="M{"L".join(thin)}" fill="none" stroke-width="2" '
                       f'stroke-linejoin="round" stroke="{COLOURS[k % 7]}"/>')
        if len(c) < 12:
            out += [f'<circle cx="{at_x(p[0]):.1f}" cy="{at_y(p[1]):.1f}" r="3.2" '
                    f'fill="{COLOURS[k % 7]}"/>' for p in c]
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" '
               f'text-anchor="middle">{html.escape(x_name)}</text></svg>')
    return "".join(out)


def plot(x_name, y_name, curves, logarithmic="", marks=()):
    """A drawing with its title and its keys."""
    keys = "".join(f'<li><i style="background:{COLOURS[k % 7]}"></i>'
                   f'{html.escape(n)}</li>' for k, n in enumerate(curves))
    return (f'<figure><figcaption>{html.escape(y_name)}</figcaption>'
            f'{drawing(x_name, y_name, curves, logarithmic, marks)}'
            f'<ul class="keys">{keys}</ul></figure>')


def bars(title, unit, names, parts):
    """Rows of stacked bars: parts {part: [value of each name]}."""
    most = max(sum(v[k] for v in parts.values()) for k in range(len(names)))
    left, width, row = 110, 620, 30
    out = [f'<svg viewBox="0 0 {width} {row * len(names)}" role="img">']
    for k, name in enumerate(names):
        x, total = left, sum(v[k] for v in parts.values())
        out.append(f'<text x="{left - 8}" y="{k * row + 19}" text-anchor="end">'
                   f'{html.escape(name)}</text>')
        for c, values in enumerate(parts.values()):
            w = (width - left - 70) * values[k] / most
            out.append(f'<rect x="{x:.1f}" y="{k * row + 5}" width="{w:.1f}" '
                       f'height="{row - 10}" fill="{COLOURS[c]}"/>')
            x += w
        out.append(f'<text x="{x + 6:.1f}" y="{k * row + 19}">{total:.3g} {unit}</text>')
    keys = "".join(f'<li><i style="background:{COLOURS[c]}"></i>{html.escape(n)}</li>'
                   for c, n in enumerate(parts))
    return (f'<figure><figcaption>{title}</figcaption>{"".join(out)}</svg>'
            f'<ul class="keys">{keys}</ul></figure>')


def table(head, rows):
    line = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in r) +
                   "</tr>" for r in rows)
    return f'<div class="scroll"><table><tr>{line}</tr>{body}</table></div>'


def section(title, finding, claim, pictures, commands):
    sections.append((title, finding, claim, pictures, commands))
    print(f"{title}: {finding}", file=sys.stderr)


# ---- figures ---------------------------------------------------------------

def lasso():
    file, ratio = scratch / "lasso.svm", ".1"
    make = [STRADS, "data", "synth", "lasso", file, "--quiet"]
    run(*make, *(["--rows", 500, "--columns", 2000] if QUICK else []))
    limit = 1 if QUICK else 20
    methods = {"scheduled": 64, "priority": 64, "cyclic-joint": 64,
               "random-joint": 64, "shotgun": 1024, "sgd": 250, "lasso": 64}
    names = {"scheduled": "scheduled", "priority": "priority, no dependency check",
             "cyclic-joint": "in turn", "random-joint": "at random",
             "shotgun": "at random, unchecked (Shotgun)",
             "sgd": "data-parallel SGD", "lasso": "strads lasso"}
    raw, commands = {}, [make]
    for m, width in methods.items():
        words = [BUILD / "bench/with_schedules", file, ratio, m, width, limit]
        raw[m] = numbers(run(*words, diverges=True))
        commands.append(words)
    best = min(p[2] for c in raw.values() for p in c)
    curves = {m: [(p[0], p[2] / best - 1) for p in c if p[2] / best - 1 < 10]
              for m, c in raw.items()}
    to = 1e-2 if QUICK else 1e-4
    reached = {m: when(c, to) for m, c in curves.items()}
    base = reached["scheduled"]

    def factor(m):
        if reached[m] and base:
            return f"{reached[m] / base:.2f}"
        return f"above {limit / base:.2g}" if base else "-"
    section("Lasso: scheduled against unscheduled",
            f"to {to:g} of the optimum in {told(base)} s by schedule; at random "
            f"{factor('random-joint')} x, in turn {factor('cyclic-joint')} x, unchecked "
            f"{factor('shotgun')} x, by SGD {factor('sgd')} x of that time.",
            "SchMP: scheduled Lasso converges 5 x faster than unscheduled. Here all "
            "have the same kernels, and the data-parallel one the same store.",
            [plot("seconds of one processor", "above the optimum, relative",
                  {names[m]: [p for p in c if p[1] > 1e-8 and p[0] > 1e-2]
                   for m, c in curves.items()}, "xy"),
             table(["who is updated next", f"s to {to:g}", "of scheduled's"],
                   [(names[m], "diverges" if raw[m][-1][2] > 2 * raw[m][0][2] else
                     told(reached[m]), factor(m)) for m in methods])],
            commands)


def topics():
    data = SOURCE / "data/docword.sotu-tiny.txt"
    sweeps, workers = (4, 4) if QUICK else (40, 64)
    curves, commands = {}, []
    for how, name in (("ring", "scheduled: rotation"), ("0", "data-parallel, BSP"),
                      ("4", "data-parallel, staleness 4"),
                      ("16", "data-parallel, staleness 16")):
        words = [BUILD / "bench/with_rotation", how, data, 20, sweeps, workers, 20]
        curves[name] = numbers(run(*words))
        commands.append(words)
    level = min(max(p[2] for p in c) for c in curves.values())
    to = {n: next(p[1] for p in c if p[2] >= level) for n, c in curves.items()}
    base = to["scheduled: rotation"]
    rows = [(n, f"{c[-1][2]:.3f}", f"{c[-1][1]:.3g}", f"{to[n]:.3g}",
             f"{to[n] / base:.2f}") for n, c in curves.items()]
    section("Topics: a model that is rotated",
            f"{workers} simulated workers: to a likelihood of {level:.3f}, which all reach, "
            "rotation takes " + told(base) + " s; " +
            ", ".join(f"{r[0].split(', ')[1]} {r[4]} x" for r in rows[1:]) +
            " of that.",
            "SchMP: LDA by rotation converges 10 x faster than data-parallel LDA. The "
            "honest factor, with the same sampler, counts and network (10 Gbit, 50 us) on both "
            "sides, is that of the schedule alone: much against a barrier, little or nothing "
            "against well chosen staleness, though its first sweeps bring most.",
            [plot("simulated seconds", "log p(words, topics) a token",
                  {n: [(p[1], p[2]) for p in c] for n, c in curves.items()}, "x"),
             plot("sweeps", "log p(words, topics) a token",
                  {n: [(p[0], p[2]) for p in c] for n, c in curves.items()}),
             table(["", "likelihood in the end", "s in all", f"s to {level:.3f}",
                    "of rotation's"], rows)],
            commands)


def factors():
    workers, sweeps = (4, 4) if QUICK else (64, 20)
    train, test = scratch / "train", scratch / "test"
    make = [BUILD / "bench/with_synthetic", "mf", 8000, 800, "4e5", 8, .5, 1, train, test]
    run(*make)
    curves, commands = {}, [make]
    for how, name in (("ring", "scheduled: rotation"), ("0", "data-parallel, BSP"),
                      ("1", "data-parallel, staleness 1"),
                      ("4", "data-parallel, staleness 4")):
        words = [BUILD / "bench/with_rotation_mf", how, train, test, 16, sweeps, workers,
                 1 if how == "ring" else 1 / 16, 1000]
        curves[name] = numbers(run(*words))
        commands.append(words)
    ends = {n: c[-1][2] for n, c in curves.items()}
    section("Factors: a model that is rotated",
            f"{workers} simulated workers: after {sweeps} sweeps rotation has an error of "
            f"{ends['scheduled: rotation']:.4f}, data-parallel workers "
            f"{min(list(ends.values())[1:]):.4f} at best.",
            "SchMP: what travels is moved by one worker at a time. Data-parallel workers add "
            "up so many moves of one item that but a part of each can be taken (here 1/16).",
            [plot("simulated seconds", "error of ratings left out",
                  {n: [(p[1], p[2]) for p in c] for n, c in curves.items()}, "x"),
             table(["", "error in the end", "s in all"],
                   [(n, f"{c[-1][2]:.4f}", f"{c[-1][1]:.3g}") for n, c in curves.items()])],
            commands)


def staleness():
    limit = 1 if QUICK else 10
    names = {"all": "all-reduce", "0": "BSP (staleness 0)", "1": "SSP, 1",
             "4": "SSP, 4", "16": "SSP, 16", "infinite": "asynchronous"}
    pictures, rows, commands = [], [], []
    to = 1e-2 if QUICK else 1e-6
    for straggler in ("fixed",) if QUICK else ("rotating", "fixed"):
        curves, waiting, computing = {}, [], []
        for method, name in names.items():
            words = [BUILD / "bench/with_ssp", method, straggler, limit]
            text = run(*words)
            commands.append(words)
            curves[name] = [p for p in numbers(text) if len(p) == 2]
            total = text.splitlines()[-1].split()
            waiting.append(float(total[1]))
            computing.append(float(total[2]))
            c = curves[name]
            rows.append((straggler, f"{name}, a {straggler} straggler",
                         told(when(c, to)), f"{len(c) / c[-1][0]:.0f}",
                         f"{-math.log10(c[-1][1]) / len(c) * 1e3:.3g}",
                         f"{100 * waiting[-1] / (waiting[-1] + computing[-1]):.0f} %"))
        pictures.append(plot("seconds", f"squared error, a {straggler} straggler",
                             curves, "y"))
    best = []
    for straggler in dict.fromkeys(r[0] for r in rows):
        of = [r for r in rows if r[0] == straggler]
        best.append((min((r for r in of if r[2] != "not reached"), default=of[1],
                         key=lambda r: float(r[2])), of[1]))
    section("BSP, SSP and asynchronous: the staleness sweep",
            "four workers, one of them late: soonest at an error of " + f"{word(to)}: " +
            ", ".join(f"{b[1]} ({b[2]} s, BSP {z[2]})" for b, z in best) + ".",
            "SSP (Ho et al.): the best progress a second is at a staleness above 0, "
            "quantity (clocks a second) times quality (progress a clock). The workers sleep for "
            "the time of computing, so that two cores do not decide. Against one that is "
            "always late no bound helps: in the end all wait for it.",
            pictures + [table(["", f"s to {word(to)}", "clocks a s",
                               "decades per 1,000 clocks", "waiting"],
                              [r[1:] for r in rows])], commands)


def network():
    data = SOURCE / "data/sotu-tiny-party.train.svm"
    names, parts, commands = [], {"computing": [], "network": [], "waiting": []}, []
    for s in (0, 1, 2, 4, 8, 16):
        log = scratch / "network.jsonl"
        words = [STRADS, "simulate", "sgd-logistic", "--no-intercept", data, "--workers", 8,
                 "--staleness", s, "--cost", "20ns", "--straggler", "0:2", "--log", log]
        run(*words)
        commands.append(words)
        _, end = rounds(log)
        names.append(f"staleness {s}")
        each = 1e3 / end["workers"] / end["rounds"]
        parts["network"].append(end["network_seconds"] * each)
        parts["waiting"].append(end["waiting_seconds"] * each)
        parts["computing"].append(1e3 * end["seconds"] / end["rounds"] -
                                  parts["network"][-1] - parts["waiting"][-1])
    share = [(parts["network"][k] + parts["waiting"][k]) /
             sum(parts[p][k] for p in parts) for k in (0, -1)]
    section("Compute against network",
            f"of 8 simulated workers' time (one of them twice as slow) {share[0]:.0%} is not "
            f"computing at staleness 0, {share[1]:.0%} at 16.",
            "SSP: reads from the cache hide the network. Here staleness 1 hides nearly all "
            "that there is to hide; what is left is the wait for the slow worker, which no "
            "bound takes away.",
            [bars("simulated ms a clock, mean of the workers", "ms", names, parts),
             table(["", *parts], [(n, *(f"{v[k]:.3g} ms" for v in parts.values()))
                                  for k, n in enumerate(names)])], commands)


def malt(program):
    data = SOURCE / "data/sotu-tiny-party.train.svm"
    epochs = 20 if QUICK else 200
    by_time, by_bytes, rows, commands = {}, {}, [], []
    for graph in ("all", "exponential", "halton", "ring"):
        log = scratch / "malt.jsonl"
        words = [STRADS, "simulate", program, data, "--workers", 8, "--graph", graph,
                 "--mode", "ssp", "--batch", 20, "--epochs", epochs, "--cost", "20ns",
                 "--log", log]
        run(*words)
        commands.append(words)
        told_rounds, end = rounds(log)
        total = end["all"]["bytes"] / 1e6
        c = [(e["seconds"], e["objective"], e["round"]) for e in told_rounds[:-1]]
        if graph != "halton":  # with 8 peers as many as exponential: the same curve
            by_time[graph] = c
            by_bytes[graph] = [(total * p[2] / end["rounds"], p[1]) for p in c]
        rows.append((graph, f"{end['objective']:.4f}", f"{end['seconds']:.3g}",
                     f"{total:.4g}"))
    section("Peers without a server, by time and by bytes",
            f"8 simulated peers: {rows[1][0]} sends {float(rows[1][3]) / float(rows[0][3]):.0%} "
            f"of the bytes of {rows[0][0]} and ends at {rows[1][1]} against {rows[0][1]}.",
            "MALT: a graph in which each peer has log N neighbours comes to the loss of "
            "all-to-all with a fraction of its bytes. Curves are of peer 0's own rows, the "
            "table of all; halton is as exponential among eight.",
            [plot("simulated seconds", "objective on peer 0's rows",
                  {g: c for g, c in by_time.items()}, "x"),
             plot("MB sent by all peers", "objective on peer 0's rows", by_bytes, "x"),
             table(["graph", "objective of all rows", "simulated s", "MB"], rows)],
            commands)


def loss(program):
    """Processes on this machine, one of four killed, beside a run that loses none."""
    data = SOURCE / "data/sotu-tiny-party.train.svm"
    curves, marks, commands, rows = {}, [], [], []
    for name, killed in (("four peers", False), ("one of four killed", True)):
        log, err = scratch / f"loss{killed}.jsonl", open(scratch / "err", "w+")
        first = [STRADS, "run", program, data, "--batch", 20, "--partitions", 4, "--workers",
                 1, "--epochs", 400 if QUICK else 3000, "--graph", "exponential", "--mode",
                 "ssp", "--reconnect", 1, "--nodes", 4, "--listen", "tcp://127.0.0.1:0",
                 "--log", log]
        nodes = [subprocess.Popen([str(w) for w in first], stderr=err,
                                  stdout=subprocess.DEVNULL)]
        url, until = None, time.monotonic() + 30
        while not url and time.monotonic() < until:
            time.sleep(.02)
            found = re.search(r"strads join (\S+)", (scratch / "err").read_text())
            url = found and found[1]
        if not url:
            sys.exit(f"reproduce: {shown(first)}: nobody listens")
        nodes += [subprocess.Popen([str(STRADS), "join", url, "--program", str(program),
                                    "--workers", "1"], stderr=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL) for _ in range(3)]
        while killed and first and nodes[0].poll() is None:
            time.sleep(.02)
            at = rounds(log)[0] if log.exists() and log.stat().st_size else []
            if at and at[-1]["round"] >= (500 if QUICK else 5000):
                nodes[2].send_signal(signal.SIGKILL)
                marks.append((at[-1]["seconds"], "SIGKILL"))
                break
        codes = [n.wait(timeout=300) for n in nodes]
        if codes[0]:
            sys.exit(f"reproduce: {shown(first)}: exit code {codes[0]}")
        told_rounds, end = rounds(log)
        curves[name] = [(e["seconds"], e["objective"]) for e in told_rounds[:-1]]
        rows.append((name, f"{end['seconds']:.3g}", f"{end['objective']:.4f}"))
        if not killed:
            commands = [first, [STRADS, "join", "URL", "--program", program,
                                "--workers", 1]]
    section("Losing a node",
            f"four peers end after {rows[0][1]} s; with one of them killed (SIGKILL) after "
            f"{told(marks[0][0]) if marks else '-'} s the others end after {rows[1][1]} s, on "
            "the rows that they have.",
            "MALT: survivors regroup and go on. On two cores three processes are sooner than "
            "four; the rows of the lost one are not taken over. Rounds and rings go on from "
            "a checkpoint, to the same optimum or the same bits (docs/operations.md).",
            [plot("seconds", "objective on peer 0's rows", curves, "", marks),
             table(["", "s", "objective of rows that are left"], rows)], commands)


def lines():
    def count(*folders):
        return sum(len(f.read_text(encoding="utf-8").splitlines())
                   for folder in folders for f in (SOURCE / folder).rglob("*.[ch]"))
    rows = [(name, f"{count(*folders):,}") for name, folders in (
        ("engine, schedulers, headers", ("engine", "schedulers", "include")),
        ("linear models: 7 losses, 7 penalties", ("apps/glm", "apps/glm_dual",
                                                  "numeric")),
        ("topics, labels, roles", ("apps/lda",)), ("factors", ("apps/mf",)),
        ("SGD on tables, Hogwild", ("apps/sgd_logistic",)), ("networks", ("apps/net",)))
            if any((SOURCE / f).is_dir() for f in folders)]
    rows += [(f"examples/{f.parent.name}", f"{len(f.read_text().splitlines()):,}")
             for f in sorted((SOURCE / "examples").glob("*/*.c"))]
    of = sorted(int(n) for name, n in rows if name.startswith("examples/"))
    section("Lines of code", f"a program on the engine has {of[0]} to {of[-1]} lines "
            f"(examples/); the engine {rows[0][1]}.",
            "An application of the released STRADS has about 5,000 lines (read, not counted "
            "by this command). Here: lines of .c and .h, comments included.",
            [table(["the system", "lines"], rows[:len(rows) - len(of)]),
             table(["complete programs", "lines"], rows[-len(of):])], [["./dev", "sizes"]])


# ---- the page --------------------------------------------------------------

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f6f8fa; color: #1f2328;
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1320px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 6px; } h2 { font-size: 19px; margin: 0 0 8px; }
section { background: #fff; border: 1px solid #d8dee4; border-radius: 8px;
  padding: 20px 24px; margin-top: 20px; }
p { margin: 0 0 8px; max-width: 84ch; } .claim { color: #57606a; }
.claim::before { content: "The paper and how it is compared. "; font-weight: 600; }
.finding { font-weight: 600; }
.pictures { display: grid; gap: 16px 28px; margin-top: 12px; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(480px, 100%), 1fr)); }
figure { margin: 0; } figcaption { font-size: 13px; color: #57606a; }
svg { display: block; width: 100%; } svg text { fill: #57606a; font-size: 12px; }
.grid { stroke: #e6eaee; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 13px; padding: 0;
  margin: 2px 0 0; list-style: none; }
.keys i { display: inline-block; width: 10px; height: 10px; margin-right: 6px;
  border-radius: 2px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%;
  font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { text-align: right; padding: 4px 8px; border-top: 1px solid #e6eaee; }
th { color: #57606a; font-weight: 400; font-size: 13px; border-top: 0; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
summary { cursor: pointer; color: #0b5cc4; margin-top: 12px; font-size: 14px; }
pre { margin: 6px 0 0; padding: 10px 12px; background: #f6f8fa; overflow-x: auto;
  border-radius: 6px; font-size: 12.5px; }
"""


def page(seconds):
    out = ['<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
           '<meta name="viewport" content="width=device-width, initial-scale=1">'
           f'<title>The papers\' figures, from this tree</title><style>{STYLE}</style>'
           '</head><body><main><h1>The papers\' figures, from this tree</h1>'
           f'<p><code>./dev reproduce{" --quick" if QUICK else ""}</code> ran in '
           f'{seconds:.0f} s on {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}. '
           'Times on this machine change with its load; simulated ones, likelihoods and '
           'objectives by iteration do not.'
           f'{" <b>A quick run: none of it is a figure.</b>" if QUICK else ""}</p>']
    for title, finding, claim, pictures, commands in sections:
        words = "\n".join(html.escape(shown(c)) for c in commands)
        finding = finding[0].upper() + finding[1:]
        out.append(f'<section><h2>{html.escape(title)}</h2>'
                   f'<p class="finding">{html.escape(finding)}</p>'
                   f'<p class="claim">{html.escape(claim)}</p>'
                   f'<div class="pictures">{"".join(pictures)}</div>'
                   f'<details><summary>{len(commands)} '
                   f'command{"s" * (len(commands) != 1)}</summary>'
                   f'<pre>{words}</pre></details></section>')
    return "\n".join(out + ["</main></body></html>\n"])


def main():
    global QUICK, scratch
    parser = argparse.ArgumentParser(prog="./dev reproduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="little data, one minute")
    parser.add_argument("--output", default=str(SOURCE / "docs/reproduction.html"),
                        metavar="FILE.html", help="default: docs/reproduction.html")
    options = parser.parse_args()
    QUICK = options.quick
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        program = scratch / "peer_svm.so"
        includes = [f"-I{SOURCE}/include", f"-I{BUILD}/include"]
        run(os.environ.get("CC", "cc"), "-std=c11", "-O2", "-fPIC", "-shared", *includes,
            SOURCE / "examples/peer_svm/peer_svm.c", "-o", program, "-lm")
        lasso()
        topics()
        factors()
        staleness()
        network()
        malt(program)
        loss(program)
        lines()
        text = page(time.monotonic() - begun)
    Path(options.output).write_text(text, encoding="utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
