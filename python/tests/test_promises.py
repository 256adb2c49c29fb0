"""Rules for every estimator, found by introspection: a fit that does not
converge warns, an error names the wrong parameter, data in any form gives the
same model, and damaged pickles raise.

With STRADS_SOAK each pickle is damaged in 300 ways, otherwise in 30.
"""
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sparse
from sklearn.exceptions import ConvergenceWarning

import strads
from promises import (ESTIMATORS, TOLERANT, data_for, easy, small, weighted)

HERE = os.path.dirname(os.path.abspath(__file__))
WAYS = 300 if os.environ.get("STRADS_SOAK") else 30


def caught(work):
    """The ConvergenceWarnings of work()."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
    return [w for w in seen if issubclass(w.category, ConvergenceWarning)]


# ---- 1. a fit that ends above tol warns
# ----------------------------------------

@pytest.mark.parametrize("name", TOLERANT)
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_fit_that_max_iter_ends_warns_with_its_numbers(name, rounds):
    model = small(name).set_params(max_iter=rounds)
    said = caught(lambda: model.fit(*data_for(name)))
    assert model.dual_gap_ > model.tol and len(said) == 1
    text = str(said[0].message)
    for part in (name, f"{model.dual_gap_:.3g}", f"{model.tol:.3g}",
                 "max_iter", "1 round," if rounds == 1 else "2 rounds,"):
        assert part in text, text
    assert said[0].filename == __file__


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_that_converges_does_not_warn(name):
    assert not caught(lambda: easy(name).fit(*data_for(name)))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_that_a_callback_ends_warns(name):
    model = small(name).set_params(callbacks=[lambda progress: True])
    said = caught(lambda: model.fit(*data_for(name)))
    assert len(said) == 1 and "stopped by a callback" in str(said[0].message)


@pytest.mark.parametrize("path", [strads.lasso_path, strads.enet_path,
                                  strads.glm_path, strads.logistic_path])
def test_paths_warn_of_points_that_are_missing(path):
    X, y = data_for("LinearSVC" if path is strads.logistic_path else "Lasso")
    assert not caught(lambda: path(X, y, eps=0.1))
    said = caught(lambda: path(X, y, eps=0.1, max_iter=3))
    assert "points were reached" in str(said[0].message)


@pytest.mark.parametrize("path", [strads.lasso_path, strads.glm_path])
def test_paths_warn_of_points_that_miss_tol(path):
    draws = np.random.default_rng(0)
    X = draws.standard_normal((60, 100)) / 20 + draws.standard_normal((60, 1))
    y = X[:, :4] @ [5, -10, 15, 5.0] + draws.standard_normal(60)
    said = caught(lambda: path(X, y, n_alphas=10, tol=1e-17))
    assert len(said) == 1 and "points did not converge" in str(said[0].message)
    search = strads.LassoCV(n_alphas=10, cv=2, tol=1e-17, max_iter=1000)
    said = caught(lambda: search.fit(X, y))
    assert "folds' paths" in str(said[0].message)


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "poisson"])
def test_a_fit_without_a_minimum_says_that_the_data_are_separable(loss):
    draws = np.random.default_rng(0)
    X = draws.standard_normal((60, 3))
    if loss == "poisson":
        y = np.where(X[:, 0] > 0, 0, 1 + draws.poisson(3, 60))
        X[X[:, 0] <= 0, 0] = 0
        model = strads.GLM(loss=loss, penalty="none")
    else:
        y = np.digitize(X[:, 0], [-0.5, 0.5] if loss == "multinomial" else [0])
        model = strads.GLMClassifier(loss=loss, penalty="none")
    said = caught(lambda: model.fit(X, y))
    assert model.dual_gap_ == 1 and len(said) == 1
    assert "separable" in str(said[0].message)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-7, 1e-9, 1e-11])
def test_a_tiny_penalty_on_rows_that_are_fitted_exactly_ends(alpha, intercept):
    draws = np.random.default_rng(0)
    X, y = draws.standard_normal((10, 20)), draws.standard_normal(10)
    model = strads.Lasso(alpha, fit_intercept=intercept)
    said = caught(lambda: model.fit(X, y))
    assert model.n_iter_ < 60000
    assert bool(said) == (model.dual_gap_ > model.tol)


# Estimators with an intercept that is not penalised.
FAR = {
    "Lasso": lambda: strads.Lasso(0.02, tol=1e-9),
    "ElasticNet": lambda: strads.ElasticNet(0.02, tol=1e-9),
    "LogisticRegression": lambda: strads.LogisticRegression(
        penalty="elasticnet", l1_ratio=0.5, tol=1e-9),
    "ridge": lambda: strads.LogisticRegression(tol=1e-9),
    "PoissonRegressor": lambda: strads.PoissonRegressor(alpha=0.02, tol=1e-9),
    "HuberRegressor": lambda: strads.HuberRegressor(alpha=0.02, tol=1e-9),
    "GroupLasso": lambda: strads.GroupLasso(alpha=0.02, groups=[0, 0, 1, 1],
                                            tol=1e-9),
}


@pytest.mark.parametrize("form", ["C", "F", "csc", "csr"])
@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("name", FAR)
def test_arrays_far_from_zero_are_fitted_as_those_around_zero(name, ratio,
                                                              form):
    draws = np.random.default_rng(1)
    near = draws.standard_normal((60, 4)) * [1, 0.1, 10, 1]
    far = near + ratio * np.array([1, -0.1, 10, 0])
    near = far - far.mean(0)  # the digits that are left
    score = near @ [0.5, 3, 0.05, -0.5] + 0.5 * draws.standard_normal(60)
    y = draws.poisson(np.exp(0.3 * score)) if name == "PoissonRegressor" else \
        (score > 0) if name in ("LogisticRegression", "ridge") else score
    lent = np.asarray(far, order=form) if len(form) == 1 else \
        sparse.csc_matrix(far).asformat(form)
    fits = [FAR[name]().fit(near, y)]
    said = caught(lambda: fits.append(FAR[name]().fit(lent, y)))
    centred, model = fits
    scale = np.abs(np.ravel(centred.coef_) * near.std(0)).max()
    apart = np.abs(np.ravel(model.coef_ - centred.coef_) * near.std(0)).max()
    assert apart < 1e-3 * scale, (apart, scale)
    assert not said, str(said[0].message)


# ---- 2. parameters ------------------------------------------------------------

ARRAYS = ("groups", "penalty_factors", "callbacks", "class_weight",
          "solver_options")
NONE_TOO = ("random_state", "intercept_scaling", "penalty", "cv",
            "rank", "stop_words")
ANY_NUMBER = {"infinity": ("lower", "upper", "C"),
              "below": ("lower", "n_jobs")}


def wrong_values(name, default):
    """Invalid values of a parameter, by its name and default."""
    yield from ([], {}, object) if name not in ARRAYS else ()
    if not isinstance(default, str) and name not in ("class_weight",):
        yield "x"
    yield float("nan")
    if name not in ANY_NUMBER["infinity"]:
        yield float("inf")
    if name not in ANY_NUMBER["below"]:
        yield -1
    if default is not None and name not in (*ARRAYS, *NONE_TOO):
        yield None


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_wrong_value_of_any_parameter_is_refused_by_its_name(name):
    X, y = data_for(name)
    for parameter, default in getattr(strads, name)().get_params().items():
        for value in wrong_values(parameter, default):
            model = small(name).set_params(**{parameter: value})
            with pytest.raises((ValueError, TypeError)) as refused:
                model.fit(X, y)
            assert parameter in str(refused.value), (parameter, value)


@pytest.mark.parametrize("path", [strads.lasso_path, strads.enet_path,
                                  strads.glm_path, strads.logistic_path])
def test_a_wrong_value_of_any_argument_of_a_path_is_refused(path):
    X, y = data_for("LinearSVC" if path is strads.logistic_path else "Lasso")
    for name, parameter in inspect.signature(path).parameters.items():
        if name in ("X", "y", "sample_weight"):
            continue
        for value in wrong_values(name, parameter.default):
            if value is None or (name == "offset" and value == -1):
                continue
            with pytest.raises((ValueError, TypeError)) as refused:
                path(X, y, **{name: value})
            assert name in str(refused.value), (name, value)


def test_n_jobs_counts_cores_from_the_end_as_joblib_does():
    X, y = data_for("Lasso")
    cores = len(os.sched_getaffinity(0))
    for jobs in (-2, -3, -cores, -cores - 5):
        strads.Lasso(0.1, n_jobs=jobs).fit(X, y)
        assert strads.engine.n_threads(jobs) == max(1, cores + 1 + jobs)


# ---- 3. data ------------------------------------------------------------------

@pytest.mark.parametrize("name", ESTIMATORS)
def test_data_that_are_no_finite_numbers_are_refused(name):
    X, y = data_for(name)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN|infinity"):
            small(name).fit(np.where(np.arange(X.size).reshape(X.shape) == 7,
                                     bad, X), y)
        if name in TOLERANT:
            with pytest.raises(ValueError, match="NaN|infinity"):
                small(name).fit(X, np.where(np.arange(len(y)) == 3, bad, y))
    with pytest.raises(ValueError):
        small(name).fit(X[0], y)
    if name in TOLERANT:
        with pytest.raises(ValueError, match="inconsistent"):
            small(name).fit(X, y[:-1])


@pytest.mark.parametrize("name", [n for n in TOLERANT if weighted(n)])
def test_wrong_weights_are_refused(name):
    X, y = data_for(name)
    for bad, words in ((np.nan, "NaN"), (np.inf, "infinity"), (-1, "negative")):
        weight = np.ones(len(y))
        weight[4] = bad
        with pytest.raises(ValueError, match=words):
            small(name).fit(X, y, sample_weight=weight)
    for weight in (np.ones(len(y) - 1), np.zeros(len(y))):
        with pytest.raises(ValueError, match="weight"):
            small(name).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", [n for n in TOLERANT
                                  if hasattr(getattr(strads, n), "score")
                                  and small(n)._estimator_type == "regressor"])
@pytest.mark.parametrize("size", [1e151, 1e200, 1e308])
def test_labels_whose_squares_overflow_are_named(name, size):
    X, y = data_for(name)
    with pytest.raises(ValueError, match="y has a label of 1e"):
        small(name).fit(X, np.where(np.arange(len(y)) == 5, size, y))


@pytest.mark.parametrize("path", [strads.lasso_path, strads.enet_path,
                                  strads.glm_path, strads.logistic_path])
def test_labels_of_paths_are_checked(path):
    X, y = data_for("LinearSVC" if path is strads.logistic_path else "Lasso")
    for wrong in (y[:5], np.r_[y, y], y[:, None] * [1, 1]):
        with pytest.raises(ValueError):
            path(X, wrong)
    if path is not strads.logistic_path:
        for bad in (np.nan, 1e200):
            with pytest.raises(ValueError, match="NaN|label"):
                path(X, np.where(np.arange(len(y)) == 2, bad, y))


def unsorted(X):
    """CSR with each row's entries in descending order."""
    X = sparse.csr_matrix(X)
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[span] = X.indices[span][::-1].copy()
        X.data[span] = X.data[span][::-1].copy()
    X.has_sorted_indices = True  # what scipy may have cached earlier
    return X


