"""Scripts written for scikit-learn run with strads' estimators in its place:
parameters, cross-validation, files, and the pages of its guide."""
import inspect
import json
import os
import pickle
import re
import subprocess
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse as sparse
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import (dump_svmlight_file, load_breast_cancer,
                              load_diabetes, load_digits, load_iris)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import (GridSearchCV, GroupKFold, KFold,
                                     LeaveOneGroupOut, ShuffleSplit,
                                     StratifiedKFold, cross_val_predict,
                                     cross_val_score, train_test_split)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import strads
from promises import ESTIMATORS, data_for, easy

SKLEARN = {name: getattr(sklearn.linear_model, name, None) or
           getattr(sklearn.svm, name, None) for name in ESTIMATORS}
SAME_NAME = [name for name, theirs in SKLEARN.items() if theirs]
MEASURES = ("tol", "max_iter")  # of another thing


# ---- parameters --------------------------------------------------------------

@pytest.mark.parametrize("name", SAME_NAME)
def test_parameters_are_scikit_learns_at_the_same_places(name):
    ours = inspect.signature(getattr(strads, name)).parameters
    theirs = inspect.signature(SKLEARN[name]).parameters
    for parameter in theirs.values():
        own = ours[parameter.name]
        assert own.kind == parameter.kind, parameter
        # "warn": the default of an old release that is about to change
        if (parameter.name not in MEASURES and parameter.name != "dual" and
                parameter.default != "warn"):
            assert own.default == parameter.default, parameter

    def by_place(signature):
        return [name for name, each in signature.items()
                if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert by_place(ours) == by_place(theirs)


@pytest.mark.parametrize("name, parameters", [
    ("Lasso", {"precompute": True}), ("Lasso", {"selection": "random"}),
    ("LogisticRegression", {"solver": "saga"}),
    ("LogisticRegression", {"dual": True}),
    ("LogisticRegression", {"intercept_scaling": 2.0}),
    ("LinearSVC", {"dual": True}), ("Ridge", {"solver": "svd"}), ("PoissonRegressor",
                                    {"solver": "newton-cholesky"})])
def test_a_parameter_without_effect_warns_once(name, parameters):
    strads.params._warned.clear()
    model, data = easy(name), data_for(name)
    plain = clone(model).fit(*data)
    model.set_params(**parameters)
    with pytest.warns(UserWarning, match="does nothing here") as seen:
        model.fit(*data)
    assert len(seen) == 1 and seen[0].filename == __file__
    assert list(parameters)[0] in str(seen[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(*data)
        clone(model).set_params(**{k: getattr(plain, k) for k in parameters},
                                random_state=7).fit(*data) \
            if hasattr(plain, "random_state") else None
    assert np.array_equal(model.coef_, plain.coef_)


def test_liblinear_selects_one_class_against_the_rest_in_silence():
    strads.params._warned.clear()
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = strads.LogisticRegression(solver="liblinear").fit(X, y)
    assert np.array_equal(model.coef_, strads.LogisticRegression(
        multi_class="ovr").fit(X, y).coef_)


def test_what_only_helps_scikit_learn_is_taken_in_silence():
    X, y = load_diabetes(return_X_y=True)
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strads.Lasso(0.1, copy_X=False, random_state=3, precompute=False,
                     selection="cyclic", tol=1e-4, max_iter=10000).fit(X, y)
        strads.LinearSVC(dual=False, random_state=0).fit(X, y > 100)
        strads.LogisticRegression(random_state=np.random.RandomState(0),
                                  max_iter=1000).fit(X, y > 100)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("seed", range(3))
def test_no_penalty_is_least_squares_and_maximum_likelihood(seed):
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((80, 4))
    z = X @ draws.standard_normal(4)
    y = z + draws.standard_normal(80)
    least = sklearn.linear_model.LinearRegression().fit(X, y)
    for model in (strads.Lasso(0, tol=1e-12), strads.ElasticNet(0, tol=1e-12),
                  strads.GLM(penalty="ridge", alpha=0, tol=1e-12)):
        model.fit(X, y)
        assert np.allclose(model.coef_, least.coef_, atol=1e-6)
    of_class = z + 3 * draws.standard_normal(80) > 0
    theirs = sklearn.linear_model.LogisticRegression(
        penalty=None, tol=1e-8, max_iter=1000).fit(X, of_class)
    for free in ({"penalty": None}, {"penalty": "none"}, {"C": np.inf}):
        ours = strads.LogisticRegression(**free, tol=1e-10).fit(X, of_class)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
    positive = strads.Ridge(2.0, positive=True, tol=1e-12).fit(X, y)
    assert np.allclose(positive.coef_, sklearn.linear_model.Ridge(
        2.0, positive=True, tol=1e-12).fit(X, y).coef_, atol=1e-5)
    counts = draws.poisson(np.exp(0.3 * z))
    ours = strads.PoissonRegressor(alpha=0, tol=1e-10).fit(X, counts)
    theirs = sklearn.linear_model.PoissonRegressor(
        alpha=0, tol=1e-8, max_iter=1000).fit(X, counts)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("kind", [strads.Lasso, strads.ElasticNet,
                                  strads.Ridge])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_several_columns_of_y_are_several_fits(kind, as_sparse):
    draws = np.random.default_rng(2)
    X = draws.standard_normal((50, 6))
    Y = X @ draws.standard_normal((6, 3)) + draws.standard_normal((50, 3))
    given = sparse.csr_matrix(X) if as_sparse else X
    model = kind(0.1, tol=1e-10).fit(given, Y)
    theirs = SKLEARN[kind.__name__](0.1, tol=1e-9).fit(X, Y)
    weight = draws.random(50)
    assert np.allclose(
        clone(model).fit(given, Y, weight).coef_,
        SKLEARN[kind.__name__](0.1, tol=1e-9).fit(X, Y, weight).coef_
        if kind is strads.Ridge else
        [clone(model).fit(given, y, weight).coef_ for y in Y.T], atol=1e-5)
    assert model.coef_.shape == (3, 6) and model.intercept_.shape == (3,)
    assert np.allclose(model.coef_, theirs.coef_, atol=1e-5)
    assert np.allclose(model.predict(given), theirs.predict(X), atol=1e-4)
    assert model.score(given, Y) == pytest.approx(theirs.score(X, Y), abs=1e-4)
    again = model.set_params(warm_start=True).fit(given, Y)
    assert np.allclose(again.coef_, theirs.coef_, atol=1e-5)
    for other in Y[:, 0], Y[:, :2]:  # of another width: begins with 0
        assert np.allclose(clone(model).fit(given, other).coef_, model.fit(
            given, other).coef_, atol=1e-5)
    model.fit(given, Y)
    pickle.loads(pickle.dumps(model)).predict(given)
    one = kind(0.1).fit(X, Y[:, :1])
    assert one.coef_.shape == (6,) and one.predict(X).shape == (50,)
    with pytest.raises(ValueError, match="1d array"):
        strads.LassoCV().fit(X, Y)
    MultiOutputRegressor(strads.LassoCV(n_alphas=5)).fit(X, Y)


@pytest.mark.parametrize("model", [
    strads.Lasso(0.05), strads.LogisticRegression(),
    strads.LogisticRegression("l1"), strads.LinearSVC(tol=1e-9),
    strads.GLM(alpha=0.05)])
def test_standardize_is_a_fit_to_scaled_columns(model):
    draws = np.random.default_rng(5)
    X = draws.standard_normal((90, 5)) * [1, 10, 0.1, 3, 1]
    y = X @ [1, 0.1, -9, 0.3, 0] + draws.standard_normal(90)
    if "Regression" in str(model) or "SVC" in str(model):
        y = y > 0
    scale = X.std(axis=0)
    ours = clone(model).set_params(standardize=True, tol=1e-10).fit(X, y)
    scaled = clone(model).set_params(tol=1e-10).fit(X / scale, y)
    assert np.allclose(np.ravel(ours.coef_) * scale, np.ravel(scaled.coef_),
                       atol=1e-4)


def test_columns_of_words_are_named():
    frame = pandas.DataFrame({"size": [1.0, 2, 3, 4], "town": list("abca"),
                              "kind": pandas.Categorical(list("xyxy"))})
    for model in (strads.Lasso(), strads.LogisticRegression(), strads.GLMCV()):
        with pytest.raises(ValueError, match=r"'town' \(object\), 'kind' "
                                             r"\(category\); encode"):
            model.fit(frame, [0, 1, 1, 0])
    strads.Lasso().fit(frame[["size"]].astype(object), [0, 1, 1, 0])


@pytest.mark.parametrize("model", [
    strads.LogisticRegression(max_iter=1000, tol=1e-4),
    strads.LogisticRegression("l1", solver="saga", C=0.1, max_iter=1000),
    strads.LogisticRegression(multi_class="ovr", max_iter=1000),
    strads.LinearSVC(max_iter=1000), strads.LinearSVC("l1", max_iter=1000)])
def test_a_thousand_iterations_are_enough_for_digits(model):
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X / 16, y)
    assert model.dual_gap_ <= model.tol and 1 <= model.n_iter_ <= 1000
    with pytest.warns(ConvergenceWarning, match="reached max_iter"):
        model.set_params(max_iter=1).fit(X / 16, y)
    assert model.n_iter_ == 1


# ---- cross-validation --------------------------------------------------------

SPLITS = [None, 3, KFold(4, shuffle=True, random_state=1),
          ShuffleSplit(3, random_state=0)]


@pytest.mark.parametrize("cv", SPLITS + ["list", "masks"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("jobs", [None, 2])
def test_lasso_cv_is_scikit_learns(cv, weighted, jobs):
    X, y = load_diabetes(return_X_y=True)
    folds = list(KFold(3).split(X))
    if cv == "masks":
        rows = np.arange(len(y))
        ours, theirs = [(np.isin(rows, a), np.isin(rows, b))
                        for a, b in folds], folds
    else:
        ours = theirs = folds if cv == "list" else cv
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    kind = sklearn.linear_model.LassoCV
    a = strads.LassoCV(cv=ours, n_alphas=12, tol=1e-10, n_jobs=jobs).fit(
        X, y, weight)
    # scikit-learn 1.2 draws the alphas without the weights.
    b = kind(cv=theirs, n_alphas=12, tol=1e-8, max_iter=100000,
             alphas=a.alphas_ if weighted else None).fit(X, y, weight)
    assert np.allclose(a.alphas_, b.alphas_, rtol=1e-9)
    assert np.allclose(a.mse_path_, b.mse_path_, rtol=1e-5)
    assert a.alpha_ == pytest.approx(b.alpha_) and a.alpha_1se_ >= a.alpha_
    assert np.allclose(a.coef_, b.coef_, atol=0.01)


def test_elastic_net_cv_is_scikit_learns_for_lists():
    X, y = load_diabetes(return_X_y=True)
    given = {"l1_ratio": [0.3, 0.9], "alphas": [0.1, 0.001, 1.0], "cv": 3}
    a = strads.ElasticNetCV(**given, tol=1e-10).fit(X, y)
    b = sklearn.linear_model.ElasticNetCV(**given, tol=1e-8,
                                          max_iter=100000).fit(X, y)
    assert a.mse_path_.shape == b.mse_path_.shape == (2, 3, 3)
    assert np.allclose(a.mse_path_, b.mse_path_, rtol=1e-5)
    assert (a.alpha_, a.l1_ratio_) == (b.alpha_, b.l1_ratio_)
    assert np.array_equal(np.atleast_2d(a.alphas_)[0],
                          np.atleast_2d(b.alphas_)[0])


@pytest.mark.parametrize("more", [
    {}, {"penalty": "l1"}, {"scoring": "neg_log_loss"},
    {"cv": StratifiedKFold(3, shuffle=True, random_state=2)},
    {"refit": False}, {"scoring": "roc_auc", "n_jobs": 2},
    {"penalty": "elasticnet", "l1_ratios": [0.2, 0.8]}])
def test_logistic_regression_cv_is_scikit_learns(more):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:200, :8]
    y = np.array(["bad", "good"])[y[:200]]
    ours = strads.LogisticRegressionCV(Cs=[1, 0.01, 0.1], tol=1e-9, **more)
    ours.fit(X, y)
    solver = "saga" if more.get("penalty") else "lbfgs"
    more.pop("n_jobs", None)
    theirs = sklearn.linear_model.LogisticRegressionCV(
        Cs=[1, 0.01, 0.1], tol=1e-6, max_iter=3000, solver=solver, **more)
    theirs.fit(X, y)
    assert list(ours.scores_) == list(theirs.scores_) == ["good"]
    assert ours.scores_["good"].shape == theirs.scores_["good"].shape
    assert np.allclose(ours.scores_["good"], theirs.scores_["good"],
                       atol=2e-3 if solver == "saga" else 1e-4)
    assert np.array_equal(ours.C_, theirs.C_) and ours.C_1se_ <= ours.C_
    assert np.array_equal(ours.Cs_, theirs.Cs_)
    assert np.allclose(ours.coef_, theirs.coef_, atol=2e-2)


def test_logistic_regression_cv_has_scikit_learns_defaults_on_three_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    ours = strads.LogisticRegressionCV().fit(X, names)
    theirs = sklearn.linear_model.LogisticRegressionCV(
        tol=1e-8, max_iter=10000).fit(X, names)
    assert ours.Cs_.shape == (10,) and np.allclose(ours.Cs_, theirs.Cs_)
    assert ours.C_.shape == theirs.C_.shape == (3,)
    assert sorted(ours.scores_) == sorted(theirs.scores_)
    assert ours.scores_["setosa"].shape == (5, 10)
    # Ties at the smallest C are broken by digits below the tolerance.
    assert np.allclose(ours.scores_["setosa"][:, 1:],
                       theirs.scores_["setosa"][:, 1:], atol=1e-9)
    assert np.allclose(ours.C_, theirs.C_)
    assert np.allclose(ours.coef_, theirs.coef_, atol=0.05)


def test_a_fold_without_a_class_is_named():
    X, y = load_iris(return_X_y=True)
    folds = [(np.flatnonzero(y < 2), np.flatnonzero(y == 2))]
    for names in (["a", "b", "c"], [0, 1, 5]):
        with pytest.raises(ValueError, match="without training rows of class "
                           f"{names[2]}"):
            strads.LogisticRegressionCV(cv=folds).fit(X, np.array(names)[y])


def test_groups_and_rows_without_weight_go_through_a_list_of_folds():
    X, y = load_diabetes(return_X_y=True)
    groups = np.arange(len(y)) % 6
    folds = list(LeaveOneGroupOut().split(X, y, groups))
    weight = (np.arange(len(y)) % 7 > 0).astype(float)
    model = strads.LassoCV(cv=folds, n_alphas=8, tol=1e-10).fit(X, y, weight)
    theirs = sklearn.linear_model.LassoCV(
        cv=folds, alphas=model.alphas_, tol=1e-8, max_iter=100000).fit(
            X, y, weight)
    assert np.allclose(model.mse_path_, theirs.mse_path_, rtol=1e-5)
    # An offset is split as the rows are.
    search = strads.GLMCV(cv=folds, n_alphas=5).fit(X, y, weight,
                                                    offset=0.1 * y)
    plain = strads.GLMCV(cv=folds, n_alphas=5).fit(X, 0.9 * y, weight)
    assert np.allclose(search.error_path_, plain.error_path_, rtol=1e-6)
    for wrong in ([], "five", 1, [(np.arange(9), np.array([10**6]))],
                  [(np.arange(9.0), np.arange(3))]):
        with pytest.raises(ValueError, match="cv"):
            strads.LassoCV(cv=wrong).fit(X, y)


def test_paths_take_a_list_of_alphas():
    X, y = load_diabetes(return_X_y=True)
    ours = strads.lasso_path(X, y, alphas=[0.1, 1.0, 0.5], tol=1e-10)
    theirs = sklearn.linear_model.lasso_path(X, y, alphas=[0.1, 1.0, 0.5],
                                             tol=1e-9, max_iter=100000)
    assert np.array_equal(ours[0], theirs[0])
    assert np.allclose(ours[1], theirs[1], atol=1e-3)
    assert strads.enet_path(X, y, alphas=7)[0].shape == (7,)


# ---- ten scripts -------------------------------------------------------------

TEXTS = [f"{good} film with {word} actors and {word} music"
         for word in ("fine", "lovely", "dull", "bad", "odd", "loud")
         for good in ("good", "great", "poor", "awful")] * 4
LIKED = np.array([int(text.split()[0] in ("good", "great")) for text in TEXTS])


def test_script_text_pipeline_with_a_grid_search():
    model = GridSearchCV(make_pipeline(
        TfidfVectorizer(), strads.LogisticRegression(
            penalty="l1", solver="liblinear", random_state=0)),
        {"logisticregression__C": [0.1, 1, 10, 100]}, cv=3, n_jobs=2)
    train, test, y, held = train_test_split(TEXTS, LIKED, random_state=0)
    assert model.fit(train, y).score(test, held) == 1.0
    assert model.predict_proba(test).shape == (len(test), 2)


def test_script_lasso_cv_and_its_plot():
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), strads.LassoCV(cv=20)).fit(X, y)
    lasso = model[-1]
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.semilogx(lasso.alphas_, lasso.mse_path_, linestyle=":")
    plt.plot(lasso.alphas_, lasso.mse_path_.mean(axis=-1), color="black")
    plt.axvline(lasso.alpha_, linestyle="--")
    plt.close("all")
    assert lasso.mse_path_.shape == (100, 20)
    assert lasso.alpha_ in lasso.alphas_


def test_script_multiclass_logistic_regression():
    X, y = load_iris(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, stratify=y, random_state=0)
    model = make_pipeline(StandardScaler(), strads.LogisticRegression(
        C=10, multi_class="multinomial", solver="newton-cg", max_iter=1000))
    model.fit(X_train, y_train)
    assert model.score(X_test, y_test) > 0.9
    assert np.allclose(model.predict_proba(X_test).sum(axis=1), 1)
    assert np.allclose(np.exp(model.predict_log_proba(X_test)),
                       model.predict_proba(X_test))


def test_script_column_transformer_on_a_frame():
    draws = np.random.default_rng(0)
    frame = pandas.DataFrame({
        "age": draws.integers(18, 80, 120), "city": draws.choice(
            ["Oslo", "Rome", "Lima"], 120), "income": draws.random(120)})
    y = frame["age"] / 10 + 3 * (frame["city"] == "Rome") + \
        draws.standard_normal(120) / 10
    model = make_pipeline(make_column_transformer(
        (OneHotEncoder(), ["city"]), (StandardScaler(), ["age", "income"])),
        strads.Lasso(alpha=0.01)).fit(frame, y)
    assert model.score(frame, y) > 0.98
    assert "onehotencoder__city_Rome" in model[:-1].get_feature_names_out()
    numbers = strads.Lasso(0.01).fit(frame[["age", "income"]], y)
    assert list(numbers.feature_names_in_) == ["age", "income"]
    with pytest.warns(UserWarning, match="feature names"):
        numbers.predict(frame[["age", "income"]].to_numpy())


def test_script_scaler_without_mean_on_sparse_text():
    model = make_pipeline(TfidfVectorizer(), StandardScaler(with_mean=False),
                          strads.LinearSVC(C=0.1, dual="auto"))
    assert model.fit(TEXTS, LIKED).score(TEXTS, LIKED) == 1.0
    model[-1].sparsify()
    assert sparse.issparse(model[-1].coef_)
    assert model.score(TEXTS, LIKED) == 1.0
    assert isinstance(model[-1].densify().coef_, np.ndarray)


def test_script_select_from_model_and_set_output():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    select = SelectFromModel(strads.LassoCV()).set_output(transform="pandas")
    kept = select.fit(X, y).transform(X)
    assert isinstance(kept, pandas.DataFrame) and 0 < kept.shape[1] < 10
    assert list(kept.columns) == list(select.get_feature_names_out())
    topics = strads.LatentDirichletAllocation(2, max_iter=5).set_output(
        transform="pandas")
    counts = (X > 0).astype(int)
    assert list(topics.fit_transform(counts).columns) == ["topic0", "topic1"]


def test_script_calibrated_svm():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(
        strads.LinearSVC(random_state=0), cv=3)).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2)
    assert model.score(X, y) > 0.95


