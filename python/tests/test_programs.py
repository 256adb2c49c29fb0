"""Programs in Python: rounds and loops on the engine."""
import gc
import inspect
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sparse
from sklearn.exceptions import ConvergenceWarning

import strads


class Ridge(strads.Program):
    """Least squares with a squared penalty, by coordinate descent."""

    name = "ridge"
    block_max = 1

    def __init__(self, l2):
        self.l2 = l2
        self.total = self.gain = 0.0

    def open(self, share):
        return share.label.copy()

    def partial(self, block):
        return 3

    def update(self, task):
        index, x = task.share.column(task.block[0])
        residual = task.local
        task.partial[:] = x @ residual[index], x @ x, residual @ residual

    def aggregate(self, commit):
        q, xx, self.total = commit.partial
        step = (q - self.l2 * commit.value[0, 0]) / (xx + self.l2)
        commit.change[0] = step
        self.gain += (xx + self.l2) * step * step / 2

    def refresh(self, task, changes):
        for j, change in changes:
            index, x = task.share.column(j)
            task.local[index] -= x * change[0]

    def objective(self, report):
        report.objective = self.total / 2
        report.gap = self.gain / report.objective
        self.gain = 0.0


def problem():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((120, 20))
    return X, X @ draws.standard_normal(20) + draws.standard_normal(120)


@pytest.mark.parametrize("jobs,partitions", [(1, 1), (1, 3), (2, 2), (2, 3)])
def test_ridge_solves_its_normal_equations(jobs, partitions):
    X, y = problem()
    fit = Ridge(2.0).fit(X, y, tol=1e-22, n_jobs=jobs, partitions=partitions,
                         policy="cyclic")
    exact = np.linalg.solve(X.T @ X + 2 * np.eye(20), X.T @ y)
    assert np.allclose(fit.values_[:, 0], exact, atol=1e-7)


def test_bits_depend_on_partitions_alone():
    X, y = problem()
    one, two = (Ridge(1.0).fit(X, y, partitions=2, n_jobs=jobs, max_rounds=500)
                for jobs in (1, 2))
    assert np.array_equal(one.values_, two.values_)


def test_an_exception_in_a_callback_ends_the_run_and_is_raised():
    class Fails(Ridge):
        def update(self, task):
            raise LookupError("no such thing")
    X, y = problem()
    with pytest.raises(LookupError, match="no such thing"):
        Fails(1.0).fit(X, y, n_jobs=2, partitions=2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix,
                                  sparse.csc_matrix])
def test_what_a_callback_keeps_is_valid_after_the_fit_or_raises(form):
    kept = {}

    class Keeps(Ridge):
        def open(self, share):
            kept["share"], kept["label"] = share, share.label
            return super().open(share)

        def update(self, task):
            kept["column"] = task.share.column(task.block[0])
            super().update(task)
            kept.update(task=task, partial=task.partial, value=task.value,
                        block=task.block)
            kept["partial then"] = task.partial.copy()

        def refresh(self, task, changes):
            kept["changes"] = changes
            super().refresh(task, changes)

        def aggregate(self, commit):
            super().aggregate(commit)
            kept.update(commit=commit, change=commit.change,
                        since=commit.since)
    X, y = problem()
    fit = Keeps(2.0).fit(form(X), y, max_rounds=60, policy="cyclic")
    expected = y.copy()
    del X, y
    gc.collect()
    others = [np.full(2000, np.nan) for _ in range(500)]
    for object_, name in (("task", "partial"), ("task", "block"),
                          ("task", "value"), ("task", "local"),
                          ("commit", "change"), ("commit", "value")):
        with pytest.raises(strads.StradsError, match="after its callback"):
            getattr(kept[object_], name)
    with pytest.raises(strads.StradsError, match="after its callback"):
        kept["task"].report(1.0)
    assert np.array_equal(kept["partial"], kept["partial then"])
    assert np.array_equal(kept["label"], expected)
    j = int(kept["block"][0])
    index, x = kept["column"]
    assert np.array_equal(x, problem()[0][index, j])
    assert np.array_equal(kept["share"].column(j)[1], x)
    assert np.all(np.isfinite(kept["value"])) and kept["change"].shape == (1, 1)
    assert all(np.isfinite(change[0]) for _, change in kept["changes"])
    for view in kept["label"], x, index:
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
    assert fit.values_.shape == (20, 1) and len(others) == 500


