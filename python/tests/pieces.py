"""Data for the tests of fits by several processes, and the attributes that
must be equal."""
import numpy as np
import pandas
import scipy.sparse as sparse


def samples(rows=90, cols=40):
    draws = np.random.default_rng(5)
    X = draws.standard_normal((rows, cols))
    X[draws.random(X.shape) < 0.5] = 0
    return X, X[:, :5].sum(axis=1) + 0.3 * draws.standard_normal(rows)


def counts(documents=60, words=50):
    draws = np.random.default_rng(6)
    return sparse.csr_matrix(draws.poisson(0.6, (documents, words)))


def ratings(users=60, items=25):
    draws = np.random.default_rng(7)
    user, item = np.nonzero(draws.random((users, items)) < 0.4)
    return pandas.DataFrame({"user": user, "item": item, "rating":
                             draws.integers(1, 6, len(user)).astype(float)})


def bounds_of(rows, pieces):
    """Bounds of pieces of unequal sizes."""
    share = np.cumsum([0] + [k + 2 for k in range(pieces)])
    return (rows * share) // share[-1]


def same(name, one, other):
    """Both models have bit-identical fitted attributes."""
    seen = 0
    for key in ("coef_", "intercept_", "classes_", "components_",
                "user_factors_", "item_factors_", "n_iter_", "n_documents_"):
        if hasattr(other, key):
            a, b = np.asarray(getattr(one, key)), np.asarray(
                getattr(other, key))
            assert a.shape == b.shape and np.array_equal(a, b), (name, key)
            seen += 1
    assert seen > 1, name
