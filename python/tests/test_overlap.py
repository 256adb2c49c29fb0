"""Groups of columns that overlap against a proximal gradient method."""
import numpy as np
import pytest

import strads

GROUPS = [[0, 1, 2], [1, 2, 3], [4, 3], [5]]


def minimum(X, y, alpha, steps=20000):
    """Coefficients with the least squared error / 2 + alpha sum_g root(n_g)
    |v_g|, w the sum of all v_g, and that value."""
    source = np.concatenate(GROUPS)
    group = np.repeat(np.arange(len(GROUPS)), [len(g) for g in GROUPS])
    of = X[:, source]
    weight = alpha * np.sqrt(np.bincount(group))
    v, step = np.zeros(len(source)), len(y) / np.linalg.norm(of, 2) ** 2
    for _ in range(steps):
        v = v + step * of.T @ (y - of @ v) / len(y)
        size = np.sqrt(np.bincount(group, v ** 2))
        with np.errstate(divide="ignore"):
            v = v * np.maximum(1 - step * weight / size, 0)[group]
    return np.bincount(source, v, X.shape[1]), \
        np.sum((y - of @ v) ** 2) / (2 * len(y)) + \
        weight @ np.sqrt(np.bincount(group, v ** 2))


@pytest.mark.parametrize("seed, alpha", [(1, 0.05), (2, 0.2), (3, 0.5)])
def test_the_fit_is_the_minimum_over_parts(seed, alpha):
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((50, 6))
    y = X[:, :3] @ [1, -2, 0.5] + draws.standard_normal(50)
    model = strads.GroupLasso(GROUPS, alpha=alpha, fit_intercept=False,
                              tol=1e-9).fit(X, y)
    coef, least = minimum(X, y, alpha)
    assert model.objective_ == pytest.approx(least, rel=1e-7)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-4)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_)
    assert model.dual_gap_ <= 1e-9 and model.n_features_in_ == 6


def test_lists_that_do_not_overlap_are_groups():
    draws = np.random.default_rng(4)
    X, y = draws.standard_normal((40, 4)), draws.standard_normal(40)
    y = np.exp(y / 4 + X[:, 1])
    for kind in strads.GroupLasso, strads.SparseGroupLasso:
        one = kind([[0, 2], [1, 3]], loss="gamma", alpha=0.02).fit(X, y)
        two = kind([0, 1, 0, 1], loss="gamma", alpha=0.02).fit(X, y)
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-3)


def test_other_estimators_refuse_lists():
    draws = np.random.default_rng(6)
    X, y = draws.standard_normal((20, 3)), draws.standard_normal(20)
    for groups in [[0, 1], [1, 2]], [[0, 1], [2]], ([0], [1], [2]):
        for fit in (lambda: strads.GLM("squared", "group", groups=groups).fit(
                        X, y),
                    lambda: strads.GLMCV("squared", "group",
                                         groups=groups).fit(X, y),
                    lambda: strads.GLMClassifier(
                        "logistic", "group", groups=groups).fit(X, y > 0),
                    lambda: strads.glm_path(X, y, "squared", "group",
                                            groups=groups)):
            with pytest.raises(ValueError, match="GroupLasso and Sparse"):
                fit()


@pytest.mark.parametrize("groups, says", [
    ([[0, 1], [1]], "column 2 is in no group"),
    ([[0, 1, 1], [2]], "lists of different columns"),
    ([[0, 1], [2, 3]], "numbers from 0 to 2")])
def test_refuses(groups, says):
    X = np.random.default_rng(5).standard_normal((20, 3))
    with pytest.raises(ValueError, match=says):
        strads.GroupLasso(groups).fit(X, X[:, 0])
