"""A rank of the tests of strads.mpi: fits pieces. Rank 0 compares with a fit
by one process that has all rows, cut in the same way (see test_pieces.py)."""
import os
import signal
import sys
import tempfile
import threading
import time
import warnings

import numpy as np
import pandas
from mpi4py import MPI
from sklearn.model_selection import ShuffleSplit

import strads
from strads import engine, mpi
from pieces import bounds_of, counts, ratings, samples, same

rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()


def piece(X, bounds):
    return X[bounds[rank]:bounds[rank + 1]]


def compare(name, kind, X, y, weight=None, **parameters):
    bounds = bounds_of(X.shape[0], size)
    data = {"X": X, "y": y, "sample_weight": weight}
    data = {key: rows for key, rows in data.items() if rows is not None}
    model = getattr(mpi, name)(**parameters).fit(
        **{key: piece(rows, bounds) for key, rows in data.items()})
    with engine.cut_at(bounds):
        alone = kind(**parameters).fit(**data)
    same(name, model, alone)


def cross_validated(name, X, y, **parameters):
    """The folds and their errors are those of one process."""
    bounds = bounds_of(len(y), size)
    parameters = {"cv": 3, "tol": 1e-9, **parameters}
    model = getattr(mpi, name)(**parameters).fit(piece(X, bounds),
                                                 piece(y, bounds))
    alone = getattr(strads, name)(**parameters).fit(X, y)
    errors, chosen = {
        "LassoCV": ("mse_path_", "alpha_"), "GLMCV": ("error_path_", "alpha_"),
        "LogisticRegressionCV": ("scores_", "C_")}[name]
    got, expected = getattr(model, errors), getattr(alone, errors)
    if name == "LogisticRegressionCV":
        got, expected = got["yes"], expected["yes"]
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    np.testing.assert_allclose(getattr(model, chosen), getattr(alone, chosen),
                               rtol=1e-12)
    return model


def without_rows():
    """Each rank in turn has no rows; models must equal those of all rows."""
    X, y = samples()
    three = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    names = np.array(["low", "mid", "top"])[three]
    cases = [("Lasso", X, y, {"alpha": 0.05}), ("LinearSVR", X, y, {}),
             ("LassoCV", X, y, {"n_alphas": 4, "cv": 2, "random_state": 1}),
             ("PoissonRegressor", X, np.exp(y / 4), {}),
             ("LogisticRegression", X, names, {}),
             ("LogisticRegression", X, three, {"class_weight": "balanced"}),
             ("LinearSVC", X, three == 1, {"penalty": "l1"}),
             ("GLMClassifier", X, names, {"alpha": 0.02}),
             ("LatentDirichletAllocation", counts(), None,
              {"n_components": 3, "max_iter": 5, "random_state": 1}),
             ("MatrixFactorization", counts(), None,
              {"rank": 2, "max_iter": 3, "random_state": 1})]
    for k, (name, A, b, parameters) in enumerate(cases):
        empty = k % size
        bounds = [0] + [A.shape[0] if r >= (1 if empty == 0 else 0) else 0
                        for r in range(size)]
        data = [piece(rows, bounds) for rows in (A, b) if rows is not None]
        model = getattr(mpi, name)(**parameters).fit(*data)
        alone = getattr(strads, name)(**parameters)
        alone.fit(*[rows for rows in (A, b) if rows is not None])
        for key in ("coef_", "classes_"):
            if hasattr(alone, key):
                a, b = getattr(model, key), getattr(alone, key)
                assert a.shape == b.shape and a.dtype == b.dtype, (name, key)
                assert key == "classes_" or np.allclose(a, b, atol=2e-2), name
        assert len(getattr(model, "components_", [0])) > 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mpi.Lasso(1e-4, max_iter=1).fit(piece(X, bounds), piece(y, bounds))
    assert len(said) == 1 and "reached max_iter" in str(said[0].message)
    # Rows of a piece that all weigh 0 count as none.
    weight = np.arange(len(y)) < len(y) // 2
    bounds = [0, len(y) // 2] + [len(y)] * (size - 1)
    model = mpi.Lasso(0.05).fit(piece(X, bounds), piece(y, bounds),
                                piece(weight.astype(float), bounds))
    alone = strads.Lasso(0.05).fit(X, y, weight.astype(float))
    assert np.allclose(model.coef_, alone.coef_, atol=1e-3)
    print(f"rank {rank}: no rows are no trouble", flush=True)


def interrupted():
    """Ctrl-C at each rank in turn ends the run in all ranks, with a model."""
    X, y = samples(300, 100)
    bounds = bounds_of(len(y), size)
    with tempfile.TemporaryDirectory() as folder:
        folder = MPI.COMM_WORLD.bcast(folder)
        for who in range(size):
            under_way = os.path.join(folder, str(who))  # a file of rank 0

            def hold(progress):  # until the interrupt comes
                open(under_way, "w", encoding="utf-8").close()
                time.sleep(0.05)

            def ask():
                while not os.path.exists(under_way):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)
            model = mpi.Lasso(1e-7, tol=1e-300, callbacks=[hold])
            if rank == who:
                threading.Thread(target=ask).start()
            try:
                model.fit(piece(X, bounds), piece(y, bounds))
            except KeyboardInterrupt:
                assert np.all(np.isfinite(model.predict(X)))
                print(f"rank {rank}: stopped by rank {who}", flush=True)
        MPI.COMM_WORLD.barrier()


