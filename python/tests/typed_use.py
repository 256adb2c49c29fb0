"""Code of a user, for mypy --strict: a right line passes, and a wrong one has
the error that its comment names. An error that does not occur is one itself
(warn_unused_ignores)."""
from typing import Any

import numpy as np
from numpy.typing import NDArray

import strads
from strads.program import Commit, Report, Share, Task


def fits(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    model: strads.Lasso = strads.Lasso(alpha=0.1, n_jobs=2).fit(X, y)
    coef: NDArray[np.float64] = model.coef_
    predicted: NDArray[np.float64] = model.predict(X)
    strads.Lasso(alpha="much")  # type: ignore[arg-type]
    strads.Lasso(alhpa=0.1)  # type: ignore[call-arg]
    strads.Lasso(l1_ratio=0.5)  # type: ignore[call-arg]
    strads.Lasso().predict_proba(X)  # type: ignore[attr-defined]
    classes = strads.LogisticRegression("l1", C=10).fit(X, y)
    gap: int = classes.dual_gap_  # type: ignore[assignment]
    shares = classes.predict_proba(X)
    alphas, coefs, gaps = strads.lasso_path(X, y, n_alphas=5)
    strads.enet_paths(X, y)  # type: ignore[attr-defined]
    del coef, predicted, gap, shares, alphas, coefs, gaps


def ends(progress: strads.Progress) -> bool:
    return progress.gap < 1e-3 or progress.rounds > 9  # type: ignore[attr-defined]


def files(X: NDArray[np.float64]) -> None:
    with_callback = strads.GLM("poisson", callbacks=[ends])
    with_callback.fit(X, X[:, 0], offset=X[:, 1])
    strads.GLM(callbacks=ends)  # type: ignore[arg-type]
    pack = strads.pack(X, "x.pack", values="f32")
    rows: int = pack.shape[0]
    strads.open_pack(3)  # type: ignore[arg-type]
    topics = strads.LatentDirichletAllocation(5).fit(X)
    topics.save("topics.json")
    words: list[str] = topics.top_words()  # type: ignore[assignment]
    del rows, words


class Ridge(strads.Program):
    """The ridge regression of the documentation."""

    def open(self, share: Share) -> Any:
        return share.label.copy()

    def update(self, task: Task) -> None:
        index, x = task.share.column(int(task.block[0]))
        task.partial[:] = x @ task.local[index], x @ x

    def aggregate(self, commit: Commit) -> None:
        commit.change[0] = commit.partial[0] / commit.partial[1]

    def objective(self, report: Report) -> None:
        report.gap = 0.0
        report.gap = "none"  # type: ignore[assignment]


fit: Ridge = Ridge().fit(np.eye(3), np.ones(3), partitions=2)
