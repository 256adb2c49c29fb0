"""strads: big models by scheduled model parallelism.

Estimators follow scikit-learn's conventions::

    from strads import Lasso
    model = Lasso(alpha=0.1).fit(X, y)

A user-defined program is a class with numpy views (`strads.Program`), and
`strads.read_model` reads models of the command `strads`. Names are loaded when
they are first used, so ``import strads`` costs little more than numpy.
"""
from importlib import import_module as _import_module

__version__ = "0.2.0"

_HOME = {
    "Lasso": "linear", "ElasticNet": "linear", "LassoCV": "linear",
    "Ridge": "linear", "ElasticNetCV": "linear", "lasso_path": "linear", "enet_path": "linear",
    "LogisticRegression": "classify", "LogisticRegressionCV": "classify",
    "LinearSVC": "classify", "LinearSVR": "linear", "logistic_path": "classify",
    "GLM": "glm", "GLMClassifier": "glm", "PoissonRegressor": "glm",
    "GammaRegressor": "glm", "TweedieRegressor": "glm",
    "HuberRegressor": "glm", "QuantileRegressor": "glm", "GroupLasso": "glm", "GLMCV": "glm",
    "SparseGroupLasso": "glm", "glm_path": "glm", "Summary": "errors",
    "OrdinalRegression": "ordinal",
    "LatentDirichletAllocation": "topics", "MatrixFactorization": "factors",
    "FactorizationMachine": "machines",
    "FactorizationMachineClassifier": "machines",
    "Program": "program", "Session": "program",
    "pack": "packs", "open_pack": "packs", "Pack": "packs",
    "read_model": "model", "Model": "model", "params_dict": "model",
    "metrics_dict": "model",
    "StradsError": "engine", "Progress": "engine", "version": "engine",
}
__all__ = sorted(_HOME)


def __getattr__(name):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'strads' has no attribute {name!r}")
    return getattr(_import_module(f"strads.{home}"), name)


def __dir__():
    return sorted(set(globals()) | set(_HOME))
