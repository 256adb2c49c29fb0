"""Classifiers: logistic regression and linear support vector machines.

Objectives and parameters have the meanings of scikit-learn (and liblinear);
see strads.linear for the extensions.
"""
import numpy as np
import scipy.sparse as sparse
from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils import compute_class_weight
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import engine, params, search
from ._strads import ffi, lib
from .linear import (PATH_SHARE, Fitted, least_samples, path_of, penalised,
                     row_weights, svm_config)
from .search import counted


def _classes_of(y):
    """The labels of y, here and in all processes of a fit, ascending."""
    return engine.agreed(
        lambda all_: np.unique(np.concatenate(
            [each for each in all_ if len(each)] or all_)), np.unique(y))


def _numbers_of(y, classes):
    """The index of each label in the classes."""
    return np.searchsorted(classes, y) if len(y) else np.zeros(0, dtype=int)


def _listed(classes):
    return f"one class, {classes.tolist()[0]!r}" if len(classes) else \
        "no class"


class Classifier(ClassifierMixin, Fitted):
    def _checked(self, X, y, sample_weight=None, cv=None):
        """Returns X by columns, y as indices 0, 1, ... into classes_, and the
        weights of rows times those of their classes (None: all 1). Rows
        without weight are removed (unless `cv` lists rows by their numbers),
        and classes_ are those of the other rows.
        """
        self._check_parameters()
        X, y = self._validated(X, y, accept_sparse=["csc", "csr"],
                               dtype=[np.float64, np.float32],
                               ensure_min_samples=least_samples())
        if len(y):
            check_classification_targets(y)
        given = _classes_of(y)
        if len(given) < 2:
            raise ValueError(f"y has {_listed(given)}; a classifier needs "
                             "samples of at least two classes")
        weight = row_weights(sample_weight, X)
        if not search.lists_rows(cv):
            X, y, weight = counted(X, y, weight)
        classes, of_class = self._weigh_classes(y)
        if of_class is not None:
            each = of_class[_numbers_of(y, classes)]
            X, y, weight = counted(
                X, y, np.ascontiguousarray(each if weight is None
                                           else each * weight))
            classes = classes[of_class > 0]
            if len(y) < len(each) and search.lists_rows(cv):
                raise ValueError("class_weight has a class of weight 0, whose "
                                 "rows are left out: cv cannot list rows by "
                                 "their numbers")
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

    def _width(self):
        """The problems, or rows of coef_."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _rounds(self, cols, dual=False):
        """With more than two classes, a round changes one column in the primal,
        and the model of one class in the dual."""
        if self._width() == 1:
            return 1
        return self._width() if dual else cols + 1

    def _keep(self, finished, intercepts, cols):
        n = self._width()
        self.coef_ = finished.values()[:cols].T.reshape(n, cols).copy()
        self.intercept_ = np.array([intercepts[i] for i in range(n)])

    def decision_function(self, X):
        """X @ coef_.T + intercept_: [n] for two classes, else [n, classes]."""
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def sparsify(self):
        """Stores coef_ as a scipy CSR matrix; returns self."""
        check_is_fitted(self, "coef_")
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Stores coef_ as a numpy array; returns self."""
        check_is_fitted(self, "coef_")
        self.coef_ = self._dense_coef()
        return self

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
    """Logistic regression with an L2, an L1, an elastic net or no penalty.

    Minimises ``C sum_i log(1 + exp(-y_i (x_i w + b))) + penalty(w)`` until the
    relative duality gap is at most `tol`. The intercept is not penalised.

    Parameters
    ----------
    penalty : "l2", "l1", "elasticnet" (with l1_ratio, 0 or in [0.001, 1]) or
        None
    C : float > 0; infinity: no penalty
    multi_class : "auto" or "multinomial": one model of all classes (softmax),
        "ovr": each class against the rest
    class_weight : dict, "balanced" or None
    solver, dual, intercept_scaling : accepted, and without effect, but solver
        "liblinear" means multi_class "ovr" if that is "auto"
    tol, max_iter, n_jobs, random_state, standardize, warm_start, verbose,
        callbacks : as of Lasso
    """

    def __init__(self, penalty="l2", *, dual=False, tol=1e-5, C=1.0,
                 fit_intercept=True, intercept_scaling=1.0, class_weight=None,
                 random_state=None, solver="lbfgs", max_iter=None,
                 multi_class="auto", verbose=0, warm_start=False, n_jobs=None,
                 l1_ratio=None, standardize=False, callbacks=None):
        params.keep(self, locals())

    _rules = {"penalty": params.one_of("l1", "l2", "elasticnet", "none",
                                       none=True),
              "C": params.number(above=0, infinite=True),
              "intercept_scaling": params.number(above=0),
              "l1_ratio": params.share_or_none}

    def _of_command(self):
        return "logistic", {"multiclass": "softmax" if self._softmax else "ovr"}

    def _check_parameters(self):
        super()._check_parameters()
        scaling = getattr(self, "intercept_scaling", 1)
        if scaling != 1:
            params.warn_unused(type(self).__name__, "intercept_scaling",
                               scaling, "the intercept is not penalised")

    def _share(self, l1_ratio):
        """The L1 share of the penalty."""
        if self.penalty == "elasticnet" and l1_ratio is None:
            raise ValueError("penalty 'elasticnet' needs l1_ratio")
        return {"l1": 1.0, "elasticnet": l1_ratio}.get(self.penalty, 0.0)

    def _config(self, C, share):
        """The options at one C, and the objects that they refer to."""
        self._softmax = len(self.classes_) > 2 and (
            self.multi_class == "multinomial" or
            self.multi_class == "auto" and self.solver != "liblinear")
        kept = ffi.new("char[]", b"softmax" if self._softmax else b"ovr")
        config = ffi.new("strads_logistic_options *", {
            "l1_ratio": share, "intercept": self.fit_intercept,
            "standardize": self.standardize, "multiclass": kept})
        if self.penalty in (None, "none") or C == np.inf:
            config.l1_ratio = 0
            setattr(config, "lambda", -0.0)
        else:
            config.c = C
        return config, [kept, self._list_classes(config)]

    def _chosen(self, config, X, number, weight, workers, made):
        """The program that suits the options and the data, as `strads logistic
        train` chooses it, and the data. made: {program: data}, filled in; the
        data of the last fits to the same rows."""
        def data(name):
            if name not in made:
                made[name] = engine.cut_for(
                    engine.program_named(name), config, workers, X, number,
                    weight)
            return made[name]

        dual = lib.strads_logistic_suits_dual(config, ffi.NULL)
        if engine.team():  # no process has all data
            dual = dual and X.shape[1] > engine.agreed(sum, X.shape[0]) // 2
            return "logistic-dual" if dual else "logistic", None
        if dual and lib.strads_logistic_suits_dual(config,
                                                   data("logistic-dual")):
            return "logistic-dual", made["logistic-dual"]
        return "logistic", data("logistic")

    def _solved(self, X, number, weight, C, share, start=None, made=None,
                max_iter=0, **more):
        """Fits at one C. Returns the run, the coefficients [classes or 1,
        columns], the intercepts, and whether the dual was solved. start: such
        coefficients and intercepts, or None."""
        config, kept = self._config(C, share)
        workers = more.pop("workers", engine.n_threads(self.n_jobs))
        name, data = self._chosen(config, X, number, weight, workers,
                                  {} if made is None else made)
        if start is not None:
            rows = start[0].T
            used = np.flatnonzero(np.any(rows != 0, axis=1))
            kept.append(np.ascontiguousarray(start[1], dtype=np.float64))
            config.start_intercept = engine.pointer(kept[-1], "double *")
            start = used, rows[used]
        finished = engine.run(
            engine.program_named(name), config, X, number, weight=weight,
            data=data, name=type(self).__name__, workers=workers,
            tolerance=self.tol, start=start, max_rounds=max_iter * self._rounds(
                X.shape[1], name == "logistic-dual"),
            seed=engine.seed_of(self.random_state), **more)
        n = self._width()
        dual = name == "logistic-dual"
        b = lib.strads_svm_intercepts(finished.state) if dual else \
            lib.strads_glm_intercepts(finished.state)
        del kept
        return finished, finished.values()[:X.shape[1]].T.reshape(
            n, X.shape[1]).copy(), np.array([b[i] for i in range(n)]), dual

    def _fit_at(self, C, share, X, number, weight, start=None, warns=True):
        """Fits the model at one C."""
        finished, self.coef_, self.intercept_, dual = self._solved(
            X, number, weight, C, share, start, callbacks=self.callbacks,
            verbose=self.verbose, max_iter=self.max_iter or 0)
        self._record(finished, self._rounds(X.shape[1], dual))
        self.n_iter_ = np.array([self.n_iter_])
        if warns or finished.interrupted:
            return self._done(finished, glm=not dual)

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, number, weight = self._checked(X, y, sample_weight)
        start = None
        if self._start(X.shape[1], self._width()) is not None:
            start = np.atleast_2d(self._dense_coef()), self.intercept_
        return self._fit_at(self.C, self._share(self.l1_ratio), X, number,
                            weight, start)


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
    config.fit = penalised("logistic", l1_ratio, fit_intercept)[0]
    config.points, config.ratio = n_points, eps
    lambdas, coefs, intercepts, gaps = path_of(config, X, number, tol, n_jobs,
                                              max_iter)
    return 1 / (X.shape[0] * lambdas), coefs, gaps, intercepts


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression; C is chosen by cross-validation.

    Parameters in addition to those of LogisticRegression: ``Cs``, a list, or a
    number of them from 1e-4 to 1e4; ``l1_ratios``, a list, for penalty
    "elasticnet"; ``cv`` as of LassoCV, with folds stratified by class;
    ``scoring``, the name of a scorer, a callable scorer(model, X, y), or None
    for the accuracy; ``refit``: fit all rows at the best C, or else take the
    mean of the folds' coefficients.

    Attributes in addition to those of LogisticRegression: ``C_`` [classes, or
    1], all equal: one C for all classes; ``C_1se_``, the smallest C with a
    score within one standard error of the best; ``Cs_`` [n]; ``scores_``: a
    dict, for each class, [folds, n], or [folds, n, l1_ratios], equal for all
    classes; ``l1_ratio_`` [classes, or 1], ``l1_ratios_``.
    """

    def __init__(self, *, Cs=10, fit_intercept=True, cv=None, dual=False,
                 penalty="l2", scoring=None, solver="lbfgs", tol=1e-5,
                 max_iter=None, class_weight=None, n_jobs=None, verbose=0,
                 refit=True, intercept_scaling=1.0, multi_class="auto",
                 random_state=None, l1_ratios=None, standardize=False,
                 callbacks=None):
        params.keep(self, locals())

    warm_start = False
    _rules = {**LogisticRegression._rules, "l1_ratios": params.shares_or_none}

    def _scorer(self):
        if engine.team() and self.scoring not in (None, "accuracy"):
            raise ValueError(f"scoring is {self.scoring!r}; on several "
                             "processes it has to be None or 'accuracy'")
        return self.scoring if callable(self.scoring) else \
            get_scorer(self.scoring or "accuracy")

    def fit(self, X, y, sample_weight=None):
        """Chooses C, then fits with it; returns self."""
        X, number, weight = self._checked(X, y, sample_weight, self.cv)
        scorer = self._scorer()
        Cs = np.logspace(-4, 4, self.Cs) if np.ndim(self.Cs) == 0 else \
            np.array(self.Cs, dtype=np.float64)
        ratios = [None] if self.penalty != "elasticnet" else \
            np.atleast_1d([] if self.l1_ratios is None else self.l1_ratios)
        if len(ratios) == 0:
            raise ValueError("penalty 'elasticnet' needs l1_ratios")
        folds = search.folds_of(self.cv, X, number, classifier=True)
        for fold in folds:
            rows = engine.agreed(sum, np.bincount(
                number[fold.times > 0].astype(int),
                minlength=len(self.classes_)))
            if not np.all(rows):
                raise ValueError("cv has a fold without training rows of class "
                                 f"{self.classes_[np.argmin(rows)]}")
        # an interrupted search keeps this fit
        engine.shared(lambda: self._fit_at(
            Cs.min(), self._share(ratios[0]), X, number, weight, warns=False))
        found, gaps = zip(*search.each_fold(
            self, folds, lambda fold, stop, workers: self._fit_fold(
                X, number, weight, fold, Cs, ratios, stop, workers)))
        if not max(gaps) <= self.tol:
            engine.warn(f"{type(self).__name__}: a fold's fit did not "
                        f"converge: relative gap {max(gaps):.3g}, expected at "
                        f"most tol = {self.tol:.3g}; scale the columns, or "
                        "raise tol")
        scores = np.array([[[self._score_of(scorer, X, number, fold, fit)
                             for fit in at_ratio] for at_ratio in fits]
                           for fold, fits in zip(folds, found)])
        return self._choose(Cs, ratios, scores, found, X, number, weight)

    def _fit_fold(self, X, number, weight, fold, Cs, ratios, stop, workers):
        """The fits [ratios][Cs] of (coefficients, intercepts), each begun with
        those of the next smaller C, and the largest gap."""
        rows, labels, kept = search.training(fold, X, number, weight)
        made, fits, gap = {}, [], 0.0

        def solve(C, ratio, start):
            finished, coef, intercept, _ = self._solved(
                rows, labels, kept, C, self._share(ratio), start, made,
                stop=stop, workers=workers)
            if finished.interrupted:
                raise finished.interrupted
            return (coef, intercept), finished.progress.gap
        for ratio in ratios:
            at, start = [None] * len(Cs), None
            for c in np.argsort(Cs):
                start, short = engine.shared(
                    lambda: solve(Cs[c], ratio, start))
                at[c], gap = start, max(gap, short)
            fits.append(at)
        return fits, gap

    def _score_of(self, scorer, X, number, fold, fit):
        """The score of a fold's fit on its test rows."""
        judge = LogisticRegression()
        judge.classes_, judge._softmax = self.classes_, self._softmax
        judge.n_features_in_ = X.shape[1]
        judge.coef_, judge.intercept_ = fit
        held = fold.test
        score = scorer(judge, X[held], self.classes_[number[held].astype(int)]
                       ) if len(held) else 0.0
        if not engine.team():
            return score
        rows = engine.agreed(sum, len(held))
        return engine.agreed(sum, len(held) * score) / max(rows, 1)

    def _choose(self, Cs, ratios, scores, found, X, number, weight):
        """Keeps the scores [folds, ratios, Cs], and fits at the best."""
        mean = scores.mean(axis=0)
        r, c = np.unravel_index(np.argmax(mean), mean.shape)
        deviation = scores[:, r, c].std() / np.sqrt(max(len(scores) - 1, 1))
        k = len(self.classes_)
        self.Cs_ = Cs
        self.C_ = np.full(self._width(), Cs[c])
        self.C_1se_ = np.full_like(self.C_, Cs[mean[r] >= mean[r, c] -
                                              deviation].min())
        kept = scores[:, 0] if ratios[0] is None else scores.swapaxes(1, 2)
        self.scores_ = {each: kept for each in self.classes_[k == 2:]}
        self.l1_ratios_ = np.array(ratios)
        self.l1_ratio_ = np.full(len(self.C_), ratios[r])
        if self.refit:
            return self._fit_at(Cs[c], self._share(ratios[r]), X, number,
                                weight)
        self.coef_, self.intercept_ = (
            np.mean([fits[r][c][part] for fits in found], axis=0)
            for part in range(2))
        return self


