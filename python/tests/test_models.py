"""Estimators against independent answers, interrupts, files, tools."""
import copy
import json
import os
import pickle
import signal
import subprocess
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import strads

BIN = os.environ.get("STRADS_BIN", "strads")


def regression(rows=300, cols=80, seed=0):
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((rows, cols))
    X[draws.random(X.shape) < 0.5] = 0
    y = X[:, :5].sum(axis=1) + 0.3 * draws.standard_normal(rows) + 2
    return X, y


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_matrix,
                                  sparse.csr_matrix, sparse.coo_matrix])
@pytest.mark.parametrize("jobs", [1, 2])
def test_lasso_is_scikit_learns_from_every_form(form, jobs):
    X, y = regression()
    ours = strads.Lasso(0.05, tol=1e-12, n_jobs=jobs).fit(form(X), y)
    theirs = linear_model.Lasso(0.05, tol=1e-14, max_iter=100000).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert abs(ours.intercept_ - theirs.intercept_) < 1e-6
    assert ours.dual_gap_ <= 1e-12


def test_elastic_net_satisfies_its_kkt_conditions_with_weights():
    X, y = regression()
    weight = np.random.default_rng(3).random(len(y)) + 0.1
    weight[:7] = 0
    model = strads.ElasticNet(0.1, l1_ratio=0.6, tol=1e-13).fit(
        X, y, sample_weight=weight)
    residual = weight * (y - model.predict(X)) / weight.sum()
    gradient = X.T @ residual - 0.1 * 0.4 * model.coef_
    active = model.coef_ != 0
    assert np.allclose(gradient[active], 0.06 * np.sign(model.coef_[active]),
                       atol=1e-6)
    assert np.all(np.abs(gradient[~active]) <= 0.06 + 1e-6)
    assert abs(residual.sum()) < 1e-6


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_logistic_regression_is_liblinears_or_lbfgs(penalty):
    X, y = regression()
    y = np.where(y > 2, "late", "early")
    ours = strads.LogisticRegression(penalty, C=0.7, tol=1e-11).fit(X, y)
    theirs = linear_model.LogisticRegression(
        penalty, C=0.7, tol=1e-10, max_iter=100000,
        solver="saga" if penalty == "l1" else "lbfgs").fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X),
                       atol=1e-3)
    assert list(ours.classes_) == ["early", "late"]


def test_softmax_is_scikit_learns_multinomial():
    X, y = regression()
    y = np.digitize(y, [1, 3])
    ours = strads.LogisticRegression(C=0.5, tol=1e-10).fit(X, y)
    theirs = linear_model.LogisticRegression(C=0.5, tol=1e-10,
                                             max_iter=10000).fit(X, y)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X),
                       atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svm_is_at_the_optimum_that_liblinear_finds(loss):
    from sklearn.svm import LinearSVC
    X, y = regression()
    y = np.where(y > 2, 1, -1)

    def objective(model):
        margin = np.maximum(0, 1 - y * model.decision_function(X))
        return (0.5 * (model.coef_ @ model.coef_.T).item()
                + 0.5 * model.intercept_.item() ** 2
                + np.sum(margin ** (1 if loss == "hinge" else 2)))
    ours = objective(strads.LinearSVC(loss=loss, tol=1e-9).fit(X, y))
    theirs = objective(LinearSVC(loss=loss, tol=1e-9, max_iter=1000000).fit(
        X, y))
    assert ours <= theirs * (1 + 1e-6)


def test_balanced_classes_are_their_weights():
    X, y = regression()
    y = (y > 3.5).astype(int)
    each = len(y) / (2 * np.bincount(y))
    weighed = strads.LinearSVC(tol=1e-9).fit(X, y, sample_weight=each[y])
    balanced = strads.LinearSVC(tol=1e-9, class_weight="balanced").fit(X, y)
    assert np.array_equal(weighed.coef_, balanced.coef_)


def test_path_certifies_each_point():
    X, y = regression()
    alphas, coefs, gaps = strads.lasso_path(X, y, n_alphas=20, eps=0.01)
    assert np.all(gaps <= 1e-6) and np.all(np.diff(alphas) < 0)
    for k in (5, 19):
        theirs = linear_model.Lasso(alphas[k], fit_intercept=False,
                                    tol=1e-12, max_iter=100000).fit(X, y)
        assert np.allclose(coefs[:, k], theirs.coef_, atol=2e-3)


def test_fits_are_the_same_bits_on_one_and_two_threads():
    draws = np.random.default_rng(1)
    X = draws.poisson(0.3, (200, 60)).astype(float)
    fits = [strads.LatentDirichletAllocation(
        5, max_iter=20, partitions=2, n_jobs=jobs, random_state=3).fit(X)
        for jobs in (1, 2)]
    assert np.array_equal(fits[0].components_, fits[1].components_)


