"""Every estimator passes scikit-learn's own checks: as it is made without any
parameter, and under some others."""
from sklearn.utils.estimator_checks import parametrize_with_checks

import strads
from promises import ESTIMATORS


@parametrize_with_checks([getattr(strads, name)() for name in ESTIMATORS])
def test_passes_scikit_learns_check_at_defaults(estimator, check):
    check(estimator)


@parametrize_with_checks([
    strads.LogisticRegression("l1"), strads.LogisticRegression(penalty=None),
    strads.LogisticRegression(multi_class="ovr"),
    strads.LogisticRegressionCV(Cs=3, penalty="l1", multi_class="ovr"),
    # tighter: the checks compare fits of reordered rows to 1e-7
    strads.LinearSVC(loss="hinge", tol=1e-10),
    strads.LinearSVC("l1"), strads.GLM(penalty="ridge"),
    strads.GLM("poisson", "elastic-net"), strads.GroupLasso(alpha=0.1),
    strads.SparseGroupLasso(alpha=0.1),
    strads.GLMClassifier("multinomial", "ridge"),
    strads.GLMClassifier("squared-hinge", "elastic-net"),
    strads.LatentDirichletAllocation(2, max_iter=10),
    strads.MatrixFactorization(2, max_iter=5),
    strads.FactorizationMachine(0),
    strads.FactorizationMachine(2, alpha=1e-3)])
def test_passes_scikit_learns_check(estimator, check):
    check(estimator)
