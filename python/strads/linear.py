"""Linear regression: Lasso, elastic net, support vector regression.

The objectives are scikit-learn's. The estimators add: ``dual_gap_``, a
relative duality gap that certifies the fit; ``callbacks``, called with a
strads.Progress (a true return value ends the fit); ``verbose`` (a progress bar
if tqdm is installed); and Ctrl-C, which keeps the current model. A fit that
ends with a gap above `tol` warns (ConvergenceWarning).
"""
import numbers

import numpy as np
import scipy.sparse as sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import (_check_sample_weight, check_array,
                                      check_consistent_length, check_is_fitted,
                                      column_or_1d)

from . import engine, params, plots, states
from ._strads import ffi, lib


LABEL_MOST = 1e140  # sums of squares of larger numbers overflow


def checked_numbers(y):
    """Returns labels as numbers; their squares must not overflow."""
    largest = np.max(np.abs(y), initial=0)
    if not largest < LABEL_MOST:
        raise ValueError(f"y has a label of {largest:g}; expected labels that "
                         f"are finite and below {LABEL_MOST:g}: scale y down")
    return y


def checked_labels(X, y):
    """y [rows] of a path, as numbers."""
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64,
                                 input_name="y"), warn=True)
    check_consistent_length(X, y)
    return checked_numbers(y)


def least_samples():
    """The least number of rows of X: other processes of a fit may have all
    rows."""
    return 0 if engine.team() else 1


def row_weights(sample_weight, X):
    """[rows] of f64, or None if all rows, in all processes, weigh 1."""
    if not engine.agreed(any, sample_weight is not None):
        return None
    weight = np.ones(0) if X.shape[0] == 0 else \
        _check_sample_weight(sample_weight, X, dtype=np.float64)
    if np.any(weight < 0):
        raise ValueError("sample_weight has a negative weight")
    return np.ascontiguousarray(weight)


def counted(X, y, weight):
    """Drops rows of weight 0: they cost time and do not change the result."""
    if weight is None or np.all(weight > 0):
        return X, y, weight
    used = np.flatnonzero(weight > 0)
    return X[used], y[used], np.ascontiguousarray(weight[used])


def folds_of(cv, rows):
    """The number of folds, so that each has a row."""
    if rows < 2:
        raise ValueError(f"n_samples = {rows}: cross-validation needs at "
                         "least two rows")
    return max(2, min(cv, rows))