def test_a_session_that_is_kept_raises():
    kept = []

    class Keeps(Mean):
        def run(self, task, session):
            kept[:] = [task, session, session.read_row("sums", 0)]
            super().run(task, session)
    X, y = problem()
    Keeps().fit(X, y)
    for use in (lambda: kept[1].clock(), lambda: kept[1].now,
                lambda: kept[1].read_row("sums", 0), lambda: kept[0].ends(),
                lambda: kept[1].inc("sums", 0, 0, 1.0), lambda: kept[1].flush(),
                lambda: kept[0].report(1.0), lambda: kept[1].worker):
        with pytest.raises(strads.StradsError, match="after its callback"):
            use()
    assert np.array_equal(kept[2], [0, 0])


def test_a_program_warns_of_a_bound_and_names_wrong_arguments():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="reached max_rounds"):
        Ridge(1.0).fit(X, y, max_rounds=5)
    for name, value in (("tol", "x"), ("tol", -1), ("max_rounds", -1),
                        ("seed", "x"), ("partitions", 1.5), ("n_jobs", 0),
                        ("policy", "best"), ("time_limit", float("nan"))):
        with pytest.raises(ValueError, match=f"{name} is "):
            Ridge(1.0).fit(X, y, **{name: value})
    for bad in (X[0], X.astype(str), np.where(X > 2, np.nan, X)):
        with pytest.raises(ValueError):
            Ridge(1.0).fit(bad, y)
    for bad in (y[:-1], np.r_[y, 1], np.where(y > 2, np.inf, y)):
        with pytest.raises(ValueError):
            Ridge(1.0).fit(X, bad)


def test_a_program_without_aggregate_is_refused():
    class Half(strads.Program):
        def update(self, task):
            pass
    with pytest.raises(TypeError, match="needs `update` and `aggregate`"):
        Half().fit(*problem())


class Mean(strads.Program):
    """The mean of the labels, through a table of the store."""

    name = "mean"
    tables = {"sums": (1, 2, "float64")}

    def parameters(self, rows, cols):
        return 1

    def run(self, task, session):
        label = task.share.label
        session.inc_row("sums", 0, [label.sum(), len(label)])
        session.clock()
        total, count = session.read_row("sums", 0)  # clock 0, all workers
        if task.share.partition == 0:
            session.inc(0, 0, 0, total / count)
        session.clock()
        task.report(objective=session.read_row(0, 0)[0])


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_loop_on_the_store_finds_the_mean(partitions):
    X, y = problem()
    fit = Mean().fit(X, y, n_jobs=2, partitions=partitions)
    assert abs(fit.values_[0, 0] - y.mean()) < 1e-12
    assert abs(fit.progress_.objective - y.mean()) < 1e-12


def test_the_command_runs_a_program_in_python(tmp_path):
    X, y = problem()
    with open(tmp_path / "data.svm", "w", encoding="utf-8") as file:
        for row, label in zip(X, y):
            file.write(f"{float(label)!r} " + " ".join(
                f"{j + 1}:{float(v)!r}" for j, v in enumerate(row)) + "\n")
    source = inspect.getsource(Ridge).replace("def __init__(self, l2)",
                                              "def __init__(self, l2=2.0)")
    (tmp_path / "ridge.py").write_text("import strads\n\n" + source)
    command = [os.environ.get("STRADS_BIN", "strads"), "run"]

    def run(*words):
        return subprocess.run(
            command + list(words), capture_output=True, text=True,
            cwd=tmp_path, env={**os.environ, "STRADS_PYTHON": sys.executable},
            check=False)
    ended = run("ridge.py", "data.svm", "--tolerance", "1e-22", "--policy",
                "cyclic", "--model", "ridge.json")
    assert ended.returncode == 0, ended.stderr
    assert "the model is in ridge.json" in ended.stderr
    exact = np.linalg.solve(X.T @ X + 2 * np.eye(20), X.T @ y)
    model = strads.read_model(tmp_path / "ridge.json")
    assert np.allclose(model.coef, exact, atol=1e-7)
    assert json.loads((tmp_path / "ridge.json").read_text())["program"] == \
        "ridge"
    assert run("ridge.py", "none.svm").returncode == 2
    assert "no such file" in run("none.py", "data.svm").stderr
    bound = run("ridge.py", "data.svm", "--max-rounds", "5", "--tolerance",
                "1e-300")
    assert bound.returncode == 3 and "ended (rounds)" in bound.stderr