def twice(X):
    """CSR with two entries for each number."""
    X = sparse.csr_matrix(X)
    return sparse.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2),
                              2 * X.indptr), shape=X.shape)


def wide(X):
    """CSC with indices of 64 bits."""
    X = sparse.csc_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def swapped(X):
    """CSR arrays in the other byte order."""
    X = sparse.csr_matrix(X)
    X.indices = X.indices.astype(">i4")
    X.indptr = X.indptr.astype(">i4")
    return X


FORMS = [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix,
         sparse.bsr_matrix, sparse.dia_matrix, sparse.lil_matrix,
         sparse.dok_matrix, unsorted, twice, wide, swapped, np.asfortranarray,
         lambda X: X[:, ::-1][:, ::-1], lambda X: X.astype(">f8")]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_every_form_of_a_matrix_gives_the_same_model(name, form):
    X, y = data_for(name)
    plain, other = small(name).fit(X, y), small(name).fit(FORMS[form](X), y)
    for key in ("coef_", "components_"):
        if hasattr(plain, key):
            assert np.allclose(getattr(plain, key), getattr(other, key),
                               atol=1e-3)
    ask = plain.predict if hasattr(plain, "predict") else plain.transform
    assert np.allclose(ask(X), ask(FORMS[form](X)))


@pytest.mark.parametrize("spoil", [
    lambda X: X.indices.__setitem__(3, X.shape[1]),
    lambda X: X.indices.__setitem__(3, -1),
    lambda X: X.indptr.__setitem__(5, X.indptr[4] - 1),
    lambda X: X.indptr.__setitem__(-1, X.nnz + 50),
    lambda X: X.indptr.__setitem__(0, 1)])
