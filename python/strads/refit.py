"""Fits in two steps: penalties weighed by a first fit (adaptive), and mixtures
with fits without a penalty on the selected columns (relax)."""
import numpy as np

from . import engine, params
from ._strads import ffi, lib

GRID = (1.0, 0.75, 0.5, 0.25, 0.0)  # glmnet's


def shares(name, value):
    """The rule for relax of a search: "auto", a number or a list of them."""
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, (str, bytes)) or np.ndim(value) > 1 or \
            np.size(value) == 0:
        params.refuse(name, value, "'auto', a number from 0 to 1, or a list of "
                                   "them")
    for each in np.atleast_1d(np.asarray(value, dtype=object)):
        params.RULES["relax"](name, each)


def shares_of(model):
    """The shares of a search, descending; None: fits are not relaxed."""
    given = getattr(model, "relax", 1.0)
    given = GRID if isinstance(given, str) else np.atleast_1d(given)
    found = np.sort(np.asarray(given, dtype=np.float64))[::-1].copy()
    return None if np.all(found == 1) else found


def _alone(what):
    if engine.team():
        raise ValueError(f"{what} needs all rows in one process, and several "
                         "processes fit together; leave it out")


def _data(X, y, weight):
    """The rows as a strads_data *, by columns."""
    cut = ffi.new("strads_data_options *", {
        "size": ffi.sizeof("strads_data_options"), "partitions": 1,
        "layout": lib.STRADS_LAYOUT_COLS})
    return engine.data_of(X, y, cut, weight=weight)


def _finish(stop, function, *arguments):
    err, text, interrupted = engine.interruptible(stop, function, *arguments)
    if interrupted:
        raise interrupted
    engine.raise_for(err, text)


def weigh(model, config, X, y, weight):
    """Sets the penalty factors of an adaptive fit; returns an object that must
    live as long as `config`."""
    gamma = getattr(model, "adaptive", None)
    first = getattr(model, "first_fit", None)
    if gamma is None:
        if first is not None:
            raise ValueError("first_fit weighs the penalties of an adaptive "
                             "fit: give adaptive, as 1, too")
        return None
    _alone("adaptive")
    if first is not None:
        try:
            first = np.ascontiguousarray(first, dtype=np.float64)
        except (TypeError, ValueError):
            params.refuse("first_fit", first, "an array of numbers, or None")
        if first.shape != (X.shape[1],) or not np.all(np.isfinite(first)):
            raise ValueError(f"first_fit has the shape {first.shape}; expected "
                             f"({X.shape[1]},) coefficients, all finite")
    stop = ffi.new("bool *", False)
    options = ffi.new("strads_glm_adaptive_options *", {
        "gamma": gamma, "threads": engine.n_threads(model.n_jobs) or
        engine.cores(),
        "seed": engine.seed_of(getattr(model, "random_state", None)),
        "stop": stop})
    options.fit = config[0]
    if first is not None:
        options.first = engine.pointer(first, "double *")
    factor = np.empty(X.shape[1])
    _finish(stop, lib.strads_glm_adaptive, _data(X, y, weight), options,
            engine.pointer(factor, "double *"))
    config.penalty_factor = engine.pointer(factor, "double *")
    return factor


def relaxed_points(fit, X, y, weight, points, count, stop=None):
    """The strads_path_point * of the fits without a penalty; they refer to
    `points`."""
    stop = ffi.new("bool *", False) if stop is None else stop
    options = ffi.new("strads_glm_relax_options *", {"stop": stop})
    options.fit = fit
    out = ffi.new("strads_path_point[]", max(count, 1))
    _finish(stop, lib.strads_glm_relax, _data(X, y, weight), options, points,
            count, out)
    return ffi.gc(ffi.cast("strads_path_point *", out), lambda _, out=out:
                  lib.strads_glm_relaxed_free(out, count))


def relax(model, share, config, X, y, weight):
    """Mixes a fitted model with its fit without a penalty."""
    if share == 1:
        return
    _alone("relax")
    index = np.flatnonzero(model.coef_).astype(np.uint32)
    value = np.ascontiguousarray(model.coef_[index], dtype=np.float64)
    point = ffi.new("strads_path_point *", {
        "intercept": model.intercept_, "nonzeros": len(index),
        "index": engine.pointer(index, "uint32_t *"),
        "value": engine.pointer(value, "double *")})
    free = relaxed_points(config[0], X, y, weight, point, 1)
    if len(index):
        full = np.frombuffer(ffi.buffer(free[0].value, len(index) * 8))
        model.coef_[index] = share * value + (1 - share) * full
    model.intercept_ = share * model.intercept_ + \
        (1 - share) * free[0].intercept
