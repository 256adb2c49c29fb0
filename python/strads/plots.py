"""Displays of a fitted model in a notebook: a table, and plots if matplotlib
is installed. Fitting does not need this module."""
from html import escape

import numpy as np


def _named(names, j):
    return escape(str(names[j] if names is not None else j))


def _table(caption, rows):
    cells = "".join("<tr>" + "".join(
        f"<td style='text-align:left'>{cell}</td>" for cell in row) + "</tr>"
        for row in rows)
    return f"<table><caption>{caption}</caption>{cells}</table>"


class Shown:
    """An estimator with a table: a notebook shows _table(model) below
    scikit-learn's representation of a fitted model."""

    def _repr_html_inner(self):
        return super()._repr_html_inner() + type(self)._table(self)

    def _repr_mimebundle_(self, **kwargs):
        made = super()._repr_mimebundle_(**kwargs)
        if "text/html" in made:
            made["text/html"] = self._repr_html_inner()
        return made


def _coefficients_of(model):
    """coef_ as an array [rows, n_features]."""
    return np.atleast_2d(model.coef_.toarray() if hasattr(
        model.coef_, "toarray") else model.coef_)


def _rows_of(model):
    """The names of several rows of coef_: classes, or numbers of outputs."""
    return getattr(model, "classes_", range(len(model.coef_)))


def of_coefficients(model):
    """The largest coefficients as a table; with several classes, by the
    largest absolute value over the classes."""
    if not hasattr(model, "coef_"):
        return ""
    coef = _coefficients_of(model)
    size = np.abs(coef).max(axis=0)
    names = getattr(model, "feature_names_in_", None)
    rows = [[_named(names, j), *(f"{value:.6g}" for value in coef[:, j])]
            for j in np.argsort(-size, kind="stable")[:10] if size[j]]
    if len(coef) > 1:
        rows.insert(0, ["", *(escape(str(c)) for c in _rows_of(model))])
    return _table(
        f"{np.count_nonzero(size)} of {size.size} columns have coefficients, "
        f"gap {np.max(model.dual_gap_):.1e}", rows)


def of_topics(model):
    """The top words of each topic as a table."""
    if not hasattr(model, "components_"):
        return ""
    names = getattr(model, "feature_names_in_", None)
    return _table(
        f"{len(model.components_)} topics of {model.components_.shape[1]} words",
        [[topic, " ".join(w if isinstance(w, str) else _named(names, w)
                          for w in words if w is not None and w != -1)]
         for topic, words in enumerate(model.top_words(8)[:20])])


def of_factors(model):
    """Sizes and errors of a factorisation as a table."""
    if not hasattr(model, "item_factors_"):
        return ""
    return _table("factors of users and items", [
        ["users", len(model.user_factors_)], ["items", len(model.item_factors_)],
        ["rank", model.item_factors_.shape[1]],
        ["error on ratings held out", f"{model.validation_error_:.6g}"]])


def _apart(places, least):
    """Moves places by the least squared distance so that any two are `least`
    apart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, dtype=float)[order]
    groups = []  # [sum of the wanted positions, number of members]
    for k, place in enumerate(moved):
        groups.append([place - k * least, 1])
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] > \
                groups[-1][0] * groups[-2][1]:
            total, n = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += n
    base = np.concatenate([np.full(n, total / n) for total, n in groups])
    out = np.empty(len(moved))
    out[order] = base + least * np.arange(len(moved))
    return out


def path(alphas, coefs, *, names=None, top=8, ax=None):
    """Draws coefficients [n_features, n] against alphas [n]; the `top` largest
    have colours and names."""
    import matplotlib.pyplot as plt
    ax = ax or plt.gca()
    size = np.abs(coefs).max(axis=1)
    largest = [j for j in np.argsort(-size, kind="stable")[:top] if size[j]]
    ax.semilogx(alphas, coefs.T, color="0.8", linewidth=0.8)
    ax.invert_xaxis()
    ax.set(xlabel="alpha", ylabel="coefficient", title="Coefficients by alpha")
    drawn = [ax.semilogx(alphas, coefs[j])[0] for j in largest]
    if largest:
        low, high = ax.get_ylim()
        height = ax.get_window_extent().height * 72 / ax.figure.dpi  # points
        ends = _apart(coefs[largest, -1], 9.0 * (high - low) / height)
        for line, j, end in zip(drawn, largest, ends):
            ax.annotate(str(names[j] if names is not None else j), (1, end),
                        xycoords=("axes fraction", "data"), va="center",
                        xytext=(4, 0), textcoords="offset points", fontsize=8,
                        color=line.get_color())
    return ax


def coefficients(model, *, names=None, top=20, ax=None):
    """Draws the `top` largest coefficients of a linear model as bars, the
    largest on top; with several classes, one colour each."""
    import matplotlib.pyplot as plt
    ax = ax or plt.gca()
    coef = _coefficients_of(model)
    if names is None:
        names = getattr(model, "feature_names_in_", np.arange(coef.shape[1]))
    size = np.abs(coef).max(axis=0)
    largest = [j for j in np.argsort(-size, kind="stable")[:top] if size[j]]
    places = -np.arange(len(largest))
    for k, row in enumerate(coef):
        width = 0.8 / len(coef)
        ax.barh(places - (k - (len(coef) - 1) / 2) * width, row[largest], width,
                label=str(_rows_of(model)[k]) if len(coef) > 1 else None)
    ax.set_yticks(places, [str(names[j]) for j in largest])
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="coefficient", title=f"{len(largest)} largest of "
           f"{np.count_nonzero(size)} coefficients")
    if len(coef) > 1:
        ax.legend(title="class")
    return ax


def topics(model, names=None, *, n=8):
    """Draws the `n` top words of each topic as bars. names: of all words; None:
    those of the model or, without them, the numbers of the columns."""
    import matplotlib.pyplot as plt
    words = model._top_numbers(n)
    if names is None:
        names = getattr(model, "vocabulary_", None)
    titles = getattr(model, "topic_names_", None) or [None] * len(words)
    k = len(words)
    figure, axes = plt.subplots((k + 3) // 4, min(k, 4), squeeze=False,
                                figsize=(3 * min(k, 4), 2 * ((k + 3) // 4)))
    for topic, panel in enumerate(axes.flat):
        if topic >= k:
            panel.axis("off")
            continue
        own = words[topic][words[topic] >= 0][::-1]
        panel.barh([str(w if names is None else names[w]) for w in own], model.components_[topic, own] /
                   model.components_[topic].sum())
        panel.set_title(titles[topic] or f"topic {topic}", fontsize=9)
        panel.set_xlabel("share of the topic", fontsize=7)
        panel.tick_params(labelsize=7)
    figure.tight_layout()
    return figure
