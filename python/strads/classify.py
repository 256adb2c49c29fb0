"""Classifiers: logistic regression and linear support vector machines.

Objectives and parameters have the meanings of scikit-learn (and liblinear);
see strads.linear for the extensions.
"""
import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets

from . import engine, params
from ._strads import ffi, lib
from .linear import (PATH_SHARE, Fitted, counted, least_samples, path_of,
                     penalised, row_weights, search_path, svm_config)


def _classes_of(y):
    """The labels of y, here and in all processes of a fit, ascending."""
    return engine.agreed(
        lambda all_: np.unique(np.concatenate(
            [each for each in all_ if len(each)] or all_)), np.unique(y))


def _numbers_of(y, classes):
    """The index of each label in the classes."""
    return np.searchsorted(classes, y) if len(y) else np.zeros(0, dtype=int)


def _listed(classes):
    return f"one class, {classes[0]!r}" if len(classes) else "no class"


class Classifier(ClassifierMixin, Fitted):
    def _checked(self, X, y, sample_weight=None):
        """Returns X by columns, y as indices 0, 1, ... into classes_, and the
        weights of rows times those of their classes (None: all 1). Rows
        without weight are removed, and classes_ are those of the other rows.
        """
        self._check_parameters()
        X, y = self._validate_data(X, y, accept_sparse=["csc", "csr"],
                                   dtype=[np.float64, np.float32],
                                   ensure_min_samples=least_samples())
        if len(y):
            check_classification_targets(y)
        given = _classes_of(y)
        if len(given) < 2:
            raise ValueError(f"y has {_listed(given)}; a classifier needs "
                             "samples of at least two classes")
        X, y, weight = counted(X, y, row_weights(sample_weight, X))
        classes, of_class = self._weigh_classes(y)
        if of_class is not None:
            each = of_class[_numbers_of(y, classes)]
            X, y, weight = counted(
                X, y, np.ascontiguousarray(each if weight is None
                                           else each * weight))
            classes = classes[of_class > 0]
        if len(classes) < 2:
            raise ValueError(
                "all samples whose weight is not 0 are of one class: "
                f"{_listed(classes)}; a classifier needs at least two classes")
        self.classes_ = classes
        return X, _numbers_of(y, classes).astype(np.float64), weight

    def _weigh_classes(self, y):
        """Returns the classes of all rows, and the weight of each; None: all
        1."""
        classes = _classes_of(y)
        if self.class_weight is None or len(classes) == 0:
            return classes, None
        if self.class_weight != "balanced":
            return classes, compute_class_weight(
                self.class_weight, classes=classes, y=classes)
        rows = engine.agreed(sum, np.bincount(
            _numbers_of(y, classes), minlength=len(classes)))
        return classes, rows.sum() / (len(rows) * rows)

    def _list_classes(self, config):
        """Sets the list of classes in `config` if several processes fit more
        than two classes: none of them may have all. Returns the memory of the
        list, which must live as long as the options."""
        if not engine.team() or len(self.classes_) < 3:
            return None
        kept = ffi.new("char[]", ",".join(
            map(str, range(len(self.classes_)))).encode())
        config.classes = kept
        return kept

    def _keep(self, finished, intercepts, cols):
        k = len(self.classes_)
        n = 1 if k == 2 else k
        self.coef_ = finished.values()[:cols].T.reshape(n, cols).copy()
        self.intercept_ = np.array([intercepts[i] for i in range(n)])

    def decision_function(self, X):
        """X @ coef_.T + intercept_: [n] for two classes, else [n, classes]."""
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The class of the highest score of each row."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else \
            scores.argmax(axis=1)
        return self.classes_[chosen]


class Probable:
    """Probabilities of classes. `_softmax`: one model has all classes."""

    def predict_proba(self, X):
        """[n, classes] probabilities: softmax, or of each class against the
        rest, normalised."""
        scores = self._linear(X)
        if scores.shape[1] == 1:
            return softmax(np.hstack([np.zeros_like(scores), scores]))
        if self._softmax:
            return softmax(scores, copy=True)
        each = 1 / (1 + np.exp(-scores))
        return each / each.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X):
        """The logarithm of predict_proba."""
        return np.log(self.predict_proba(X))


# ---- logistic regression ---------------------------------------------------

