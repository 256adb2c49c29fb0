"""Cross-validation: the folds of any splitter, and a path for each of them.

Folds are fitted at the same time on `n_jobs` threads. If several processes fit
together, they fit one fold after the other, and the folds are those of one
process that has all rows.
"""
import numbers
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.extmath import safe_sparse_dot

from . import engine, params, refit
from ._strads import ffi, lib


def counted(X, y, weight):
    """Drops rows of weight 0: they cost time and do not change the result."""
    if weight is None or np.all(weight > 0):
        return X, y, weight
    used = np.flatnonzero(weight > 0)
    return X[used], y[used], np.ascontiguousarray(weight[used])


# ---- folds -----------------------------------------------------------------

class Fold(NamedTuple):
    """One fold, for this process's rows."""

    times: np.ndarray  # [rows] how often each row is fitted: 0, 1 or more
    test: np.ndarray   # the rows that are held out
    once: bool         # `times` is at most 1, in all processes


def lists_rows(cv):
    """Whether `cv` lists the rows of each fold by their numbers."""
    return cv is not None and not isinstance(cv, numbers.Integral) and \
        not hasattr(cv, "split")


def folds_of(cv, X, y, classifier=False):
    """The folds of a number, a splitter, a list of (train, test), or None (5,
    or as many as there are rows of the smallest class), as scikit-learn makes
    them; y [rows] of numbers."""
    rows = engine.agreed(list, len(y))
    labels = engine.agreed(np.concatenate, y)
    if sum(rows) == 0:
        raise ValueError("every row has weight 0; expected at least one that "
                         "counts")
    if sum(rows) < 2:
        raise ValueError(f"n_samples = {sum(rows)}: cross-validation needs at "
                         "least two rows")
    if cv is None:  # 5, or as many as the smallest class has rows
        smallest = np.unique(labels, return_counts=True)[1].min() \
            if classifier else len(labels)
        cv = max(2, min(5, int(smallest)))
    whole = X if len(rows) == 1 else np.empty((sum(rows), 1))
    made = list(check_cv(cv, labels, classifier=classifier).split(whole,
                                                                  labels))
    made = engine.agreed(lambda all_: all_[0], made)
    own = slice(sum(rows[:engine.rank()]), sum(rows[:engine.rank()]) + len(y))
    folds = []
    for train, test in made:
        times = np.bincount(_indices(train, len(labels)),
                            minlength=len(labels))
        held = np.zeros(len(labels), dtype=bool)
        held[_indices(test, len(labels))] = True
        folds.append(Fold(times[own], np.flatnonzero(held[own]),
                          times.max(initial=0) <= 1))
    return folds