class Fitted(states.Checked, plots.Shown, BaseEstimator):
    """Common part of all linear estimators: a run, and X @ coef_.T +
    intercept_."""

    _table = plots.of_coefficients
    _rules = {}  # rules in addition to params.RULES

    def _check_parameters(self):
        params.check(self.get_params(deep=False), self._rules)

    def _check_state(self):
        if not hasattr(self, "coef_"):
            return  # only X was validated so far
        states.real(self, "coef_", (None,) * min(max(1, np.ndim(self.coef_)),
                                                 2))
        rows = 1 if self.coef_.ndim == 1 else len(self.coef_)
        if not self.coef_.size:
            states.refuse(self, "coef_", "a number at least")
        states.real(self, "intercept_",
                    () if self.coef_.ndim == 1 else (rows,))
        seen = getattr(self, "n_features_in_", self.coef_.shape[-1])
        if not isinstance(seen, numbers.Integral) or \
                seen != self.coef_.shape[-1]:
            states.refuse(self, "n_features_in_", "the columns of coef_")
        classes = getattr(self, "classes_", None)
        if classes is not None and (
                not isinstance(classes, np.ndarray) or classes.ndim != 1 or
                rows != (1 if len(classes) == 2 else len(classes))):
            states.refuse(self, "classes_", "one for each row of coef_, or two")

    def _run(self, program, config, X, y, *, start=None, **more):
        if engine.agreed(sum, X.shape[0]) == 0:
            raise ValueError("every row has weight 0; expected at least one "
                             "that counts")
        finished = engine.run(
            program, config, X, y, name=type(self).__name__,
            workers=engine.n_threads(self.n_jobs), tolerance=self.tol,
            max_rounds=self.max_iter or 0, start=start,
            callbacks=self.callbacks, verbose=self.verbose, **more)
        self.n_iter_ = max(1, finished.progress.round)
        self.dual_gap_ = finished.progress.gap
        self.objective_ = finished.progress.objective
        return finished

    def _done(self, finished, glm=False):
        """Raises the interrupt of the run, now that its model is kept, or
        warns if it did not converge; returns self. glm: its program is glm, or
        glm under other options."""
        if finished.interrupted:
            raise finished.interrupted
        engine.warn_unconverged(
            finished, self.tol, type(self).__name__,
            separable=glm and lib.strads_glm_separable(finished.state))
        return self

    def _start(self, parameters):
        """Start values of a warm start: the nonzero coefficients."""
        before = getattr(self, "coef_", None)
        if not self.warm_start or before is None:
            return None
        self._check_state()
        rows = np.atleast_2d(before).T
        if rows.shape[0] != parameters:
            return None
        used = np.flatnonzero(np.any(rows != 0, axis=1))
        return used, rows[used]

    def _linear(self, X):
        check_is_fitted(self, "coef_")
        X = self._validate_data(X, accept_sparse=["csr", "csc", "coo"],
                                reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + \
            self.intercept_

    @property
    def sparse_coef_(self):
        return sparse.csr_matrix(self.coef_)

    def _more_tags(self):
        return {"requires_y": True}


class _Regressor(RegressorMixin, Fitted):
    def _checked(self, X, y):
        self._check_parameters()
        X, y = self._validate_data(X, y, accept_sparse=["csc", "csr"],
                                   y_numeric=True,
                                   dtype=[np.float64, np.float32],
                                   ensure_min_samples=least_samples())
        return X, checked_numbers(y)

    def _weighted(self, X, y, sample_weight):
        """Checked data and weights, without rows of weight 0."""
        X, y = self._checked(X, y)
        return counted(X, y, row_weights(sample_weight, X))

    def _fitted(self, config, X, y, weight, start=None):
        """Runs glm and keeps its coefficients."""
        finished = self._run(engine.program_named("glm"), config, X, y,
                             weight=weight, start=start)
        self.coef_ = finished.values()[:X.shape[1], 0].copy()
        self.intercept_ = lib.strads_glm_intercepts(finished.state)[0]
        return finished

    def predict(self, X):
        """X @ coef_ + intercept_."""
        return self._linear(X)


# ---- Lasso and elastic net -------------------------------------------------

_WORDS = {name: ffi.new("char[]", name.encode())
          for name in ("squared", "logistic", "elastic-net", "ridge")}


def penalised(loss, l1_ratio, fit_intercept, positive_only=False):
    """The strads_glm_options of a loss with an elastic net."""
    return ffi.new("strads_glm_options *", {
        "loss": _WORDS[loss], "l1_ratio": l1_ratio, "intercept": fit_intercept,
        "penalty": _WORDS["elastic-net" if l1_ratio else "ridge"],
        "upper": np.inf if positive_only else 0})


class ElasticNet(_Regressor):
    """Linear regression with an L1 and an L2 penalty.

    Minimises ``1/(2n) |y - Xw - b|^2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2
    |w|^2)`` until the relative duality gap is at most `tol`.

    Parameters
    ----------
    alpha : float > 0
    l1_ratio : float in [0.001, 1]
    fit_intercept : bool
    positive : bool, coefficients are not negative
    tol : float, relative duality gap to stop at
    max_iter : int or None, rounds at most
    n_jobs : int or None, threads; -1 is one a core
    warm_start : bool, begin with the coefficients of the last fit
    verbose : bool
    callbacks : list of callables, each gets a strads.Progress
    """

    def __init__(self, alpha=1.0, *, l1_ratio=0.5, fit_intercept=True,
                 positive=False, tol=1e-6, max_iter=None, n_jobs=None,
                 warm_start=False, verbose=0, callbacks=None):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, y, weight = self._weighted(X, y, sample_weight)
        config = penalised("squared", getattr(self, "l1_ratio", 1.0),
                           self.fit_intercept, self.positive)
        setattr(config, "lambda", self.alpha)
        return self._done(self._fitted(config, X, y, weight,
                                       self._start(X.shape[1])))


class Lasso(ElasticNet):
    """Linear regression with an L1 penalty: ElasticNet with l1_ratio 1."""

    def __init__(self, alpha=1.0, *, fit_intercept=True, positive=False,
                 tol=1e-6, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        super().__init__(alpha, l1_ratio=1.0, fit_intercept=fit_intercept,
                         positive=positive, tol=tol, max_iter=max_iter,
                         n_jobs=n_jobs, warm_start=warm_start, verbose=verbose,
                         callbacks=callbacks)
        del self.l1_ratio  # not a parameter of this estimator


PATH_SHARE = params.number(least=0.001, most=1)  # paths need an L1 part


def path_points(points, count, cols):
    """alphas, coefficients [cols, points], intercepts and gaps of a path."""
    coefficients = np.zeros((cols, count))
    numbers = np.empty((count, 3))
    for k in range(count):
        point = points[k]
        numbers[k] = getattr(point, "lambda"), point.intercept, point.gap
        if point.nonzeros:
            index = np.frombuffer(ffi.buffer(point.index, point.nonzeros * 4),
                                  dtype=np.uint32)
            coefficients[index, k] = np.frombuffer(
                ffi.buffer(point.value, point.nonzeros * 8))
    return numbers[:, 0], coefficients, numbers[:, 1], numbers[:, 2]


def path_of(config, X, y, tol, n_jobs, max_iter, weight=None):
    """Runs glm-path and returns its path_points. Warns of points that did not
    converge or were not reached; an interrupt has the points so far as its
    `path`."""
    finished = engine.run(engine.program_named("glm-path"), config, X, y,
                          name="path", weight=weight,
                          workers=engine.n_threads(n_jobs), tolerance=tol,
                          max_rounds=max_iter or 0)
    count = ffi.new("uint32_t *")
    points = lib.strads_glm_path(finished.state, count)
    reached = path_points(points, count[0], X.shape[1])
    if finished.interrupted:
        finished.interrupted.path = reached
        raise finished.interrupted
    if finished.end != "stopped" and count[0] < config.points:
        engine.warn(f"path: {count[0]} of {config.points} points were reached "
                    f"in {finished.progress.round} rounds; raise max_iter")
    warn_of_points(reached[0], reached[3], tol)
    return reached


def warn_of_points(alphas, gaps, tol, name="path"):
    """Warns of the points of a path with a gap above the tolerance."""
    short = np.flatnonzero(~(gaps <= tol))
    if len(short):
        worst = short[np.argmax(gaps[short])]
        engine.warn(f"{name}: {len(short)} of {len(gaps)} points did not "
                    f"converge: relative gap {gaps[worst]:.3g} at alpha = "
                    f"{alphas[worst]:.6g}, expected at most tol = {tol:.3g}; "
                    "scale the columns, end the path at a larger alpha (eps) "
                    "or raise tol")


def enet_path(X, y, *, l1_ratio=0.5, eps=1e-3, n_alphas=100, positive=False,
              fit_intercept=False, tol=1e-6, n_jobs=None, max_iter=None):
    """Elastic nets at `n_alphas` alphas, from the largest with a nonzero
    coefficient down to `eps` of it, in one run with warm starts; max_iter:
    rounds of that run at most.

    Returns alphas [n], coefs [n_features, n], dual_gaps [n]; with
    fit_intercept also the intercepts [n]."""
    params.check({"l1_ratio": l1_ratio, "eps": eps, "n_alphas": n_alphas,
                  "positive": positive, "fit_intercept": fit_intercept,
                  "tol": tol, "n_jobs": n_jobs, "max_iter": max_iter},
                 {"l1_ratio": PATH_SHARE})
    X = check_array(X, accept_sparse=["csc", "csr"],
                    dtype=[np.float64, np.float32])
    y = checked_labels(X, y)
    config = ffi.new("strads_glm_path_options *")
    config.fit = penalised("squared", l1_ratio, fit_intercept, positive)[0]
    config.points, config.ratio = n_alphas, eps
    alphas, coefs, intercepts, gaps = path_of(config, X, y, tol, n_jobs,
                                              max_iter)
    return (alphas, coefs, gaps, intercepts) if fit_intercept else \
        (alphas, coefs, gaps)


def lasso_path(X, y, *, eps=1e-3, n_alphas=100, positive=False,
               fit_intercept=False, tol=1e-6, n_jobs=None, max_iter=None):
    """enet_path with l1_ratio 1."""
    return enet_path(X, y, l1_ratio=1.0, eps=eps, n_alphas=n_alphas,
                     positive=positive, fit_intercept=fit_intercept, tol=tol,
                     n_jobs=n_jobs, max_iter=max_iter)


def search_path(model, config, X, y, weight, points, losses):
    """Cross-validates `points` of the path of strads_glm_options. Returns an
    array [points, lambda, error, deviation, accuracy], best and simplest.

    losses: as in _search_pieces."""
    config.lambda_ratio = 1.0

    def begin():  # all coefficients are 0; an interrupted search keeps them
        finished = model._fitted(config, X, y, weight)
        if finished.interrupted:
            raise finished.interrupted
        return lib.strads_glm_lambda_max(finished.state)
    largest = engine.shared(begin)
    config.lambda_ratio = 0.0
    if largest <= 0:  # all gradients are 0: any lambda gives w = 0
        largest = 1.0
    search = ffi.new("strads_glm_cv_options *", {
        "folds": folds_of(model.cv, engine.agreed(sum, X.shape[0])),
        "tolerance": model.tol,
        "threads": max(1, engine.n_threads(model.n_jobs)),
        "seed": engine.seed_of(model.random_state)})
    search.path.fit = config[0]
    search.path.points, search.path.ratio = points, model.eps
    search.path.first = largest
    if engine.team():
        return _search_pieces(model, search, losses, X, y, weight)
    options = ffi.new("strads_engine_options *", {
        "size": ffi.sizeof("strads_engine_options"), "workers": 1,
        "partitions": 1})
    setattr(config, "lambda", largest)
    data = engine.cut_for(engine.program_named("glm"), config, options, X, y,
                          weight)
    out = ffi.new("strads_cv_point[]", points)
    best, simplest = ffi.new("uint32_t *"), ffi.new("uint32_t *")
    stop = ffi.new("bool *", False)
    search.stop = stop
    err, text, interrupted = engine.interruptible(
        stop, lib.strads_glm_cv, data, search, out, best, simplest)
    if interrupted:
        raise interrupted
    engine.raise_for(err, text)
    table = np.array([(getattr(p, "lambda"), p.error, p.deviation, p.accuracy)
                      for p in out])
    warn_of_points(table[:, 0], np.array([p.gap for p in out]), model.tol,
                   f"{type(model).__name__}: folds' paths")
    return table, best[0], simplest[0]


def _search_pieces(model, search, losses, X, y, weight):
    """search_path for rows in several processes: fits a path for each fold,
    with weight 0 for the fold's rows.

    losses(z, y [rows, 1]): the losses of predictions z [rows, points], and
    which labels they match. numpy's default_rng draws the folds, so they
    differ from those of a fit in one process."""
    rows = engine.agreed(list, len(y))
    first = sum(rows[:engine.team().rank])
    order = np.random.default_rng(engine.seed_of(model.random_state)) \
        .permutation(sum(rows))
    fold = np.empty(len(order), dtype=int)
    fold[order] = np.arange(len(order)) % search.folds
    fold = fold[first:first + len(y)]
    weight = np.ones(len(y)) if weight is None else weight
    config, count = ffi.addressof(search[0], "path"), ffi.new("uint32_t *")

    def path(others):
        finished = model._run(engine.program_named("glm-path"), config, X, y,
                              weight=others)
        reached = path_points(lib.strads_glm_path(finished.state, count),
                              count[0], X.shape[1])
        if finished.interrupted:
            raise finished.interrupted
        warn_of_points(reached[0], reached[3], model.tol,
                       f"{type(model).__name__}: a fold's path")
        return reached

    error, right, size = [], [], []
    for k in range(search.folds):
        lambdas, coefficients, intercepts, _ = engine.shared(
            lambda: path(weight * (fold != k)))
        held = np.flatnonzero(fold == k)
        z = safe_sparse_dot(X[held], coefficients, dense_output=True)
        lost, found = losses(z + intercepts, y[held, None])
        sums = engine.agreed(lambda all_: np.sum(all_, axis=0), np.vstack(
            [weight[held] @ lost, weight[held] @ found,
             np.full(len(lambdas), weight[held].sum())]))
        size.append(sums[2, 0])
        error.append(sums[0] / max(size[-1], 1e-300))
        right.append(sums[1])
    share = np.array(size) / sum(size)
    mean = share @ error
    deviation = np.sqrt(share @ (error - mean) ** 2 /
                        max(np.count_nonzero(size) - 1, 1))
    best = int(np.argmin(mean))
    simplest = int(np.argmax(mean <= mean[best] + deviation[best]))
    return np.column_stack([lambdas, mean, deviation,
                            np.sum(right, axis=0) / sum(size)]), best, simplest


def _squares(z, y):
    return (y - z) ** 2, np.zeros_like(z)


class ElasticNetCV(_Regressor):
    """An elastic net; alpha is chosen by cross-validation.

    Attributes in addition to those of ElasticNet: ``alpha_``; ``alphas_`` [n];
    ``mse_`` [n], the mean squared error of held-out rows; ``mse_deviation_``
    [n], its standard error; ``alpha_1se_``, the largest alpha with an error
    within one standard error of the best. ``l1_ratio`` may be a list; then
    ``l1_ratio_`` is the best value, and ``alphas_``, ``mse_`` and
    ``mse_deviation_`` are [ratios, n].
    """

    def __init__(self, *, l1_ratio=0.5, eps=1e-3, n_alphas=100, cv=5,
                 fit_intercept=True, positive=False, tol=1e-6, max_iter=None,
                 n_jobs=None, random_state=None, verbose=0, callbacks=None):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.n_alphas = n_alphas
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    warm_start = False
    _rules = {"l1_ratio": params.shares}

    def fit(self, X, y, sample_weight=None):
        """Chooses alpha, then fits with it; returns self."""
        X, y, weight = self._weighted(X, y, sample_weight)
        given = getattr(self, "l1_ratio", 1.0)
        ratios = np.atleast_1d(np.asarray(given, dtype=np.float64))
        tables, chosen = [], []
        for ratio in ratios:
            config = penalised("squared", ratio, self.fit_intercept,
                               self.positive)
            table, best, simplest = search_path(self, config, X, y, weight,
                                                self.n_alphas, _squares)
            tables.append(table[:, :3].T)
            chosen.append((table[best, 1], table[best, 0], table[simplest, 0]))
        k = min(range(len(ratios)), key=lambda i: chosen[i][0])
        self.l1_ratio_ = ratios[k]
        _, self.alpha_, self.alpha_1se_ = chosen[k]
        several = np.swapaxes(tables, 0, 1)  # [3, ratios, n]
        self.alphas_, self.mse_, self.mse_deviation_ = \
            several[:, 0] if np.ndim(given) == 0 else several
        config = penalised("squared", self.l1_ratio_, self.fit_intercept,
                           self.positive)
        setattr(config, "lambda", self.alpha_)
        return self._done(self._fitted(config, X, y, weight))


class LassoCV(ElasticNetCV):
    """A Lasso; alpha is chosen by cross-validation. See ElasticNetCV."""

    def __init__(self, *, eps=1e-3, n_alphas=100, cv=5, fit_intercept=True,
                 positive=False, tol=1e-6, max_iter=None, n_jobs=None,
                 random_state=None, verbose=0, callbacks=None):
        super().__init__(l1_ratio=1.0, eps=eps, n_alphas=n_alphas, cv=cv,
                         fit_intercept=fit_intercept, positive=positive,
                         tol=tol, max_iter=max_iter, n_jobs=n_jobs,
                         random_state=random_state, verbose=verbose,
                         callbacks=callbacks)
        del self.l1_ratio


# ---- support vector regression ---------------------------------------------

class LinearSVR(_Regressor):
    """Linear support vector regression with liblinear's objectives.

    Minimises ``1/2 |w|^2 + C sum_i max(0, |y_i - x_i w - b| - epsilon)`` (or
    its square). With `intercept_scaling` a number B, the intercept is B times
    the coefficient of a constant column of value B, which is penalised like
    the others. ``intercept_scaling=None`` does not penalise the intercept.
    """

    def __init__(self, *, epsilon=0.0, C=1.0, loss="epsilon_insensitive",
                 fit_intercept=True, intercept_scaling=1.0, tol=1e-4,
                 max_iter=None, n_jobs=None, warm_start=False, verbose=0,
                 callbacks=None):
        self.epsilon = epsilon
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    _losses = {"epsilon_insensitive": b"epsilon",
               "squared_epsilon_insensitive": b"squared-epsilon"}
    _rules = {"epsilon": params.number(least=0),
              "loss": params.one_of(*_losses)}

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, y, weight = self._weighted(X, y, sample_weight)
        config, kept = svm_config(self, self._losses)
        config.epsilon = self.epsilon
        finished = self._run(engine.program_named("svm"), config, X, y,
                             weight=weight, start=self._start(X.shape[1]))
        self.coef_ = finished.values()[:, 0]
        self.intercept_ = lib.strads_svm_intercepts(finished.state)[0]
        del kept
        return self._done(finished)


def svm_config(model, losses):
    """The options of a support vector machine, and the objects that they refer
    to."""
    kept = ffi.new("char[]", losses[model.loss])
    config = ffi.new("strads_svm_options *", {"loss": kept, "c": model.C})
    if model.fit_intercept and model.intercept_scaling is None:
        config.intercept = True
    elif model.fit_intercept:
        config.bias = model.intercept_scaling
    return config, kept
