"""One Lasso by scikit-learn: with_sklearn.py DIR LAMBDA SETTING OUT.

DIR is what with_yardstick left. SETTING is single/TOL or path/TOL: the one
lambda at once, or ten from lambda_max down to it, each from the last. Prints
the seconds of the fit alone; OUT gets a line "COLUMN VALUE" a nonzero."""
import sys
import time
import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import Lasso, lasso_path

warnings.filterwarnings("ignore")
DENSE = 0.25  # from here on a dense matrix is the faster form
ENDLESS = 10 ** 6

folder, penalty, setting, out = sys.argv[1:]
penalty = float(penalty)
how, tol = setting.split("/")
start = np.fromfile(folder + "/start.i4", dtype=np.int32)
index = np.fromfile(folder + "/index.i4", dtype=np.int32)
value = np.fromfile(folder + "/value.f8")
y = np.fromfile(folder + "/label.f8")
x = scipy.sparse.csc_matrix((value, index, start),
                            shape=(len(y), len(start) - 1))
if x.nnz > DENSE * x.shape[0] * x.shape[1]:
    x = np.asfortranarray(x.toarray())

begun = time.perf_counter()
if how == "single":
    model = Lasso(alpha=penalty, fit_intercept=False, tol=float(tol),
                  max_iter=ENDLESS)
    w = model.fit(x, y).coef_
else:
    most = np.abs(x.T @ y).max() / len(y)
    w = lasso_path(x, y, alphas=np.geomspace(most, penalty, 10),
                   tol=float(tol), max_iter=ENDLESS)[1][:, -1]
print("%.6f" % (time.perf_counter() - begun))
with open(out, "w") as lines:
    for j in np.flatnonzero(w):
        lines.write("%d %.17g\n" % (j + 1, w[j]))
