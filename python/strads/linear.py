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
from sklearn.base import (BaseEstimator, ClassifierMixin, MultiOutputMixin,
                          RegressorMixin)
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import (_check_sample_weight, check_array,
                                      check_consistent_length, check_is_fitted,
                                      column_or_1d)

from . import arrow, engine, packs, params, plots, refit, search, states
from ._strads import ffi, lib
from .model import Model, read_model, restored, state_of
from .search import counted, path_points, warn_of_points


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


def _not_numbers(frame):
    """The columns of a data frame that do not hold numbers, as "name
    (type)"."""
    if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
        return []
    found = []
    for name in frame.columns:
        column = frame[name]
        try:
            np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            found.append(f"{name!r} ({column.dtype})")
    return found


def _label(label):
    """A class label as the command writes it."""
    return f"{float(label):.17g}" if isinstance(
        label, (numbers.Real, np.bool_)) else str(label)


class Fitted(states.Checked, plots.Shown, BaseEstimator):
    """Common part of all linear estimators: a run, and X @ coef_.T +
    intercept_."""

    _table = plots.of_coefficients
    _rules = {}  # rules in addition to params.RULES
    _one_row = False  # coef_ has one row for all classes

    def _check_parameters(self):
        params.check(vars(self), self._rules, type(self).__name__)

    def _validated(self, X, *y, **how):
        """X, or X and y, checked by scikit-learn."""
        try:
            return states.validate_data(self, X, *y, **how)
        except (TypeError, ValueError):
            words = _not_numbers(X)
            if not words:
                raise
        raise ValueError(
            f"X has columns that are no numbers: {', '.join(words)}; encode "
            "them, for example by pandas.get_dummies(X), or in a pipeline by "
            "make_column_transformer((OneHotEncoder(), columns), "
            "remainder='passthrough')")

    def _dense_coef(self):
        return self.coef_.toarray() if sparse.issparse(self.coef_) else \
            self.coef_

    def _check_state(self):
        if not hasattr(self, "coef_"):
            return  # only X was validated so far
        if sparse.issparse(self.coef_):
            kept = self.coef_
            kept.check_format(full_check=True)
            self.coef_ = kept.toarray()
            try:
                self._check_state()
            finally:
                self.coef_ = kept
            return
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
                rows != (1 if len(classes) == 2 or self._one_row else
                         len(classes))):
            states.refuse(self, "classes_", "one for each row of coef_, or two")

    def _rounds(self, cols, dual=False):
        """The rounds of the engine that count as one of max_iter."""
        return 1

    def _run(self, program, config, X, y, *, start=None, dual=False,
             max_iter=None, **more):
        if engine.agreed(sum, X.shape[0]) == 0:
            raise ValueError("every row has weight 0; expected at least one "
                             "that counts")
        finished = engine.run(
            program, config, X, y, name=type(self).__name__,
            workers=engine.n_threads(self.n_jobs), tolerance=self.tol,
            max_rounds=(max_iter or self.max_iter or 0) *
            self._rounds(X.shape[1], dual),
            start=start,
            seed=engine.seed_of(getattr(self, "random_state", None)),
            callbacks=self.callbacks, verbose=self.verbose, **more)
        self._record(finished, self._rounds(X.shape[1], dual))
        return finished

    def _record(self, finished, rounds):
        self.n_iter_ = max(1, -(-finished.progress.round // rounds))
        self.dual_gap_ = finished.progress.gap
        self.objective_ = finished.progress.objective

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

    def _start(self, parameters, width=1):
        """Start values of a warm start: the nonzero coefficients, `width` for
        each parameter. None without a model of this shape."""
        before = getattr(self, "coef_", None)
        if not self.warm_start or before is None:
            return None
        self._check_state()
        rows = np.atleast_2d(self._dense_coef()).T
        if rows.shape != (parameters, width):
            return None
        used = np.flatnonzero(np.any(rows != 0, axis=1))
        return used, rows[used]

    def _linear(self, X):
        check_is_fitted(self, "coef_")
        X = self._validated(X, accept_sparse=["csr", "csc", "coo"],
                            reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + \
            self.intercept_

    def save(self, path):
        """Writes the model as a file of the command, atomically: `strads
        lasso|logistic|svm|glm predict` and `load` read it. With the names of a
        data frame's columns, so that they read tables."""
        check_is_fitted(self, "coef_")
        self._check_state()
        program, options = self._of_command()
        classes = getattr(self, "classes_", None)
        if classes is not None:
            options["classes"] = ",".join(_label(each) for each in classes)
        options["python"] = state_of(self, ("coef_", "intercept_"))
        Model(program, self._dense_coef().reshape(-1, self.n_features_in_)
              if np.size(self.intercept_) > 1 else self._dense_coef().ravel(),
              self.intercept_ if np.size(self.intercept_) > 1
              else float(np.ravel(self.intercept_)[0]), options=options,
              fit={"rounds": np.max(self.n_iter_)},
              baseline=getattr(self, "baseline_", None),
              thresholds=getattr(self, "thresholds_", None),
              names=packs.names_to_write(getattr(
                  self, "feature_names_in_", None))).save(path)

    @classmethod
    def load(cls, path):
        """The fitted estimator that `save` has written, without parameters
        that are objects, such as callbacks."""
        read = read_model(path)
        if not isinstance(read, Model) or "python" not in read.options:
            raise ValueError(f"{path}: was not written by save(); "
                             "strads.read_model reads models of the command")
        coef, intercept = read.coef, read.intercept
        if issubclass(cls, ClassifierMixin):
            coef, intercept = np.atleast_2d(coef), np.atleast_1d(intercept)
        return restored(cls, read.options["python"], path,
                        {"coef_": coef, "intercept_": intercept})

    def _of_command(self):
        """The name of the command's program, and its options that matter for
        predictions."""
        return "lasso", {}

    @property
    def sparse_coef_(self):
        return sparse.csr_matrix(self.coef_)

    def _more_tags(self):
        return {"requires_y": True}


class _Regressor(RegressorMixin, Fitted):
    _outputs = False  # y may have several columns

    def _checked(self, X, y):
        self._check_parameters()
        X, y = self._validated(X, y, accept_sparse=["csc", "csr"],
                               y_numeric=True, dtype=[np.float64, np.float32],
                               ensure_min_samples=least_samples(),
                               multi_output=self._outputs and not engine.team())
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        return X, checked_numbers(y)

    def _weighted(self, X, y, sample_weight, cv=None):
        """Checked data and weights, without rows of weight 0, unless `cv` lists
        rows by their numbers."""
        X, y = self._checked(X, y)
        weight = row_weights(sample_weight, X)
        return (X, y, weight) if search.lists_rows(cv) else \
            counted(X, y, weight)

    def _fitted(self, config, X, y, weight, start=None, **more):
        """Runs glm and keeps its coefficients."""
        finished = self._run(engine.program_named("glm"), config, X, y,
                             weight=weight, start=start, **more)
        self.coef_ = finished.values()[:X.shape[1], 0].copy()
        self.intercept_ = lib.strads_glm_intercepts(finished.state)[0]
        return finished

    def predict(self, X):
        """X @ coef_ + intercept_."""
        return self._linear(X)


# ---- Lasso and elastic net -------------------------------------------------

_WORDS = {name: ffi.new("char[]", name.encode())
          for name in ("squared", "logistic", "elastic-net", "ridge")}


def penalised(loss, l1_ratio, fit_intercept, positive_only=False,
              standardize=False):
    """The strads_glm_options of a loss with an elastic net."""
    return ffi.new("strads_glm_options *", {
        "loss": _WORDS[loss], "l1_ratio": l1_ratio, "intercept": fit_intercept,
        "penalty": _WORDS["elastic-net" if l1_ratio else "ridge"],
        "upper": np.inf if positive_only else 0, "standardize": standardize})


def set_lambda(config, alpha):
    """Sets the penalty's weight; -0.0 stands for none."""
    setattr(config, "lambda", alpha or -0.0)


class ElasticNet(MultiOutputMixin, _Regressor):
    """Linear regression with an L1 and an L2 penalty.

    Minimises ``1/(2n) |y - Xw - b|^2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2
    |w|^2)`` until the relative duality gap is at most `tol`. If y has several
    columns, each has a fit of its own.

    Parameters
    ----------
    alpha : float >= 0; 0: no penalty
    l1_ratio : float, 0 or in [0.001, 1]
    fit_intercept : bool
    max_iter : int or None, rounds at most
    tol : float, relative duality gap to stop at
    warm_start : bool, begin with the coefficients of the last fit
    positive : bool, coefficients are not negative
    random_state : int, RandomState or None, of the engine's schedule
    precompute, copy_X, selection : accepted, and without effect
    standardize : bool, penalise as if the columns had a standard deviation of 1
    adaptive : float > 0 or None; a power g: the adaptive Lasso, each penalty is
        divided by |first coefficient|^g
    first_fit : float array [n_features] or None, these first coefficients, as
        coef_ of another model (not a file, as of the command); None: those of the ridge with the least error of 10 folds
    relax : float in [0, 1], the share of the penalised coefficients; the
        remainder is of a fit without a penalty on the selected columns
    n_jobs : int or None, threads; -1 is one a core
    verbose : bool
    callbacks : list of callables, each gets a strads.Progress
    """

    def __init__(self, alpha=1.0, *, l1_ratio=0.5, fit_intercept=True,
                 precompute=False, max_iter=None, copy_X=True, tol=1e-6,
                 warm_start=False, positive=False, random_state=None,
                 selection="cyclic", standardize=False, adaptive=None,
                 first_fit=None, relax=1.0, n_jobs=None, verbose=0,
                 callbacks=None):
        params.keep(self, locals())

    _outputs = True

    def fit(self, X, y, sample_weight=None):
        """Fits the model to y [n] or [n, outputs]; returns self."""
        X, y, weight = self._weighted(X, y, sample_weight)
        config = penalised("squared", self._share(), self.fit_intercept,
                           self.positive, self.standardize)
        set_lambda(config, self.alpha / self._unit(X, weight))
        if y.ndim == 2:
            return self._fit_outputs(config, X, y, weight)
        return self._fit_output(config, X, y, weight)

    def _fit_output(self, config, X, y, weight):
        kept = refit.weigh(self, config, X, y, weight)
        finished = self._fitted(config, X, y, weight, self._start(X.shape[1]))
        refit.relax(self, getattr(self, "relax", 1), config, X, y, weight)
        del kept
        return self._done(finished)

    def _share(self):
        """The L1 share of the penalty."""
        return self.l1_ratio

    def _unit(self, X, weight):
        """The number by which alpha is divided."""
        return 1.0

    def _fit_outputs(self, config, X, y, weight):
        """A fit for each column of y."""
        before = getattr(self, "coef_", None)
        fits = []
        for k in range(y.shape[1]):
            if np.shape(before) == (y.shape[1], X.shape[1]):
                self.coef_, self.intercept_ = before[k], 0.0
            elif hasattr(self, "coef_"):
                del self.coef_
            self._fit_output(config, X, np.ascontiguousarray(y[:, k]), weight)
            fits.append((self.coef_, self.intercept_, self.dual_gap_,
                         self.objective_, self.n_iter_))
        self.coef_, self.intercept_, self.dual_gap_, self.objective_ = map(
            np.array, list(zip(*fits))[:4])
        self.n_iter_ = [fit[4] for fit in fits]
        return self


class Lasso(ElasticNet):
    """Linear regression with an L1 penalty: ElasticNet with l1_ratio 1."""

    def __init__(self, alpha=1.0, *, fit_intercept=True, precompute=False,
                 copy_X=True, max_iter=None, tol=1e-6, warm_start=False,
                 positive=False, random_state=None, selection="cyclic",
                 standardize=False, adaptive=None, first_fit=None, relax=1.0,
                 n_jobs=None, verbose=0, callbacks=None):
        params.keep(self, locals())

    def _share(self):
        return 1.0


class Ridge(ElasticNet):
    """Linear regression with an L2 penalty: minimises ``|y - Xw - b|^2 + alpha
    |w|^2``. Parameters as of Lasso; `solver` is accepted, and without effect.
    """

    def __init__(self, alpha=1.0, *, fit_intercept=True, copy_X=True,
                 max_iter=None, tol=1e-6, solver="auto", positive=False,
                 random_state=None, warm_start=False, standardize=False,
                 n_jobs=None, verbose=0, callbacks=None):
        params.keep(self, locals())

    _rules = {"solver": params.one_of("auto", "svd", "cholesky", "lsqr",
                                      "sparse_cg", "sag", "saga", "lbfgs")}

    def _share(self):
        return 0.0

    def _unit(self, X, weight):
        return max(engine.agreed(sum, X.shape[0] if weight is None
                                 else weight.sum()), 1e-300)


PATH_SHARE = params.number(least=0.001, most=1)  # paths need an L1 part


def path_of(config, X, y, tol, n_jobs, max_iter, weight=None, verbose=0):
    """Runs glm-path and returns its path_points. Warns of points that did not
    converge or were not reached; an interrupt has the points so far as its
    `path`."""
    finished = engine.run(engine.program_named("glm-path"), config, X, y,
                          name="path", weight=weight,
                          workers=engine.n_threads(n_jobs), tolerance=tol,
                          max_rounds=max_iter or 0, verbose=verbose)
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


def enet_path(X, y, *, l1_ratio=0.5, eps=1e-3, n_alphas=100, alphas=None,
              precompute="auto", copy_X=True, verbose=0, positive=False,
              fit_intercept=False, tol=1e-6, n_jobs=None, max_iter=None):
    """Elastic nets at `n_alphas` alphas, from the largest with a nonzero
    coefficient down to `eps` of it, or at `alphas`, in one run with warm
    starts; max_iter: rounds of that run at most.

    Returns alphas [n], descending, coefs [n_features, n], dual_gaps [n]; with
    fit_intercept also the intercepts [n]."""
    params.check(locals(), {"l1_ratio": PATH_SHARE}, "enet_path")
    X = check_array(arrow.matrix_of(X), accept_sparse=["csc", "csr"],
                    dtype=[np.float64, np.float32])
    y = checked_labels(X, y)
    config = ffi.new("strads_glm_path_options *")
    config.fit = penalised("squared", l1_ratio, fit_intercept, positive)[0]
    kept = search.set_points(config, alphas, n_alphas, eps)
    alphas, coefs, intercepts, gaps = path_of(config, X, y, tol, n_jobs,
                                              max_iter, verbose=verbose)
    del kept
    return (alphas, coefs, gaps, intercepts) if fit_intercept else \
        (alphas, coefs, gaps)


def lasso_path(X, y, *, eps=1e-3, n_alphas=100, alphas=None, precompute="auto",
               copy_X=True, verbose=0, positive=False, fit_intercept=False,
               tol=1e-6, n_jobs=None, max_iter=None):
    """enet_path with l1_ratio 1."""
    return enet_path(X, y, l1_ratio=1.0, eps=eps, n_alphas=n_alphas,
                     alphas=alphas, precompute=precompute, copy_X=copy_X,
                     verbose=verbose, positive=positive,
                     fit_intercept=fit_intercept, tol=tol, n_jobs=n_jobs,
                     max_iter=max_iter)


def _squares(z, y):
    return (y - z) ** 2


class ElasticNetCV(_Regressor):
    """An elastic net; alpha is chosen by cross-validation.

    Parameters in addition to those of ElasticNet: ``l1_ratio``, a number or a
    list; ``eps``, ``n_alphas``: the alphas descend from the largest with a
    nonzero coefficient to `eps` of it; or ``alphas``, a list of them; ``cv``:
    a number of folds, a splitter, a list of (train, test) rows, or None for 5
    folds; ``relax``, a number, a list of them or "auto" (1, .75, .5, .25, 0):
    the share is chosen together with alpha. The weights of ``adaptive`` are
    computed once, of all rows.

    Attributes in addition to those of ElasticNet: ``relax_``, the share of the
    penalised coefficients; the arrays are those of this share; ``alpha_``; ``alphas_`` [n];
    ``mse_path_`` [n, folds], the mean squared error of each fold; ``mse_`` [n],
    their mean; ``mse_deviation_`` [n], its standard error; ``alpha_1se_``, the
    largest alpha with an error within one standard error of the best. If
    ``l1_ratio`` is a list, ``l1_ratio_`` is the best value, and the arrays have
    a first axis for the ratios.
    """

    def __init__(self, *, l1_ratio=0.5, eps=1e-3, n_alphas=100, alphas=None,
                 fit_intercept=True, precompute="auto", max_iter=None,
                 tol=1e-6, cv=None, copy_X=True, verbose=0, n_jobs=None,
                 positive=False, random_state=None, selection="cyclic",
                 standardize=False, adaptive=None, first_fit=None, relax=1.0,
                 callbacks=None):
        params.keep(self, locals())

    warm_start = False
    _rules = {"l1_ratio": params.shares, "relax": refit.shares}

    def fit(self, X, y, sample_weight=None):
        """Chooses alpha, then fits with it; returns self."""
        X, y, weight = self._weighted(X, y, sample_weight, self.cv)
        given = getattr(self, "l1_ratio", 1.0)
        ratios = np.atleast_1d(np.asarray(given, dtype=np.float64))
        folds = search.folds_of(self.cv, X, y)
        factor = refit.weigh(self, penalised(
            "squared", ratios[0], self.fit_intercept, self.positive,
            self.standardize), X, y, weight)
        found = []
        for ratio in ratios:
            config = penalised("squared", ratio, self.fit_intercept,
                               self.positive, self.standardize)
            if factor is not None:
                config.penalty_factor = engine.pointer(factor, "double *")
            found.append(search.search_path(self, config, X, y, weight, folds,
                                            _squares))
        k = min(range(len(ratios)), key=lambda i: found[i].least)
        self.l1_ratio_ = ratios[k]
        self.alpha_, self.alpha_1se_ = found[k].best, found[k].simplest
        self.alphas_, self.mse_path_, self.mse_, self.mse_deviation_ = (
            each[0] if np.ndim(given) == 0 else np.array(each)
            for each in list(zip(*found))[:4])
        config = penalised("squared", self.l1_ratio_, self.fit_intercept,
                           self.positive, self.standardize)
        if factor is not None:
            config.penalty_factor = engine.pointer(factor, "double *")
        set_lambda(config, self.alpha_)
        search.warn_of_end(self, self.alpha_, found[k].alphas)
        self.relax_ = found[k].relax
        finished = self._fitted(config, X, y, weight)
        refit.relax(self, self.relax_, config, X, y, weight)
        return self._done(finished)


class LassoCV(ElasticNetCV):
    """A Lasso; alpha is chosen by cross-validation. See ElasticNetCV."""

    def __init__(self, *, eps=1e-3, n_alphas=100, alphas=None,
                 fit_intercept=True, precompute="auto", max_iter=None,
                 tol=1e-6, copy_X=True, cv=None, verbose=0, n_jobs=None,
                 positive=False, random_state=None, selection="cyclic",
                 standardize=False, adaptive=None, first_fit=None, relax=1.0,
                 callbacks=None):
        params.keep(self, locals())


# ---- support vector regression ---------------------------------------------

class LinearSVR(_Regressor):
    """Linear support vector regression with liblinear's objectives.

    Minimises ``1/2 |w|^2 + C sum_i max(0, |y_i - x_i w - b| - epsilon)`` (or
    its square). With `intercept_scaling` a number B, the intercept is B times
    the coefficient of a constant column of value B, which is penalised like
    the others. ``intercept_scaling=None`` does not penalise the intercept.
    """

    def __init__(self, *, epsilon=0.0, tol=1e-6, C=1.0,
                 loss="epsilon_insensitive", fit_intercept=True,
                 intercept_scaling=1.0, dual="auto", verbose=0,
                 random_state=None, max_iter=None, standardize=False,
                 n_jobs=None, warm_start=False, callbacks=None):
        params.keep(self, locals())

    _losses = {"epsilon_insensitive": b"epsilon",
               "squared_epsilon_insensitive": b"squared-epsilon"}
    _rules = {"epsilon": params.number(least=0),
              "loss": params.one_of(*_losses)}

    def _of_command(self):
        return "svm", {"loss": self._losses[self.loss].decode()}

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
    config = ffi.new("strads_svm_options *", {
        "loss": kept, "c": model.C, "standardize": model.standardize})
    if model.fit_intercept and model.intercept_scaling is None:
        config.intercept = True
    elif model.fit_intercept:
        config.bias = model.intercept_scaling
    return config, kept
