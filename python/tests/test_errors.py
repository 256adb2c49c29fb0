"""Standard errors against the inverse of the information, computed densely."""
import numpy as np
import pytest
from scipy import sparse, stats
from strads import (GLM, GLMClassifier, GammaRegressor, PoissonRegressor,
                    Summary)

MEAN = {"squared": lambda z: z, "logistic": lambda z: 1 / (1 + np.exp(-z)),
        "poisson": np.exp, "gamma": np.exp}
VARIANCE = {"squared": np.ones_like, "logistic": lambda m: m * (1 - m),
            "poisson": lambda m: m, "gamma": lambda m: m * m}


def family(loss, seed):
    random = np.random.default_rng(seed)
    n, p = random.choice([50, 150]), random.choice([1, 4])
    X = random.normal(random.choice([0, 3]), 1, (n, p))
    X[:, 0] *= 10.0 ** random.integers(-2, 3)
    z = (X - X.mean(0)) / X.std(0) @ random.normal(0, 0.4, p)
    y = {"squared": lambda: z + random.normal(size=n),
         "logistic": lambda: (z + random.logistic(size=n) > 0).astype(int),
         "poisson": lambda: random.poisson(np.exp(z)),
         "gamma": lambda: np.exp(z) * random.gamma(2, 0.5, n)}[loss]()
    return X, y, random.uniform(0.3, 2, n) if seed % 2 else None, \
        random.normal(size=n) / 4 if seed % 3 == 0 and loss != "logistic" \
        else None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", MEAN)
@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_those_of_the_information(loss, seed, intercept):
    X, y, weight, offset = family(loss, seed)
    more = {} if loss == "logistic" else {"offset": offset}
    kind = GLMClassifier if loss == "logistic" else GLM
    made = kind(loss, "none", tol=1e-13, fit_intercept=intercept).fit(
        X, y, weight, **more)
    for given in X, sparse.csr_matrix(X), X.astype(np.float64, order="F"):
        found = made.summary(given, y, weight, level=0.9, **more)
        w = np.ones(len(y)) if weight is None else weight
        D = np.column_stack([X, np.ones(len(y))]) if intercept else X
        z = D @ found.coef + (0 if offset is None else offset)
        mean = MEAN[loss](z)
        v = VARIANCE[loss](mean)
        slope = v if loss in ("logistic", "poisson") else \
            np.ones_like(z) if loss == "squared" else mean
        scores = D.T @ (w * (y - mean) * slope / v)
        assert np.all(np.abs(scores) <= 1e-4 * (np.abs(D.T) @ (w * np.abs(
            (y - mean) * slope / v))))
        information = D.T @ (D * (w * slope ** 2 / v)[:, None])
        dof = len(y) - D.shape[1]
        known = loss in ("logistic", "poisson")
        dispersion = 1 if known else np.sum(w * (y - mean) ** 2 / v) / dof
        scale = np.sqrt(np.diag(information))
        inverse = np.linalg.inv(information / np.outer(scale, scale))
        se = np.sqrt(dispersion * np.diag(inverse)) / scale
        np.testing.assert_allclose(found.se, se, rtol=1e-6)
        assert found.dof == dof and found.estimated != known
        np.testing.assert_allclose(found.dispersion, dispersion, rtol=1e-8)
        of = stats.norm if known else stats.t(dof)
        np.testing.assert_allclose(
            found.pvalue, 2 * of.sf(np.abs(found.coef / se)), rtol=1e-4)
        np.testing.assert_allclose(found.interval[:, 1],
                                   found.coef + of.ppf(0.95) * se, rtol=1e-5)


def test_a_summary_has_names_and_prints_as_a_table():
    pandas = pytest.importorskip("pandas")
    X, y, _, _ = family("squared", 8)
    X = pandas.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    found = GLM(alpha=0, tol=1e-12).fit(X, y).summary(X, y)
    assert isinstance(found, Summary)
    assert found.names == list(X.columns) + ["intercept"]
    lines = repr(found).splitlines()
    assert lines[1].startswith("c0 ") and len(lines) == len(found.names) + 2
    assert list(found.frame().index) == found.names


def test_fits_without_standard_errors_are_refused():
    X, y, _, _ = family("poisson", 4)
    with pytest.raises(ValueError, match="penalised fit has a bias"):
        PoissonRegressor(alpha=1).fit(X, y).summary(X, y)
    made = GammaRegressor(alpha=0).fit(X, y + 1)
    with pytest.raises(ValueError, match="features"):
        made.summary(np.column_stack([X, X]), y + 1)
    with pytest.raises(ValueError, match="level"):
        made.summary(X, y + 1, level=1)
    three = GLMClassifier(penalty="none").fit(
        np.arange(30.0)[:, None] % 7, np.arange(30) % 3)
    with pytest.raises(ValueError, match="several classes"):
        three.summary(np.arange(30.0)[:, None] % 7, np.arange(30) % 3)
