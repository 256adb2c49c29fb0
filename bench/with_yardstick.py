"""The measure of all linear solvers: objectives at their coefficients, computed by
numpy and scipy alone, so that a mistake of strads cannot hide here. Also writes a
problem's numbers for peers: a folder with X by columns (start.i4, index.i4,
value.f8) and y (label.f8).

KIND, and the role of the weight, with z = Xw + b and m = y z:
    lasso             1/(2n) |y - z|^2 + weight |w|_1
    elastic-net       1/(2n) |y - z|^2 + weight/2 (|w|_1 + |w|^2/2)
    path, cv          a Lasso's for each of POINTS weights
    l1-logistic       1/n sum log(1 + exp(-m)) + weight |w|_1
    elastic-logistic  the same + weight/2 (|w|_1 + |w|^2/2)
    multinomial       the same of softmax, for several classes
    poisson           1/n sum exp(z) - y z, less its least + weight |w|_1
    l2-logistic       1/2 |w|^2 + weight sum log(1 + exp(-m))
    hinge             1/2 |w|^2 + weight sum max(0, 1 - m)
    squared-hinge     1/2 |w|^2 + weight sum max(0, 1 - m)^2
    l1-squared-hinge  |w|_1 + weight sum max(0, 1 - m)^2
    epsilon           1/2 |w|^2 + weight sum max(0, |y - z| - .1)
    squared-epsilon   1/2 |w|^2 + weight sum max(0, |y - z| - .1)^2"""
import os

import numpy as np
import scipy.sparse

PATHS = ("path", "cv", "cv-logistic")
POINTS = 100


# ---- a problem's numbers ----------------------------------------------------

def read_text(path):
    """X and y of a LIBSVM file."""
    with open(path, "rb") as f:
        lines = f.read().splitlines()
    entries = np.array([line.count(b":") for line in lines])
    numbers = np.fromstring(b" ".join(lines).replace(b":", b" "), sep=" ")
    start = np.append(0, np.cumsum(entries))
    labels = 2 * start[:-1] + np.arange(len(lines))
    pairs = np.delete(numbers, labels)
    index = pairs[::2].astype(np.int32) - 1
    return scipy.sparse.csr_matrix(
        (pairs[1::2], index, start),
        shape=(len(lines), int(index.max(initial=-1)) + 1)), numbers[labels]


def write_parts(x, y, folder):
    os.makedirs(folder, exist_ok=True)
    x = x.tocsc()
    x.sort_indices()
    x.indptr.astype(np.int32).tofile(folder + "/start.i4")
    x.indices.astype(np.int32).tofile(folder + "/index.i4")
    x.data.tofile(folder + "/value.f8")
    y.astype(float).tofile(folder + "/label.f8")


# ---- objectives -------------------------------------------------------------

class Measured:
    """The measure of a problem, which has kind, x, y, rows, columns, weight and
    ratio (a path's first weight divided by its last)."""

    def objectives(self, out):
        """The objective at the coefficients in a file, with a line "COLUMN VALUE" per
        nonzero, columns from 1 and 0 the intercept. For a path, "POINT COLUMN VALUE":
        one objective per point; for several classes "CLASS COLUMN VALUE"."""
        found = np.loadtxt(out, ndmin=2) if os.path.getsize(out) else \
            np.zeros((0, 3))
        if self.kind == "multinomial":
            w = np.zeros((len(np.unique(self.y)), self.columns + 1))
            if len(found):
                w[found[:, 0].astype(int), found[:, 1].astype(int)] = \
                    found[:, 2]
            return [self.softmax_objective(w[:, 1:], w[:, 0])]
        if self.kind not in PATHS:
            w = np.zeros(self.columns + 1)
            if len(found):
                w[found[:, 0].astype(int)] = found[:, 1]
            return [float(self.objective(w[1:], w[0], self.weight))]
        w = np.zeros((POINTS, self.columns))
        if len(found):
            w[found[:, 0].astype(int), found[:, 1].astype(int) - 1] = \
                found[:, 2]
        lambdas = self.weight * self.ratio ** (np.arange(POINTS) / (POINTS - 1))
        return [float(self.objective(v, 0, at)) for v, at in zip(w, lambdas)]

    def shares(self):
        """[n, classes] membership."""
        return self.y[:, None] == np.unique(self.y)[None, :]

    def softmax_objective(self, w, b):
        z = self.x @ w.T + b
        most = z.max(axis=1)
        loss = np.log(np.exp(z - most[:, None]).sum(axis=1)) + most - \
            z[self.shares()]
        return float(loss.mean() + self.weight * np.abs(w).sum())

    def objective(self, w, b, weight):
        z = self.x @ w + b
        y, n = self.y, self.rows
        l1, l2 = np.abs(w).sum(), .5 * (w @ w)
        kind = self.kind
        if kind in ("lasso", "path", "cv"):
            return ((y - z) ** 2).sum() / (2 * n) + weight * l1
        if kind == "poisson":
            best = np.where(y > 0, y * np.log(np.maximum(y, 1)) - y, 0)
            return (np.exp(z) - y * z + best).mean() + weight * l1
        if kind == "elastic-net":
            return ((y - z) ** 2).sum() / (2 * n) + weight * .5 * (l1 + l2)
        if "logistic" in kind:
            loss = np.logaddexp(0, -y * z).sum()
            if kind == "l2-logistic":
                return l2 + weight * loss
            return loss / n + weight * (l1 if kind != "elastic-logistic" else
                                        .5 * (l1 + l2))
        short = np.maximum(0, np.abs(y - z) - .1) if "epsilon" in kind else \
            np.maximum(0, 1 - y * z)
        loss = (short ** 2 if "squared" in kind else short).sum()
        return (l1 if kind == "l1-squared-hinge" else l2) + weight * loss