def _indices(rows, count):
    """Numbers of rows, from numbers or a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (count,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not np.all(
            (rows >= -count) & (rows < count)):
        raise ValueError("cv has a fold whose rows are not numbers from 0 to "
                         f"{count - 1}")
    return rows % count


def train_weight(fold, weight):
    """The weights of a fold's training rows; None: all rows, in all processes,
    are training rows once."""
    return fold.times if weight is None else fold.times * weight


def training(fold, X, y, weight):
    """The rows that a fold fits, and their weights (None: 1)."""
    X, y, kept = counted(X, y, np.asarray(train_weight(fold, weight), float))
    return X, y, None if weight is None and fold.once else kept


def each_fold(model, folds, work):
    """[work(fold, stop, workers) for all folds]: at the same time, or one
    after the other if several processes fit together."""
    threads = engine.n_threads(model.n_jobs)
    if engine.team():
        return [work(fold, None, threads) for fold in folds]
    return engine.each(lambda k, stop: work(folds[k], stop, 1), len(folds),
                       threads or engine.cores())


# ---- paths -----------------------------------------------------------------

def set_points(config, alphas, n_alphas, eps):
    """Sets the points of a strads_glm_path_options: `alphas`, descending, or
    how many of them. Returns an object that must live as long as `config`."""
    if alphas is None or isinstance(alphas, numbers.Integral):
        config.points = n_alphas if alphas is None else alphas
        config.ratio = eps
        return None
    alphas = np.sort(np.asarray(alphas, dtype=np.float64))[::-1].copy()
    config.points, config.ratio = alphas.size, 0
    setattr(config, "lambda", engine.pointer(alphas, "double *"))
    return alphas


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


def warn_of_points(alphas, gaps, tol, name="path"):
    """Warns of the points of a path with a gap above the tolerance."""
    short = np.flatnonzero(~(gaps <= tol))
    if len(short):
        worst = short[np.argmax(gaps[short])]
        engine.warn(f"{name}: {len(short)} of {len(gaps)} points did not "
                    f"converge: relative gap {gaps[worst]:.3g} at alpha = "
                    f"{alphas[worst]:.6g}, expected at most tol = {tol:.3g}; "
                    "scale the columns, leave out alphas as small as this "
                    "one or raise tol")


def warn_of_end(model, best, alphas):
    """Warns if the best alpha is the least of several: a smaller one could do
    better."""
    if len(alphas) < 2 or best > alphas[-1] or best == 0 or engine.rank():
        return
    listed = model.alphas is not None and not isinstance(model.alphas,
                                                         numbers.Integral)
    params.warn_user(
        f"{type(model).__name__}: alpha_ = {best:.6g} is the least of the "
        f"{len(alphas)} alphas tried; a smaller one may have a lower error: " +
        ("list smaller ones in alphas" if listed
         else f"lower eps (now {model.eps:g})"))


class Search(NamedTuple):
    """A cross-validated path: the alphas [n], the errors [n, folds], their
    means and standard errors [n]; the alpha of the least error, the largest one
    within a standard error of it, and the least error; and the share of the
    penalised coefficients, of which the arrays are."""

    alphas: np.ndarray
    errors: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    best: float
    simplest: float
    least: float
    relax: float


def _alphas_of(model, config, X, y, weight):
    """The alphas of a search. Fits the model at the largest one: an
    interrupted search keeps that fit."""
    given = model.alphas
    listed = given is not None and not isinstance(given, numbers.Integral)
    if listed:
        alphas = np.sort(np.asarray(given, dtype=np.float64))[::-1]
        setattr(config, "lambda", alphas[0] or -0.0)
    else:
        config.lambda_ratio = 1.0

    def begin():
        finished = model._fitted(config, X, y, weight)
        if finished.interrupted:
            raise finished.interrupted
        return lib.strads_glm_lambda_max(finished.state)
    largest = engine.shared(begin)
    setattr(config, "lambda", 0.0)
    config.lambda_ratio = 0.0
    if listed:
        return alphas
    if largest <= 0:  # all gradients are 0: any alpha gives w = 0
        largest = 1.0
    return largest * np.geomspace(1, model.eps, model.n_alphas if given is None
                                  else given)


def search_path(model, config, X, y, weight, folds, losses, offset=None,
                strata=None, whole=False):
    """Cross-validates a path of strads_glm_options; returns a Search.

    losses(z [rows, n], y [rows, 1]): the losses of predictions; whole: losses(z
    of all rows, held-out rows): their sums [n], and the weight that they are
    divided by. offset: [rows] of f64, strata: [rows] of u32, or None."""
    shares = refit.shares_of(model)
    each_share = [1.0] if shares is None else list(shares)
    if shares is not None and engine.team():
        raise ValueError("relax needs all rows in one process, and several "
                         "processes fit together; leave it out")
    alphas = np.ascontiguousarray(_alphas_of(model, config, X, y, weight))

    def path(fold, stop, workers):
        options = ffi.new("strads_glm_path_options *")
        options.fit = config[0]
        options.points = len(alphas)
        setattr(options, "lambda", engine.pointer(alphas, "double *"))
        if offset is not None:
            used = np.ascontiguousarray(
                offset[train_weight(fold, weight) > 0])
            options.fit.row_offset = engine.pointer(used, "double *")
        if strata is not None:
            own = np.ascontiguousarray(strata[train_weight(fold, weight) > 0])
            options.fit.row_stratum = engine.pointer(own, "uint32_t *")
        rows, labels, kept = training(fold, X, y, weight)
        finished = engine.run(
            engine.program_named("glm-path"), options, rows, labels,
            weight=kept, name=type(model).__name__, workers=workers, stop=stop,
            tolerance=model.tol, seed=engine.seed_of(model.random_state))
        if finished.interrupted:
            raise finished.interrupted
        count = ffi.new("uint32_t *")
        points = lib.strads_glm_path(finished.state, count)
        found = path_points(points, count[0], X.shape[1])
        if shares is None:
            return (*found, None)
        fit = options.fit
        fit.lambda_ratio = 0
        return (*found, path_points(refit.relaxed_points(
            fit, rows, labels, kept, points, count[0], stop), count[0],
            X.shape[1]))

    errors = np.full((len(alphas), len(each_share), len(folds)), np.inf)
    size, gaps = np.zeros(len(folds)), np.zeros(len(alphas))
    for k, (_, coefficients, intercepts, gap, free) in enumerate(
            each_fold(model, folds, lambda *fold: engine.shared(
                lambda: path(*fold)))):
        held = folds[k].test
        counted_rows = slice(None) if whole else held

        def margins(coefficients, intercepts):
            z = safe_sparse_dot(X[counted_rows], coefficients,
                                dense_output=True) + intercepts
            return z if offset is None else z + offset[counted_rows, None]
        penalised = margins(coefficients, intercepts)
        relaxed = penalised if free is None else margins(free[1], free[2])
        for r, share in enumerate(each_share):
            z = penalised if share == 1 else \
                share * penalised + (1 - share) * relaxed
            if whole:
                sums = np.append(*losses(z, held))
            else:
                each = np.ones(len(held)) if weight is None else weight[held]
                sums = engine.agreed(
                    lambda all_: np.sum(all_, axis=0),
                    np.append(each @ losses(z, y[held, None]), each.sum()))
            size[k] = sums[-1]
            errors[:len(intercepts), r, k] = sums[:-1] / max(size[k], 1e-300)
        gaps[:len(gap)] = np.maximum(gaps[:len(gap)], gap)
    warn_of_points(alphas, gaps, model.tol,
                   f"{type(model).__name__}: folds' paths")
    counted_in = errors[..., size > 0]  # folds with a row that counts
    mean = counted_in.mean(axis=-1)
    with np.errstate(invalid="ignore"):  # points that a path did not reach
        deviation = counted_in.std(axis=-1) / np.sqrt(
            max(counted_in.shape[-1] - 1, 1))
    best, r = np.unravel_index(np.argmin(mean), mean.shape)
    simplest = int(np.argmax(np.any(
        mean <= mean[best, r] + deviation[best, r], axis=1)))
    return Search(alphas, errors[:, r], mean[:, r], deviation[:, r],
                  alphas[best], alphas[simplest], mean[best, r],
                  float(each_share[r]))
