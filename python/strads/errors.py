"""Standard errors, tests and intervals of fits without a penalty."""
import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from . import engine, params
from ._strads import ffi, lib

_LEVEL = params.number(above=0, most=0.9999)


class Summary:
    """A table of coefficients; printed, it looks as R's.

    Attributes: names, coef, se, statistic, pvalue [k] and interval [k, 2] of the
    coefficients, the last of which is the intercept, if there is one;
    dispersion, estimated (False: it is 1, and tests are by the normal
    distribution), dof (degrees of freedom of the residuals), level.
    """

    def __init__(self, names, coef, se, dispersion, level):
        self.names, self.coef, self.se = list(names), coef, se
        self.dispersion = dispersion.value
        self.estimated = bool(dispersion.estimated)
        self.dof, self.level = dispersion.dof, level
        of = stats.t(self.dof) if self.estimated else stats.norm
        self.statistic = coef / se
        self.pvalue = 2 * of.sf(np.abs(self.statistic))
        reach = of.ppf((1 + level) / 2) * se
        self.interval = np.column_stack([coef - reach, coef + reach])

    def frame(self):
        """The table as a pandas DataFrame."""
        import pandas
        letter = "t" if self.estimated else "z"
        return pandas.DataFrame(
            {"coef": self.coef, "se": self.se, letter: self.statistic,
             f"P>|{letter}|": self.pvalue, "low": self.interval[:, 0],
             "high": self.interval[:, 1]}, index=self.names)

    def __repr__(self):
        wide = max(len(name) for name in self.names + ["column"])
        letter = "t" if self.estimated else "z"
        tail = 50 * (1 - self.level)
        lines = [f"{'column':{wide}} {'coef':>12} {'se':>12} {letter:>9} "
                 f"{'P>|' + letter + '|':>9} {f'{tail:g}%':>12} "
                 f"{f'{100 - tail:g}%':>12}"]
        for k, name in enumerate(self.names):
            lines.append(f"{name:{wide}} {self.coef[k]:12.6g} "
                         f"{self.se[k]:12.6g} {self.statistic[k]:9.3f} "
                         f"{self.pvalue[k]:9.3g} {self.interval[k, 0]:12.6g} "
                         f"{self.interval[k, 1]:12.6g}")
        lines.append(f"dispersion {self.dispersion:.6g}"
                     f"{'' if self.estimated else ' of the family'}, "
                     f"{self.dof:g} degrees of freedom")
        return "\n".join(lines)


def check_fit(model, X, penalty):
    """Refuses a fit with a penalty, and rows with other columns."""
    check_is_fitted(model, "coef_")
    if penalty != "none" and model.alpha != 0:
        raise ValueError(f"summary: the penalty is {penalty!r} with alpha "
                         f"{model.alpha:g}, and a penalised fit has a bias; "
                         "expected alpha=0 or penalty='none'")
    model._validated(X, accept_sparse=["csc", "csr"], reset=False)


def of_fit(model, X, y, weight, offset, config, level):
    """The Summary of a fitted estimator on the checked data of its fit; config:
    its strads_glm_options, with the penalty "none"."""
    _LEVEL("level", level)
    columns = model.n_features_in_
    coef = np.ascontiguousarray(model._dense_coef(), np.float64).ravel()
    if coef.size != columns:
        raise ValueError("summary: the model has several classes; it is for "
                         "numbers or two classes")
    intercept = float(np.ravel(model.intercept_)[0])
    if weight is not None:
        config.row_weight = engine.pointer(weight, "double *")
    if offset is not None:
        config.row_offset = engine.pointer(offset, "double *")
    cut = ffi.new("strads_data_options *", {
        "size": ffi.sizeof("strads_data_options"), "partitions": 1,
        "layout": lib.STRADS_LAYOUT_ROWS})
    data = engine.data_of(X, y, cut)
    se = np.empty(columns + 1)
    dispersion = ffi.new("strads_glm_dispersion *")
    engine.call(lib.strads_glm_errors, data, config,
                engine.pointer(coef, "double *"), intercept,
                engine.pointer(se, "double *"), dispersion)
    names = getattr(model, "feature_names_in_", None)
    names = [f"x{k}" for k in range(columns)] if names is None else \
        [str(name) for name in names]
    if model.fit_intercept:
        return Summary(names + ["intercept"], np.append(coef, intercept), se,
                       dispersion, level)
    return Summary(names, coef, se[:-1], dispersion, level)
