"""scikit-learn as a peer: with_sklearn.py DIR KIND.

DIR is what with_yardstick left, KIND one of its kinds or path. Says "ready"
when the data is there; then each line "WEIGHT SETTING OUT" is a fit, and is
answered with the seconds of the fit alone. OUT gets a line "COLUMN VALUE" a
nonzero, of a path "POINT COLUMN VALUE".

WEIGHT is lambda, of a path the first of POINTS down to a hundredth of it, or C
where the penalty is 1/2 |w|^2. SETTING is HOW/TOL; HOW names a solver, or says
of a Lasso whether it is fitted at once (single) or by ten lambdas from
lambda_max on, each from the last (path).

    with_sklearn.py --shell FILE KIND WEIGHT SETTING OUT
does one fit from LIBSVM text, as a script of a user's would."""
import sys
import time
import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import Lasso, LogisticRegression, lasso_path
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")
DENSE = 0.25  # from here on a dense matrix is the faster form
ENDLESS = 10 ** 6
POINTS = 100


def read_parts(folder):
    start = np.fromfile(folder + "/start.i4", dtype=np.int32)
    index = np.fromfile(folder + "/index.i4", dtype=np.int32)
    value = np.fromfile(folder + "/value.f8")
    y = np.fromfile(folder + "/label.f8")
    x = scipy.sparse.csc_matrix((value, index, start),
                                shape=(len(y), len(start) - 1))
    return x, y


def read_text(path):
    from sklearn.datasets import load_svmlight_file
    return load_svmlight_file(path)


def in_best_form(x, kind):
    columns = kind in ("lasso", "path")
    if x.nnz > DENSE * x.shape[0] * x.shape[1]:
        dense = x.toarray()
        return np.asfortranarray(dense) if columns else dense
    return scipy.sparse.csc_matrix(x) if columns else x.tocsr()


def fit_lasso(x, y, weight, how, tol):
    if how == "single":
        model = Lasso(alpha=weight, fit_intercept=False, tol=tol,
                      max_iter=ENDLESS)
        return model.fit(x, y).coef_
    most = np.abs(x.T @ y).max() / len(y)
    return lasso_path(x, y, alphas=np.geomspace(most, weight, 10), tol=tol,
                      max_iter=ENDLESS)[1][:, -1]


def fit_path(x, y, weight, how, tol):
    alphas = weight * 0.01 ** (np.arange(POINTS) / (POINTS - 1))
    return lasso_path(x, y, alphas=alphas, tol=tol, max_iter=ENDLESS)[1]


def fit_logistic(penalty, c, x, y, how, tol):
    model = LogisticRegression(penalty=penalty, C=c, solver=how, tol=tol,
                               fit_intercept=False, max_iter=ENDLESS,
                               random_state=0)
    return model.fit(x, y).coef_[0]


def fit_svm(loss, c, x, y, how, tol):
    model = LinearSVC(loss=loss, C=c, dual=how == "dual", tol=tol,
                      fit_intercept=False, max_iter=ENDLESS, random_state=0)
    return model.fit(x, y).coef_[0]


def fit(kind, x, y, weight, how, tol):
    if kind == "lasso":
        return fit_lasso(x, y, weight, how, tol)
    if kind == "path":
        return fit_path(x, y, weight, how, tol)
    if kind == "l1-logistic":
        return fit_logistic("l1", 1 / (weight * len(y)), x, y, how, tol)
    if kind == "l2-logistic":
        return fit_logistic("l2", weight, x, y, how, tol)
    loss = {"hinge": "hinge", "squared-hinge": "squared_hinge"}[kind]
    return fit_svm(loss, weight, x, y, how, tol)


def write(w, out):
    with open(out, "w") as lines:
        if w.ndim == 1:
            for j in np.flatnonzero(w):
                lines.write("%d %.17g\n" % (j + 1, w[j]))
            return
        for point, j in np.argwhere(w.T != 0):
            lines.write("%d %d %.17g\n" % (point, j + 1, w[j, point]))


def answer(kind, x, y, weight, setting, out):
    how, tol = setting.split("/")
    begun = time.perf_counter()
    w = fit(kind, x, y, float(weight), how, float(tol))
    seconds = time.perf_counter() - begun
    write(w, out)
    print("%.6f" % seconds, flush=True)


if sys.argv[1] == "--shell":
    _, _, path, kind, weight, setting, out = sys.argv
    x, y = read_text(path)
    answer(kind, in_best_form(x, kind), y, weight, setting, out)
else:
    folder, kind = sys.argv[1:]
    x, y = read_parts(folder)
    x = in_best_form(x, kind)
    print("ready", flush=True)
    for line in sys.stdin:
        answer(kind, x, y, *line.split())
