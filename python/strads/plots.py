"""What a notebook shows of a fitted model: a table, and plots where matplotlib
is there. Nothing here is needed to fit."""
from html import escape

import numpy as np


def with_coefficients(model, form):
    """scikit-learn's form, and the largest coefficients as a table."""
    if not hasattr(model, "coef_"):
        return form
    coef = np.ravel(model.coef_)
    largest = np.argsort(-np.abs(coef))[:10]
    names = getattr(model, "feature_names_in_", None)
    rows = "".join(
        f"<tr><td style='text-align:left'>"
        f"{escape(str(names[j] if names is not None else j))}</td>"
        f"<td>{coef[j]:.6g}</td></tr>" for j in largest if coef[j])
    return (f"{form}<table><caption>{np.count_nonzero(coef)} of {coef.size} "
            f"coefficients, gap {model.dual_gap_:.1e}</caption>{rows}</table>")


def path(alphas, coefs, *, names=None, top=8, ax=None):
    """Draws coefficients against alpha; the `top` largest are named."""
    import matplotlib.pyplot as plt
    ax = ax or plt.gca()
    largest = np.argsort(-np.abs(coefs).max(axis=1))[:top]
    ax.semilogx(alphas, coefs.T, color="0.8", linewidth=0.8)
    for j in largest:
        line, = ax.semilogx(alphas, coefs[j])
        ax.annotate(str(names[j] if names is not None else j),
                    (alphas[-1], coefs[j, -1]), color=line.get_color(),
                    xytext=(4, 0), textcoords="offset points", va="center",
                    fontsize=8)
    ax.invert_xaxis()
    ax.set(xlabel="alpha", ylabel="coefficient", title="Coefficients by alpha")
    return ax


def topics(model, names, *, n=8):
    """Draws the `n` top words of each topic as bars."""
    import matplotlib.pyplot as plt
    words = model.top_words(n)
    k = len(words)
    figure, axes = plt.subplots((k + 3) // 4, min(k, 4), squeeze=False,
                                figsize=(3 * min(k, 4), 2 * ((k + 3) // 4)))
    for topic, panel in enumerate(axes.flat):
        if topic >= k:
            panel.axis("off")
            continue
        shares = model.components_[topic, words[topic]]
        shares = shares / model.components_[topic].sum()
        panel.barh([str(names[w]) for w in words[topic]][::-1], shares[::-1])
        panel.set_title(f"topic {topic}", fontsize=9)
        panel.tick_params(labelsize=7)
    figure.tight_layout()
    return figure