def test_a_sparse_matrix_that_contradicts_itself_is_refused(spoil):
    X = sparse.csr_matrix(data_for("Lasso")[0])
    spoil(X)
    with pytest.raises(ValueError):
        strads.engine.data_of(X, None, strads.engine.ffi.new(
            "strads_data_options *", {"size": strads.engine.ffi.sizeof(
                "strads_data_options"), "partitions": 1}))


@pytest.mark.parametrize("name", [n for n in TOLERANT if "fit_intercept" in
                                  small(n).get_params()])
def test_the_intercept_is_the_parameters(name):
    X, y = data_for(name)
    assert small(name).fit_intercept is True
    with_one = small(name).fit(X, y)
    without = small(name).set_params(fit_intercept=False).fit(X, y)
    assert np.any(with_one.intercept_ != 0) and np.all(without.intercept_ == 0)


# ---- 4. classes of rows with weight 0
# ----------------------------------------

CLASSIFIERS = [
    strads.LogisticRegression(), strads.LogisticRegression("l1"),
    strads.LogisticRegression(multi_class="ovr"), strads.LinearSVC(),
    strads.LinearSVC("l1"), strads.LinearSVC(class_weight="balanced"),
    strads.GLMClassifier(), strads.GLMClassifier("multinomial", "ridge"),
    strads.GLMClassifier("squared-hinge", "elastic-net"),
    strads.LogisticRegressionCV(Cs=5, cv=2)]


