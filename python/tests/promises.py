"""Small data and models for test_promises.py; as a program it damages pickles:

    promises.py WAYS [NAME ...]

loads each estimator's pickle, and model files, with WAYS damages. Loading may
raise; if it does not, the model is used.
"""
import inspect
import os
import pickle
import resource
import sys
import tempfile
import warnings

import numpy as np

import strads

ESTIMATORS = [name for name in strads.__all__
              if inspect.isclass(getattr(strads, name))
              and hasattr(getattr(strads, name), "get_params")]
TOLERANT = [name for name in ESTIMATORS
            if "tol" in getattr(strads, name)().get_params()]


def data_for(name):
    """X [40, 8] and suitable labels for the estimator; a fit takes more than
    two rounds."""
    draws = np.random.default_rng(11)
    X = draws.standard_normal((40, 8)) / 5 + draws.standard_normal((40, 1))
    X[draws.random(X.shape) < 0.2] = 0
    y = 5 * X[:, :3] @ [1, -2, 3.0] + draws.standard_normal(40)
    if name in ("LatentDirichletAllocation", "MatrixFactorization"):
        return np.round(3 * np.abs(X)), None
    if name == "PoissonRegressor":
        return X, np.round(np.abs(y))
    if name == "GammaRegressor":
        return X, np.abs(y) + 0.1
    if getattr(getattr(strads, name), "_estimator_type", "") == "classifier":
        return X, (y > 0).astype(float)
    return X, y


def small(name):
    """The estimator with a weak penalty and few points."""
    model = getattr(strads, name)()
    has = model.get_params()
    wanted = {"alpha": 1e-4, "C": 1e4, "n_alphas": 5, "n_points": 5, "cv": 2,
              "eps": 0.1, "random_state": 1}
    if name not in TOLERANT:
        wanted = {"rank": 2, "n_components": 3, "max_iter": 4,
                  "random_state": 1}
    if name == "OrdinalRegression":  # these two classes are nearly separable
        wanted["alpha"] = 1e-3       # (docs/glm.md, Ordered classes)
    return model.set_params(**{k: v for k, v in wanted.items() if k in has})


def easy(name):
    """The estimator with a strong penalty."""
    model = small(name)
    has = model.get_params()
    return model.set_params(**{k: v for k, v in {"alpha": 0.1, "C": 1.0}.items()
                               if k in has and name in TOLERANT})


def weighted(name):
    return "sample_weight" in inspect.signature(
        getattr(strads, name).fit).parameters


# ---- damage ---------------------------------------------------------------------

def damaged_bytes(draws, whole):
    """Changes, removes or repeats some bytes."""
    data = bytearray(whole)
    for _ in range(draws.integers(1, 4)):
        at = int(draws.integers(len(data)))
        kind = draws.integers(4)
        if kind == 0:
            data[at] ^= 1 << int(draws.integers(8))
        elif kind == 1:
            data[at] = int(draws.choice([0, 1, 127, 128, 255]))
        elif kind == 2:
            del data[at:at + int(draws.integers(1, 9))]
        else:
            data[at:at] = data[at:at + int(draws.integers(1, 9))]
    return bytes(data)


def damaged_value(draws, value):
    """Replaces a value by one of a wrong shape, type or range."""
    others = [None, "x", -1, 0, 2**40, 1e300, float("nan"), [], {},
              np.zeros(0), np.zeros((2, 2))]
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind != "O":
        bad = value.copy()
        bad.ravel()[draws.integers(bad.size)] = \
            np.iinfo(bad.dtype).max if bad.dtype.kind in "iu" else np.inf
        others += [bad, value[:-1], value[1:], np.repeat(value, 2, axis=0),
                   value.astype(np.float16 if value.dtype.kind == "f"
                                else np.int64), value[::-1].T,
                   value.ravel()[::-1], np.zeros_like(value), value[..., None]]
    return others[draws.integers(len(others))]


def use(model, X, y):
    """Calls all methods that pass the state to the library."""
    for call in (
            lambda: model.predict(X), lambda: model.transform(X),
            lambda: model.score(X), lambda: model.top_words(3),
            lambda: model.recommend(0, 3, seen=[1, 2]),
            lambda: model.recommend([0, 1], 3), lambda: model.rate([0], [1]),
            lambda: model.fold_in(X), lambda: model.perplexity(X),
            lambda: model.save(os.path.join(tempfile.gettempdir(),
                                            f"damaged{os.getpid()}.json")),
            lambda: model.decision_function(X), lambda: model._repr_html_()):
        try:
            call()
        except Exception:  # any exception is fine; a crash is not
            pass
    if "max_iter" in vars(model) and hasattr(model, "warm_start"):
        model.max_iter, model.n_jobs, model.callbacks = 2, 1, None
        model.warm_start = True
        try:
            model.fit(X, y)
        except Exception:
            pass


def damage_pickles(name, ways):
    """Damages pickles: changes bytes, or one attribute."""
    if name == "Model":
        X, y = data_for("Lasso")
        model = strads.Model("glm", [[1, 2.0], [3, 4]], [0.5, 1.5])
    else:
        X, y = data_for(name)
        model = small(name).fit(X, y)
    whole = pickle.dumps(model)
    loaded = 0
    for way in range(ways):
        draws = np.random.default_rng(way)
        try:
            if way % 2:
                other = pickle.loads(damaged_bytes(draws, whole))
            else:
                state = dict(vars(model))
                learnt = [k for k in state if k.endswith("_")
                          or name == "Model"]
                key = learnt[draws.integers(len(learnt))]
                state[key] = damaged_value(draws, state[key])
                if draws.integers(8) == 0:
                    del state[key]
                other = type(model).__new__(type(model))
                if draws.integers(2) or name == "Model":
                    other.__setstate__(state)
                else:  # set, not unpickled
                    vars(other).update(state)
        except Exception:
            continue
        if type(other) is type(model):
            loaded += 1
            use(other, X, y)
    return loaded


def damage_files(ways):
    """Damages bytes of model files of both kinds."""
    X, y = data_for("LatentDirichletAllocation")
    topics = small("LatentDirichletAllocation").fit(X)
    loaded = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        for way in range(ways):
            draws = np.random.default_rng(way)
            if way % 2:
                strads.Model("glm", [[1, 2.0, 0], [3, 4, 5]], [0.5, 1.5],
                             options={"loss": "multinomial"}).save(path)
                spoilt = path
            else:
                topics.save(path)
                spoilt = path + draws.choice(["", ".npy"])
            with open(spoilt, "rb") as file:
                whole = file.read()
            with open(spoilt, "wb") as file:
                file.write(damaged_bytes(draws, whole))
            try:
                model = strads.read_model(path)
            except Exception:
                continue
            loaded += 1
            use(model, X, y)
    return loaded


def main(ways, names):
    warnings.simplefilter("ignore")
    # A length in a damaged pickle may request any amount of memory.
    resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
    for name in names or [*ESTIMATORS, "Model", "files"]:
        print(name, end=": ", flush=True)
        loaded = damage_files(ways) if name == "files" else \
            damage_pickles(name, ways)
        print(f"{loaded} of {ways} ways were loaded", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
