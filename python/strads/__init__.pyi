"""Types of the public names, for mypy and editors.

The names are loaded when they are first used, which a checker cannot follow.
mypy.stubtest compares this file with the code (tests/check_python.sh).
"""
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .program import Program as Program, Session as Session

_Self = TypeVar("_Self")
_Path = str | PathLike[str]
_Matrix = Any  # a numpy array, a data frame, or a sparse matrix of scipy
_Floats = NDArray[np.float64]
_Seed = int | np.random.RandomState | None
_ClassWeight = dict[Any, float] | str | None

__version__: str

def version() -> str: ...

class StradsError(RuntimeError): ...

class Progress(NamedTuple):
    round: int
    seconds: float
    objective: float
    gap: float
    nonzeros: int

# A true result ends the fit.
_Callbacks = Iterable[Callable[[Progress], Any]] | None

class _Estimator:
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self: _Self, **params: Any) -> _Self: ...

class _Linear(_Estimator):
    coef_: _Floats
    dual_gap_: float
    objective_: float
    @property
    def sparse_coef_(self) -> Any: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls: type[_Self], path: _Path) -> _Self: ...

# ---- regression ------------------------------------------------------------

class _Regressor(_Linear):
    intercept_: float
    def predict(self, X: _Matrix) -> _Floats: ...
    def score(self, X: _Matrix, y: ArrayLike,
              sample_weight: ArrayLike | None = ...) -> float: ...

class ElasticNet(_Regressor):
    # With several outputs, y [rows, outputs]: one for each.
    intercept_: Any
    dual_gap_: Any
    objective_: Any
    n_iter_: Any
    def __init__(self, alpha: float = 1.0, *, l1_ratio: float = 0.5,
                 fit_intercept: bool = True, precompute: Any = False,
                 max_iter: int | None = None, copy_X: bool = True,
                 tol: float = 1e-6, warm_start: bool = False,
                 positive: bool = False, random_state: _Seed = None,
                 selection: str = "cyclic", standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, relax: float = 1.0,
                 n_jobs: int | None = None, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: ArrayLike,
            sample_weight: ArrayLike | None = None) -> _Self: ...

class Lasso(ElasticNet):
    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True,
                 precompute: Any = False, copy_X: bool = True,
                 max_iter: int | None = None, tol: float = 1e-6,
                 warm_start: bool = False, positive: bool = False,
                 random_state: _Seed = None, selection: str = "cyclic",
                 standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, relax: float = 1.0,
                 n_jobs: int | None = None, verbose: int = 0, callbacks: _Callbacks = None) -> None: ...

class Ridge(ElasticNet):
    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True,
                 copy_X: bool = True, max_iter: int | None = None,
                 tol: float = 1e-6, solver: str = "auto",
                 positive: bool = False, random_state: _Seed = None,
                 warm_start: bool = False, standardize: bool = False,
                 n_jobs: int | None = None, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...

class ElasticNetCV(_Regressor):
    alpha_: float
    relax_: float
    alpha_1se_: float
    l1_ratio_: float
    alphas_: _Floats
    mse_path_: _Floats
    mse_: _Floats
    mse_deviation_: _Floats
    warm_start: bool
    def __init__(self, *, l1_ratio: ArrayLike = 0.5, eps: float = 1e-3,
                 n_alphas: int = 100, alphas: ArrayLike | None = None,
                 fit_intercept: bool = True, precompute: Any = "auto",
                 max_iter: int | None = None, tol: float = 1e-6,
                 cv: Any = None, copy_X: bool = True, verbose: int = 0,
                 n_jobs: int | None = None, positive: bool = False,
                 random_state: _Seed = None, selection: str = "cyclic",
                 standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, relax: Any = 1.0,
                 callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: ArrayLike,
            sample_weight: ArrayLike | None = None) -> _Self: ...