def test_script_cross_val_score_in_processes():
    X, y = load_diabetes(return_X_y=True)
    model = strads.ElasticNet(alpha=0.01, l1_ratio=0.7, max_iter=5000)
    scores = cross_val_score(model, X, y, cv=4, n_jobs=2,
                             scoring="neg_mean_absolute_error")
    theirs = cross_val_score(sklearn.linear_model.ElasticNet(
        alpha=0.01, l1_ratio=0.7), X, y, cv=4,
        scoring="neg_mean_absolute_error")
    assert np.allclose(scores, theirs, rtol=1e-2)
    assert cross_val_predict(model, X, y, groups=y // 50,
                             cv=GroupKFold(3)).shape == y.shape


def test_script_clone_pickle_and_parameters():
    model = strads.LogisticRegressionCV(Cs=4, cv=KFold(3), scoring="f1",
                                        class_weight="balanced")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    twin = clone(model).set_params(Cs=[0.1, 1.0])
    assert model.get_params()["Cs"] == 4 and "Cs=[0.1, 1.0]" in repr(twin)
    twin.fit(X.iloc[:, :4], y)
    back = pickle.loads(pickle.dumps(twin))
    assert np.array_equal(back.predict(X.iloc[:, :4]), twin.predict(
        X.iloc[:, :4]))
    assert list(back.feature_names_in_) == list(X.columns[:4])


