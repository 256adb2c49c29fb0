"""Generalised linear models: any loss with any penalty, by ``strads glm``.

Minimises ``1/W sum_i c_i f(y_i, o_i + x_i w + b) + alpha sum_j g(w_j)``: c are
sample weights, W their sum, o offsets. docs/glm.md lists losses and penalties.
"""
import numpy as np
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array

from . import arrow, engine, errors, params, refit, search
from ._strads import ffi, lib
from .classify import Classifier, Probable
from .linear import (_Regressor, checked_labels, path_of, row_weights,
                     set_lambda)
from .model import baseline_of
from .search import counted


def _numbers_of(name, given, n, what):
    """The user's whole numbers `name`, one for each of n, in u32."""
    given = np.asarray(given)
    if given.shape != (n,) or given.dtype.kind not in "iu" or \
            np.any(given < 0) or np.any(given > 0xffffffff):
        raise ValueError(f"{name} has the shape {given.shape} and the type "
                         f"{given.dtype}; expected ({n},) whole numbers "
                         f"from 0 up, the same for all {what}")
    return np.ascontiguousarray(given, dtype=np.uint32)


def _lists_columns(groups):
    """Whether `groups` is a list of lists, the columns of each group."""
    return isinstance(groups, (list, tuple)) and len(groups) > 0 and all(
        isinstance(each, (list, tuple, range, np.ndarray)) for each in groups)


def _groups_of(groups, columns):
    """[columns] of u32; without groups each column is its own group."""
    if groups is None:
        return np.arange(columns, dtype=np.uint32)
    if _lists_columns(groups):
        raise ValueError("groups lists the columns of each group; expected a "
                         f"number for each of the {columns} columns, equal for "
                         "those of a group (GroupLasso and SparseGroupLasso "
                         "take lists, which may overlap)")
    return _numbers_of("groups", groups, columns, "columns of a group")


def _overlap_of(groups, columns):
    """The columns of all groups of a list of lists, ascending, and the group of
    each."""
    listed = [np.asarray(each) for each in groups]
    if any(each.ndim != 1 or each.dtype.kind not in "iu" or
           np.any(each < 0) or np.any(each >= columns) or
           len(np.unique(each)) < len(each) for each in listed):
        raise ValueError("groups: expected lists of different columns, numbers "
                         f"from 0 to {columns - 1}")
    source = np.concatenate(listed)
    missing = np.setdiff1d(np.arange(columns), source)
    if len(missing):
        raise ValueError(f"groups: column {missing[0]} is in no group; give it "
                         "one of its own")
    group = np.repeat(np.arange(len(listed)), [len(each) for each in listed])
    order = np.argsort(source, kind="stable")
    return source[order], group[order].astype(np.uint32)


def _floats_of(name, given):
    """The user's array `name`, in f64."""
    try:
        return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        params.refuse(name, given, "an array of numbers, or None")


def _strata_of(strata, rows):
    """[rows] of u32, or None."""
    if strata is None:
        return None
    return _numbers_of("strata", strata, rows, "rows of a stratum")


def _factors_of(factors, columns):
    given = _floats_of("penalty_factors", factors)
    if given.shape != (columns,) or not np.all(np.isfinite(given)) or \
            np.any(given < 0):
        raise ValueError(f"penalty_factors has the shape {given.shape}; "
                         f"expected ({columns},) numbers from 0 up")
    return given


def _config(columns, loss, penalty, *, l1_ratio=0.5, gamma=None, groups=None,
            penalty_factors=None, lower=None, upper=None, parameter=0,
            fit_intercept=True, standardize=False, offset=None, strata=None):
    """strads_glm_options, and the objects that must live as long as they do.
    """
    kept = [ffi.new("char[]", name.encode()) for name in (loss, penalty)]
    kept.append(offset)
    config = ffi.new("strads_glm_options *", {
        "loss": kept[0], "penalty": kept[1], "loss_parameter": parameter,
        "intercept": fit_intercept, "standardize": standardize})
    if penalty in ("elastic-net", "sparse-group"):
        config.l1_ratio = l1_ratio
    if gamma is not None:
        config.gamma = gamma
    if groups is not None or penalty in ("group", "sparse-group"):
        kept.append(_groups_of(groups, columns))
        config.column_group = engine.pointer(kept[-1], "uint32_t *")
    if penalty_factors is not None:
        kept.append(_factors_of(penalty_factors, columns))
        config.penalty_factor = engine.pointer(kept[-1], "double *")
    if lower is not None or upper is not None:
        config.lower = -np.inf if lower is None else lower
        config.upper = np.inf if upper is None else upper
        if config.lower == config.upper == 0:
            raise ValueError("lower and upper are both 0: no coefficient could "
                             "be any other")
    if offset is not None:
        config.row_offset = engine.pointer(offset, "double *")
    if strata is not None:
        kept.append(strata)
        config.row_stratum = engine.pointer(strata, "uint32_t *")
    return config, kept