@pytest.mark.parametrize("k", range(len(CLASSIFIERS)))
@pytest.mark.parametrize("gone", [[2], [0], [0, 2]])
def test_a_class_whose_rows_weigh_nothing_is_as_if_it_were_not_there(k, gone):
    draws = np.random.default_rng(3)
    X = draws.standard_normal((120, 4))
    y = np.array(["a", "b", "c", "d"])[np.arange(120) % 4]
    if k == 9:  # two classes only
        gone = [0, 2]
    left = ~np.isin(y, np.array(["a", "b", "c", "d"])[gone])
    model, alone = (type(CLASSIFIERS[k])(**CLASSIFIERS[k].get_params())
                    for _ in range(2))
    model.fit(X, y, sample_weight=left.astype(float))
    alone.fit(X[left], y[left], sample_weight=np.ones(left.sum()))
    assert list(model.classes_) == sorted(set(y[left]))
    assert np.array_equal(model.coef_, alone.coef_)
    assert set(model.predict(X)) <= set(y[left])
    zero = {c: float(c in set(y[left])) for c in "abcd"}
    if CLASSIFIERS[k].class_weight is None:
        model.set_params(class_weight=zero).fit(X, y)
        assert np.allclose(model.coef_, alone.coef_)
    with pytest.raises(ValueError, match="weight is not 0 are of one class"):
        model.fit(X, y, sample_weight=(y == "b").astype(float))


# ---- 5. damaged pickles --------------------------------------------------------

def test_damaged_pickles_and_models_raise_and_do_not_crash():
    ended = subprocess.run(
        [sys.executable, os.path.join(HERE, "promises.py"), str(WAYS)],
        capture_output=True, text=True, timeout=1000, check=False)
    assert ended.returncode == 0, ended.stdout[-500:] + ended.stderr[-2000:]
    assert ended.stdout.count(f"of {WAYS} ways were loaded") == \
        len(ESTIMATORS) + 2


# ---- 6. Ctrl-C ------------------------------------------------------------------

