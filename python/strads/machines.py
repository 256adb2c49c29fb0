"""Factorisation machines: weights of columns, and of all pairs of columns."""
import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from . import engine, packs, params, states
from ._strads import ffi, lib
from .classify import Classifier, Probable
from .linear import Fitted, _label, _Regressor
from .model import Model, read_model, restored, state_of

_ZERO = 2**32 - 1  # a 0 that is given, see STRADS_OPTION_ZERO
_WORDS = {name: ffi.new("char[]", name.encode())
          for name in ("squared", "logistic", "bpr", "als", "sgd")}


class _Machine(Fitted):
    """Common part: a run of fm, and y(x) of its model."""

    _rules = {"rank": params.number(least=0, most=256, whole=True),
              "method": params.one_of("als", "sgd", none=True),
              "step": params.number(above=0, most=1e6, none=True),
              "max_iter": params.number(least=1, below=2**32, whole=True,
                                        none=True),
              "loss": params.one_of("squared", "bpr"),
              "context": params.number(least=1, below=2**32, whole=True,
                                       none=True),
              "alpha": params.number(least=0, none=True),
              "alpha_factors": params.number(least=0, none=True)}
    loss = "squared"
    context = None
    class_weight = None

    def _fit_machine(self, X, y):
        config = ffi.new("strads_fm_options *", {
            "loss": _WORDS[self.loss], "rank": self.rank or _ZERO,
            "sweeps": self.max_iter or 0, "step": self.step or 0,
            "method": _WORDS[self.method] if self.method else ffi.NULL,
            "context": self.context or 0})
        for option, given in (("lambda", self.alpha),
                              ("lambda_factors", self.alpha_factors)):
            if given is not None:
                setattr(config, option, given or -0.0)
        finished = engine.run(
            engine.program_named("fm"), config, X, y, name=type(self).__name__,
            workers=engine.n_threads(self.n_jobs), tolerance=1e-6,
            seed=engine.seed_of(self.random_state), callbacks=self.callbacks,
            verbose=self.verbose)
        values = finished.values()[:X.shape[1]]
        self.coef_ = values[:, 0].copy()
        self.factors_ = values[:, 1:].copy()
        self.intercept_ = lib.strads_fm_intercepts(finished.state)[0]
        self.alpha_ = getattr(lib.strads_fm_resolved(finished.state), "lambda")
        self.objective_ = finished.progress.objective
        self.n_iter_ = max(1, finished.progress.round)
        return finished

    def _done(self, finished, glm=False):
        if finished.interrupted:
            raise finished.interrupted
        engine.warn_unconverged(finished, None, type(self).__name__)
        return self

    def _check_state(self):
        super()._check_state()
        if hasattr(self, "coef_"):
            states.real(self, "factors_", (self.coef_.shape[-1], None))

    def _linear(self, X):
        check_is_fitted(self, "coef_")
        X = self._validated(X, accept_sparse=["csr", "csc", "coo"],
                            dtype=np.float64, reset=False)
        squares = X.multiply(X) if hasattr(X, "multiply") else X * X
        sums = safe_sparse_dot(X, self.factors_, dense_output=True)
        pairs = (sums**2).sum(axis=1) - safe_sparse_dot(
            squares, (self.factors_**2).sum(axis=1), dense_output=True)
        linear = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        return linear + self.intercept_ + (
            pairs / 2 if linear.ndim == 1 else pairs[:, None] / 2)

    def save(self, path):
        """Writes the model as a file of the command, atomically: `strads fm
        predict` and `load` read it."""
        check_is_fitted(self, "coef_")
        self._check_state()
        options = {"loss": self.loss, "rank": self.factors_.shape[1]}
        if self.context:
            options["context"] = self.context
        if hasattr(self, "classes_"):
            options["classes"] = ",".join(_label(c) for c in self.classes_)
        options["python"] = state_of(self, ("coef_", "intercept_", "factors_"))
        rows = np.vstack([self.coef_.reshape(1, -1), self.factors_.T])
        intercepts = np.zeros(len(rows))
        intercepts[0] = np.ravel(self.intercept_)[0]
        Model("fm", rows if len(rows) > 1 else rows[0],
              intercepts if len(rows) > 1 else float(intercepts[0]),
              options=options, fit={"rounds": self.n_iter_},
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
        rows = np.atleast_2d(read.coef)
        coef, intercept = rows[0].copy(), float(np.ravel(read.intercept)[0])
        if issubclass(cls, ClassifierMixin):
            coef, intercept = coef[None, :], np.array([intercept])
        return restored(cls, read.options["python"], path,
                        {"coef_": coef, "intercept_": intercept,
                         "factors_": rows[1:].T.copy()})


class FactorizationMachine(_Machine, _Regressor):
    """A factorisation machine for numbers (docs/fm.md).

    Minimises ``1/(2n) |y - y(X)|^2 + alpha/2 |w|^2 + alpha_factors/2 |V|^2``
    with ``y(x) = b + sum_j w_j x_j + sum_{j<l} v_j'v_l x_j x_l``.

    Parameters
    ----------
    rank : int, numbers in v_j; 0: none
    method : "als", "sgd" or None: als, for bpr sgd
    step : float or None, of sgd: first step, falls to 1/50 of it; None: 0.1
    loss : "squared", or "bpr": rows with y above 0 are what their context had;
        `predict` then gives scores for the order of items
    context : int, of bpr: number of columns of the context, which come first
    alpha : float or None, weight of the penalty; None: 5 / n
    alpha_factors : float or None, the same for V; None: alpha
    max_iter : int or None, passes over the data; None: 100, of sgd 30
    random_state, n_jobs, verbose, callbacks : as of Lasso

    Attributes
    ----------
    coef_ [n_features], intercept_, factors_ [n_features, rank]
    alpha_, objective_ : float
    """

    def __init__(self, rank=8, *, method=None, step=None, loss="squared",
                 context=None, alpha=None, alpha_factors=None, max_iter=None,
                 random_state=None, n_jobs=None, verbose=0, callbacks=None):
        params.keep(self, locals())

    def fit(self, X, y):
        """Fits the model; returns self."""
        X, y = self._checked(X, y)
        return self._done(self._fit_machine(X, y))

    def predict(self, X):
        """y(X) [n] with its products of pairs; with loss "bpr" scores, which
        have an order but no unit."""
        return self._linear(X)


class FactorizationMachineClassifier(Probable, _Machine, Classifier):
    """A factorisation machine for two classes, by the logistic loss.

    Parameters, without loss and context, and attributes as of
    FactorizationMachine; coef_ is [1, n_features], intercept_ [1], and classes_ [2] are the labels.
    """

    loss = "logistic"

    def __init__(self, rank=8, *, method=None, step=None, alpha=None,
                 alpha_factors=None, max_iter=None, random_state=None,
                 n_jobs=None, verbose=0, callbacks=None):
        params.keep(self, locals())

    def fit(self, X, y):
        """Fits the model; returns self."""
        X, y, _ = self._checked(X, y)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the "
                f"target is multiclass: y has {len(self.classes_)} classes")
        finished = self._fit_machine(X, y)
        self.coef_ = self.coef_.reshape(1, -1)
        self.intercept_ = np.array([self.intercept_])
        return self._done(finished)

    def _more_tags(self):
        return {"requires_y": True, "binary_only": True}
