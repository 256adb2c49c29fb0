"""Models of the command `strads`, read and written, and the state of estimators
in JSON: parameters and fitted attributes, without code."""
import base64
import json
import os
import tempfile

import numpy as np

from . import engine, packs
from ._strads import ffi, lib


_STEPS = ("stratum", np.uint32), ("time", np.float64), ("hazard", np.float64)


def baseline_of(found):
    """A strads_baseline as a dict of arrays; None: it has no steps."""
    return {key: np.frombuffer(
        ffi.buffer(getattr(found, key), found.n * np.dtype(dtype).itemsize),
        dtype).copy() for key, dtype in _STEPS} if found.n else None


class Model:
    """A linear model in the command's format (strads/model.h).

    Attributes: program, coef [n_features] or [classes, n_features], intercept
    (a number, or [classes]), options (a dict), fit (a dict of objective, gap,
    rounds, seconds, seed, partitions), baseline (of times until an event: a
    dict of arrays stratum, time, hazard; or None), thresholds (of ordered
    classes, [classes - 1]; or None), names (of the columns, [n_features]; or
    None), means (that replace missing fields of a table, [n_features]; or
    None), target (the name of the labels' column, or None).
    """

    def __init__(self, program, coef, intercept=0.0, *, options=None,
                 fit=None, baseline=None, thresholds=None, names=None,
                 means=None, target=None):
        self.program = program
        self.coef = np.asarray(coef, dtype=np.float64)
        self.intercept = intercept
        self.options = dict(options or {})
        self.fit = dict(fit or {})
        self.baseline = baseline
        self.thresholds = thresholds
        self.names = names
        self.means = None if means is None else \
            np.asarray(means, dtype=np.float64)
        self.target = target
        self._check()

    def _check(self):
        """Raises a ValueError if the parts do not fit together."""
        if not isinstance(self.program, str):
            raise ValueError(f"program is {self.program!r}; expected a name")
        if not isinstance(self.options, dict) or not isinstance(self.fit, dict):
            raise ValueError("options and fit of a model have to be dicts")
        if not isinstance(self.coef, np.ndarray) or self.coef.ndim not in (1, 2) \
                or not self.coef.size or self.coef.dtype != np.float64 or \
                not np.all(np.isfinite(self.coef)):
            raise ValueError("coef of a model: expected finite numbers "
                             "[n_features] or [classes, n_features]")
        width = 1 if self.coef.ndim == 1 else len(self.coef)
        intercept = np.asarray(self.intercept)
        if intercept.dtype.kind not in "iuf" or intercept.size != width or \
                intercept.ndim > 1 or not np.all(np.isfinite(intercept)):
            raise ValueError(f"intercept of a model: expected {width} finite "
                             "numbers, one for each row of coef")
        if self.names is not None and \
                len(self.names) != self.coef.shape[-1]:
            raise ValueError(f"names of a model: expected "
                             f"{self.coef.shape[-1]}, one for each column")
        if self.means is not None and (
                self.names is None or not isinstance(self.means, np.ndarray) or
                self.means.dtype != np.float64 or
                self.means.shape != (self.coef.shape[-1],) or
                not np.all(np.isfinite(self.means))):
            raise ValueError(f"means of a model: expected "
                             f"{self.coef.shape[-1]} finite numbers, and names "
                             "of the columns")
        if self.target is not None and not isinstance(self.target, str):
            raise ValueError(f"target is {self.target!r}; expected a name")

    def __setstate__(self, state):
        if not isinstance(state, dict):
            raise ValueError("the pickle of a model is damaged")
        self.__dict__.update({"program": None, "coef": None, "intercept": None,
                              "options": None, "fit": None, "baseline": None,
                              "thresholds": None, "names": None,
                              "means": None, "target": None, **state})
        self._check()

    def decision_function(self, X):
        """X @ coef.T + intercept."""
        return X @ self.coef.T + self.intercept

    def save(self, path):
        """Writes the model atomically: the file is complete or absent."""
        self._check()
        rows = np.atleast_2d(self.coef).T
        used = np.flatnonzero(np.any(rows != 0, axis=1)).astype(np.uint32)
        value = np.ascontiguousarray(rows[used])
        intercepts = np.atleast_1d(np.asarray(self.intercept, dtype=float))
        name = ffi.new("char[]", self.program.encode())
        options = ffi.new("char[]", json.dumps(self.options).encode())
        model = ffi.new("strads_model *", {
            "program": name, "columns": rows.shape[0], "width": rows.shape[1],
            "intercept": intercepts[0], "n": len(used),
            "index": engine.pointer(used, "uint32_t *"),
            "value": engine.pointer(value, "double *"), "options": options})
        if rows.shape[1] > 1:
            model.intercepts = engine.pointer(intercepts, "double *")
        if self.baseline is not None:
            steps = [np.ascontiguousarray(self.baseline[key], dtype) for
                     key, dtype in _STEPS]
            model.baseline = {"n": len(steps[0]), **{
                key: engine.pointer(each, f"{kind} *") for (key, _), each, kind
                in zip(_STEPS, steps, ("uint32_t", "double", "double"))}}
        if self.thresholds is not None:
            at = np.ascontiguousarray(self.thresholds, dtype=np.float64)
            model.n_thresholds = at.size
            model.thresholds = engine.pointer(at, "double *")
        if self.names is not None:
            names = packs._names_of(self.names)
            model.names = names
        if self.means is not None:
            means = np.ascontiguousarray(self.means)
            model.means = engine.pointer(means, "double *")
        if self.target is not None:
            target = ffi.new("char[]", self.target.encode())
            model.target = target
        for key in ("objective", "gap", "seconds"):
            setattr(model.fit, key, self.fit.get(key, float("nan")))
        for key, least in ("rounds", 0), ("seed", 0), ("partitions", 1):
            setattr(model.fit, key, int(self.fit.get(key, least)))
        engine.call(lib.strads_model_write, model, str(path).encode())


