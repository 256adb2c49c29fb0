"""Regression of ordered classes against a numerical optimum, and its files."""
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import strads


def design(seed, classes, rows=120, columns=5):
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((rows, columns))
    z = 1.5 * X[:, 0] - X[:, 1] + draws.logistic(size=rows)
    return X, np.digitize(z, np.quantile(z, np.arange(1, classes) / classes))


def log_loss(X, y, w, thresholds):
    """By the definition of the cumulative logit."""
    at = np.concatenate([[-np.inf], thresholds, [np.inf]])
    z = X @ w
    return -np.mean(np.log(np.maximum(
        expit(at[y + 1] - z) - expit(at[y] - z), 1e-300)))


def optimum(X, y, classes, l1, l2):
    """The least objective, w = u - v with u, v >= 0."""
    n = X.shape[1]

    def value(p):
        w, gaps = p[:n] - p[n:2 * n], np.exp(p[2 * n + 1:])
        at = p[2 * n] + np.concatenate([[0], np.cumsum(gaps)])
        return log_loss(X, y, w, at) + l1 * p[:2 * n].sum() + l2 / 2 * w @ w
    start = np.concatenate([np.full(2 * n, 0.1), [-1], np.zeros(classes - 2)])
    return minimize(value, start, method="L-BFGS-B",
                    bounds=[(0, None)] * (2 * n) + [(None, None)] *
                    (classes - 1), options={"ftol": 1e-14, "gtol": 1e-8,
                                            "maxiter": 3000}).fun


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("penalty, share", [("l1", 1), ("ridge", 0),
                                            ("elastic-net", 0.5), ("none", 0)])
def test_the_objective_is_the_optimum(classes, penalty, share):
    X, y = design(classes, classes)
    alpha = 0 if penalty == "none" else 0.02
    model = strads.OrdinalRegression(penalty, alpha=alpha, tol=1e-8).fit(X, y)
    w = model.coef_[0]
    own = log_loss(X, y, w, model.thresholds_) + alpha * (
        share * np.abs(w).sum() + (1 - share) / 2 * w @ w)
    assert model.dual_gap_ <= 1e-8
    assert own == pytest.approx(model.objective_, abs=1e-9)
    least = optimum(X, y, classes, alpha * share, alpha * (1 - share))
    assert own == pytest.approx(least, abs=1e-6)
    assert model.objective_ <= least + 1e-8


def test_probabilities_are_those_of_the_thresholds():
    X, y = design(7, 4)
    model = strads.OrdinalRegression(alpha=0.01).fit(X, y)
    below = expit(model.thresholds_ - X @ model.coef_.T)
    expected = np.diff(below, axis=1, prepend=0, append=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    assert np.array_equal(model.predict(X),
                          model.classes_[expected.argmax(axis=1)])
    assert model.score(X, y) > 0.4


def test_classes_have_the_given_order():
    X, y = design(8, 3)
    names = np.array(["low", "mid", "high"])
    model = strads.OrdinalRegression(classes=["low", "mid", "high"]).fit(
        X, names[y])
    plain = strads.OrdinalRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert np.array_equal(model.predict(X), names[plain.predict(X)])
    weighed = strads.OrdinalRegression(
        classes=["low", "mid", "high"], class_weight={"mid": 3}).fit(X, names[y])
    np.testing.assert_allclose(weighed.coef_, strads.OrdinalRegression(
        class_weight={1: 3}).fit(X, y).coef_)
    with pytest.raises(ValueError, match="y has the label 'mid'"):
        strads.OrdinalRegression(classes=["low", "high"]).fit(X, names[y])


def test_an_ordered_categorical_has_its_own_order():
    pandas = pytest.importorskip("pandas")
    X, y = design(12, 3)
    names = ["low", "mid", "high"]
    plain = strads.OrdinalRegression().fit(X, y)
    labels = pandas.Series(pandas.Categorical.from_codes(
        y, [*names, "never"], ordered=True))
    for given in labels, labels.array, labels.to_frame():
        model = strads.OrdinalRegression(class_weight={"never": 2}).fit(X, given)
        assert model.classes_.tolist() == names
        np.testing.assert_allclose(model.coef_, plain.coef_)
        assert np.array_equal(model.predict(X),
                              np.array(names)[plain.predict(X)])
    given = strads.OrdinalRegression(classes=names[::-1]).fit(X, labels)
    assert given.classes_.tolist() == names[::-1]
    for unordered in (np.array(names)[y], labels.astype(str).tolist(),
                      labels.cat.as_unordered()):
        with pytest.warns(UserWarning, match='give classes=."low"'):
            model = strads.OrdinalRegression().fit(X, unordered)
        assert model.classes_.tolist() == sorted(names)


def test_weights_are_repetitions():
    X, y = design(9, 3)
    times = 1 + np.arange(len(y)) % 3
    each = np.repeat(np.arange(len(y)), times)
    one = strads.OrdinalRegression(alpha=0.02, tol=1e-9).fit(X, y, times)
    two = strads.OrdinalRegression(alpha=0.02, tol=1e-9).fit(X[each], y[each])
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)
    np.testing.assert_allclose(one.thresholds_, two.thresholds_, atol=1e-6)


def test_a_saved_model_predicts_the_same(tmp_path):
    X, y = design(10, 4)
    model = strads.OrdinalRegression(alpha=0.02).fit(X, y)
    model.save(tmp_path / "m.json")
    again = strads.OrdinalRegression.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(X),
                                  model.predict_proba(X))
    np.testing.assert_array_equal(
        strads.read_model(tmp_path / "m.json").thresholds, model.thresholds_)


def test_other_estimators_refuse_the_loss():
    X, y = design(11, 3)
    with pytest.raises(ValueError, match="OrdinalRegression"):
        strads.GLMClassifier("ordinal").fit(X, y)
    with pytest.raises(ValueError, match="is of classes"):
        strads.GLM("ordinal").fit(X, y)
