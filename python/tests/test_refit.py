"""Relaxed and adaptive fits against least squares on the selected columns, and
against penalty factors."""
import numpy as np
import pytest

import strads


def design(seed, rows=80, columns=10):
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((rows, columns))
    return X, X[:, :3] @ [2, -1, 0.5] + draws.standard_normal(rows)


def refitted(X, y, on):
    """Coefficients of least squares on columns, and the intercept."""
    A = np.column_stack([X[:, on], np.ones(len(y))])
    return np.linalg.lstsq(A, y, rcond=None)[0]


@pytest.mark.parametrize("model", [strads.Lasso, strads.GLM])
@pytest.mark.parametrize("seed", [1, 2])
def test_relax_mixes_a_fit_with_its_refit(model, seed):
    X, y = design(seed)
    plain, half = model(alpha=0.2).fit(X, y), \
        model(alpha=0.2, relax=0.5).fit(X, y)
    on = np.flatnonzero(plain.coef_)
    assert 0 < len(on) < X.shape[1]
    full = refitted(X, y, on)
    np.testing.assert_allclose(half.coef_[on],
                               (plain.coef_[on] + full[:-1]) / 2, atol=1e-6)
    np.testing.assert_allclose(half.intercept_,
                               (plain.intercept_ + full[-1]) / 2, atol=1e-6)
    assert not np.any(np.delete(half.coef_, on))


def test_relax_fits_each_output():
    X, y = design(3)
    both = strads.Lasso(0.2, relax=0).fit(X, np.column_stack([y, -y]))
    one = strads.Lasso(0.2, relax=0).fit(X, y)
    np.testing.assert_allclose(both.coef_, [one.coef_, -one.coef_], atol=1e-7)


def test_adaptive_divides_penalties_by_the_first_fit():
    X, y = design(4)
    first = strads.Ridge(5.0).fit(X, y).coef_
    made = strads.Lasso(0.05, adaptive=2, first_fit=first, tol=1e-9).fit(X, y)
    same = strads.GLM(alpha=0.05, penalty_factors=1 / first ** 2,
                      tol=1e-9).fit(X, y)
    np.testing.assert_allclose(made.coef_, same.coef_, atol=1e-7)
    own = strads.GLM(alpha=0.05, adaptive=1).fit(X, y)
    assert np.count_nonzero(own.coef_) < X.shape[1]


@pytest.mark.parametrize("relax", ["auto", [0, 1]])
def test_a_search_chooses_the_share_that_predicts_best(relax):
    X, y = design(5, rows=60)
    alphas, folds = [0.05, 0.2, 0.5], 3
    found = strads.LassoCV(alphas=alphas, cv=folds, relax=relax, tol=1e-9).fit(
        X, y)
    shares = [0, 0.25, 0.5, 0.75, 1] if relax == "auto" else relax
    errors = np.zeros((len(alphas), len(shares)))
    for held in np.array_split(np.arange(60), folds):
        train = np.setdiff1d(np.arange(60), held)
        for a, alpha in enumerate(alphas):
            for s, share in enumerate(shares):
                fit = strads.Lasso(alpha, relax=share, tol=1e-9).fit(
                    X[train], y[train])
                errors[a, s] += np.mean((fit.predict(X[held]) - y[held]) ** 2)
    a, s = np.unravel_index(np.argmin(errors), errors.shape)
    assert (found.alpha_, found.relax_) == (alphas[a], shares[s])
    np.testing.assert_allclose(found.mse_[::-1], errors[:, s] / folds,
                               rtol=1e-5)
    same = strads.Lasso(found.alpha_, relax=found.relax_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(found.coef_, same.coef_, atol=1e-6)


def test_a_search_of_all_losses_relaxes():
    X, y = design(6)
    counts = np.random.default_rng(0).poisson(np.exp(y / 4))
    found = strads.GLMCV("poisson", relax="auto", adaptive=1, n_alphas=6,
                         cv=3).fit(X, counts)
    assert found.error_.min() == found.error_[found.alphas_ == found.alpha_]
    times = np.where(np.arange(80) % 4, 1, -1) * np.exp(y / 4)
    found = strads.GLMCV("cox", relax=[0, 1], n_alphas=5, cv=3).fit(X, times)
    assert found.relax_ in (0, 1) and found.error_path_.shape == (5, 3)


@pytest.mark.parametrize("given, says", [
    ({"relax": 1.5}, "relax is 1.5"), ({"adaptive": 0}, "adaptive is 0"),
    ({"first_fit": np.ones(10)}, "give adaptive"),
    ({"adaptive": 1, "first_fit": np.ones(3)}, "first_fit has the shape"),
    ({"adaptive": 1, "first_fit": np.zeros(10)}, "all coefficients")])
def test_refuses(given, says):
    with pytest.raises(ValueError, match=says):
        strads.Lasso(**given).fit(*design(7))
    with pytest.raises(ValueError, match="relax is 'all'"):
        strads.LassoCV(relax="all").fit(*design(7))
    with pytest.raises(ValueError, match="selects none"):
        strads.GLM(penalty="ridge", relax=0).fit(*design(7))