def interrupted(work, call):
    """Calls work(callback); Ctrl-C interrupts it at the `call`-th report."""
    calls = []

    def callback(progress):
        calls.append(progress)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # meanwhile the waiting thread takes it
    with pytest.raises(KeyboardInterrupt) as raised:
        work(callback)
    return raised.value


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ctrl_c_keeps_the_model_so_far(name):
    X, y = data_for(name)
    call = 1 + ESTIMATORS.index(name) % 2
    model = small(name)
    if name in TOLERANT:
        model.set_params(tol=1e-300)
    else:
        model.set_params(max_iter=100000)
    interrupted(lambda callback: model.set_params(
        callbacks=[callback]).fit(X, y), call)
    ask = model.predict if hasattr(model, "predict") else model.transform
    assert np.all(np.isfinite(ask(X).astype(float)))
    model.set_params(callbacks=None, **(
        {"tol": 1e-4} if name in TOLERANT else {"max_iter": 2}))
    model.fit(X, y)  # the next fit is not affected


def test_another_signals_handler_may_raise_too():
    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm
    X, y = data_for("Lasso")
    before = signal.signal(signal.SIGUSR1, handler)

    def callback(progress):
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.2)
    model = strads.Lasso(1e-6, tol=1e-300, callbacks=[callback])
    try:
        with pytest.raises(Alarm):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert np.all(np.isfinite(model.predict(X)))
    assert not any(t.name == "strads" for t in threading.enumerate())


def test_a_handler_that_raises_at_any_moment_leaves_no_run_behind():
    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm
    X, y = data_for("Lasso")
    before = signal.signal(signal.SIGALRM, handler)
    raised = 0
    try:
        for step in range(200):
            model = strads.Lasso(1e-6, tol=1e-300, max_iter=20,
                                 callbacks=[lambda progress: None])
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + step))
                model.fit(X, y)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm:
                raised += 1
            assert not any(t.name == "strads" and t.is_alive()
                           for t in threading.enumerate())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised > 0


@pytest.fixture
def interrupt_run(monkeypatch):
    """interrupt_run(n): Ctrl-C comes during the n-th run of the test."""
    runs, before = [], strads.engine.interruptible
    threads = []

    def counts(*arguments):
        runs.append(arguments)
        return before(*arguments)
    monkeypatch.setattr(strads.engine, "interruptible", counts)

    def begin(n):
        def interrupt():
            until = time.monotonic() + 60
            while time.monotonic() < until and not (
                    len(runs) == n and any(
                        t.name == "strads" for t in threading.enumerate())):
                time.sleep(0.005)
            os.kill(os.getpid(), signal.SIGINT)
        threads.append(threading.Thread(target=interrupt))
        threads[-1].start()
        return runs
    yield begin
    threads[0].join()


@pytest.mark.parametrize("name", ["LassoCV", "LogisticRegressionCV", "GLMCV"])
def test_ctrl_c_in_a_search_keeps_a_model(name, interrupt_run):
    draws = np.random.default_rng(5)
    X = draws.standard_normal((1500, 200))
    y = X[:, :50].sum(axis=1) + draws.standard_normal(1500)
    model = small(name).set_params(cv=20, tol=1e-13)
    model.set_params(**({"Cs": 300} if name == "LogisticRegressionCV"
                        else {"n_alphas": 300, "eps": 1e-3}))
    runs = interrupt_run(2)  # after the fit with the strongest penalty
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, (y > 0) if "Logistic" in name else y)
    assert len(runs) == 2 and np.all(np.abs(model.coef_) < 0.02)
    model.predict(X)


@pytest.mark.parametrize("path", [strads.lasso_path, strads.glm_path,
                                  strads.logistic_path])
def test_ctrl_c_in_a_path_raises_with_the_points_so_far(path, interrupt_run):
    draws = np.random.default_rng(6)
    X = draws.standard_normal((1000, 400))
    y = X @ draws.standard_normal(400) + draws.standard_normal(1000)
    y = y > 0 if path is strads.logistic_path else y
    interrupt_run(1)
    with pytest.raises(KeyboardInterrupt) as raised:
        path(X, y, eps=1e-4, tol=1e-13,
             **{"n_points" if path is strads.logistic_path
                else "n_alphas": 10000})
    alphas, coefs, intercepts, gaps = raised.value.path
    assert len(alphas) == coefs.shape[1] == len(intercepts) == len(gaps) < 10000
