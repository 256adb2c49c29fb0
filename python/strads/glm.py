"""Generalised linear models: any loss with any penalty, by ``strads glm``.

Minimises ``1/W sum_i c_i f(y_i, o_i + x_i w + b) + alpha sum_j g(w_j)``: c are
sample weights, W their sum, o offsets. docs/glm.md lists losses and penalties.
"""
import numpy as np

from . import engine
from ._strads import ffi, lib
from .linear import _Regressor, counted, positive, row_weights


class GLM(_Regressor):
    """A loss of numbers with a penalty.

    Parameters
    ----------
    loss : str, "squared", "poisson", ...: of docs/glm.md those of numbers
    penalty : str, "l1", "elastic-net", "ridge", "none", ...
    alpha : float > 0, weight of the penalty
    l1_ratio : float in [0.001, 1], of "elastic-net"
    loss_parameter : float or None, of losses that have one
    fit_intercept : bool
    tol, max_iter, n_jobs, warm_start, verbose, callbacks : as of Lasso
    """

    def __init__(self, loss="squared", penalty="l1", *, alpha=1.0, l1_ratio=0.5,
                 loss_parameter=None, fit_intercept=True, tol=1e-6,
                 max_iter=None, n_jobs=None, warm_start=False, verbose=0,
                 callbacks=None):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.loss_parameter = loss_parameter
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    _penalty = property(lambda self: self.penalty)
    _loss = property(lambda self: self.loss)
    _parameter = property(lambda self: self.loss_parameter or 0)

    def fit(self, X, y, sample_weight=None, offset=None):
        """Fits the model; `offset` [n] is added to X @ coef_; returns self."""
        if lib.strads_glm_classifies(self._loss.encode()):
            raise ValueError(f"loss {self._loss!r} is of classes; expected one "
                             "of numbers (for classes: LogisticRegression, "
                             "LinearSVC)")
        X, y = self._checked(X, y)
        if offset is not None:
            offset = np.ascontiguousarray(offset, dtype=np.float64)
            if offset.shape != (X.shape[0],) or not np.all(np.isfinite(offset)):
                raise ValueError(f"offset has the shape {offset.shape}; "
                                 f"expected ({X.shape[0]},), all finite")
        weight = row_weights(sample_weight, X)
        if weight is not None and offset is not None:
            offset = np.ascontiguousarray(offset[weight > 0])
        X, y, weight = counted(X, y, weight)
        kept = [ffi.new("char[]", name.encode())
                for name in (self._loss, self._penalty)]
        config = ffi.new("strads_glm_options *", {
            "loss": kept[0], "penalty": kept[1],
            "loss_parameter": self._parameter,
            "intercept": self.fit_intercept})
        if self._penalty == "elastic-net":
            config.l1_ratio = self.l1_ratio
        setattr(config, "lambda", positive("alpha", self.alpha))
        if weight is not None:
            config.row_weight = engine.pointer(weight, "double *")
        if offset is not None:
            config.row_offset = engine.pointer(offset, "double *")
        finished = self._run(engine.program_named("glm"), config, X, y,
                             start=self._start(X.shape[1]))
        self.coef_ = finished.values()[:X.shape[1], 0].copy()
        self.intercept_ = lib.strads_glm_intercept(finished.state)
        return self._done(finished)

    def predict(self, X):
        """The mean that the loss has at X @ coef_ + intercept_."""
        margin = self._linear(X)
        return np.exp(margin) if self._loss == "poisson" else margin

    def _more_tags(self):
        return {"requires_y": True,
                "requires_positive_y": self._loss == "poisson",
                "poor_score": True}


def _forget_choices(model):
    """What is a choice of a GLM is settled in a class of its own."""
    del model.loss, model.penalty, model.l1_ratio, model.loss_parameter


class PoissonRegressor(GLM):
    """Counts, whose logarithm of the mean is linear, with an L2 penalty:
    scikit-learn's objective, half the mean deviance plus alpha/2 |w|^2."""

    def __init__(self, *, alpha=1.0, fit_intercept=True, tol=1e-6,
                 max_iter=None, n_jobs=None, warm_start=False, verbose=0,
                 callbacks=None):
        super().__init__(alpha=alpha, fit_intercept=fit_intercept, tol=tol,
                         max_iter=max_iter, n_jobs=n_jobs,
                         warm_start=warm_start, verbose=verbose,
                         callbacks=callbacks)
        _forget_choices(self)

    _loss, _penalty, _parameter = "poisson", "ridge", 0


class HuberRegressor(GLM):
    """Least squares that outliers do not pull: squared residuals up to
    `epsilon`, from there on linear, with an L2 penalty, alpha/2 |w|^2.

    scikit-learn's of the same name estimates the scale of y as well; here
    `epsilon` is in y's unit, and the mean of the losses is minimised."""

    def __init__(self, *, epsilon=1.35, alpha=1e-4, fit_intercept=True,
                 tol=1e-6, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        super().__init__(alpha=alpha, fit_intercept=fit_intercept, tol=tol,
                         max_iter=max_iter, n_jobs=n_jobs,
                         warm_start=warm_start, verbose=verbose,
                         callbacks=callbacks)
        _forget_choices(self)
        self.epsilon = epsilon

    _loss, _penalty = "huber", "ridge"
    _parameter = property(lambda self: positive("epsilon", self.epsilon))
