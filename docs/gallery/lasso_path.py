"""
A Lasso, its path, and where to stop
====================================

Blood values of 442 patients and the progress of their diabetes after a year
(Efron et al. 2004, included in scikit-learn). The path shows which values enter
the model as the penalty falls; cross-validation selects the penalty. The larger
alpha, within one standard error of the least error, keeps fewer columns.
"""
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import strads
from strads import plots

X, y = load_diabetes(return_X_y=True, as_frame=True)
X = (X - X.mean()) / X.std()

alphas, coefs, gaps, _ = strads.lasso_path(X, y, fit_intercept=True)
print(f"{len(alphas)} points, none further from its optimum than "
      f"{gaps.max():.0e} of it")
model = strads.LassoCV(cv=10, random_state=1).fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
plots.path(alphas, coefs, names=X.columns, ax=left)
right.errorbar(model.alphas_, model.mse_, model.mse_deviation_, color="0.7",
               ecolor="0.85")
right.set(xscale="log", xlabel="alpha", ylabel="mean squared error, held out",
          title="Ten folds")
right.invert_xaxis()
for ax in left, right:
    ax.axvline(model.alpha_, color="C0", linestyle="--",
               label=f"least error: alpha = {model.alpha_:.2g}")
    ax.axvline(model.alpha_1se_, color="C1", linestyle=":",
               label=f"within one deviation: {model.alpha_1se_:.2g}")
right.legend()
kept = np.count_nonzero(strads.Lasso(model.alpha_1se_).fit(X, y).coef_)
print(f"{np.count_nonzero(model.coef_)} columns at the least error, {kept} "
      "within one deviation")
figure.tight_layout()
plt.show()