def _config_of(model, columns, loss, penalty, parameter, offset=None,
               strata=None):
    """_config for an estimator's parameters; missing ones have their defaults.
    """
    given = {name: getattr(model, name)
             for name in ("l1_ratio", "gamma", "groups", "penalty_factors",
                          "lower", "upper", "standardize")
             if hasattr(model, name)}
    return _config(columns, loss, penalty, parameter=parameter, offset=offset,
                   strata=strata, fit_intercept=model.fit_intercept, **given)


_SHARE = params.number(least=0.001, most=1)
_LOGARITHMS = ("poisson", "gamma", "tweedie")  # X w + b is the log of the mean
_TIMES = ("cox", "cox-efron")  # of the risk


_RULE = ("expected the time of each event, and minus the time of a row "
         "without one (censored); or two columns, time and event (1 or 0); or "
         "a structured array of an event (bool) and a time")


def _times_of(y):
    """y of a loss of times in any of its forms, as a number for each row:
    negative if it is censored."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names:
        events = [name for name in names if y.dtype[name].kind == "b"]
        if len(names) != 2 or len(events) != 1:
            raise ValueError(f"y has the fields {', '.join(names)}; {_RULE}")
        time, = (name for name in names if name not in events)
        event, time = y[events[0]], y[time]
    elif np.ndim(y) == 2 and np.shape(y)[1] == 2:
        time, event = np.asarray(y).T
        if not np.all(np.isin(event, (0, 1))):
            raise ValueError(f"y has the event {event[~np.isin(event, (0, 1))][0]!r}"
                             f" in its second column; {_RULE}")
    elif np.ndim(y) == 2 and np.shape(y)[1] > 2:
        raise ValueError(f"y has {np.shape(y)[1]} columns; {_RULE}")
    else:
        return y
    try:
        time = np.asarray(time, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y has times that are no numbers; {_RULE}") from None
    if np.any(time < 0):
        raise ValueError(f"y has the time {time[time < 0][0]:g} beside its "
                         f"event; {_RULE}")
    return np.where(np.asarray(event, dtype=bool), time, -time)


def _concordance(risk, times):
    """Harrell's C: the share of pairs with the larger risk earlier."""
    event, at = ~np.signbit(times), np.abs(times)
    right = pairs = 0
    for i in np.flatnonzero(event):
        later = (at > at[i]) | ((at == at[i]) & ~event)
        pairs += np.sum(later)
        right += np.sum(risk[i] > risk[later]) + \
            np.sum(risk[i] == risk[later]) / 2
    return right / pairs if pairs else np.nan


