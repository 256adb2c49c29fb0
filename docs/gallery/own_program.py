"""
A user-defined program
======================

The engine schedules; a class with numpy views defines the update of a parameter.
This example is nonnegative least squares by coordinate descent over three
partitions of the rows, column by column. Each sweep ends with a report, and the
run ends when a sweep hardly changes the coefficients.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

import strads


class NonNegative(strads.Program):
    """min |y - Xw|^2 / 2, w >= 0."""

    name = "non-negative"
    block_max = 1  # parameters a block

    def open(self, share):  # of each partition: its residual
        return share.label.copy()

    def partial(self, block):  # numbers that update computes
        return 3

    def update(self, task):
        index, x = task.share.column(task.block[0])
        residual = task.local
        task.partial[:] = x @ residual[index], x @ x, residual @ residual

    def aggregate(self, commit):  # the sum over all partitions
        gradient, curvature, self.loss = commit.partial
        old = commit.value[0, 0]
        new = max(0.0, old + gradient / curvature)
        commit.change[0] = new - old
        self.moved = getattr(self, "moved", 0.0) + curvature * (new - old) ** 2

    def refresh(self, task, changes):  # commits since the last dispatch
        for j, change in changes:
            index, x = task.share.column(j)
            task.local[index] -= x * change[0]

    def objective(self, report):
        report.objective = self.loss / 2
        report.gap = self.moved / self.loss
        said.append((report.objective, report.gap))
        self.moved = 0.0


said = []
draws = np.random.default_rng(1)
X = draws.standard_normal((300, 40))
truth = np.maximum(0, draws.normal(0, 1, 40))
y = X @ truth + draws.normal(0, 0.5, 300)

fit = NonNegative().fit(X, y, partitions=3, tol=1e-16, policy="cyclic")
exact, _ = nnls(X, y)
print(f"{len(said)} reports; the largest difference to scipy's nnls is "
      f"{np.abs(fit.values_[:, 0] - exact).max():.0e}")

objective, moved = np.transpose(said)
least = np.sum((y - X @ exact) ** 2) / 2
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.semilogy(np.maximum(objective / least - 1, 1e-16),
              label="objective above the least")
left.semilogy(moved, label="what the last sweep moved")
left.set(xlabel="sweep", ylabel="relative to the objective",
         title="Convergence")
left.legend()
right.scatter(truth, fit.values_[:, 0], s=14)
right.plot([0, truth.max()], [0, truth.max()], color="0.3", linewidth=0.8)
right.set(xlabel="what made the data", ylabel="fitted",
          title="Coefficients, none below 0")
figure.tight_layout()
plt.show()