def main():
    if "interrupted" in sys.argv:
        return interrupted()
    if "empty" in sys.argv:
        return without_rows()
    if "wrong" in sys.argv:
        X, y = samples()
        bounds = bounds_of(len(y), size)
        X, y = piece(X, bounds), piece(y, bounds)
        if rank == size - 1:
            X = X[:, :-1]
        try:
            mpi.Lasso(0.1).fit(X, y)
        except (ValueError, strads.StradsError) as wrong:
            print(f"rank {rank}: {wrong}", flush=True)
        if rank == size - 1:
            y = y[:-1]
        try:
            mpi.Lasso(0.1).fit(X, y)
        except (ValueError, strads.StradsError) as wrong:
            print(f"rank {rank}: {wrong}", flush=True)
        return
    X, y = samples()
    compare("Lasso", strads.Lasso, X, y, alpha=0.05)
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    labels[:bounds_of(len(y), size)[1]] = "no"  # the first piece has one class
    labels[0], labels[-1] = "no", "yes"
    compare("LogisticRegression", strads.LogisticRegression, X, labels,
            penalty="l1", C=0.3)
    three = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    compare("LogisticRegression", strads.LogisticRegression, X, three)
    compare("GLMClassifier", strads.GLMClassifier, X, three, alpha=0.02,
            loss="multinomial", penalty="group",
            groups=np.arange(X.shape[1]) // 3)
    compare("LinearSVC", strads.LinearSVC, X, three, penalty="l1")
    weight = np.random.default_rng(8).random(len(y)) + 0.5
    compare("ElasticNet", strads.ElasticNet, X, y, weight, alpha=0.05)
    compare("PoissonRegressor", strads.PoissonRegressor, X, np.exp(y / 4),
            weight)
    compare("GroupLasso", strads.GroupLasso, X, y, weight, alpha=0.05,
            groups=np.arange(X.shape[1]) // 3)
    model = cross_validated("LassoCV", X, y, n_alphas=8, eps=0.01)
    with engine.cut_at(bounds_of(len(y), size)):
        alone = strads.Lasso(model.alpha_, tol=1e-9).fit(X, y)
    assert np.array_equal(model.coef_, alone.coef_)
    for loss, b in ("poisson", np.round(np.exp(y / 4))), ("huber", y):
        cross_validated("GLMCV", X, b, loss=loss, n_alphas=8, eps=0.01)
    for more in {"penalty": "l1"}, {"cv": ShuffleSplit(2, random_state=5)}:
        cross_validated("LogisticRegressionCV", X, labels, Cs=[0.01, 0.3, 2],
                        **more)
    compare("LinearSVC", strads.LinearSVC, X, labels, weight, penalty="l1")
    compare("LogisticRegression", strads.LogisticRegression, X, labels, weight,
            class_weight={"yes": 3.0})
    compare("LatentDirichletAllocation", strads.LatentDirichletAllocation,
            counts(), None, n_components=4, max_iter=10, random_state=3)
    frame = ratings()
    bounds = np.searchsorted(frame["user"], bounds_of(60, size))
    model = mpi.MatrixFactorization(3, max_iter=5, random_state=1).fit(
        frame.iloc[bounds[rank]:bounds[rank + 1]])
    with engine.cut_at(bounds_of(60, size)):
        alone = strads.MatrixFactorization(
            3, max_iter=5, tune=0, random_state=1).fit(frame)
    same("MatrixFactorization", model, alone)
    assert list(model.users_) == list(alone.users_)
    if rank == 0:
        print(f"{size} ranks are one process", flush=True)


main()