class GLM(_Regressor):
    """A loss of numbers with a penalty.

    Parameters
    ----------
    loss : str, "squared", "poisson", ...: a loss of numbers (docs/glm.md); for
        "cox" and "cox-efron" y is the time of an event, or minus the time up to
        which there was none (censored), or has two columns, time and event (1
        or 0), or is a structured array of an event (bool) and a time; predict
        returns risks, and score the concordance;
        ``baseline_`` is then a dict of the steps of the baseline hazard:
        arrays stratum, time, hazard
    penalty : str, "l1", "elastic-net", "ridge", "group", "sparse-group", "mcp",
        "scad", "none"
    alpha : float >= 0, weight of the penalty; 0: none
    l1_ratio : float in [0.001, 1], of "elastic-net" and "sparse-group"
    gamma : float or None, for "mcp" and "scad": constant above gamma alpha
    groups : int array [n_features] or None, for "group" and "sparse-group":
        equal numbers for the columns of a group; None: each column is its own
        group
    penalty_factors : float array [n_features] or None, >= 0: factor of each
        coefficient's penalty; 0: not penalised; None: 1
    lower, upper : float or None, bounds of all coefficients, lower <= 0 <= upper
    loss_parameter : float or None, for losses that have one
    fit_intercept, standardize : bool, as of Lasso
    adaptive, first_fit, relax : as of Lasso; adaptive for "l1" and
        "elastic-net", relax for penalties that select columns
    tol, max_iter, n_jobs, warm_start, verbose, callbacks : as of Lasso
    """

    def __init__(self, loss="squared", penalty="l1", *, alpha=1.0, l1_ratio=0.5,
                 gamma=None, groups=None, penalty_factors=None, lower=None,
                 upper=None, loss_parameter=None, fit_intercept=True,
                 standardize=False, adaptive=None, first_fit=None, relax=1.0,
                 tol=1e-6, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        params.keep(self, locals())

    _rules = {"l1_ratio": _SHARE}
    _penalty = property(lambda self: self.penalty)
    _loss = property(lambda self: self.loss)
    _parameter = property(lambda self: self.loss_parameter or 0)

    def _prepared(self, X, y, sample_weight, offset, cv=None, strata=None):
        """Checked rows with positive weight (all, if `cv` lists rows by their
        numbers), their offset and strata, and their options."""
        self._check_parameters()
        if lib.strads_glm_classifies(self._loss.encode()):
            raise ValueError(f"loss {self._loss!r} is of classes; expected one "
                             "of numbers (for classes: GLMClassifier)")
        X, y = self._checked(X, y)
        if engine.agreed(lambda all_: len(all_) > 1 and any(all_),
                         offset is not None):
            raise ValueError("offset: rows have none on several processes in "
                             "this version; leave it out")
        if engine.agreed(lambda all_: len(all_) > 1 and any(all_),
                         strata is not None):
            raise ValueError("strata: rows have none on several processes in "
                             "this version; leave them out")
        if offset is not None:
            offset = _floats_of("offset", offset)
            if offset.shape != (X.shape[0],) or not np.all(np.isfinite(offset)):
                raise ValueError(f"offset has the shape {offset.shape}; "
                                 f"expected ({X.shape[0]},), all finite")
        strata = _strata_of(strata, X.shape[0])
        weight = row_weights(sample_weight, X)
        if not search.lists_rows(cv):
            if weight is not None and offset is not None:
                offset = np.ascontiguousarray(offset[weight > 0])
            if weight is not None and strata is not None:
                strata = np.ascontiguousarray(strata[weight > 0])
            X, y, weight = counted(X, y, weight)
        config, kept = _config_of(self, X.shape[1], self._loss, self._penalty,
                                  self._parameter, offset, strata)
        return X, y, weight, offset, strata, config, kept

    def _checked(self, X, y):
        return super()._checked(X, _times_of(y) if self._loss in _TIMES else y)

    def fit(self, X, y, sample_weight=None, offset=None, strata=None):
        """Fits the model; `offset` [n] is added to X @ coef_; `strata` [n], of
        "cox" and "cox-efron": the number of each row's stratum. Returns self.
        """
        X, y, weight, _, _, config, kept = self._prepared(
            X, y, sample_weight, offset, strata=strata)
        if self._penalty != "none":
            set_lambda(config, self.alpha)
        kept.append(refit.weigh(self, config, X, y, weight))
        finished = self._fitted(config, X, y, weight, self._start(X.shape[1]))
        refit.relax(self, getattr(self, "relax", 1), config, X, y, weight)
        return self._done(finished, glm=True)

    def _fitted(self, config, X, y, weight, start=None, **more):
        finished = super()._fitted(config, X, y, weight, start, **more)
        if self._loss in _TIMES:
            self.baseline_ = baseline_of(
                lib.strads_glm_baseline(finished.state))
        return finished

    @available_if(lambda self: self._loss in _TIMES)
    def predict_survival(self, X, times, strata=None):
        """The probabilities [n_samples, len(times)] of no event up to each of
        `times`; `strata` [n] as of fit, None: 0."""
        risk = self.predict(X)
        times = np.atleast_1d(_floats_of("times", times))
        strata = np.zeros(len(risk), np.uint32) if strata is None else \
            _strata_of(strata, len(risk))
        steps = self.baseline_
        hazard = np.empty((len(risk), len(times)))
        for each in np.unique(strata):
            own = steps["stratum"] == each
            if not np.any(own):
                raise ValueError(f"strata: {each} has no events in the fit; "
                                 "expected one of the fit's strata")
            at = np.searchsorted(steps["time"][own], times, "right")
            hazard[strata == each] = np.append(0, steps["hazard"][own])[at]
        return np.exp(-hazard * risk[:, None])

    def summary(self, X, y, sample_weight=None, offset=None, *, level=0.95):
        """Standard errors, tests and intervals of a fit without a penalty (alpha
        0 or penalty "none"), on the data of the fit: a Summary. Estimates are
        those of `fit`, as exact as its `tol`."""
        errors.check_fit(self, X, self._penalty)
        X, y, weight, offset, *_ = self._prepared(X, y, sample_weight, offset)
        config, kept = _config(X.shape[1], self._loss, "none",
                               parameter=self._parameter, offset=offset,
                               fit_intercept=self.fit_intercept)
        return errors.of_fit(self, X, y, weight, offset, config, level)

    def _of_command(self):
        return "glm", {"loss": self._loss}

    def predict(self, X):
        """The mean that the loss has at X @ coef_ + intercept_."""
        margin = self._linear(X)
        return np.exp(margin) if self._loss in _LOGARITHMS + _TIMES else margin

    def score(self, X, y, sample_weight=None):
        """R2, or for times the concordance, without weights."""
        if self._loss in _TIMES:
            return _concordance(self.predict(X),
                                np.asarray(_times_of(y), np.float64))
        return super().score(X, y, sample_weight)

    def _more_tags(self):
        return {"requires_y": True,
                "requires_positive_y": self._loss in _LOGARITHMS,
                "poor_score": True}


class _Deviance(GLM):
    """A loss that is half of a deviance, with an L2 penalty: scikit-learn's
    objective, half the mean deviance plus alpha/2 |w|^2."""

    _penalty, _parameter = "ridge", 0

    def score(self, X, y, sample_weight=None):
        """D^2, the share of the deviance that is explained."""
        return d2_tweedie_score(y, self.predict(X), power=self._power,
                                sample_weight=sample_weight)


class PoissonRegressor(_Deviance):
    """Poisson regression of counts, with a log link and an L2 penalty."""

    def __init__(self, *, alpha=1.0, fit_intercept=True, solver="lbfgs",
                 max_iter=None, tol=1e-6, warm_start=False, verbose=0,
                 standardize=False, n_jobs=None, callbacks=None):
        params.keep(self, locals())

    _loss, _power = "poisson", 1


class GammaRegressor(_Deviance):
    """Gamma regression of amounts above 0, with a log link and an L2 penalty.
    """

    def __init__(self, *, alpha=1.0, fit_intercept=True, solver="lbfgs",
                 max_iter=None, tol=1e-6, warm_start=False, verbose=0,
                 standardize=False, n_jobs=None, callbacks=None):
        params.keep(self, locals())

    _loss, _power = "gamma", 2


class TweedieRegressor(_Deviance):
    """Regression by the deviance of power 0 (squared error), 1 (Poisson), 2
    (gamma) or between 1 and 2 (amounts with many zeros), with an L2 penalty.
    The link is the logarithm, with power 0 the identity."""

    def __init__(self, *, power=0.0, alpha=1.0, fit_intercept=True,
                 link="auto", solver="lbfgs", max_iter=None, tol=1e-6,
                 warm_start=False, verbose=0, standardize=False, n_jobs=None,
                 callbacks=None):
        params.keep(self, locals())

    _rules = {"power": params.number(least=0, most=2),
              "link": params.one_of("auto", "identity", "log")}
    _power = property(lambda self: self.power)
    _loss = property(lambda self: {0: "squared", 1: "poisson", 2: "gamma"}.get(
        self.power, "tweedie"))
    _parameter = property(lambda self: self.power
                          if self._loss == "tweedie" else 0)

    def _check_parameters(self):
        super()._check_parameters()
        if 0 < self.power < 1:
            params.refuse("power", self.power, "0, or from 1 to 2")
        if self.link != "auto" and (self.link == "identity") != \
                (self.power == 0):
            params.refuse("link", self.link, "'auto': the identity with power "
                                             "0, else the logarithm")


_SCALES = 100  # of a HuberRegressor, at most


class _Bracket:
    """The root of best(scale) - scale, which is positive below the root: by
    secants, kept between the scales on both sides."""

    def __init__(self):
        self.low, self.high, self.before = 0.0, np.inf, None

    def next(self, scale, best):
        """The next scale after best(scale)."""
        if best > scale:
            self.low = scale
        else:
            self.high = scale
        guess, excess = best, best - scale
        if self.before is not None and self.before[1] != excess:
            guess = scale - excess * (scale - self.before[0]) / (
                excess - self.before[1])
        self.before = scale, excess
        if not self.low < guess < self.high:
            guess = best if self.low < best < self.high else \
                (self.low + self.high) / 2
        return guess


class HuberRegressor(GLM):
    """Linear regression that is robust against outliers. The objective is
    scikit-learn's: over w, b and the scale s of y it minimises

        sum_i c_i (s + s H((y_i - x_i w - b) / s)) + alpha |w|^2

    where H(z) is z^2 up to `epsilon` and 2 epsilon |z| - epsilon^2 beyond.

    Fits at one scale alternate with the best scale for their residuals, until
    both scales agree to 0.1 root(tol), by which the objective changes less
    than by tol; ``dual_gap_`` is that of the last fit. Attributes in addition
    to those of GLM: ``scale_``; ``outliers_`` [n], the rows beyond epsilon
    scale_. For a given scale use
    GLM("huber", "ridge", loss_parameter=epsilon * scale).
    """

    def __init__(self, *, epsilon=1.35, max_iter=None, alpha=1e-4,
                 warm_start=False, fit_intercept=True, tol=1e-6,
                 standardize=False, n_jobs=None, verbose=0, callbacks=None):
        params.keep(self, locals())

    _loss, _penalty, _parameter = "huber", "ridge", 0
    _rules = {"epsilon": params.number(least=1)}

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, y, weight, _, _, config, kept = self._prepared(
            X, y, sample_weight, None, cv=())  # outliers_ has all rows
        each = np.ones(len(y)) if weight is None else weight
        total, mean = engine.agreed(lambda all_: np.sum(all_, axis=0), [
            each.sum(), each @ y])
        if total == 0:
            raise ValueError("every row has weight 0; expected at least one "
                             "that counts")
        start = self._start(X.shape[1])
        away = y - mean / total if start is None else \
            y - self._linear(X)
        # Rows that are fitted exactly have no scale.
        least = 1e-10 * engine.agreed(max, np.max(np.abs(away), initial=1e-290))
        left, runs = self.max_iter or 2**62, []
        before = None if start is None else self.intercept_

        def step(scale):
            config.loss_parameter = self.epsilon * scale
            set_lambda(config, self.alpha * scale / total)
            if before is not None:
                kept.append(np.array([before]))
                config.start_intercept = engine.pointer(kept[-1], "double *")
            runs.append(self._fitted(config, X, y, weight, start,
                                     max_iter=left))
            if runs[-1].interrupted:
                raise runs[-1].interrupted
            return self.coef_, self.intercept_, runs[-1].end, self.n_iter_
        scale, rounds = self._scale_of(away, each, total, least), 0
        bracket = _Bracket()
        for _ in range(_SCALES):
            coef, before, end, took = engine.shared(lambda: step(scale))
            rounds, left = rounds + took, left - took
            used = np.flatnonzero(coef)
            start = used, coef[used, None]
            away = y - safe_sparse_dot(X, coef) - before
            best = self._scale_of(away, each, total, least)
            settled = abs(best - scale) <= 0.1 * np.sqrt(self.tol) * best
            if end != "converged" or left <= 0 or settled or best == least:
                break
            scale = bracket.next(scale, best)
        self.scale_, self.n_iter_ = best, rounds
        self.outliers_ = engine.agreed(np.concatenate,
                                       np.abs(away) > self.epsilon * best)
        if runs and best > least:  # of the process that has the results
            self._done(runs[-1], glm=True)
            if end == "converged" and not settled:
                engine.warn(f"HuberRegressor: the scale of y did not settle in "
                            f"{rounds} rounds: raise max_iter or tol")
        return self

    def _scale_of(self, away, each, total, least):
        """The best scale for residuals, from `least` up: the root s of sum_i
        c_i min((r_i / s)^2, epsilon^2) = sum_i c_i, by bisection."""
        square = away ** 2

        def excess(scale):
            return engine.agreed(sum, each @ np.minimum(
                square / scale ** 2, self.epsilon ** 2)) - total
        low = least
        high = max(least, np.sqrt(engine.agreed(sum, each @ square) / total))
        if excess(low) <= 0:
            return least
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return high


class QuantileRegressor(GLM):
    """Linear regression of a quantile of y, with an L1 penalty. The objective
    is scikit-learn's: the mean pinball loss plus alpha |w|_1."""

    def __init__(self, *, quantile=0.5, alpha=1.0, fit_intercept=True,
                 solver="highs", solver_options=None, tol=1e-6, max_iter=None,
                 n_jobs=None, warm_start=False, standardize=False, verbose=0,
                 callbacks=None):
        params.keep(self, locals())

    _rules = {"quantile": params.number(above=0, below=1),
              "solver": params.one_of("highs", "highs-ds", "highs-ipm",
                                      "interior-point", "revised simplex"),
              "solver_options": params.mapping}
    _loss, _penalty = "quantile", "l1"
    _parameter = property(lambda self: self.quantile)


class _Groups(GLM):
    """Groups may overlap: a coefficient is then the sum of a part for each
    group of its column, and the fit is that of repeated columns."""

    def fit(self, X, y, sample_weight=None, offset=None, strata=None):
        """Fits the model; as GLM.fit. Returns self."""
        given = self.groups
        if not _lists_columns(given):
            return super().fit(X, y, sample_weight, offset, strata)
        self._check_parameters()
        X, y = self._checked(X, y)
        source, group = _overlap_of(given, X.shape[1])
        inner = GLM(self._loss, self._penalty, alpha=self.alpha,
                    l1_ratio=getattr(self, "l1_ratio", 0.5), groups=group,
                    loss_parameter=self.loss_parameter,
                    fit_intercept=self.fit_intercept,
                    standardize=self.standardize, tol=self.tol,
                    max_iter=self.max_iter, n_jobs=self.n_jobs,
                    verbose=self.verbose, callbacks=self.callbacks)
        try:
            inner.fit(X[:, source], y, sample_weight, offset, strata)
        finally:  # an interrupt leaves the model so far
            if hasattr(inner, "coef_"):
                self.coef_ = np.bincount(source, inner.coef_, X.shape[1])
                for name in ("intercept_", "dual_gap_", "objective_",
                             "n_iter_", "baseline_"):
                    if hasattr(inner, name):
                        setattr(self, name, getattr(inner, name))
        return self


class GroupLasso(_Groups):
    """Regression that selects whole groups of columns: any loss of numbers
    with the penalty alpha sum_g root(n_g) |w_g|, for n_g columns in group g.

    `groups` has an integer >= 0 for each column; columns with equal numbers
    form a group and need not be adjacent. None: each column is its own group,
    as in the Lasso. Or a list of lists, the columns of each group, which may
    overlap: the latent group Lasso (Jacob, Obozinski and Vert, 2009)."""

    def __init__(self, groups=None, *, loss="squared", alpha=1.0,
                 loss_parameter=None, fit_intercept=True, standardize=False,
                 tol=1e-6, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        params.keep(self, locals())

    _penalty = "group"


class SparseGroupLasso(_Groups):
    """Regression that selects groups of columns, and columns within them: any
    loss of numbers with the penalty alpha sum_g (l1_ratio |w_g|_1 +
    (1 - l1_ratio) root(n_g) |w_g|_2), for n_g columns in group g.

    `groups` as of GroupLasso; `l1_ratio` in [0.001, 1], 1 is the Lasso."""

    def __init__(self, groups=None, *, loss="squared", alpha=1.0, l1_ratio=0.5,
                 loss_parameter=None, fit_intercept=True, standardize=False,
                 tol=1e-6, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        params.keep(self, locals())

    _penalty = "sparse-group"


class GLMClassifier(Classifier):
    """A classification loss with a penalty.

    Parameters
    ----------
    loss : "logistic" or "squared-hinge", each class against the rest if there
        are more than two, or "multinomial", all at once (softmax)
    alpha : float > 0, weight of the penalty
    class_weight : dict, "balanced" or None
    others : as of GLM
    """

    def __init__(self, loss="logistic", penalty="l1", *, alpha=0.01,
                 l1_ratio=0.5, gamma=None, groups=None, penalty_factors=None,
                 lower=None, upper=None, fit_intercept=True, class_weight=None,
                 standardize=False, tol=1e-6, max_iter=None, n_jobs=None,
                 warm_start=False, verbose=0, callbacks=None):
        params.keep(self, locals())

    _rules = {"l1_ratio": _SHARE}
    _softmax = property(lambda self: self.loss == "multinomial")

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        self._check_parameters()
        if not lib.strads_glm_classifies(self.loss.encode()) or \
                self.loss == "ordinal":
            raise ValueError(f"loss is {self.loss!r}; expected one of classes: "
                             "'logistic', 'multinomial', 'squared-hinge' (for "
                             "numbers: GLM; for ordered classes: "
                             "OrdinalRegression)")
        X, number, weight = self._checked(X, y, sample_weight)
        config, kept = _config_of(self, X.shape[1], self.loss, self.penalty, 0)
        kept.append(self._list_classes(config))
        if self.penalty != "none":
            set_lambda(config, self.alpha)
        start = self._start(X.shape[1], self._width())
        if start is not None:
            kept.append(np.ascontiguousarray(self.intercept_, np.float64))
            config.start_intercept = engine.pointer(kept[-1], "double *")
        finished = self._run(engine.program_named("glm"), config, X, number,
                             weight=weight, start=start)
        self._keep(finished, lib.strads_glm_intercepts(finished.state),
                   X.shape[1])
        return self._done(finished, glm=True)

    def summary(self, X, y, sample_weight=None, *, level=0.95):
        """As GLM.summary, for two classes and loss "logistic"."""
        errors.check_fit(self, X, self.penalty)
        X, number, weight = self._checked(X, y, sample_weight)
        config, kept = _config(X.shape[1], self.loss, "none",
                               fit_intercept=self.fit_intercept)
        kept.append(self._list_classes(config))
        return errors.of_fit(self, X, number, weight, None, config, level)

    def _of_command(self):
        return "glm", {"loss": self.loss}

    def _has_probabilities(self):
        return self.loss != "squared-hinge"

    predict_proba = available_if(_has_probabilities)(Probable.predict_proba)
    predict_log_proba = available_if(_has_probabilities)(
        Probable.predict_log_proba)


# ---- paths and cross-validation ----------------------------------------------

def glm_path(X, y, loss="squared", penalty="l1", *, alphas=None, n_alphas=100,
             eps=1e-2, l1_ratio=0.5, gamma=None, groups=None,
             loss_parameter=None, sample_weight=None, offset=None,
             fit_intercept=False, tol=1e-6, n_jobs=None, max_iter=None,
             strata=None):
    """Fits at `n_alphas` alphas, from the largest with a nonzero coefficient
    down to `eps` of it, or at `alphas` (>= 0), in one run with warm starts.
    Losses of classes take two labels; the larger one is positive. `strata` as
    of GLM.fit.

    Returns alphas [n], coefs [n_features, n], dual_gaps [n]; with
    fit_intercept also the intercepts [n]."""
    params.check({"loss": loss, "penalty": penalty, "n_alphas": n_alphas,
                  "eps": eps, "l1_ratio": l1_ratio, "gamma": gamma,
                  "loss_parameter": loss_parameter, "tol": tol,
                  "fit_intercept": fit_intercept, "n_jobs": n_jobs,
                  "max_iter": max_iter, "alphas": alphas},
                 {"l1_ratio": _SHARE})
    X = check_array(arrow.matrix_of(X), accept_sparse=["csc", "csr"],
                    dtype=[np.float64, np.float32])
    y = checked_labels(X, _times_of(y) if loss in _TIMES else y)
    weight = row_weights(sample_weight, X)
    if offset is not None:
        offset = _floats_of("offset", offset)
        if offset.shape != (X.shape[0],) or not np.all(np.isfinite(offset)):
            raise ValueError(f"offset has the shape {offset.shape}; expected "
                             f"({X.shape[0]},), all finite")
    fit, kept = _config(X.shape[1], loss, penalty, l1_ratio=l1_ratio,
                        gamma=gamma, groups=groups,
                        parameter=loss_parameter or 0,
                        fit_intercept=fit_intercept, offset=offset,
                        strata=_strata_of(strata, X.shape[0]))
    config = ffi.new("strads_glm_path_options *")
    config.fit = fit[0]
    kept.append(search.set_points(config, alphas, n_alphas, eps))
    alphas, coefs, intercepts, gaps = path_of(config, X, y, tol, n_jobs,
                                              max_iter, weight)
    return (alphas, coefs, gaps, intercepts) if fit_intercept else \
        (alphas, coefs, gaps)


_USUAL = {"huber": 1.345, "tweedie": 1.5, "quantile": 0.5}  # loss parameters (docs/glm.md)


def _twice_the_loss(loss, parameter):
    """losses(z, y) for search_path: the squared error or the deviance."""
    def squared(z, y):
        return (y - z) ** 2

    def poisson(z, y):
        kept = np.where(y > 0, y * (np.log(np.where(y > 0, y, 1)) - z), 0)
        return 2 * (kept - y + np.exp(z))

    def huber(z, y):
        away = np.abs(y - z)
        return np.where(away <= parameter, away ** 2,
                        parameter * (2 * away - parameter))

    def quantile(z, y):
        return 2 * np.maximum(parameter * (y - z), (parameter - 1) * (y - z))

    def gamma(z, y):
        return 2 * (z - np.log(y) - 1 + y * np.exp(-z))

    def tweedie(z, y):
        a, b = 1 - parameter, 2 - parameter
        return 2 * (y ** b / (a * b) - y * np.exp(a * z) / a +
                    np.exp(b * z) / b)
    return {"squared": squared, "poisson": poisson, "huber": huber,
            "quantile": quantile, "gamma": gamma, "tweedie": tweedie}[loss]


def _losses_of_all(config, y, weight):
    """losses(z [n, points], held) of a loss of all rows, for search_path:
    twice the loss of all rows minus that of the rows that are not held out, at
    each point, and the weight of the events that are."""
    if engine.team():
        raise ValueError("times until an event: no cross-validation on several "
                         "processes in this version; take one")
    each = np.ones(len(y)) if weight is None else weight

    def loss(z, kept):
        options = ffi.new("strads_glm_options *", config[0])
        options.row_weight = engine.pointer(kept, "double *")
        out = ffi.new("double *")
        engine.call(lib.strads_glm_loss, options, len(y),
                    engine.pointer(y, "double *"),
                    engine.pointer(z, "double *"), out)
        return out[0]

    def losses(z, held):
        rest = each.copy()
        rest[held] = 0
        return [2 * (loss(own, each) - loss(own, rest))
                for own in np.ascontiguousarray(z.T)], \
            np.sum(each[held][~np.signbit(y[held])])
    return losses


class GLMCV(GLM):
    """A GLM; alpha is chosen by cross-validation.

    Parameters as of GLM, and `n_alphas`, `eps`, `alphas`, `cv` and `relax` of
    LassoCV. Additional attributes: ``alpha_``; ``relax_``; ``alphas_`` [n]; ``error_path_`` [n,
    folds], twice the mean loss of held-out rows (the squared error or the
    deviance; for "cox" and "cox-efron" twice the loss of all rows minus that of
    the training rows, for each held-out event); ``error_`` [n], its mean; ``error_deviation_`` [n], its standard
    error; ``alpha_1se_``, the largest alpha with an error within one standard
    error of the best.
    """

    def __init__(self, loss="squared", penalty="l1", *, l1_ratio=0.5,
                 gamma=None, groups=None, penalty_factors=None, lower=None,
                 upper=None, loss_parameter=None, eps=1e-2, n_alphas=100,
                 alphas=None, cv=None, fit_intercept=True, standardize=False,
                 adaptive=None, first_fit=None, relax=1.0, tol=1e-6,
                 max_iter=None, n_jobs=None, random_state=None, verbose=0,
                 callbacks=None):
        params.keep(self, locals())

    warm_start = False
    _rules = {"l1_ratio": _SHARE, "relax": refit.shares}

    def fit(self, X, y, sample_weight=None, offset=None, strata=None):
        """Chooses alpha, then fits with it; returns self."""
        X, y, weight, offset, strata, config, kept = self._prepared(
            X, y, sample_weight, offset, self.cv, strata)
        losses = _losses_of_all(config, y, weight) if self._loss in _TIMES \
            else _twice_the_loss(self._loss, self._parameter or
                                 _USUAL.get(self._loss))
        kept.append(refit.weigh(self, config, X, y, weight))
        found = search.search_path(
            self, config, X, y, weight, search.folds_of(self.cv, X, y),
            losses, offset, strata, whole=self._loss in _TIMES)
        self.alphas_, self.error_path_, self.error_, self.error_deviation_, \
            self.alpha_, self.alpha_1se_, _, self.relax_ = found
        search.warn_of_end(self, self.alpha_, self.alphas_)
        set_lambda(config, self.alpha_)
        finished = self._fitted(config, X, y, weight)
        refit.relax(self, self.relax_, config, X, y, weight)
        return self._done(finished, glm=True)
