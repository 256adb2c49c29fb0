"""
Columns that come and go together
=================================

Three of twenty groups of five columns have an effect. The Lasso selects single
columns; the group Lasso selects groups, so its solution has the structure of the
data. Both use the largest alpha within one standard error of the least
cross-validation error.
"""
import matplotlib.pyplot as plt
import numpy as np

import strads

draws = np.random.default_rng(3)
groups = np.repeat(np.arange(20), 5)
truth = np.zeros(100)
for group in 2, 7, 13:
    truth[groups == group] = draws.normal(0, 1, 5)
X = draws.standard_normal((150, 100))
y = X @ truth + draws.normal(0, 2, 150)

fits = {"what made the data": truth}
for name, penalty in ("Lasso", "l1"), ("group Lasso", "group"):
    chosen = strads.GLMCV(penalty=penalty, groups=groups if penalty == "group"
                          else None, n_alphas=30, random_state=0).fit(X, y)
    fits[name] = strads.GLM(
        penalty=penalty, alpha=chosen.alpha_1se_, groups=chosen.groups).fit(
            X, y).coef_
    found = set(groups[fits[name] != 0])
    print(f"{name}: {np.count_nonzero(fits[name])} columns of {len(found)} "
          f"groups, distance to the truth "
          f"{np.linalg.norm(fits[name] - truth):.2f}")

figure, axes = plt.subplots(3, 1, figsize=(8, 5.5), sharex=True, sharey=True)
for ax, (name, coef) in zip(axes, fits.items()):
    ax.bar(np.arange(100), coef, color=[f"C{g % 2}" for g in groups])
    ax.axhline(0, color="0.3", linewidth=0.6)
    ax.set(title=name, ylabel="coefficient")
axes[-1].set(xlabel="column; groups of five in two colours by turns")
axes[-1].set_xticks(np.arange(0, 101, 10))
figure.tight_layout()
plt.show()