class LassoCV(ElasticNetCV):
    def __init__(self, *, eps: float = 1e-3, n_alphas: int = 100,
                 alphas: ArrayLike | None = None, fit_intercept: bool = True,
                 precompute: Any = "auto", max_iter: int | None = None,
                 tol: float = 1e-6, copy_X: bool = True, cv: Any = None,
                 verbose: int = 0, n_jobs: int | None = None,
                 positive: bool = False, random_state: _Seed = None,
                 selection: str = "cyclic", standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, relax: Any = 1.0,
                 callbacks: _Callbacks = None) -> None: ...

class LinearSVR(_Regressor):
    def __init__(self, *, epsilon: float = 0.0, tol: float = 1e-6,
                 C: float = 1.0, loss: str = "epsilon_insensitive",
                 fit_intercept: bool = True,
                 intercept_scaling: float | None = 1.0,
                 dual: bool | str = "auto", verbose: int = 0,
                 random_state: _Seed = None, max_iter: int | None = None,
                 standardize: bool = False, n_jobs: int | None = None,
                 warm_start: bool = False,
                 callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: ArrayLike,
            sample_weight: ArrayLike | None = None) -> _Self: ...

class Summary:
    names: list[str]
    coef: _Floats
    se: _Floats
    statistic: _Floats
    pvalue: _Floats
    interval: _Floats
    dispersion: float
    estimated: bool
    dof: float
    level: float
    def __init__(self, names: Sequence[str], coef: _Floats, se: _Floats,
                 dispersion: Any, level: float) -> None: ...
    def frame(self) -> Any: ...

class GLM(_Regressor):
    baseline_: dict[str, NDArray[Any]] | None
    def __init__(self, loss: str = "squared", penalty: str = "l1", *,
                 alpha: float = 1.0, l1_ratio: float = 0.5,
                 gamma: float | None = None, groups: ArrayLike | None = None,
                 penalty_factors: ArrayLike | None = None,
                 lower: float | None = None, upper: float | None = None,
                 loss_parameter: float | None = None,
                 fit_intercept: bool = True, standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, relax: float = 1.0,
                 tol: float = 1e-6, max_iter: int | None = None,
                 n_jobs: int | None = None, warm_start: bool = False,
                 verbose: int = 0, callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: ArrayLike,
            sample_weight: ArrayLike | None = None,
            offset: ArrayLike | None = None,
            strata: ArrayLike | None = None) -> _Self: ...
    def predict_survival(self, X: _Matrix, times: ArrayLike,
                         strata: ArrayLike | None = None) -> _Floats: ...
    def summary(self, X: _Matrix, y: ArrayLike,
                sample_weight: ArrayLike | None = None,
                offset: ArrayLike | None = None, *,
                level: float = 0.95) -> Summary: ...

class PoissonRegressor(GLM):
    def __init__(self, *, alpha: float = 1.0, fit_intercept: bool = True,
                 solver: str = "lbfgs", max_iter: int | None = None,
                 tol: float = 1e-6, warm_start: bool = False, verbose: int = 0,
                 standardize: bool = False, n_jobs: int | None = None,
                 callbacks: _Callbacks = None) -> None: ...

class GammaRegressor(GLM):
    def __init__(self, *, alpha: float = 1.0, fit_intercept: bool = True,
                 solver: str = "lbfgs", max_iter: int | None = None,
                 tol: float = 1e-6, warm_start: bool = False, verbose: int = 0,
                 standardize: bool = False, n_jobs: int | None = None,
                 callbacks: _Callbacks = None) -> None: ...

class TweedieRegressor(GLM):
    def __init__(self, *, power: float = 0.0, alpha: float = 1.0,
                 fit_intercept: bool = True, link: str = "auto",
                 solver: str = "lbfgs", max_iter: int | None = None,
                 tol: float = 1e-6, warm_start: bool = False, verbose: int = 0,
                 standardize: bool = False, n_jobs: int | None = None,
                 callbacks: _Callbacks = None) -> None: ...