def test_topics_that_were_planted_are_found():
    draws = np.random.default_rng(2)
    topics = np.zeros((3, 30))
    for k in range(3):
        topics[k, 10 * k:10 * k + 10] = 0.1
    shares = draws.dirichlet([0.1] * 3, 150)
    X = np.stack([draws.multinomial(80, p) for p in shares @ topics])
    model = strads.LatentDirichletAllocation(3, random_state=1).fit(X)
    groups = {tuple(sorted(set(words // 10)))
              for words in model.top_words(8)}
    assert groups == {(0,), (1,), (2,)}
    found = model.transform(X)
    match = np.abs(np.corrcoef(found.T, shares.T)[:3, 3:]).max(axis=1)
    assert np.all(match > 0.95)
    assert model.perplexity(X) < 15  # about 30 without topics, 10 within one


def test_tokens_and_ratings_on_disk_give_the_model_in_memory(tmp_path):
    draws = np.random.default_rng(3)
    X = sparse.random(200, 80, 0.2, "csr", random_state=3,
                      data_rvs=lambda n: draws.integers(1, 5, n))
    topics = {"n_components": 5, "max_iter": 10, "random_state": 0, "n_jobs": 1}
    factors = {"rank": 3, "method": "sgd", "penalty": 0.02, "random_state": 0,
               "n_jobs": 1}
    for kind, options, found in (
            (strads.LatentDirichletAllocation, topics, "components_"),
            (strads.MatrixFactorization, factors, "item_factors_")):
        memory = kind(**options).fit(X)
        disk = kind(**options, scratch=str(tmp_path)).fit(X)
        np.testing.assert_array_equal(getattr(disk, found),
                                      getattr(memory, found))
        for wrong in (str(tmp_path / "missing"), 3):
            with pytest.raises(ValueError, match="scratch is .* a folder"):
                kind(**options, scratch=wrong).fit(X)
    for options in ({"method": "als"}, {"method": "cd"},
                    {"method": "als", "nonnegative": True},
                    {"implicit": True, "cg_steps": 0},
                    {"implicit": True, "cg_steps": 3}):
        fits = [strads.MatrixFactorization(
            3, penalty=0.1, random_state=0, scratch=folder, **options).fit(X)
            for folder in (None, str(tmp_path))]
        for found in "user_factors_", "item_factors_":
            np.testing.assert_array_equal(*[getattr(fit, found)
                                            for fit in fits])
    with pytest.raises(ValueError, match="methods sgd, als and cd"):
        strads.MatrixFactorization(3, method="ccd++", penalty=0.1,
                                   scratch=str(tmp_path)).fit(X)
    assert not list(tmp_path.iterdir())


def test_many_lists_and_similar_rows_agree_with_numpy():
    draws = np.random.default_rng(8)
    X = sparse.random(90, 70, 0.3, "csr", random_state=8,
                      data_rvs=lambda n: draws.integers(1, 9, n))
    for options in {"cg_steps": 3}, {"loss": "warp"}:
        model = strads.MatrixFactorization(
            6, implicit=True, random_state=0, **options).fit(X)
        scores = model.user_factors_ @ model.item_factors_.T + \
            model.item_bias_
        lists = model.recommend(n=5, seen=X)
        assert len(lists) == 90
        for u in range(90):
            free = np.where(X[u].toarray()[0] > 0, -np.inf, scores[u])
            assert [i for i, _ in lists[u]] == list(np.argsort(-free)[:5])
        assert model.recommend([7, 3], 5, seen=X) == [lists[7], lists[3]]
        for rows, similar in ((model.item_factors_, model.similar_items),
                              (model.user_factors_, model.similar_users)):
            unit = rows / np.linalg.norm(rows, axis=1)[:, None]
            cosine = unit @ unit.T
            np.fill_diagonal(cosine, -np.inf)
            every = similar(n=4)
            for k in range(len(rows)):
                assert [i for i, _ in every[k]] == \
                    list(np.argsort(-cosine[k])[:4])
            assert similar(2, 4) == every[2]
    with pytest.raises(ValueError, match="expected \\(90, 70\\)"):
        model.recommend(seen=X.T)
    with pytest.raises(ValueError, match="has no effect on loss bpr"):
        strads.MatrixFactorization(6, loss="bpr", alpha=2).fit(X)


def test_factors_recommend_by_name_and_fold_in():
    pandas = pytest.importorskip("pandas")
    draws = np.random.default_rng(4)
    p, q = draws.standard_normal((2, 40, 3))
    frame = pandas.DataFrame(
        [(f"u{u}", f"i{i}", p[u] @ q[i]) for u in range(40) for i in range(40)
         if draws.random() < 0.6], columns=["user", "item", "rating"])
    model = strads.MatrixFactorization(8, max_iter=60).fit(frame)
    assert model.validation_error_ < 0.7 * frame.rating.std()
    assert model.recommend(["u3", "u1"], 5) == [model.recommend("u3", 5),
                                                model.recommend("u1", 5)]
    truth = [p[3] @ q[int(name[1:])] for name, _ in model.recommend("u3", 5)]
    assert np.mean(truth) > np.sort(p[3] @ q.T)[-12]
    mine = frame[frame.user == "u5"]
    bias, factors = model.fold_in(mine.assign(user="new"))
    again = model.mean_ + bias[0] + model.item_bias_ + \
        model.item_factors_ @ factors[0]
    seen = [list(model.items_).index(i) for i in mine.item]
    assert np.corrcoef(again[seen], mine.rating)[0, 1] > 0.9
    with pytest.raises(ValueError, match="no user 'u99'"):
        model.rate("u99", "i1")


def test_ctrl_c_keeps_the_model_so_far():
    draws = np.random.default_rng(0)
    B = draws.standard_normal((400, 300))
    X = .03 * B + draws.standard_normal((400, 1))
    y = X[:, :5].sum(axis=1) + draws.standard_normal(400)
    model = strads.Lasso(1e-7, tol=1e-300, max_iter=None)
    seen, sent = threading.Event(), threading.Event()

    def holds_the_fit(progress):  # until the signal comes
        if progress.round >= 5:
            seen.set()
            sent.wait(30)
    model.callbacks = [holds_the_fit]

    def interrupt():
        seen.wait(30)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        sent.set()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    thread.join()
    assert np.any(model.coef_ != 0) and model.n_iter_ >= 1


def test_a_callback_ends_a_fit_and_its_exception_is_raised():
    X, y = regression()
    calls = []
    strads.Lasso(0.001, tol=1e-15, callbacks=[
        lambda p: calls.append(p) or True]).fit(X, y)
    assert len(calls) == 1 and calls[0].objective > 0

    def fails(progress):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        strads.Lasso(0.001, callbacks=[fails]).fit(X, y)


def test_works_in_pipelines_searches_pickles_and_clones():
    X, y = regression()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), strads.Lasso()),
        {"lasso__alpha": [0.3, 0.03]}, n_jobs=2, cv=3).fit(X, y)
    assert search.best_params_ == {"lasso__alpha": 0.03}
    model = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(model.predict(X), search.predict(X))
    assert clone(strads.LinearSVC(C=3)).C == 3
    warm = strads.Lasso(0.02, warm_start=True).fit(X, y)
    cold = warm.n_iter_
    assert warm.fit(X, y).n_iter_ < cold