# ---- support vector machines -----------------------------------------------

class LinearSVC(Classifier):
    """Linear support vector machine with liblinear's objectives.

    Minimises ``1/2 |w|^2 + C sum_i max(0, 1 - y_i (x_i w + b))^2`` (or without
    the square; or, with penalty "l1", |w|_1 in place of 1/2 |w|^2), each class
    against the rest. ``intercept_scaling`` as in LinearSVR.
    """

    def __init__(self, penalty="l2", loss="squared_hinge", *, dual="auto",
                 tol=1e-4, C=1.0, multi_class="ovr", fit_intercept=True,
                 intercept_scaling=1.0, class_weight=None, verbose=0,
                 random_state=None, max_iter=None, standardize=False,
                 n_jobs=None, warm_start=False, callbacks=None):
        params.keep(self, locals())

    _losses = {"hinge": b"hinge", "squared_hinge": b"squared-hinge"}
    _rules = {"loss": params.one_of(*_losses),
              "penalty": params.one_of("l1", "l2"),
              "multi_class": params.one_of("ovr")}

    def _of_command(self):
        return "svm", {"loss": self._losses[self.loss].decode()}

    def fit(self, X, y, sample_weight=None):
        """Fits the model; returns self."""
        X, number, weight = self._checked(X, y, sample_weight)
        if self.penalty == "l1":
            return self._fit_l1(X, number, weight)
        config, kept = svm_config(self, self._losses)
        kept = kept, self._list_classes(config)
        finished = self._run(engine.program_named("svm"), config, X, number,
                             weight=weight, dual=True,
                             start=self._start(X.shape[1], self._width()))
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
        config.fit.standardize = self.standardize
        kept = self._list_classes(config.fit)
        finished = self._run(engine.program_named("svm-l1"), config, X, number,
                             weight=weight)
        self._keep(finished, lib.strads_glm_intercepts(finished.state),
                   X.shape[1])
        del kept
        return self._done(finished)
