"""scikit-learn as a peer: with_sklearn.py DIR KIND [intercept].

DIR is the folder that with_yardstick.py wrote, KIND one of its kinds or path. Prints
"ready" when the data is there; then each line "WEIGHT SETTING OUT" is a fit, and is
answered with the seconds of the fit alone. OUT gets a line "COLUMN VALUE" a
nonzero, column 0 the intercept, of a path "POINT COLUMN VALUE".

WEIGHT is lambda, of a path the first of POINTS down to a hundredth of it, or C
where the penalty is 1/2 |w|^2. SETTING is HOW/TOL; HOW names a solver or, for a
Lasso, whether it is fitted at once (single) or by ten lambdas from lambda_max on,
each from the last (path).

    with_sklearn.py --shell FILE KIND WEIGHT SETTING OUT
does one fit from LIBSVM text, as a script of a user's would."""
import sys
import time
import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import (ElasticNet, LogisticRegression, enet_path,
                                  lasso_path)
from sklearn.svm import LinearSVC, LinearSVR

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
    columns = kind in ("lasso", "elastic-net", "path")
    if x.nnz > DENSE * x.shape[0] * x.shape[1]:
        dense = x.toarray()
        return np.asfortranarray(dense) if columns else dense
    return scipy.sparse.csc_matrix(x) if columns else x.tocsr()


def with_intercept(model):
    b = np.ravel(model.intercept_)[0]
    return np.concatenate([[b], np.ravel(model.coef_)])


def fit_lasso(x, y, weight, how, tol, share=1.0):
    """From lambda_max on by one model that starts where it ended."""
    model = ElasticNet(fit_intercept=intercept, l1_ratio=share, tol=tol,
                       max_iter=ENDLESS, warm_start=True)
    lambdas = [weight]
    if how == "path" and not intercept:
        most = np.abs(x.T @ y).max() / len(y) / share
        w = enet_path(x, y, l1_ratio=share, tol=tol, max_iter=ENDLESS,
                      alphas=np.geomspace(most, weight, 10))[1][:, -1]
        return np.concatenate([[0], w])
    if how == "path":
        most = np.abs(x.T @ (y - y.mean())).max() / len(y) / share
        lambdas = np.geomspace(most, weight, 10)
    for alpha in lambdas:
        model.set_params(alpha=alpha).fit(x, y)
    return with_intercept(model)


def fit_path(x, y, weight, how, tol):
    alphas = weight * 0.01 ** (np.arange(POINTS) / (POINTS - 1))
    return lasso_path(x, y, alphas=alphas, tol=tol, max_iter=ENDLESS)[1]


def fit_logistic(penalty, c, x, y, how, tol):
    model = LogisticRegression(penalty=penalty, C=c, solver=how, tol=tol,
                               fit_intercept=intercept, max_iter=ENDLESS,
                               l1_ratio=.5 if penalty == "elasticnet" else
                               None, random_state=0)
    return with_intercept(model.fit(x, y))


def fit_svm(loss, c, x, y, how, tol, penalty="l2"):
    model = LinearSVC(loss=loss, C=c, dual=how == "dual", tol=tol,
                      penalty=penalty, fit_intercept=False, max_iter=ENDLESS,
                      random_state=0)
    return with_intercept(model.fit(x, y))


def fit_numbers(loss, c, x, y, how, tol):
    model = LinearSVR(loss=loss, C=c, dual=how == "dual", tol=tol, epsilon=.1,
                      fit_intercept=False, max_iter=ENDLESS, random_state=0)
    return with_intercept(model.fit(x, y))


def fit(kind, x, y, weight, how, tol):
    if kind == "lasso":
        return fit_lasso(x, y, weight, how, tol)
    if kind == "elastic-net":
        return fit_lasso(x, y, weight, how, tol, .5)
    if kind == "path":
        return fit_path(x, y, weight, how, tol)
    if kind == "l1-logistic":
        return fit_logistic("l1", 1 / (weight * len(y)), x, y, how, tol)
    if kind == "elastic-logistic":
        return fit_logistic("elasticnet", 1 / (weight * len(y)), x, y, how,
                            tol)
    if kind == "l1-squared-hinge":
        return fit_svm("squared_hinge", weight, x, y, how, tol, "l1")
    if "epsilon" in kind:
        loss = {"epsilon": "epsilon_insensitive",
                "squared-epsilon": "squared_epsilon_insensitive"}[kind]
        return fit_numbers(loss, weight, x, y, how, tol)
    if kind == "l2-logistic":
        return fit_logistic("l2", weight, x, y, how, tol)
    loss = {"hinge": "hinge", "squared-hinge": "squared_hinge"}[kind]
    return fit_svm(loss, weight, x, y, how, tol)


def write(w, out):
    with open(out, "w") as lines:
        if w.ndim == 1:
            for j in np.flatnonzero(w):
                lines.write("%d %.17g\n" % (j, w[j]))
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


intercept = sys.argv[-1] == "intercept"
if sys.argv[1] == "--shell":
    _, _, path, kind, weight, setting, out = sys.argv
    x, y = read_text(path)
    answer(kind, in_best_form(x, kind), y, weight, setting, out)
else:
    folder, kind = sys.argv[1:3]
    x, y = read_parts(folder)
    x = in_best_form(x, kind)
    print("ready", flush=True)
    for line in sys.stdin:
        answer(kind, x, y, *line.split())