def test_names_of_features_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y = regression(cols=3)
    model = strads.Lasso(0.01).fit(
        pandas.DataFrame(X, columns=["a", "b", "c"]), y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert ">a</td>" in model._repr_html_()
    assert ">a</td>" in model._repr_mimebundle_()["text/html"]


def test_notebooks_show_topics_and_factors():
    counts = np.random.default_rng(8).poisson(1.0, (30, 12))
    for model in (strads.LatentDirichletAllocation(3, max_iter=5),
                  strads.MatrixFactorization(2, max_iter=5)):
        assert "<table>" not in model._repr_html_()
        model.fit(counts)
        assert "<table>" in model._repr_mimebundle_()["text/html"]
    assert "<td style='text-align:left'>30</td>" in model._repr_html_()


def test_factorisation_machines_learn_pairs_and_are_models_of_the_command(
        tmp_path):
    draws = np.random.default_rng(5)
    X = draws.standard_normal((300, 6))
    X[draws.random(X.shape) < 0.3] = 0
    y = 2 * X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3] + X[:, 4]
    model = strads.FactorizationMachine(3, alpha=1e-5).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.99
    assert strads.FactorizationMachine(0).fit(X, y).score(X, y) < 0.5
    pairs = model.factors_ @ model.factors_.T
    plain = [model.intercept_ + x @ model.coef_ + sum(
        pairs[j, k] * x[j] * x[k] for j in range(6) for k in range(j))
        for x in X]
    assert np.allclose(model.predict(X), plain)
    assert np.allclose(model.predict(sparse.csr_matrix(X)), plain)
    classes = np.where(y > 0, "yes", "no")
    sides = strads.FactorizationMachineClassifier(3, alpha=1e-3).fit(X, classes)
    assert sides.score(X, classes) > 0.95
    assert np.array_equal(sides.predict_proba(X)[:, 1] > 0.5,
                          sides.predict(X) == "yes")
    steps = strads.FactorizationMachine(3, method="sgd", step=.3, alpha=1e-5,
                                        max_iter=300).fit(X[:200], y[:200])
    assert steps.score(X[200:], y[200:]) > 0.95
    had = draws.random((8, 8)) < .5
    pairs = sparse.csr_matrix(np.hstack([np.repeat(np.eye(8), 8, 0),
                                         np.tile(np.eye(8), (8, 1))]))
    order = strads.FactorizationMachine(8, loss="bpr", context=8, alpha=1e-4,
                                        max_iter=300)
    order.fit(pairs[had.ravel()], np.ones(had.sum()))
    scores = order.predict(pairs).reshape(8, 8)
    right = [a > b for u in range(8) for a in scores[u][had[u]]
             for b in scores[u][~had[u]]]
    assert np.mean(right) > 0.95
    with pytest.raises(ValueError, match="--context"):
        strads.FactorizationMachine(loss="bpr").fit(pairs, had.ravel())
    dump_svmlight_file(X, y, tmp_path / "rows.svm", zero_based=False)
    for fitted in model, sides:
        path = tmp_path / "model.json"
        fitted.save(path)
        again = type(fitted).load(path)
        assert np.array_equal(again.predict(X), fitted.predict(X))
        said = subprocess.run(
            [BIN, "fm", "predict", path, tmp_path / "rows.svm"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        assert np.allclose(np.array(said.split(), float),
                           sides.predict_proba(X)[:, 1]
                           if fitted is sides else plain)


def test_factors_without_options_are_chosen_by_held_out_ratings():
    draws = np.random.default_rng(4)
    p, q = draws.standard_normal((2, 150, 3))
    full = 3 + p @ q.T + 0.3 * draws.standard_normal((150, 150))
    seen = draws.random(full.shape) < 0.3
    ratings = sparse.csr_matrix(np.where(seen, full, 0))
    model = strads.MatrixFactorization(random_state=1).fit(ratings)
    assert model.item_factors_.shape[1] > 0 and len(model.trials_) > 3
    assert [t["rmse"] for t in model.trials_ if t["chosen"]] == \
        [model.validation_error_]
    users, items = np.nonzero(~seen)
    error = np.sqrt(np.mean((model.rate(users, items) - full[~seen]) ** 2))
    assert error < 0.75
    again = strads.MatrixFactorization(random_state=1, n_jobs=1).fit(ratings)
    assert np.array_equal(again.item_factors_, model.item_factors_)
    biases = strads.MatrixFactorization(0).fit(ratings)
    assert biases.item_factors_.shape == (150, 0) and not biases.trials_
    low, high = biases.range_
    rated = biases.rate(users, items)
    assert np.all((rated >= low) & (rated <= high))
    assert len(biases.recommend(3, 5)) == 5
    parts = strads.MatrixFactorization(nonnegative=True, tune=4).fit(ratings)
    assert parts.item_factors_.min() >= 0 and len(parts.trials_) == 4


def test_models_of_the_command_are_read_and_written(tmp_path):
    X, y = regression(cols=20)
    data = tmp_path / "data.svm"
    with open(data, "w", encoding="utf-8") as file:
        for row, label in zip(X, y):
            entries = " ".join(f"{j + 1}:{float(v)!r}"
                               for j, v in enumerate(row) if v)
            file.write(f"{float(label)!r} {entries}\n")
    path = tmp_path / "model.json"
    subprocess.run([BIN, "lasso", "train", str(data), "--lambda", "0.05",
                    "--intercept", "--model", str(path)], check=True,
                   capture_output=True)
    read = strads.read_model(path)
    ours = strads.Lasso(0.05).fit(X, y)
    assert read.program == "lasso"
    assert np.allclose(read.coef, ours.coef_, atol=1e-6)
    again = tmp_path / "again.json"
    read.save(again)
    said = subprocess.run([BIN, "lasso", "predict", str(again), str(data)],
                          check=True, capture_output=True, text=True).stdout
    assert np.allclose(np.array(said.split(), dtype=float), ours.predict(X),
                       atol=1e-5)
    with pytest.raises(ValueError, match="is no model of strads"):
        strads.read_model(data)


def test_a_model_of_any_program_is_saved_without_a_loss(tmp_path):
    """Of each program of the command that writes files that read_model reads."""
    draws = np.random.default_rng(1)
    X = draws.standard_normal((120, 3))
    lines = ["size,the age,a\u00a0gap,y,kind,half,event"]
    for k, (a, b, c) in enumerate(X):
        y = a - b + 0.3 * draws.standard_normal()
        lines.append(f"{'' if k % 9 == 4 else a},{b},{c},{y},"
                     f"{['low', 'mid', 'top'][int(y > -.7) + int(y > .7)]},"
                     f"{'no' if y < 0 else 'yes'},"
                     f"{(1 if k % 4 else -1) * np.exp(-a)}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "text").write_text("".join(
        " ".join(draws.choice(["coal iron ore", "ship sea port"][k % 2].split(),
                              9)) + "\n" for k in range(60)))
    (tmp_path / "labels").write_text("mine\nsea\n" * 30)
    (tmp_path / "net").write_text("".join(
        f"p{u} p{v}\n" for u in range(30) for v in range(u)
        if draws.random() < (.6 if u // 15 == v // 15 else .05)))
    (tmp_path / "ids").write_text("".join(
        f"{5 - k % 2} " + " ".join(f"{40000000 * (w + 1)}:2" for w in
                                   range(k % 2, 5)) + "\n"
        for k in range(20)))

    def table(target, *drop):
        return ["t.csv", "--target", target, "--missing", "mean",
                "--drop", ",".join(drop)]
    numbers = table("y", "kind", "half", "event")
    kinds = table("kind", "y", "half", "event")
    halves = table("half", "y", "kind", "event")
    times = table("event", "y", "kind", "half")
    topics = ["--topics", "2", "--sweeps", "20"]
    for words in (
            ["lasso", "train", *numbers, "--lambda", "0.05"],
            ["logistic", "train", *kinds], ["svm", "train", *kinds],
            ["sgd-logistic", "train", *halves, "--max-rounds", "9"],
            ["glm", "train", *numbers, "--loss", "huber"],
            ["glm", "train", *kinds, "--loss", "multinomial"],
            ["glm", "train", *kinds, "--loss", "ordinal"],
            ["glm", "train", *times, "--loss", "cox"],
            ["fm", "train", *numbers, "--rank", "2"],
            ["net", "train", *kinds, "--hidden", "3"],
            ["lda", "train", "text", *topics],
            ["lda", "train", "text", *topics, "--labels", "labels"],
            ["lda", "train", "ids", *topics],
            ["roles", "train", "net", "--roles", "2", "--hold-out", "0.1"]):
        said = subprocess.run([BIN, *words, "--model", "m.json", "--quiet"],
                              cwd=tmp_path, capture_output=True, text=True)
        assert said.returncode in (0, 3), (words, said.stderr)
        strads.read_model(tmp_path / "m.json").save(tmp_path / "again.json")
        before, after = (json.loads((tmp_path / name).read_text("utf-8"))
                         for name in ("m.json", "again.json"))
        if np.size(before.get("intercept", 0)) == 1 < before.get("width", 1):
            before["intercept"] = [before["intercept"]] * before["width"]
        assert after == before, words
        if words[0] in ("lda", "roles"):
            assert (tmp_path / "m.json.npy").read_bytes() == \
                (tmp_path / "again.json.npy").read_bytes()
        elif words[0] != "net":
            assert before["target"] and before["means"], words
    pickled = pickle.loads(pickle.dumps(strads.read_model(tmp_path / "m.json")))
    pickled.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text("utf-8")) == before
    with pytest.raises(ValueError, match="means of a model"):
        strads.Model("lasso", [1.0, 2], names=["a", "b"], means=[1]).save("x")
    with pytest.raises(ValueError, match="means of a model"):
        strads.Model("lasso", [1.0, 2], means=[1, 2])


def test_topics_have_the_words_of_their_seeds(tmp_path):
    draws = np.random.default_rng(5)
    themes = (["coal", "iron", "steel", "ore"], ["ship", "sail", "sea", "port"])
    texts = [" ".join(draws.choice(themes[i % 2], 12)) for i in range(200)]
    for order in 1, -1:
        seeds = dict([("mines", ["coal", "pink"]), ("sea trade", "ship port")]
                     [::order])
        model = strads.LatentDirichletAllocation(
            2, max_iter=20, seed_words=seeds, random_state=1)
        with pytest.warns(UserWarning, match="'pink' not among"):
            model.fit(texts)
        assert model.topic_names_ == list(seeds)
        for words, theme in zip(model.top_words(2), themes[::order]):
            assert set(words) <= set(theme)
    model.save(tmp_path / "t.json")
    read = strads.read_model(tmp_path / "t.json")
    assert read.topic_names_ == ["sea trade", "mines"]
    X = np.zeros((40, 3))
    X[::2, 0], X[1::2, 2] = 5, 5
    by_number = strads.LatentDirichletAllocation(
        2, max_iter=20, seed_words=[[2], [0]], random_state=1).fit(X)
    assert by_number.top_words(1).ravel().tolist() == [2, 0]
    assert by_number.topic_names_ is None
    for bad in "coal", [[]], {"a:b": ["coal"]}, [3]:
        with pytest.raises(ValueError, match="seed_words"):
            strads.LatentDirichletAllocation(2, seed_words=bad).fit(X)
    with pytest.raises(ValueError, match="3 topics; expected at most 2"):
        strads.LatentDirichletAllocation(2, seed_words=[[0]] * 3).fit(X)


def test_merge_topics_joins_copies_of_a_topic():
    draws = np.random.default_rng(6)
    phi = draws.dirichlet(np.full(60, 0.1), 3)
    X = np.array([draws.multinomial(60, phi[i % 3]) for i in range(150)])
    model = strads.LatentDirichletAllocation(
        3, max_iter=60, doc_topic_prior=0.1, topic_word_prior=0.01,
        random_state=1).fit(X)
    # A fourth topic takes half of the tokens of the first one's words.
    start, topic, count = [0], [], []
    for w in range(60):
        for k, n in zip(model.topic_[model.start_[w]:model.start_[w + 1]],
                        model.count_[model.start_[w]:model.start_[w + 1]]):
            topic.append(k), count.append(n if k else n - n // 2)
        first = model.topic_[model.start_[w]:model.start_[w + 1]] == 0
        if first.any() and model.count_[model.start_[w]] > 1:
            topic.append(3), count.append(model.count_[model.start_[w]] // 2)
        start.append(len(topic))
    double = copy.copy(model)
    double.start_ = np.array(start, np.uint64)
    double.topic_ = np.array(topic, np.uint32)
    double.count_ = np.array(count, np.uint32)
    double.alpha_ = np.append(model.alpha_, 0.3)
    double.components_ = np.vstack([model.components_, model.components_[:1]])
    merged = double.merge_topics(0.9)
    assert merged.merged_.tolist() == [0, 1, 2, 0]
    assert merged.n_components == 3
    np.testing.assert_array_equal(merged.components_, model.components_)
    np.testing.assert_allclose(merged.alpha_, model.alpha_ + [0.3, 0, 0])
    np.testing.assert_allclose(merged.transform(X).sum(axis=1), 1)
    assert len(double.alpha_) == 4
    assert model.merge_topics().merged_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="cosine"):
        model.merge_topics(0)


def test_topics_of_texts_have_words(tmp_path):
    draws = np.random.default_rng(5)
    themes = (["coal", "iron", "steel", "ore"], ["ship", "sail", "sea", "port"])
    texts = [" ".join(["the", "and", "of", "don't", str(i)] +
                      list(draws.choice(themes[i % 2], 12)))
             for i in range(400)]
    model = strads.LatentDirichletAllocation(2, random_state=1).fit(texts)
    assert sorted(model.vocabulary_) == sorted(themes[0] + themes[1])
    assert {tuple(sorted(w)) for w in model.top_words(4)} == {
        tuple(sorted(t)) for t in themes}
    assert {tuple(sorted(w)) for w in model.top_words(4, by="frex")} == {
        tuple(sorted(w)) for w in model.top_words(4)}
    assert model.top_words(5)[0][4] is None
    assert model.n_samples_ == 10 and model.n_iter_ < 1000
    assert model.beta_ != 0.01 and np.all(model.alpha_ != 0.1)
    shares = model.transform(["coal ore ore iron", "sea port, unknown"])
    assert shares.argmax(axis=1)[0] != shares.argmax(axis=1)[1]
    total = sum(len(t.split()) - 5 for t in texts)
    assert np.isclose((model.components_ - model.beta_).sum(), total)
    model.save(tmp_path / "t.json")
    read = strads.read_model(tmp_path / "t.json")
    assert np.array_equal(read.transform(texts[:9]), model.transform(texts[:9]))
    pandas = pytest.importorskip("pandas")
    series = strads.LatentDirichletAllocation(2, random_state=1).fit(
        pandas.Series(texts))
    assert np.array_equal(series.components_, model.components_)
    assert list(model.topics_.columns) == list(range(10))
    frame = pandas.DataFrame([[3, 0], [2, 0], [0, 4]], columns=["a", "b"])
    few = strads.LatentDirichletAllocation(2, max_iter=5).fit(frame)
    assert set(few.top_words(1).ravel()) <= {"a", "b", None}
    all_words = strads.LatentDirichletAllocation(
        2, max_iter=5, stop_words=None).fit(texts)
    assert {"the", "don't"} < set(all_words.vocabulary_)
    with pytest.raises(ValueError, match="X is one text"):
        model.fit("coal")
    with pytest.raises(ValueError, match="no names of words"):
        strads.LatentDirichletAllocation(2, max_iter=5).fit(
            np.eye(3)).transform(["coal"])


def test_saved_models_have_the_names_of_a_frames_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = regression(60, 5)
    names = ["size", "the age", "Zahl", "d,e", "\u00e4"]
    frame = pandas.DataFrame(X, columns=names)
    table, path = tmp_path / "t.csv", tmp_path / "m.json"
    frame[names[::-1]].to_csv(table, index=False)
    for model, labels in (
            (strads.Lasso(0.01), y), (strads.LassoCV(n_alphas=5), y),
            (strads.LinearSVR(), y), (strads.GLM(alpha=0.01), y),
            (strads.LogisticRegression(), y > 2),
            (strads.OrdinalRegression(), np.digitize(y, [1, 3])),
            (strads.FactorizationMachine(2), y)):
        program = model.fit(frame, labels)
        program.save(path)
        with open(path) as file:
            kept = json.load(file)
        assert kept["names"] == names
        assert strads.read_model(path).names == names
        again = type(model).load(path)
        assert again.feature_names_in_.tolist() == names
        shown = subprocess.run([BIN, kept["program"], "show", str(path)],
                               check=True, capture_output=True, text=True)
        assert "the age" in shown.stdout
        if not hasattr(model, "classes_"):  # the table has another order
            said = subprocess.run(
                [BIN, kept["program"], "predict", str(path), str(table)],
                check=True, capture_output=True, text=True).stdout
            assert np.allclose(np.array(said.split(), dtype=float),
                               model.predict(frame), atol=1e-9)
    twice = frame.set_axis(["a", "a", "b", "c", "d"], axis=1)
    strads.Lasso().fit(twice, y).save(path)  # no names that a table could have
    assert strads.read_model(path).names is None


def test_lists_of_items_lack_the_seen_ones_in_any_form():
    pandas = pytest.importorskip("pandas")
    draws = np.random.default_rng(11)
    frame = pandas.DataFrame({"user": draws.integers(0, 12, 150),
                              "item": draws.integers(0, 20, 150),
                              "rating": draws.integers(1, 6, 150)})
    frame = frame.drop_duplicates(["user", "item"])
    frame["user"], frame["item"] = ("u" + frame.user.astype(str),
                                    "i" + frame.item.astype(str))
    model = strads.MatrixFactorization(2, max_iter=3).fit(frame)
    had = {user: set(own) for user, own in frame.groupby("user")["item"]}
    other = pandas.DataFrame({"user": ["nobody", "u1"], "item": ["i1", "new"],
                              "rating": [1, 1]})
    asked = ["u3", "u1", "u3"]
    everything = model.recommend(asked, 20)
    wanted = [[pair for pair in own if pair[0] not in had[user]]
              for user, own in zip(asked, everything)]
    for seen in (frame, pandas.concat([frame, other]), frame[["user", "item"]],
                 [list(had[user]) for user in asked],
                 [had[user] for user in asked]):
        assert model.recommend(asked, 20, seen=seen) == wanted
    assert model.recommend("u1", 20, seen=frame) == wanted[1]
    assert model.recommend("u1", 20, seen=list(had["u1"])) == wanted[1]
    assert model.recommend(asked, 20, seen=[[], [], []]) == everything
    with pytest.raises(ValueError, match="2 lists of items; expected 3"):
        model.recommend(asked, seen=[["i1"], ["i2"]])
    with pytest.raises(ValueError, match="lists and single items"):
        model.recommend(asked, seen=[["i1"], "i2", "i3"])
    numbers = sparse.random(9, 7, 0.5, format="csr", random_state=1)
    plain = strads.MatrixFactorization(2, max_iter=3).fit(numbers)
    pairs = pandas.DataFrame(np.argwhere(numbers.toarray()))
    for seen in numbers.toarray(), pairs:
        assert plain.recommend(n=7, seen=seen) == \
            plain.recommend(n=7, seen=numbers)


def test_frames_that_are_no_ratings_are_refused():
    pandas = pytest.importorskip("pandas")
    ratings = pandas.DataFrame({"userId": [1, 2], "movieId": [3, 4],
                                "rating": [4.5, 1], "timestamp": [5, 6]})
    words = pandas.DataFrame({"a": ["x", "y"], "b": ["z", "w"], "c": [1, 2],
                              "d": [2, 1]})
    for frame in ratings, ratings[["userId", "movieId"]], words:
        with pytest.raises(ValueError, match="expected three columns user, "
                           "item, rating"):
            strads.MatrixFactorization(1).fit(frame)
    strads.MatrixFactorization(1, max_iter=2).fit(ratings.iloc[:, :3])
    strads.MatrixFactorization(1, max_iter=2).fit(words[["c", "d"]].assign(
        e=1, f=2))


def test_the_number_of_topics_is_that_of_the_command(tmp_path):
    draws = np.random.default_rng(3)
    for seed, planted in (0, 4), (7, 12):
        themes = np.zeros((planted, 8 * planted))
        for k in range(planted):
            themes[k, 8 * k:8 * k + 8] = 1 / 8
        shares = draws.dirichlet([0.1] * planted, size=150)
        X = np.stack([draws.multinomial(40, p) for p in shares @ themes])
        lines = [f"{d + 1} {w + 1} {n}" for d, row in enumerate(X)
                 for w, n in enumerate(row) if n]
        path = tmp_path / "docword.txt"
        path.write_text("\n".join([str(X.shape[0]), str(X.shape[1]),
                                   str(len(lines))] + lines) + "\n")
        subprocess.run([BIN, "lda", "train", str(path), "--topics", "auto",
                        "--sweeps", "60", "--seed", str(seed), "--log",
                        str(tmp_path / "log"), "--workers", "1"], check=True,
                       capture_output=True)
        said = [json.loads(line) for line in open(tmp_path / "log")]
        said = [line for line in said if line.get("event") == "trial"]
        model = strads.LatentDirichletAllocation(
            "auto", max_iter=60, random_state=seed, n_jobs=1).fit(X)
        assert [t["topics"] for t in model.trials_] == [
            t["topics"] for t in said] and len(said) >= 3
        assert np.allclose([t["perplexity"] for t in model.trials_],
                           [t["perplexity"] for t in said], rtol=1e-6)
        chosen, = [t["topics"] for t in said if t["chosen"]]
        assert len(model.alpha_) == chosen
    fixed = strads.LatentDirichletAllocation(2, max_iter=5).fit(X)
    assert fixed.trials_ is None
    for bad in "all", 0, 2.5, True:
        with pytest.raises(ValueError, match='65535, or "auto"'):
            strads.LatentDirichletAllocation(bad).fit(X)
    with pytest.raises(ValueError, match="too few documents"):
        strads.LatentDirichletAllocation("auto").fit(X[:1])
    with pytest.raises(ValueError, match="without seed_words"):
        strads.LatentDirichletAllocation("auto", seed_words=[[0]]).fit(X)


def test_phrases_and_limits_of_words_are_those_of_the_command(tmp_path):
    draws = np.random.default_rng(5)
    themes = (["coal", "iron", "new york", "ore"], ["ship", "sail", "sea", "port"])
    texts = [" ".join(draws.choice(themes[i % 2], 12)) for i in range(300)]
    texts[0] += " zebra"
    wanted = {"phrases": 20, "min_df": 2, "max_df": 0.9, "stop_words": None}
    model = strads.LatentDirichletAllocation(
        2, max_iter=20, random_state=1, n_jobs=1, partitions=1, **wanted)
    model.fit(texts)
    assert model.phrases_ == ["new_york"]
    assert set(model.vocabulary_) == {"coal", "iron", "new_york", "ore", "ship",
                                      "sail", "sea", "port"}
    (tmp_path / "texts").write_text("\n".join(texts) + "\n")
    subprocess.run([BIN, "lda", "train", str(tmp_path / "texts"), "--kind",
                    "text", "--topics", "2", "--sweeps", "20", "--phrases", "20",
                    "--min-df", "2", "--max-df", "0.9", "--stop-words", "none",
                    "--seed", "1",
                    "--workers", "1", "--partitions", "1", "--model",
                    str(tmp_path / "m.json")], check=True, capture_output=True)
    command = strads.read_model(tmp_path / "m.json")
    assert command.vocabulary_ == model.vocabulary_
    assert np.array_equal(command.components_, model.components_)
    model.save(tmp_path / "t.json")
    read = strads.read_model(tmp_path / "t.json")
    assert read.phrases_ == ["new_york"]
    asked = ["new york ore ore new york"] * 3
    assert np.array_equal(read.transform(asked), model.transform(asked))
    assert model.transform(asked)[0].max() > 0.8
    old = pickle.loads(pickle.dumps(model))
    assert np.array_equal(old.transform(asked), model.transform(asked))
    pandas = pytest.importorskip("pandas")
    framed = clone(model).fit(pandas.DataFrame({"text": texts}))
    assert np.array_equal(framed.components_, model.components_)
    with pytest.raises(ValueError, match="min_df is of texts"):
        strads.LatentDirichletAllocation(2, min_df=2).fit(np.eye(3))
    with pytest.raises(ValueError, match="phrases is True"):
        strads.LatentDirichletAllocation(2, phrases=True).fit(texts)


def test_topics_go_through_a_file(tmp_path):
    X = np.random.default_rng(1).poisson(0.5, (30, 20))
    model = strads.LatentDirichletAllocation(2, max_iter=10).fit(X)
    model.save(tmp_path / "topics.json")
    read = strads.read_model(tmp_path / "topics.json")
    assert np.array_equal(read.components_, model.components_)
    assert np.array_equal(read.transform(X), model.transform(X))


def test_wrong_arguments_are_told_in_a_sentence():
    X, y = regression()
    with pytest.raises(ValueError, match="alpha is -1; it has to be at least 0"):
        strads.Lasso(-1).fit(X, y)
    with pytest.raises(ValueError, match="n_jobs is 0"):
        strads.Lasso(n_jobs=0).fit(X, y)
    with pytest.raises(ValueError, match="one of 'l1', 'l2'"):
        strads.LogisticRegression("l3").fit(X, y > 2)


def test_import_costs_little_beside_numpy():
    code = ("import time, numpy; t = time.perf_counter(); import strads;"
            "print(time.perf_counter() - t)")
    import sys
    best = min(float(subprocess.run([sys.executable, "-c", code], check=True,
                                    capture_output=True, text=True).stdout)
               for _ in range(3))
    assert best < 0.15


# ---- generalised linear models ----------------------------------------------

@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_poisson_is_scikit_learns(alpha):
    X, y = regression(cols=12)
    y = np.random.default_rng(3).poisson(np.exp(0.4 * (y - 2)))
    weight = np.random.default_rng(4).uniform(0.5, 2, len(y))
    ours = strads.PoissonRegressor(alpha=alpha, tol=1e-12).fit(X, y, weight)
    theirs = linear_model.PoissonRegressor(alpha=alpha, tol=1e-10,
                                           max_iter=10000).fit(X, y, weight)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-4)
    assert ours.dual_gap_ <= 1e-12


def test_glm_is_the_lasso_and_takes_offsets():
    X, y = regression()
    lasso = strads.Lasso(0.05, tol=1e-12).fit(X, y)
    glm = strads.GLM("squared", "l1", alpha=0.05, tol=1e-12).fit(X, y)
    assert np.allclose(glm.coef_, lasso.coef_, atol=1e-7)
    shift = np.random.default_rng(5).standard_normal(len(y))
    moved = strads.GLM("squared", "l1", alpha=0.05, tol=1e-12).fit(
        X, y + shift, offset=shift)
    assert np.allclose(moved.coef_, glm.coef_, atol=1e-7)


def test_group_lasso_drops_groups_and_meets_its_optimality_conditions():
    X, y = regression(cols=12)
    groups, alpha = np.arange(12) % 4, 0.2
    ours = strads.GroupLasso(groups, alpha=alpha, tol=1e-12).fit(X, y)
    slope = X.T @ (y - ours.predict(X)) / len(y)
    some = 0
    for g in range(4):
        w, q = ours.coef_[groups == g], slope[groups == g]
        if np.all(w == 0):
            assert np.linalg.norm(q) <= alpha * np.sqrt(3) * (1 + 1e-5)
        else:
            some += 1
            assert np.all(w != 0)
            assert np.allclose(q, alpha * np.sqrt(3) * w / np.linalg.norm(w),
                               atol=1e-5)
    assert 0 < some < 4
    with pytest.raises(ValueError, match="groups has the shape"):
        strads.GroupLasso(groups[:3]).fit(X, y)


def test_cox_is_the_partial_likelihoods_minimum():
    X, y = regression(cols=4)
    rng = np.random.default_rng(4)
    times = np.round(10 * np.exp(-X[:, 0] / 3 + rng.normal(size=len(y)) / 3)) + 1
    times[rng.random(len(y)) < 0.3] *= -1
    ours = strads.GLM("cox", "l1", alpha=0.02, tol=1e-10).fit(X, times)
    assert ours.intercept_ == 0

    def slopes(w):
        risk, slope = np.exp(X @ w), np.zeros(X.shape[1])
        for i in np.flatnonzero(times > 0):
            at = np.abs(times) >= times[i]
            slope += X[i] - risk[at] @ X[at] / np.sum(risk[at])
        return slope / len(y)
    q, w = slopes(ours.coef_), ours.coef_
    assert np.all(np.abs(q) <= 0.02 * (1 + 1e-4)) and np.any(w != 0)
    assert np.allclose(q[w != 0], 0.02 * np.sign(w[w != 0]), atol=1e-5)
    assert np.allclose(ours.predict(X), np.exp(X @ w))
    assert 0.6 < ours.score(X, times) < 1
    assert ours.score(X[:, ::-1], times) < ours.score(X, times)
    with pytest.raises(ValueError, match="no row has an event"):
        strads.GLM("cox").fit(X, -np.abs(times))


def test_times_until_an_event_have_three_forms():
    pandas = pytest.importorskip("pandas")
    X, _ = regression(rows=80, cols=4)
    rng = np.random.default_rng(6)
    time = 1 + rng.integers(0, 20, len(X)) + X[:, 0].round() % 3
    event = rng.random(len(X)) < 0.6
    signed = np.where(event, time, -time)
    columns = np.column_stack([time, event])
    frame = pandas.DataFrame({"time": time, "event": event})
    surv = np.array(list(zip(event, time)), dtype=[("e", "?"), ("t", "<f8")])
    for loss in "cox", "cox-efron":
        plain = strads.GLM(loss, alpha=0.01).fit(X, signed)
        for y in columns, frame, surv, surv[["t", "e"]]:
            model = strads.GLM(loss, alpha=0.01).fit(X, y)
            assert np.array_equal(model.coef_, plain.coef_)
            assert model.score(X, y) == plain.score(X, signed)
    for fit in (lambda y: strads.GLMCV("cox", n_alphas=5).fit(X, y).coef_,
                lambda y: strads.GroupLasso([[0, 1], [1, 2, 3]], loss="cox",
                                            alpha=0.01).fit(X, y).coef_,
                lambda y: strads.glm_path(X, y, "cox", n_alphas=4)[1]):
        wanted = fit(signed)
        assert all(np.array_equal(fit(y), wanted) for y in (columns, surv))
    for wrong, says in ((columns[:, ::-1], "in its second column"),
                        (np.column_stack([signed, event]), "beside its event"),
                        (np.column_stack([time, event, event]), "3 columns"),
                        (surv.astype([("e", "i4"), ("t", "f8")]), "fields e, t")):
        with pytest.raises(ValueError, match=says + ".*censored"):
            strads.GLM("cox").fit(X, wrong)


def test_an_alpha_at_the_end_of_its_path_warns():
    X, y = regression(200, 6)
    for model, lacks in ((strads.LassoCV(eps=0.5, n_alphas=4), "lower eps .now 0.5"),
                         (strads.LassoCV(alphas=[1.0, 0.5]), "smaller ones in al"),
                         (strads.ElasticNetCV(eps=0.5, l1_ratio=[0.5, 0.9]),
                          "lower eps"),
                         (strads.GLMCV(eps=0.5, n_alphas=4), "lower eps")):
        with pytest.warns(UserWarning, match="is the least of the.*" + lacks):
            model.fit(X, y)
        assert model.alpha_ in np.atleast_1d(np.min(model.alphas_, axis=-1))
    noise = np.random.default_rng(1).standard_normal(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (strads.LassoCV(), strads.LassoCV(alphas=[0.1])):
            model.fit(X, noise)


def test_a_machine_predicts_its_pairs():
    X, y = regression(100, 4)
    model = strads.FactorizationMachine(2, max_iter=10).fit(X, y)
    products = X[:, :, None] * X[:, None, :] * (
        model.factors_ @ model.factors_.T)
    pairs = np.triu(products, 1).sum(axis=(1, 2))
    assert np.any(np.abs(pairs) > 1e-6)
    assert np.allclose(model.predict(X),
                       X @ model.coef_ + model.intercept_ + pairs)


@pytest.mark.parametrize("rows, cols, quantile, alpha", [
    (60, 5, 0.5, 0.02), (200, 10, 0.9, 0.01), (60, 90, 0.3, 0.05),
    (150, 8, 0.25, 0)])
def test_quantiles_are_those_of_a_linear_program(rows, cols, quantile, alpha):
    X, y = regression(rows=rows, cols=cols)
    y = y + np.random.default_rng(2).standard_t(2, size=rows)
    ours = strads.QuantileRegressor(quantile=quantile, alpha=alpha,
                                    n_jobs=2).fit(X, y)
    exact = linear_model.QuantileRegressor(
        quantile=quantile, alpha=alpha, solver="highs").fit(X, y)

    def objective(model):
        away = y - X @ model.coef_ - model.intercept_
        return np.mean(np.maximum(quantile * away, (quantile - 1) * away)) + \
            alpha * np.sum(np.abs(model.coef_))
    least = objective(exact)
    assert ours.dual_gap_ <= 1e-6
    assert np.isclose(objective(ours), ours.objective_, rtol=1e-9)
    assert -1e-9 <= objective(ours) / least - 1 <= ours.dual_gap_ + 1e-9


def test_cox_has_strata_survival_and_cross_validation(tmp_path):
    X, y = regression(cols=3)
    rng = np.random.default_rng(5)
    times = np.round(9 * np.exp(-X[:, 0] / 3 + rng.normal(size=len(y)) / 3)) + 1
    times[rng.random(len(y)) < 0.3] *= -1
    strata = np.arange(len(y)) % 2 * 4
    weight = 1 + np.arange(len(y)) % 3
    kept = rng.random(len(y)) < 0.8

    def loss(z, w):  # Breslow's, within strata
        sum_ = 0
        for s in 0, 4:
            for t in np.unique(times[(times > 0) & (strata == s) & (w > 0)]):
                now = w * ((times == t) & (strata == s))
                at = w * ((np.abs(times) >= t) & (strata == s))
                sum_ += now.sum() * np.log(at @ np.exp(z) / now.sum()) - now @ z
        return sum_

    def fitted(rows, w):
        return strads.GLM("cox", "ridge", alpha=0.02, tol=1e-10).fit(
            X[rows], times[rows], w[rows], strata=strata[rows])
    model = fitted(slice(None), weight)
    z = X @ model.coef_
    best = loss(z, weight) / weight.sum() + 0.01 * model.coef_ @ model.coef_
    assert np.isclose(model.objective_, best)

    # The baseline hazard, and survival by it
    own = strata == 4
    hazard = sum(weight[i] / (weight[own & (np.abs(times) >= times[i])] @
                              np.exp(z[own & (np.abs(times) >= times[i])]))
                 for i in np.flatnonzero(own & (times > 0) & (times <= 10)))
    survival = model.predict_survival(X, [0, 10], strata)
    assert np.all(survival[:, 0] == 1)
    assert np.allclose(survival[own, 1], np.exp(-hazard * np.exp(z[own])))
    model.save(tmp_path / "m.json")
    again = strads.GLM.load(tmp_path / "m.json")
    assert np.array_equal(again.predict_survival(X, 10, strata),
                          survival[:, 1:])
    read = strads.read_model(tmp_path / "m.json")
    assert np.array_equal(read.baseline["hazard"], model.baseline_["hazard"])
    with pytest.raises(ValueError, match="strata: 3 has no events"):
        model.predict_survival(X[:1], 10, [3])
    with pytest.raises(ValueError, match="strata has the shape"):
        strads.GLM("cox").fit(X, times, strata=strata[:3])
    with pytest.raises(ValueError, match="the loss squared has none"):
        strads.GLM().fit(X, np.abs(times), strata=strata)
    assert not hasattr(strads.GLM(), "predict_survival")

    # Errors of folds are differences of losses
    found = strads.GLMCV("cox", "ridge", alphas=[0.02, 0.1], tol=1e-10,
                         cv=[(np.flatnonzero(kept), np.flatnonzero(~kept)),
                             (np.flatnonzero(~kept), np.flatnonzero(kept))]
                         ).fit(X, times, weight, strata=strata)
    for k, rows in enumerate((kept, ~kept)):
        z = X @ fitted(rows, weight).coef_
        right = 2 * (loss(z, weight) - loss(z, weight * rows))
        events = weight[~rows & (times > 0)].sum()
        assert np.isclose(found.error_path_[1, k], right / events, rtol=1e-5)


def test_sparse_group_lasso_meets_its_optimality_conditions():
    X, y = regression(cols=12)
    groups, alpha, share = np.arange(12) % 4, 0.3, 0.6
    ours = strads.SparseGroupLasso(groups, alpha=alpha, l1_ratio=share,
                                   tol=1e-12).fit(X, y)
    slope = X.T @ (y - ours.predict(X)) / len(y)
    dropped = thinned = 0
    for g in range(4):
        w, q = ours.coef_[groups == g], slope[groups == g]
        rest = np.maximum(np.abs(q) - alpha * share, 0)
        if np.all(w == 0):
            dropped += 1
            assert np.linalg.norm(rest) <= \
                alpha * (1 - share) * np.sqrt(3) * (1 + 1e-5)
            continue
        thinned += np.any(w == 0)
        assert np.all(rest[w == 0] <= 1e-5)
        assert np.allclose(rest, alpha * (1 - share) * np.sqrt(3) *
                           np.abs(w) / np.linalg.norm(w), atol=1e-5)
    assert 0 < dropped < 4 and thinned > 0
    lasso = strads.Lasso(alpha, tol=1e-12).fit(X, y)
    assert np.allclose(lasso.coef_, strads.SparseGroupLasso(
        groups, alpha=alpha, l1_ratio=1, tol=1e-12).fit(X, y).coef_, atol=1e-6)


def test_glm_paths_are_the_lassos_and_take_alphas():
    X, y = regression()
    right = strads.lasso_path(X, y, n_alphas=10, eps=1e-2, tol=1e-10)
    ours = strads.glm_path(X, y, n_alphas=10, eps=1e-2, tol=1e-10)
    for a, b in zip(ours[:2], right[:2]):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-5)
    assert ours[2].max() <= 1e-10
    alphas, coefs, _, intercepts = strads.glm_path(
        X, y > y.mean(), "logistic", "elastic-net", alphas=[0.1, 0.01],
        fit_intercept=True)
    assert np.allclose(alphas, [0.1, 0.01]) and coefs.shape[1] == 2
    assert len(intercepts) == 2


def test_glm_cv_chooses_an_alpha_of_its_path():
    X, y = regression(cols=12)
    y = np.random.default_rng(3).poisson(np.exp(0.4 * (y - 2)))
    model = strads.GLMCV("poisson", n_alphas=12, cv=4, random_state=1)
    model.fit(X, y)
    assert model.alpha_ == model.alphas_[np.argmin(model.error_)]
    assert model.alpha_1se_ >= model.alpha_
    again = strads.GLM("poisson", alpha=model.alpha_).fit(X, y)
    assert np.allclose(model.coef_, again.coef_, atol=1e-4)


def test_glm_factors_are_columns_units_and_bounds_hold():
    X, y = regression(cols=12)
    factor = np.linspace(0.5, 2, 12)
    ours = strads.GLM(alpha=0.05, penalty_factors=factor, tol=1e-12).fit(X, y)
    scaled = strads.Lasso(0.05, tol=1e-12).fit(X / factor, y)
    assert np.allclose(ours.coef_, scaled.coef_ / factor, atol=1e-7)
    free = strads.GLM(alpha=10, penalty_factors=np.arange(12) > 0).fit(X, y)
    assert np.flatnonzero(free.coef_).tolist() == [0]
    bounded = strads.GLM(alpha=0.01, lower=0, tol=1e-12).fit(X, -y)
    other = strads.Lasso(0.01, positive=True, tol=1e-12).fit(X, -y)
    assert np.allclose(bounded.coef_, other.coef_, atol=1e-7)
    with pytest.raises(ValueError, match="penalty_factors has the shape"):
        strads.GLM(penalty_factors=factor[:3]).fit(X, y)


def test_glm_classifier_is_scikit_learns_where_that_has_the_penalty():
    X, y = regression(cols=20)
    y = np.array(["low", "mid", "top"])[np.digitize(y, [1, 3])]
    alpha = 0.01
    ours = strads.GLMClassifier("multinomial", "ridge", alpha=alpha,
                                tol=1e-11).fit(X, y)
    theirs = linear_model.LogisticRegression(
        C=1 / (alpha * len(y)), tol=1e-10, max_iter=10000).fit(X, y)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X),
                       atol=1e-4)
    assert list(ours.predict(X[:50])) == list(theirs.predict(X[:50]))
    again = strads.GLMClassifier("multinomial", "ridge", alpha=alpha,
                                 warm_start=True, tol=1e-6).fit(X, y)
    rounds = again.n_iter_
    assert again.fit(X, y).n_iter_ < rounds


def test_glm_classifier_drops_groups_and_has_probabilities_of_its_own():
    X, y = regression(cols=12)
    groups = np.arange(12) // 3
    model = strads.GLMClassifier(penalty="group", alpha=0.05,
                                 groups=groups).fit(X, y > 2)
    gone = [np.all(model.coef_[0][groups == g] == 0) for g in range(4)]
    assert any(gone) and not all(gone)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    hinge = strads.GLMClassifier("squared-hinge").fit(X, y > 2)
    assert not hasattr(hinge, "predict_proba")
    assert hinge.score(X, y > 2) > 0.9
    with pytest.raises(ValueError, match="expected one of classes"):
        strads.GLMClassifier("poisson").fit(X, y > 2)


def test_glm_refuses_what_it_cannot_do():
    X, y = regression()
    with pytest.raises(ValueError, match="is of classes"):
        strads.GLM("logistic").fit(X, y)
    with pytest.raises(ValueError, match="offset has the shape"):
        strads.GLM().fit(X, y, offset=np.zeros(3))
    with pytest.raises(ValueError, match="cubed"):
        strads.GLM("cubed").fit(X, y)


@pytest.mark.parametrize("epsilon", [1.05, 1.35, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_huber_forgets_outliers_and_minimises_its_objective(epsilon, weighted):
    from scipy.optimize import minimize
    X, y = regression(cols=6)
    y[::10] += 50
    weight = np.random.default_rng(1).random(len(y)) * (y != y[3]) \
        if weighted else np.ones(len(y))
    ours = strads.HuberRegressor(epsilon=epsilon, alpha=1e-3, tol=1e-10).fit(
        X, y, weight if weighted else None)

    def objective(v):
        scale = np.exp(v[-1])
        r = np.abs(y - X @ v[:-2] - v[-2]) / scale
        return weight @ (scale + scale * np.where(
            r < epsilon, r * r, 2 * epsilon * r - epsilon ** 2)) + \
            1e-3 * v[:-2] @ v[:-2]

    mine = np.hstack([ours.coef_, ours.intercept_, np.log(ours.scale_)])
    best = minimize(objective, mine + 0.01, method="BFGS",
                    options={"gtol": 1e-9}).fun
    assert objective(mine) <= best * (1 + 1e-6)
    assert np.array_equal(ours.outliers_, np.abs(y - ours.predict(X)) >
                          epsilon * ours.scale_)
    assert np.allclose(ours.coef_[:5], 1, atol=0.2)


def test_an_elastic_nets_mixture_is_chosen_out_of_several():
    draws = np.random.default_rng(9)
    X = draws.standard_normal((80, 30))
    y = X[:, :4].sum(axis=1) + draws.standard_normal(80)
    search = strads.ElasticNetCV(l1_ratio=[0.1, 0.9], n_alphas=12, cv=4,
                                 random_state=2).fit(X, y)
    alone = [strads.ElasticNetCV(l1_ratio=ratio, n_alphas=12, cv=4,
                                 random_state=2).fit(X, y)
             for ratio in (0.1, 0.9)]
    best = min(alone, key=lambda model: model.mse_.min())
    assert search.alphas_.shape == search.mse_.shape == (2, 12)
    assert np.array_equal(search.mse_, [model.mse_ for model in alone])
    assert search.l1_ratio_ == best.l1_ratio_ == best.l1_ratio
    assert search.alpha_ == best.alpha_
    assert np.array_equal(search.coef_, best.coef_)


def test_the_score_of_factors_is_minus_their_error():
    pandas = pytest.importorskip("pandas")
    draws = np.random.default_rng(4)
    frame = pandas.DataFrame(
        [(f"u{u}", f"i{i}", u % 3 + i % 4 + .1 * draws.normal(), u + i)
         for u in range(30) for i in range(20) if draws.random() < .6],
        columns=["user", "item", "rating", "time"])
    time = frame.pop("time")
    model = strads.MatrixFactorization(2, random_state=1).fit(frame)
    error = model.rate(frame.user, frame.item) - frame.rating
    right = -np.sqrt(np.mean(error ** 2))
    assert model.score(frame) == pytest.approx(right)
    assert model.score(frame[["rating", "item", "user"]]) == \
        pytest.approx(right)
    other = pandas.DataFrame({"user": ["new"], "item": ["i3"], "rating": [2.0]})
    assert -8 < model.score(other) < 0
    X = sparse.csr_matrix((frame.rating, (
        [int(u[1:]) for u in frame.user], [int(i[1:]) for i in frame.item])))
    numbered = strads.MatrixFactorization(2, random_state=1).fit(X)
    rows, cols = X.nonzero()
    assert numbered.score(X) == pytest.approx(-np.sqrt(np.mean(
        (numbered.rate(rows, cols) - X.data) ** 2)))
    timed = strads.MatrixFactorization(2, random_state=1).fit(frame, time=time)
    assert timed.score(frame, time=time) == pytest.approx(-np.sqrt(np.mean(
        (timed.rate(frame.user, frame.item, time) - frame.rating) ** 2)))
    with pytest.raises(ValueError, match="X has shape .*expected"):
        numbered.score(X[:3])
    with pytest.raises(ValueError, match="without times"):
        model.score(frame, time=time)
    with pytest.raises(ValueError, match="ranks items"):
        strads.MatrixFactorization(2, implicit=True).fit(abs(X)).score(X)
    found = GridSearchCV(strads.MatrixFactorization(random_state=1),
                         {"rank": [0, 2]}, cv=3).fit(frame.sample(
                             frac=1, random_state=1))
    assert -1 < found.best_score_ < 0


def test_factors_follow_a_drift_of_all_ratings():
    draws = np.random.default_rng(7)
    users, items = 150, 40
    u = np.repeat(np.arange(users), 20)
    i = np.concatenate([draws.choice(items, 20, False) for _ in range(users)])
    time = draws.uniform(1e9, 1.2e9, len(u))
    of_user, of_item = draws.normal(size=users), draws.normal(size=items)
    level = 1.5 * np.sin(6 * (time - 1e9) / 2e8)
    r = 3 + of_user[u] + of_item[i] + level + draws.normal(0, .2, len(u))
    test = draws.random(len(u)) < .2
    X, T = (sparse.csr_matrix((v[~test], (u[~test], i[~test])),
                              shape=(users, items)) for v in (r, time))

    def error(model, **how):
        return np.sqrt(np.mean((model.rate(u[test], i[test], **how) -
                                r[test]) ** 2))
    plain = strads.MatrixFactorization(0, random_state=1).fit(X)
    model = strads.MatrixFactorization(0, random_state=1).fit(X, time=T)
    assert plain.periods_ is None and error(plain) > .8
    assert error(model, time=time[test]) < .3
    first, last, bias = model.periods_
    assert (first, last) == (T.data.min(), T.data.max()) and len(bias) == 20
    # Beyond the range: clamped; without a time: the last period.
    some = u[:3], i[:3]
    np.testing.assert_array_equal(model.rate(*some),
                                  model.rate(*some, time=[9e9] * 3))
    np.testing.assert_allclose(
        model.rate(*some, time=[0] * 3) - model.rate(*some), bias[0] - bias[-1])
    assert model.recommend(0, 1)[0][1] == pytest.approx(np.max(
        model.mean_ + bias[-1] + model.user_bias_[0] + model.item_bias_),
        rel=1e-5)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": u[~test], "item": i[~test],
                              "rating": r[~test]})
    named = strads.MatrixFactorization(0, random_state=1).fit(
        frame, time=time[~test])
    np.testing.assert_allclose(named.periods_[2], bias, atol=1e-6)
    late = strads.MatrixFactorization(
        tune=2, holdout_by="time", random_state=1).fit(X, time=T)
    assert error(late, time=time[test]) < .35
    copy_of = pickle.loads(pickle.dumps(late))
    np.testing.assert_array_equal(copy_of.rate(*some), late.rate(*some))
    with pytest.raises(ValueError, match="entries of X"):
        strads.MatrixFactorization(0).fit(X, time=T[:, ::-1])
    with pytest.raises(ValueError, match="fitted without times"):
        plain.rate(*some, time=[0] * 3)
    with pytest.raises(ValueError, match="needs fit"):
        strads.MatrixFactorization(holdout_by="time").fit(X)
    with pytest.raises(ValueError, match="implicit"):
        strads.MatrixFactorization(2, implicit=True).fit(X, time=T)
