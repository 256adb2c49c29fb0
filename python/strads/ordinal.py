"""Regression of ordered classes, by ``strads glm --loss ordinal``."""
import warnings

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import engine, params, refit, states
from ._strads import ffi, lib
from .classify import Classifier, Probable
from .linear import set_lambda


class OrdinalRegression(Probable, Classifier):
    """Proportional odds: P(class <= k) = 1 / (1 + exp(x w - t_k)).

    Minimises the mean of minus the log of the probability of each row's class,
    plus the penalty, over w and thresholds t that ascend, until the relative
    duality gap is at most `tol`. Thresholds are not penalised.

    Parameters
    ----------
    penalty : "l1", "elastic-net", "ridge", "none" and the others of GLM
    alpha : float >= 0, weight of the penalty; 0: none
    classes : list of all labels from the lowest class up; None: the order of an
        ordered pandas Categorical, otherwise ascending; labels of text get
        a warning then
    class_weight : dict, "balanced" or None
    adaptive, first_fit : as of Lasso
    others : as of GLM

    Attributes: ``coef_`` [1, n_features], ``thresholds_`` [classes - 1],
    ``classes_``, ``dual_gap_``, ``objective_``, ``n_iter_``.
    """

    def __init__(self, penalty="l1", *, alpha=0.01, l1_ratio=0.5, gamma=None,
                 groups=None, penalty_factors=None, lower=None, upper=None,
                 classes=None, class_weight=None, standardize=False,
                 adaptive=None, first_fit=None, tol=1e-6, max_iter=None,
                 n_jobs=None, warm_start=False, verbose=0, callbacks=None):
        params.keep(self, locals())

    _rules = {"l1_ratio": params.number(least=0.001, most=1)}
    _one_row = True
    fit_intercept = True

    def _order_of(self, y):
        """The labels from the lowest class up; None: ascending."""
        if self.classes is not None:
            if isinstance(self.classes, (str, bytes)) or \
                    np.ndim(self.classes) != 1:
                params.refuse("classes", self.classes,
                              "a list of labels, or None")
            order = np.asarray(self.classes).tolist()
            if len(set(order)) < len(order):
                raise ValueError(f"classes is {order}; expected each label "
                                 "once")
            return order
        if hasattr(y, "columns") and len(y.columns) == 1:
            y = y[y.columns[0]]
        dtype = getattr(y, "dtype", None)
        labels = np.asarray(y)
        if getattr(dtype, "ordered", False):
            occurring = set(labels.tolist())
            return [label for label in dtype.categories.tolist()
                    if label in occurring]
        if labels.dtype.kind in "OU" and any(
                isinstance(label, str) for label in labels.ravel()):
            warnings.warn(
                "y has labels of text, which are ordered as text; give "
                'classes=["low", "mid", "high"], from the lowest class up, or '
                "y as an ordered pandas Categorical", stacklevel=3)
        return None

    @staticmethod
    def _ordered(y, order):
        """y as places in `order`."""
        place = {label: k for k, label in enumerate(order)}
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        unknown = [label for label in y.tolist() if label not in place]
        if unknown:
            raise ValueError(f"y has the label {unknown[0]!r}; expected one of "
                             f"classes, {order}")
        return np.array([place[label] for label in y.tolist()], dtype=int)

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        from .glm import _config_of
        order = self._order_of(y)
        if order is not None:
            y = self._ordered(y, order)
        X, number, weight = self._checked_in(order, X, y, sample_weight)
        config, kept = _config_of(self, X.shape[1], "ordinal", self.penalty, 0)
        labels = ",".join(map(str, range(len(self.classes_))))
        kept.append(ffi.new("char[]", labels.encode()))
        config.classes = kept[-1]
        if self.penalty != "none":
            set_lambda(config, self.alpha)
        kept.append(refit.weigh(self, config, X, number, weight))
        finished = self._run(engine.program_named("glm"), config, X, number,
                             weight=weight, start=self._start(X.shape[1]))
        self.coef_ = finished.values()[:X.shape[1]].T.copy()
        self.intercept_ = np.zeros(1)
        count = ffi.new("uint32_t *")
        at = lib.strads_glm_thresholds(finished.state, count)
        self.thresholds_ = np.array([at[k] for k in range(count[0])])
        if order is not None:
            self.classes_ = np.asarray(order)[self.classes_]
        return self._done(finished, glm=True)

    def _checked_in(self, order, X, y, sample_weight):
        """_checked; with an order, y has places and class_weight has labels.
        """
        given = self.class_weight
        if order is None or not isinstance(given, dict):
            return self._checked(X, y, sample_weight)
        self._check_parameters()  # errors name the labels
        try:
            self.class_weight = {k: given.get(label, 1)
                                 for k, label in enumerate(order)}
            return self._checked(X, y, sample_weight)
        finally:
            self.class_weight = given

    def _more_tags(self):
        # scikit-learn's checks have classes without an order
        return {**super()._more_tags(), "poor_score": True}

    def _check_state(self):
        super()._check_state()
        if hasattr(self, "coef_"):
            states.real(self, "thresholds_", (len(self.classes_) - 1,))

    def _width(self):
        return 1

    def _rounds(self, cols, dual=False):
        return 1

    def predict_proba(self, X):
        """[n, classes] probabilities of the classes."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X):
        """Their logarithms."""
        check_is_fitted(self, "thresholds_")
        away = self.thresholds_ - self._linear(X)
        # s(a) - s(b) = s(a) s(-b) (1 - exp(b - a))
        logs = np.zeros((len(away), away.shape[1] + 1))
        logs[:, :-1] -= np.logaddexp(0, -away)
        logs[:, 1:] -= np.logaddexp(0, away)
        with np.errstate(divide="ignore"):
            logs[:, 1:-1] += np.log(-np.expm1(away[:, :-1] - away[:, 1:]))
        return logs

    def decision_function(self, X):
        """The log odds [n] of the second of two classes, else the log
        probabilities [n, classes]."""
        if len(getattr(self, "classes_", ())) == 2:
            check_is_fitted(self, "thresholds_")
            return self._linear(X)[:, 0] - self.thresholds_[0]
        return self.predict_log_proba(X)

    def _of_command(self):
        return "glm", {"loss": "ordinal"}
