"""Matrices of any order, strides, type and container are the same data."""
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import strads

SHAPES = [(40, 1), (129, 9), (300, 35), (50, 130)]


def drawn(rows, cols, zeros, seed):
    """Whole numbers, which float32 and int32 hold exactly; and labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 9, (rows, cols)).astype(np.float64)
    X[rng.random(X.shape) < zeros] = 0
    return X, X[:, 0] + rng.normal(size=rows)


def forms(X):
    """The same matrix in many forms."""
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, 1::3] = X
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    return {"C": np.ascontiguousarray(X), "F": np.asfortranarray(X),
            "strided": wide[::2, 1::3],
            "backward": np.ascontiguousarray(X[:, ::-1])[:, ::-1],
            "f32": X.astype(np.float32),
            "f32 F": np.asfortranarray(X, dtype=np.float32),
            "i32": X.astype(np.int32), "big endian": X.astype(">f8"),
            "frame": frame,
            "mixed frame": frame.astype({"c0": np.float32}),
            "csr": sp.csr_matrix(X), "csc": sp.csc_matrix(X),
            "coo": sp.coo_matrix(X)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("zeros", [0, .3])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_forms_of_a_matrix_give_the_same_bits(shape, zeros, n_jobs):
    X, y = drawn(*shape, zeros, sum(shape))
    for fit in (lambda Z: strads.Lasso(.05, n_jobs=n_jobs).fit(Z, y),
                lambda Z: strads.LinearSVC(n_jobs=n_jobs).fit(Z, y > 5)):
        found = {name: fit(Z).coef_ for name, Z in forms(X).items()}
        for name, coef in found.items():
            np.testing.assert_array_equal(coef, found["C"], err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_matrix_is_not_changed(shape):
    X, y = drawn(*shape, 0, 1)
    for name, Z in forms(X).items():
        before = Z.copy()
        strads.Lasso(.05).fit(Z, y)
        if sp.issparse(Z):
            assert (Z != before).nnz == 0, name
        else:
            np.testing.assert_array_equal(Z, before, err_msg=name)