def test_script_counts_with_poisson_and_huber():
    draws = np.random.default_rng(1)
    X = draws.standard_normal((300, 5))
    y = draws.poisson(np.exp(0.5 + X @ [0.3, 0, -0.4, 0, 0.1]))
    ours = strads.PoissonRegressor(alpha=1e-3, solver="lbfgs",
                                   max_iter=300).fit(X, y)
    theirs = sklearn.linear_model.PoissonRegressor(
        alpha=1e-3, max_iter=300).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.predict(X).min() > 0
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-4)
    y = X @ [1, 2, 0, 0, -1] + draws.standard_normal(300)
    y[::15] += 30
    ours = strads.HuberRegressor(tol=1e-9).fit(X, y)
    theirs = sklearn.linear_model.HuberRegressor(tol=1e-9, max_iter=1000).fit(
        X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-4)
    assert np.array_equal(ours.outliers_, theirs.outliers_)
    exact = strads.HuberRegressor().fit(X, X @ [1, 2, 0, 0, -1])
    assert np.allclose(exact.coef_, [1, 2, 0, 0, -1], atol=1e-6)


@pytest.mark.parametrize("power", [0, 1, 1.3, 1.9, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviances_are_scikit_learns(power, weighted):
    draws = np.random.default_rng(4)
    X = draws.standard_normal((200, 4))
    y = draws.gamma(2, np.exp(X @ [0.3, 0, -0.4, 0.1]))
    if 0 < power < 2:
        y *= draws.random(200) < 0.7
    weight = draws.random(200) if weighted else None
    pairs = [(strads.TweedieRegressor(power=power, alpha=0.01, tol=1e-10),
              sklearn.linear_model.TweedieRegressor(
                  power=power, alpha=0.01, tol=1e-7, max_iter=1000))]
    if power == 2:
        pairs.append((strads.GammaRegressor(alpha=0.01, tol=1e-10), pairs[0][1]
                      ))
    for ours, theirs in pairs:
        ours.fit(X, y, weight), theirs.fit(X, y, weight)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-3)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-4)
    if power:
        loss, p = {1: ("poisson", None), 2: ("gamma", None)}.get(
            power, ("tweedie", power))
        search = strads.GLMCV(loss, loss_parameter=p, n_alphas=4, cv=3,
                              tol=1e-9).fit(X, y)
        held = next(KFold(3).split(X))[1]
        rest = np.setdiff1d(np.arange(200), held)
        model = strads.GLM(loss, loss_parameter=p, alpha=search.alphas_[2],
                           tol=1e-10).fit(X[rest], y[rest])
        assert search.error_path_[2, 0] == pytest.approx(
            mean_tweedie_deviance(y[held], model.predict(X[held]),
                                  power=power), rel=1e-4)


