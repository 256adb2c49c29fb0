"""Plain dicts of every estimator's parameters and figures."""
import json

import numpy as np
import pytest
import strads

ESTIMATORS = ["Lasso", "LassoCV", "Ridge", "LogisticRegression", "LinearSVC",
              "GLM", "GLMClassifier", "HuberRegressor", "MatrixFactorization",
              "LatentDirichletAllocation"]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_dicts_are_plain_and_complete(name):
    random = np.random.default_rng(2)
    X = random.integers(0, 4, (60, 8)).astype(float)
    y = X[:, 0] + random.normal(size=60)
    kind = getattr(strads, name)
    model = kind()
    if name in ("LogisticRegression", "LinearSVC", "GLMClassifier"):
        model.fit(X, y > np.median(y))
    elif name in ("MatrixFactorization", "LatentDirichletAllocation"):
        model.fit(X)
    else:
        model.fit(X, y)
    params, metrics = strads.params_dict(model), strads.metrics_dict(model)
    assert json.loads(json.dumps(params)) == params
    assert set(params) == set(model.get_params(deep=False)) - {"callbacks"}
    assert metrics and all(type(v) is float for v in metrics.values())
    for key, value in metrics.items():
        if key != "nonzeros":
            assert value == getattr(model, key + "_")
    if hasattr(model, "coef_"):
        assert metrics["nonzeros"] == np.count_nonzero(model.coef_)


def test_arrays_and_callbacks_have_short_forms():
    model = strads.GLM(penalty_factors=np.ones(5000), callbacks=[print],
                       alpha=np.float64(0.5))
    params = strads.params_dict(model)
    assert params["penalty_factors"] == "ndarray (5000,)"
    assert type(params["alpha"]) is float and "callbacks" not in params
