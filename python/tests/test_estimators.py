"""Every estimator passes scikit-learn's own checks."""
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import strads


@parametrize_with_checks([
    strads.Lasso(), strads.ElasticNet(), strads.LassoCV(n_alphas=10, cv=3),
    # tighter: the checks compare fits of reordered rows to 1e-7
    strads.ElasticNetCV(n_alphas=10, cv=3),
    strads.LinearSVR(tol=1e-10),
    strads.LogisticRegression(), strads.LogisticRegression("l1"),
    strads.LogisticRegression(multi_class="ovr"),
    strads.LogisticRegressionCV(n_points=10, cv=3),
    strads.LinearSVC(), strads.LinearSVC(loss="hinge", tol=1e-10),
    strads.LinearSVC("l1"), strads.GLM(), strads.GLM(penalty="ridge"),
    strads.GLM("poisson", "elastic-net"), strads.PoissonRegressor(),
    strads.HuberRegressor(), strads.GroupLasso(alpha=0.1),
    strads.GLMCV(n_alphas=10, cv=3), strads.GLMClassifier(),
    strads.GLMClassifier("multinomial", "ridge"),
    strads.GLMClassifier("squared-hinge", "elastic-net"),
    strads.LatentDirichletAllocation(2, max_iter=10),
    strads.MatrixFactorization(2, max_iter=5)])
def test_passes_scikit_learns_check(estimator, check):
    check(estimator)