@pytest.mark.parametrize("wrong", [{"power": 0.5}, {"power": 3},
                                   {"link": "log"},
                                   {"power": 1, "link": "identity"}])
def test_powers_and_links_that_the_engine_lacks_are_named(wrong):
    X, y = data_for("PoissonRegressor")
    with pytest.raises(ValueError, match="power|link"):
        strads.TweedieRegressor(**wrong).fit(X, y)


# ---- files -------------------------------------------------------------------

@pytest.mark.parametrize("name", ESTIMATORS)
def test_save_and_load_keep_every_estimator(name, tmp_path):
    X, y = data_for(name)
    model = easy(name).fit(X, y)
    model.callbacks = [print]
    path = tmp_path / "model.json"
    model.save(path)
    back = type(model).load(path)
    if name == "LatentDirichletAllocation":  # the command's file: no parameters
        back.set_params(random_state=model.random_state)
    ask = model.predict if hasattr(model, "predict") else model.transform
    again = back.predict if hasattr(back, "predict") else back.transform
    assert np.array_equal(ask(X), again(X))
    if name != "LatentDirichletAllocation":
        left = {k: v for k, v in model.get_params().items() if k != "callbacks"}
        assert {k: back.get_params()[k] for k in left} == left
        for key, value in vars(model).items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(getattr(back, key), value), key
    wrong = strads.Lasso if name != "Lasso" else strads.GLM
    with pytest.raises(ValueError):
        wrong.load(path)
    whole = path.read_text()
    path.write_text(whole[:len(whole) // 2])
    with pytest.raises(ValueError):
        type(model).load(path)


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1],
                                    ["a", "b", "c"], [-2.0, 1.0, 7.0]])