# ---- estimators ------------------------------------------------------------

def _encoded(value):
    """A value as JSON; a TypeError if it has no such form."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_encoded(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key), _encoded(each)]
                         for key, each in value.items()]}
    if type(value).__module__.startswith("pandas."):
        return {"index": _encoded(np.asarray(value))}
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    if value.dtype.kind == "O":
        return {"objects": [_encoded(each) for each in value.tolist()]}
    return {"dtype": value.dtype.str, "shape": list(value.shape),
            "bytes": base64.b64encode(value.tobytes()).decode()}


def _decoded(value):
    """The inverse of _encoded."""
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        dtype = np.dtype(value["dtype"])
        if dtype.hasobject:
            raise ValueError("an array of objects")
        return np.frombuffer(base64.b64decode(value["bytes"]), dtype).reshape(
            value["shape"]).copy()
    (kind, inner), = value.items()
    if kind == "float":
        return float.fromhex(inner)
    if kind == "dict":
        return {_decoded(key): _decoded(each) for key, each in inner}
    if kind == "index":
        import pandas
        return pandas.Index(_decoded(inner))
    values = [_decoded(each) for each in inner]
    if kind == "objects":
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out
    return {"list": list, "tuple": tuple}[kind](values)


def state_of(estimator, without=()):
    """An estimator's parameters and fitted attributes as JSON. Parameters that
    are objects, such as callbacks, are left out: they have their defaults when
    the state is restored."""
    kept = {}
    for name, value in vars(estimator).items():
        try:
            if name not in without:
                kept[name] = _encoded(value)
        except TypeError:
            if name.endswith("_"):
                raise
    return {"class": type(estimator).__name__, "state": kept}


def restored(kind, kept, path, more=()):
    """An estimator of class `kind` from state_of; more: attributes to add."""
    found = kept.get("class") if isinstance(kept, dict) else None
    if found != kind.__name__:
        raise ValueError(f"{path}: expected a {kind.__name__}, found "
                         f"{found or 'another file'}")
    estimator = kind()
    try:
        state = {**vars(estimator), **{name: _decoded(value) for name, value
                                       in kept["state"].items()}, **dict(more)}
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise ValueError(f"{path}: the file is damaged: {wrong}") from None
    estimator.__setstate__(state)
    return estimator


def write_state(estimator, path):
    """Writes state_of an estimator atomically."""
    path = str(path)
    with tempfile.NamedTemporaryFile(
            "w", dir=os.path.dirname(path) or ".", delete=False) as file:
        try:
            json.dump({"format": "strads-python", "version": 1,
                       **state_of(estimator)}, file)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def read_state(kind, path):
    """Reads a file of write_state."""
    with open(path, encoding="utf-8") as file:
        try:
            kept = json.load(file)
        except ValueError as wrong:
            raise ValueError(f"{path}: is no model of strads: {wrong}") \
                from None
    return restored(kind, kept, path)


def read_model(path):
    """Reads a model that the command has written: a Model of a linear program,
    or a fitted strads.LatentDirichletAllocation of a topic model."""
    path = str(path)
    with open(path, encoding="utf-8") as file:
        try:
            whole = json.load(file)
            kind = whole.get("format")
        except (ValueError, AttributeError) as error:
            raise ValueError(f"{path}: is no model of strads: {error}") \
                from None
    if kind == "strads-lda-model":
        return _read_topics(path, whole.get("options"))
    out = ffi.new("strads_model **")
    engine.call(lib.strads_model_read, path.encode(), ffi.NULL, out)
    model = ffi.gc(out[0], lib.strads_model_free)
    width = max(1, model.width)
    coef = np.zeros((model.columns, width))
    if model.n:
        index = np.frombuffer(ffi.buffer(model.index, 4 * model.n),
                              dtype=np.uint32)
        coef[index] = np.frombuffer(
            ffi.buffer(model.value, 8 * model.n * width)).reshape(-1, width)
    if model.intercepts != ffi.NULL:
        intercept = np.array([model.intercepts[k] for k in range(width)])
    else:
        intercept = model.intercept if width == 1 else \
            np.full(width, model.intercept)
    options = {} if model.options == ffi.NULL else \
        json.loads(ffi.string(model.options))
    fit = {key: getattr(model.fit, key) for key in
           ("objective", "gap", "rounds", "seconds", "seed", "partitions")}
    return Model(ffi.string(model.program).decode(),
                 coef[:, 0] if width == 1 else coef.T, intercept,
                 options=options, fit=fit, baseline=baseline_of(model.baseline),
                 thresholds=np.array([model.thresholds[k] for k in
                                      range(model.n_thresholds)])
                 if model.n_thresholds else None,
                 names=packs._words_of(model.names),
                 means=None if model.means == ffi.NULL else np.array(
                     [model.means[k] for k in range(model.columns)]),
                 target=None if model.target == ffi.NULL else
                 ffi.string(model.target).decode())


def _read_topics(path, options):
    from .topics import LatentDirichletAllocation
    out = ffi.new("strads_lda_model **")
    engine.call(lib.strads_lda_model_read, path.encode(), out)
    model = ffi.gc(out[0], lib.strads_lda_model_free)
    topics = LatentDirichletAllocation(int(model.topics))
    topics._take(model)
    topics._of_command["options"] = json.dumps(
        options if isinstance(options, dict) else {})
    topics.n_features_in_ = int(model.words)
    topics.vocabulary_ = packs._words_of(model.names)
    topics.phrases_ = packs._words_of(model.phrases)
    return topics


# ---- plain dicts ----------------------------------------------------------

def params_dict(model):
    """The parameters of an estimator as numbers, texts and None, for
    experiment trackers: mlflow.log_params(strads.params_dict(model)). Arrays
    are named by their type and shape; callbacks are left out."""
    def plain(value):
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple, dict)) and len(repr(value)) <= 200:
            return repr(value)
        return f"{type(value).__name__} {np.shape(value)}"

    return {name: plain(value) for name, value in
            model.get_params(deep=False).items() if name != "callbacks"}


def metrics_dict(model):
    """The figures of a fit as floats: mlflow.log_metrics(strads.metrics_dict(
    model)). These are the fitted attributes that are one number, without the
    last _ of their names, and `nonzeros`, the coefficients that are not 0."""
    found = {name[:-1]: float(value) for name, value in vars(model).items()
             if name.endswith("_") and not name.startswith("_") and
             isinstance(value, (int, float, np.number)) and
             not isinstance(value, bool)}
    coef = getattr(model, "coef_", None)
    if coef is not None:
        found["nonzeros"] = float(
            coef.nnz if hasattr(coef, "nnz") else np.count_nonzero(coef))
    return found