class QuantileRegressor(GLM):
    def __init__(self, *, quantile: float = 0.5, alpha: float = 1.0,
                 fit_intercept: bool = True, solver: str = "highs",
                 solver_options: dict[str, Any] | None = None,
                 tol: float = 1e-6, max_iter: int | None = None,
                 n_jobs: int | None = None, warm_start: bool = False,
                 standardize: bool = False, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...

class HuberRegressor(GLM):
    scale_: float
    outliers_: NDArray[np.bool_]
    def __init__(self, *, epsilon: float = 1.35, max_iter: int | None = None,
                 alpha: float = 1e-4, warm_start: bool = False,
                 fit_intercept: bool = True, tol: float = 1e-6,
                 standardize: bool = False, n_jobs: int | None = None,
                 verbose: int = 0, callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: ArrayLike,  # type: ignore[override]
            sample_weight: ArrayLike | None = None) -> _Self: ...

class GroupLasso(GLM):
    def __init__(self, groups: ArrayLike | None = None, *,
                 loss: str = "squared", alpha: float = 1.0,
                 loss_parameter: float | None = None,
                 fit_intercept: bool = True, standardize: bool = False,
                 tol: float = 1e-6, max_iter: int | None = None,
                 n_jobs: int | None = None, warm_start: bool = False,
                 verbose: int = 0, callbacks: _Callbacks = None) -> None: ...

class SparseGroupLasso(GLM):
    def __init__(self, groups: ArrayLike | None = None, *,
                 loss: str = "squared", alpha: float = 1.0,
                 l1_ratio: float = 0.5, loss_parameter: float | None = None,
                 fit_intercept: bool = True, standardize: bool = False,
                 tol: float = 1e-6, max_iter: int | None = None,
                 n_jobs: int | None = None, warm_start: bool = False,
                 verbose: int = 0, callbacks: _Callbacks = None) -> None: ...

class GLMCV(GLM):
    alpha_: float
    relax_: float
    alpha_1se_: float
    alphas_: _Floats
    error_path_: _Floats
    error_: _Floats
    error_deviation_: _Floats
    warm_start: bool
    def __init__(self, loss: str = "squared", penalty: str = "l1", *,
                 l1_ratio: float = 0.5, gamma: float | None = None,
                 groups: ArrayLike | None = None,
                 penalty_factors: ArrayLike | None = None,
                 lower: float | None = None, upper: float | None = None,
                 loss_parameter: float | None = None, eps: float = 1e-2,
                 n_alphas: int = 100, alphas: ArrayLike | None = None,
                 cv: Any = None, fit_intercept: bool = True,
                 standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, relax: Any = 1.0, tol: float = 1e-6,
                 max_iter: int | None = None, n_jobs: int | None = None,
                 random_state: _Seed = None, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...

# ---- classification --------------------------------------------------------

class _Classifier(_Linear):
    classes_: NDArray[Any]
    intercept_: _Floats
    def fit(self: _Self, X: _Matrix, y: ArrayLike,
            sample_weight: ArrayLike | None = None) -> _Self: ...
    def decision_function(self, X: _Matrix) -> _Floats: ...
    def sparsify(self: _Self) -> _Self: ...
    def densify(self: _Self) -> _Self: ...
    def predict(self, X: _Matrix) -> NDArray[Any]: ...
    def score(self, X: _Matrix, y: ArrayLike,
              sample_weight: ArrayLike | None = ...) -> float: ...

class LogisticRegression(_Classifier):
    def __init__(self, penalty: str = "l2", *, dual: bool | str = False,
                 tol: float = 1e-5, C: float = 1.0, fit_intercept: bool = True,
                 intercept_scaling: float | None = 1.0,
                 class_weight: _ClassWeight = None, random_state: _Seed = None,
                 solver: str = "lbfgs", max_iter: int | None = None,
                 multi_class: str = "auto", verbose: int = 0,
                 warm_start: bool = False, n_jobs: int | None = None,
                 l1_ratio: float | None = None, standardize: bool = False,
                 callbacks: _Callbacks = None) -> None: ...
    def predict_proba(self, X: _Matrix) -> _Floats: ...
    def predict_log_proba(self, X: _Matrix) -> _Floats: ...

class LogisticRegressionCV(LogisticRegression):
    Cs_: _Floats
    C_: _Floats
    C_1se_: _Floats
    l1_ratio_: _Floats
    l1_ratios_: NDArray[Any]
    scores_: dict[Any, _Floats]
    warm_start: bool
    def __init__(self, *, Cs: ArrayLike = 10, fit_intercept: bool = True,
                 cv: Any = None, dual: bool | str = False, penalty: str = "l2",
                 scoring: Any = None, solver: str = "lbfgs", tol: float = 1e-5,
                 max_iter: int | None = None,
                 class_weight: _ClassWeight = None, n_jobs: int | None = None,
                 verbose: int = 0, refit: bool = True,
                 intercept_scaling: float | None = 1.0,
                 multi_class: str = "auto", random_state: _Seed = None,
                 l1_ratios: ArrayLike | None = None, standardize: bool = False,
                 callbacks: _Callbacks = None) -> None: ...

class LinearSVC(_Classifier):
    def __init__(self, penalty: str = "l2", loss: str = "squared_hinge", *,
                 dual: bool | str = "auto", tol: float = 1e-4, C: float = 1.0,
                 multi_class: str = "ovr", fit_intercept: bool = True,
                 intercept_scaling: float | None = 1.0,
                 class_weight: _ClassWeight = None, verbose: int = 0,
                 random_state: _Seed = None, max_iter: int | None = None,
                 standardize: bool = False, n_jobs: int | None = None,
                 warm_start: bool = False,
                 callbacks: _Callbacks = None) -> None: ...

class GLMClassifier(_Classifier):
    def __init__(self, loss: str = "logistic", penalty: str = "l1", *,
                 alpha: float = 1e-2, l1_ratio: float = 0.5,
                 gamma: float | None = None, groups: ArrayLike | None = None,
                 penalty_factors: ArrayLike | None = None,
                 lower: float | None = None, upper: float | None = None,
                 fit_intercept: bool = True, class_weight: _ClassWeight = None,
                 standardize: bool = False, tol: float = 1e-6,
                 max_iter: int | None = None, n_jobs: int | None = None,
                 warm_start: bool = False, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...
    def predict_proba(self, X: _Matrix) -> _Floats: ...
    def predict_log_proba(self, X: _Matrix) -> _Floats: ...
    def summary(self, X: _Matrix, y: ArrayLike,
                sample_weight: ArrayLike | None = None, *,
                level: float = 0.95) -> Summary: ...

class OrdinalRegression(_Classifier):
    thresholds_: _Floats
    fit_intercept: bool
    def __init__(self, penalty: str = "l1", *, alpha: float = 1e-2,
                 l1_ratio: float = 0.5, gamma: float | None = None,
                 groups: ArrayLike | None = None,
                 penalty_factors: ArrayLike | None = None,
                 lower: float | None = None, upper: float | None = None,
                 classes: ArrayLike | None = None,
                 class_weight: _ClassWeight = None, standardize: bool = False,
                 adaptive: float | None = None,
                 first_fit: ArrayLike | None = None, tol: float = 1e-6,
                 max_iter: int | None = None, n_jobs: int | None = None,
                 warm_start: bool = False, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...
    def predict_proba(self, X: _Matrix) -> _Floats: ...
    def predict_log_proba(self, X: _Matrix) -> _Floats: ...

# ---- paths: alphas [n], coefs [n_features, n], gaps [n], intercepts [n] ----

def enet_path(X: _Matrix, y: ArrayLike, *, l1_ratio: float = 0.5,
              eps: float = 1e-3, n_alphas: int = 100,
              alphas: ArrayLike | None = None, precompute: Any = "auto",
              copy_X: bool = True, verbose: int = 0, positive: bool = False,
              fit_intercept: bool = False, tol: float = 1e-6,
              n_jobs: int | None = None,
              max_iter: int | None = None) -> tuple[_Floats, ...]: ...
def lasso_path(X: _Matrix, y: ArrayLike, *, eps: float = 1e-3,
               n_alphas: int = 100, alphas: ArrayLike | None = None,
               precompute: Any = "auto", copy_X: bool = True, verbose: int = 0,
               positive: bool = False, fit_intercept: bool = False,
               tol: float = 1e-6, n_jobs: int | None = None,
               max_iter: int | None = None) -> tuple[_Floats, ...]: ...
def logistic_path(X: _Matrix, y: ArrayLike, *, l1_ratio: float = 1.0,
                  eps: float = 1e-2, n_points: int = 100,
                  fit_intercept: bool = True, tol: float = 1e-6,
                  n_jobs: int | None = None,
                  max_iter: int | None = None) -> tuple[_Floats, ...]: ...
def glm_path(X: _Matrix, y: ArrayLike, loss: str = "squared",
             penalty: str = "l1", *, alphas: ArrayLike | None = None,
             n_alphas: int = 100, eps: float = 1e-2, l1_ratio: float = 0.5,
             gamma: float | None = None, groups: ArrayLike | None = None,
             loss_parameter: float | None = None,
             sample_weight: ArrayLike | None = None,
             offset: ArrayLike | None = None, fit_intercept: bool = False,
             tol: float = 1e-6, n_jobs: int | None = None,
             max_iter: int | None = None,
             strata: ArrayLike | None = None) -> tuple[_Floats, ...]: ...

# ---- topics and factors ----------------------------------------------------

class LatentDirichletAllocation(_Estimator):
    components_: _Floats
    alpha_: _Floats
    beta_: float
    log_likelihood_: float
    n_documents_: int
    n_tokens_: int
    vocabulary_: list[str] | None
    topic_names_: list[str | None] | None
    phrases_: list[str] | None
    trials_: list[dict[str, Any]] | None
    @property
    def topics_(self) -> Any: ...
    def __init__(self, n_components: int | str = 10, *,
                 doc_topic_prior: float | None = None,
                 topic_word_prior: float | None = None,
                 max_iter: int | None = None, fit_prior: str | None = None,
                 samples: int = 10,
                 seed_words: Mapping[str, Any] | Sequence[Any] | None = None,
                 seed_weight: float = 0.1,
                 stop_words: str | Iterable[str] | None = "auto",
                 phrases: int | None = None, min_df: int | None = None,
                 max_df: float | None = None, partitions: int | None = None,
                 transform_sweeps: int = 20, scratch: str | None = None,
                 random_state: _Seed = None,
                 n_jobs: int | None = None, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: Any = None) -> _Self: ...
    def fit_transform(self, X: _Matrix, y: Any = None) -> _Floats: ...
    def transform(self, X: _Matrix) -> _Floats: ...
    def score(self, X: _Matrix, y: Any = None) -> float: ...
    def perplexity(self, X: _Matrix) -> float: ...
    def top_words(self, n: int = 10, relevance: float = 1.0,
                  by: str = "relevance") -> NDArray[Any]: ...
    def merge_topics(self: _Self, cosine: float = 0.9) -> _Self: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls: type[_Self], path: _Path) -> _Self: ...
    def get_feature_names_out(self, input_features: Any = None
                              ) -> NDArray[Any]: ...

class _Machine(_Estimator):
    loss: str
    coef_: _Floats
    factors_: _Floats
    alpha_: float
    objective_: float
    def fit(self: _Self, X: _Matrix, y: ArrayLike) -> _Self: ...
    def score(self, X: _Matrix, y: ArrayLike,
              sample_weight: ArrayLike | None = ...) -> float: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls: type[_Self], path: _Path) -> _Self: ...

class FactorizationMachine(_Machine):
    intercept_: float
    def __init__(self, rank: int = 8, *, method: str | None = None,
                 step: float | None = None, loss: str = "squared",
                 context: int | None = None, alpha: float | None = None,
                 alpha_factors: float | None = None,
                 max_iter: int | None = None, random_state: _Seed = None,
                 n_jobs: int | None = None, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...
    def predict(self, X: _Matrix) -> _Floats: ...

class FactorizationMachineClassifier(_Machine):
    classes_: NDArray[Any]
    intercept_: _Floats
    def __init__(self, rank: int = 8, *, method: str | None = None,
                 step: float | None = None, alpha: float | None = None,
                 alpha_factors: float | None = None,
                 max_iter: int | None = None, random_state: _Seed = None,
                 n_jobs: int | None = None, verbose: int = 0,
                 callbacks: _Callbacks = None) -> None: ...
    def decision_function(self, X: _Matrix) -> _Floats: ...
    def predict(self, X: _Matrix) -> NDArray[Any]: ...
    def predict_proba(self, X: _Matrix) -> _Floats: ...

class MatrixFactorization(_Estimator):
    users_: NDArray[Any] | None
    items_: NDArray[Any] | None
    user_bias_: NDArray[np.float32]
    user_factors_: NDArray[np.float32]
    item_bias_: NDArray[np.float32]
    item_factors_: NDArray[np.float32]
    mean_: float
    penalty_: float
    training_error_: float
    validation_error_: float
    trials_: list[dict[str, Any]]
    periods_: tuple[float, float, _Floats] | None
    def __init__(self, rank: int | None = None, *, method: str | None = None,
                 max_iter: int | None = 20, implicit: bool = False,
                 nonnegative: bool = False, alpha: float = 1.0,
                 penalty: float | None = None, holdout: float | None = None,
                 tune: int | None = None, clip: bool = True,
                 cg_steps: int | None = None, loss: str = "squared",
                 scratch: str | None = None, holdout_by: str = "random",
                 random_state: _Seed = None, n_jobs: int | None = None,
                 verbose: int = 0, callbacks: _Callbacks = None) -> None: ...
    def fit(self: _Self, X: _Matrix, y: Any = None, time: Any = None
            ) -> _Self: ...
    def fit_transform(self, X: _Matrix, y: Any = ...) -> NDArray[Any]: ...
    def transform(self, X: _Matrix) -> NDArray[Any]: ...
    def rate(self, users: ArrayLike, items: ArrayLike,
             time: ArrayLike | None = None) -> NDArray[Any]: ...
    def score(self, X: _Matrix, y: Any = None, time: Any = None) -> float: ...
    def fold_in(self, X: _Matrix) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls: type[_Self], path: _Path) -> _Self: ...
    def recommend(self, user: Any = None, n: int = 10, *,
                  seen: Any = ()) -> list[Any]: ...
    def similar_items(self, item: Any = None, n: int = 10) -> list[Any]: ...
    def similar_users(self, user: Any = None, n: int = 10) -> list[Any]: ...

# ---- files -----------------------------------------------------------------

def params_dict(model: Any) -> dict[str, float | str | None]: ...
def metrics_dict(model: Any) -> dict[str, float]: ...
class Model:
    program: str
    coef: _Floats
    intercept: float | _Floats
    options: dict[str, Any]
    fit: dict[str, float]
    baseline: dict[str, NDArray[Any]] | None
    thresholds: _Floats | None
    names: Sequence[str] | None
    means: _Floats | None
    target: str | None
    def __init__(self, program: str, coef: ArrayLike,
                 intercept: ArrayLike = 0.0, *,
                 options: dict[str, Any] | None = None,
                 fit: dict[str, float] | None = None,
                 baseline: dict[str, NDArray[Any]] | None = None,
                 thresholds: ArrayLike | None = None,
                 names: Sequence[str] | None = None,
                 means: ArrayLike | None = None,
                 target: str | None = None) -> None: ...
    def decision_function(self, X: _Matrix) -> _Floats: ...
    def save(self, path: _Path) -> None: ...

def read_model(path: _Path) -> Any: ...  # Model or LatentDirichletAllocation

class Pack:
    path: str
    shape: tuple[int, int]
    nnz: int
    file_bytes: int
    chunks: int
    values: str
    y: _Floats | None
    sample_weight: _Floats | None
    classes: list[str] | None
    feature_names: list[str] | None
    def __init__(self, path: _Path) -> None: ...
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any: ...
    def tocsc(self, begin: int | None = None, end: int | None = None
              ) -> Any: ...
    def moments(self, begin: int | None = None, end: int | None = None
                ) -> tuple[_Floats, _Floats]: ...

def open_pack(path: _Path) -> Pack: ...
def pack(X: _Matrix | _Path | Sequence[_Path], path: _Path,
         y: ArrayLike | _Path | None = None, *, values: str = "exact",
         sample_weight: ArrayLike | None = None,
         feature_names: Sequence[str] | None = None) -> Pack: ...