class LogisticRegression(Probable, Classifier):
    """Logistic regression with an L2, an L1 or an elastic net penalty.

    Minimises ``C sum_i log(1 + exp(-y_i (x_i w + b))) + penalty(w)`` until the
    relative duality gap is at most `tol`. The intercept is not penalised.

    Parameters
    ----------
    penalty : "l2", "l1" or "elasticnet" (with l1_ratio in [0.001, 1])
    C : float > 0
    multi_class : "auto" or "multinomial": one model of all classes (softmax),
        "ovr": each class against the rest
    class_weight : dict, "balanced" or None
    tol, max_iter, n_jobs, warm_start, verbose, callbacks : as of Lasso
    """

    def __init__(self, penalty="l2", *, C=1.0, l1_ratio=None,
                 fit_intercept=True, class_weight=None, multi_class="auto",
                 tol=1e-5, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    _rules = {"penalty": params.one_of("l1", "l2", "elasticnet"),
              "l1_ratio": params.share_or_none}

    def _share(self):
        """The L1 share of the penalty."""
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("penalty 'elasticnet' needs l1_ratio")
        return {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio)

    def _config(self):
        """The options, and the objects that they refer to."""
        share = self._share()
        self._softmax = len(self.classes_) > 2 and self.multi_class != "ovr"
        kept = ffi.new("char[]", b"softmax" if self._softmax else b"ovr")
        config = ffi.new("strads_logistic_options *", {
            "l1_ratio": share, "intercept": self.fit_intercept,
            "multiclass": kept})
        return config, kept

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, number, weight = self._checked(X, y, sample_weight)
        config, kept = self._config()
        kept = kept, self._list_classes(config)
        config.c = self.C
        dual = self.penalty == "l2" and \
            X.shape[1] > engine.agreed(sum, X.shape[0]) // 2 and \
            lib.strads_logistic_suits_dual(config, ffi.NULL)
        program = engine.program_named("logistic-dual" if dual else "logistic")
        start = self._start(X.shape[1])
        if start is not None:
            before = np.ascontiguousarray(self.intercept_, dtype=np.float64)
            config.start_intercept = engine.pointer(before, "double *")
        finished = self._run(program, config, X, number, weight=weight,
                             start=start)
        intercepts = lib.strads_svm_intercepts(finished.state) if dual else \
            lib.strads_glm_intercepts(finished.state)
        self._keep(finished, intercepts, X.shape[1])
        del kept
        return self._done(finished, glm=not dual)


def logistic_path(X, y, *, l1_ratio=1.0, eps=1e-2, n_points=100,
                  fit_intercept=True, tol=1e-6, n_jobs=None, max_iter=None):
    """L1 or elastic net logistic regression at n_points penalties, from the
    smallest with all coefficients 0 down to `eps` of it.

    Returns Cs [n] (C = 1 / (n_rows lambda)), coefs [n_features, n], dual_gaps
    [n], intercepts [n]."""
    model = LogisticRegression(penalty="elasticnet", l1_ratio=l1_ratio,
                               fit_intercept=fit_intercept, tol=tol,
                               n_jobs=n_jobs, max_iter=max_iter)
    params.check({"l1_ratio": l1_ratio, "eps": eps, "n_points": n_points},
                 {"l1_ratio": PATH_SHARE})
    X, number, _ = model._checked(X, y)
    if len(model.classes_) != 2:
        raise ValueError("a path is of two classes; y has "
                         f"{len(model.classes_)}")
    config = ffi.new("strads_glm_path_options *")
    config.fit = penalised("logistic", model._share(), fit_intercept)[0]
    config.points, config.ratio = n_points, eps
    lambdas, coefs, intercepts, gaps = path_of(config, X, number, tol, n_jobs,
                                              max_iter)
    return 1 / (X.shape[0] * lambdas), coefs, gaps, intercepts


def _deviance(z, number):
    """The deviance of two classes that are numbered 0 and 1."""
    side = 2 * number - 1
    return 2 * np.logaddexp(0, -side * z), side * z > 0


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression of two classes with an L1 penalty or an elastic net.
    C is chosen by cross-validation of the deviance.

    Attributes in addition to those of LogisticRegression: ``C_``, ``Cs_`` [n],
    ``deviance_`` [n], ``deviance_deviation_`` [n], ``accuracy_`` [n],
    ``C_1se_``.
    """

    def __init__(self, penalty="l1", *, l1_ratio=None, eps=1e-2, n_points=50,
                 cv=5, fit_intercept=True, class_weight=None, tol=1e-5,
                 max_iter=None, n_jobs=None, random_state=None, verbose=0,
                 callbacks=None):
        super().__init__(penalty, l1_ratio=l1_ratio,
                         fit_intercept=fit_intercept,
                         class_weight=class_weight, tol=tol, max_iter=max_iter,
                         n_jobs=n_jobs, verbose=verbose, callbacks=callbacks)
        self.eps = eps
        self.n_points = n_points
        self.cv = cv
        self.random_state = random_state
        del self.C, self.multi_class, self.warm_start

    multi_class = "ovr"
    warm_start = _softmax = False

    def fit(self, X, y, sample_weight=None):
        """Chooses C, then fits with it; returns self."""
        X, number, weight = self._checked(X, y, sample_weight)
        if len(self.classes_) > 2:
            raise ValueError("Only binary classification is supported. y has "
                             f"{len(self.classes_)} classes.")
        if self.penalty == "l2":
            raise ValueError("penalty 'l2' has no path; choose 'l1' or "
                             "'elasticnet', or search over C of "
                             "LogisticRegression")
        config = penalised("logistic", self._share(), self.fit_intercept)
        table, best, simplest = search_path(self, config, X, number, weight,
                                            self.n_points, _deviance)
        total = engine.agreed(
            sum, X.shape[0] if weight is None else weight.sum())
        self.Cs_ = 1 / (total * table[:, 0])
        self.deviance_, self.deviance_deviation_, self.accuracy_ = table[:, 1:].T
        self.C_, self.C_1se_ = self.Cs_[best], self.Cs_[simplest]
        setattr(config, "lambda", table[best, 0])
        return self._done(self._fitted(config, X, number, weight))

    def _fitted(self, config, X, number, weight):
        """Runs glm and keeps its coefficients."""
        finished = self._run(engine.program_named("glm"), config, X, number,
                             weight=weight)
        self._keep(finished, lib.strads_glm_intercepts(finished.state),
                   X.shape[1])
        return finished

    def _more_tags(self):
        return {"binary_only": True}


# ---- support vector machines -----------------------------------------------

class LinearSVC(Classifier):
    """Linear support vector machine with liblinear's objectives.

    Minimises ``1/2 |w|^2 + C sum_i max(0, 1 - y_i (x_i w + b))^2`` (or without
    the square; or, with penalty "l1", |w|_1 in place of 1/2 |w|^2), each class
    against the rest. ``intercept_scaling`` as in LinearSVR.
    """

    def __init__(self, penalty="l2", loss="squared_hinge", *, C=1.0,
                 fit_intercept=True, intercept_scaling=1.0, class_weight=None,
                 tol=1e-4, max_iter=None, n_jobs=None, warm_start=False,
                 verbose=0, callbacks=None):
        self.penalty = penalty
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    _losses = {"hinge": b"hinge", "squared_hinge": b"squared-hinge"}
    _rules = {"loss": params.one_of(*_losses),
              "penalty": params.one_of("l1", "l2")}

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, number, weight = self._checked(X, y, sample_weight)
        if self.penalty == "l1":
            return self._fit_l1(X, number, weight)
        config, kept = svm_config(self, self._losses)
        kept = kept, self._list_classes(config)
        finished = self._run(engine.program_named("svm"), config, X, number,
                             weight=weight, start=self._start(X.shape[1]))
        self._keep(finished, lib.strads_svm_intercepts(finished.state),
                   X.shape[1])
        del kept
        return self._done(finished)

    def _fit_l1(self, X, number, weight):
        if self.loss != "squared_hinge":
            raise ValueError("penalty 'l1' goes with loss 'squared_hinge'")
        config = ffi.new("strads_svm_l1_options *")
        config.fit.c = self.C
        config.fit.l1_ratio = 1.0
        config.fit.intercept = self.fit_intercept
        kept = self._list_classes(config.fit)
        finished = self._run(engine.program_named("svm-l1"), config, X, number,
                             weight=weight)
        self._keep(finished, lib.strads_glm_intercepts(finished.state),
                   X.shape[1])
        del kept
        return self._done(finished)
