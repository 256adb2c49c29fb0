"""The gallery's pages run, and their pictures are readable: each panel has a
title or labels, and no two texts of a picture overlap.

If STRADS_GALLERY names a folder, the pictures are kept there
(docs/gallery/README.md).
"""
import glob
import os
import runpy

import matplotlib
import numpy as np
import pytest

import strads
from strads import plots

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)

PAGES = sorted(glob.glob(os.path.join(
    os.environ["STRADS_SOURCE"], "docs", "gallery", "*.py")))


def texts(ax):
    """The texts of a panel: titles, labels, visible ticks."""
    yield from [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
    for axis in ax.xaxis, ax.yaxis:
        low, high = sorted(axis.get_view_interval())
        for place, label in zip(axis.get_majorticklocs(),
                                axis.get_majorticklabels()):
            if low <= place <= high:
                yield label


def test_there_are_six_pages():
    assert len(PAGES) >= 6


@pytest.mark.parametrize("page", PAGES, ids=os.path.basename)
def test_a_page_runs_and_its_picture_can_be_read(page, tmp_path, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    runpy.run_path(page, run_name="__main__")
    figure = plt.gcf()
    name = os.path.basename(page)[:-3] + ".png"
    figure.savefig(os.path.join(os.environ.get("STRADS_GALLERY", tmp_path),
                                name), dpi=80)
    assert figure.findobj(matplotlib.axes.Axes)
    for ax in figure.findobj(matplotlib.axes.Axes):
        assert ax.get_title() or ax.get_xlabel() or ax.get_ylabel() or \
            ax.images
    renderer = figure.canvas.get_renderer()
    seen = [(text.get_text(), text.get_window_extent(renderer))
            for ax in figure.findobj(matplotlib.axes.Axes) if ax.axison
            for text in texts(ax)
            if text.get_text().strip() and text.get_visible()]
    for k, (one, a) in enumerate(seen):
        for other, b in seen[k + 1:]:
            assert min(a.x1, b.x1) - max(a.x0, b.x0) < 1 or \
                min(a.y1, b.y1) - max(a.y0, b.y0) < 1.5, (one, other)


def test_names_at_a_path_do_not_collide():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((80, 30))
    y = X @ np.full(30, 0.5)  # all paths end at the same place
    alphas, coefs, _ = strads.lasso_path(X, y, n_alphas=20)
    figure, ax = plt.subplots()
    plots.path(alphas, coefs, top=30, ax=ax)
    ends = sorted(text.xy[1] for text in ax.texts)
    low, high = ax.get_ylim()
    assert len(ends) == 30
    assert min(np.diff(ends)) / (high - low) * ax.get_window_extent().height \
        >= 8.9 * figure.dpi / 72


def test_coefficients_are_bars_of_each_class():
    draws = np.random.default_rng(1)
    X = draws.standard_normal((90, 6))
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    model = strads.LogisticRegression("l1").fit(X, y)
    _, ax = plt.subplots()
    plots.coefficients(model, names=list("uvwxyz"), top=4, ax=ax)
    assert len(ax.patches) == 3 * 4
    assert {text.get_text() for text in ax.get_legend().texts} == set("abc")
    assert {label.get_text() for label in ax.get_yticklabels()} >= set("uvw")
    table = model._repr_mimebundle_()["text/html"]
    assert "<td style='text-align:left'>b</td>" in table


def test_topics_have_the_words_of_the_model():
    texts = ["coal iron ore", "iron coal", "sea sail ship", "ship sea"] * 5
    model = strads.LatentDirichletAllocation(
        2, max_iter=20, stop_words=None,
        seed_words={"mining": ["coal"], "sea": ["ship"]}).fit(texts)
    figure = plots.topics(model, n=3)
    for k, panel in enumerate(figure.axes[:2]):
        drawn = [text.get_text() for text in panel.get_yticklabels()]
        assert drawn == [word for word in model.top_words(3)[k][::-1]
                         if word is not None]
        share = model.components_[k] / model.components_[k].sum()
        assert [bar.get_width() for bar in panel.patches] == pytest.approx(
            [share[model.vocabulary_.index(word)] for word in drawn])
    assert [panel.get_title() for panel in figure.axes[:2]] == ["mining", "sea"]
    counts = np.tile([[3, 2, 0, 0], [0, 0, 1, 4]], (5, 1))
    plain = strads.LatentDirichletAllocation(2, max_iter=20).fit(counts)
    for names, wanted in (None, set("0123")), ("wxyz", set("wxyz")):
        figure = plots.topics(plain, names, n=2)
        assert {text.get_text() for panel in figure.axes[:2]
                for text in panel.get_yticklabels()} == wanted