def test_a_loaded_classifier_has_its_labels_and_names(labels, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(labels)[np.minimum(y, len(labels) - 1)]
    model = strads.LogisticRegressionCV(Cs=2, cv=KFold(3, shuffle=True)).fit(
        X, y)
    model.save(tmp_path / "m.json")
    back = strads.LogisticRegressionCV.load(tmp_path / "m.json")
    assert np.array_equal(back.predict(X), model.predict(X))
    assert back.classes_.dtype == model.classes_.dtype
    assert list(back.feature_names_in_) == list(X.columns)
    assert np.array_equal(back.scores_[labels[-1]], model.scores_[labels[-1]])
    assert back.cv is None  # an object


@pytest.mark.parametrize("model, verb", [
    (strads.Lasso(0.1), "lasso"), (strads.LinearSVR(), "svm"),
    (strads.GLM("huber"), "glm"), (strads.LinearSVC(), "svm"),
    (strads.LogisticRegression(), "logistic"),
    (strads.LogisticRegression(multi_class="ovr"), "logistic")])
def test_the_command_predicts_with_a_saved_model(model, verb, tmp_path):
    X, y = load_iris(return_X_y=True)
    if verb in ("lasso", "glm") or model.__class__ is strads.LinearSVR:
        y = X[:, 0] - X[:, 1] / 3
    model.fit(X, y).save(tmp_path / "model.json")
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    told = subprocess.run(
        [os.environ["STRADS_BIN"], verb, "evaluate",
         str(tmp_path / "model.json"), str(tmp_path / "data.svm"), "--json"],
        check=True, capture_output=True, text=True).stdout
    measures = json.loads(told)
    score = measures.get("accuracy") or measures["r2"]
    assert score[0] == pytest.approx(model.score(X, y), abs=1e-6)


# ---- the table of defaults ---------------------------------------------------

def test_the_table_of_defaults_is_true():
    with open(os.path.join(os.environ["STRADS_SOURCE"], "docs",
                           "defaults.md"), encoding="utf-8") as page:
        claims = re.findall(r"`(\w+)\((\w+=[^`]*)\)`", page.read())
    assert len(claims) > 30
    for name, given in claims:
        given = eval(f"dict({given})")
        signature = inspect.signature(getattr(strads, name)).parameters
        for parameter, value in given.items():
            assert signature[parameter].default == value, (name, parameter)
