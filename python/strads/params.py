"""Checks of parameters: a name has one meaning in all estimators and paths.

Every parameter is checked when a fit starts. The error names the parameter,
its value and its range. Parameters that scikit-learn has and that change
nothing here are accepted; a value other than the usual one warns once (UNUSED).
"""
import math
import numbers
import os
import reprlib
import sys
import warnings

import numpy as np


class ParameterError(ValueError, TypeError):
    """A parameter that has the wrong type or is out of its range."""


def refuse(name, value, expected):
    """Raises a ParameterError."""
    raise ParameterError(
        f"{name} is {reprlib.repr(value)}; it has to be {expected}")


def _is_bool(value):
    return isinstance(value, (bool, np.bool_))


def number(*, above=-math.inf, least=-math.inf, most=math.inf, below=math.inf,
           whole=False, none=False, infinite=False):
    """A rule for a number in a range; `none`: or None."""
    parts = [f"above {above:g}" if above > -math.inf else "",
             f"at least {least:g}" if least > -math.inf else "",
             f"at most {most:g}" if most < math.inf else "",
             f"below {below:g}" if below < math.inf else ""]
    text = " and ".join(part for part in parts if part)
    kind = "a whole number" if whole else "a number" if infinite else \
        "a finite number"
    tail = ", or None" if none else ""

    def rule(name, value):
        if value is None and none:
            return
        if _is_bool(value) or not isinstance(
                value, numbers.Integral if whole else numbers.Real):
            refuse(name, value, f"{kind} {text}".strip() + tail)
        if value != value or (not infinite and abs(value) == math.inf):
            refuse(name, value, f"{kind} {text}".strip() + tail)
        if not least <= value <= most or (above > -math.inf and value <= above
                                          ) or (below < math.inf and
                                                value >= below):
            refuse(name, value, text + tail)
    return rule


def one_of(*words, none=False):
    """A rule for a choice of words; without words: any str."""
    text = "one of " + ", ".join(map(repr, words)) if words else "a str"
    if none:
        text += ", or None"

    def rule(name, value):
        if value is None and none:
            return
        if not isinstance(value, str) or (words and value not in words):
            refuse(name, value, text)
    return rule


def folder(name, value):
    """A rule: a folder that exists, or None."""
    if value is not None and not (isinstance(value, str) and
                                  os.path.isdir(value)):
        refuse(name, value, "a folder that exists, or None")


def mapping(name, value):
    """A rule: a dict, or None."""
    if value is not None and not isinstance(value, dict):
        refuse(name, value, "a dict, or None")


def words(*names):
    """A rule for one of these names, a list of words, or None."""
    def rule(name, value):
        listed = isinstance(value, (list, tuple, set, frozenset)) and \
            len(value) > 0 and all(isinstance(word, str) for word in value)
        if value is not None and not listed and not (
                isinstance(value, str) and value in names):
            refuse(name, value, "one of " + ", ".join(map(repr, names)) +
                   ", a list of words, or None")
    return rule


def yes_or_no(name, value):
    """A rule for True and False."""
    if not _is_bool(value) and not (
            isinstance(value, numbers.Integral) and value in (0, 1)):
        refuse(name, value, "True or False")


def share(name, value):
    """The rule for l1_ratio."""
    number(least=0, most=1)(name, value)
    if 0 < value < 0.001:
        refuse(name, value, "0, or from 0.001 to 1")


def share_or_none(name, value):
    """The rule for an l1_ratio that may be None."""
    if value is not None:
        share(name, value)


def shares(name, value):
    """The rule for one l1_ratio or a list of them."""
    if isinstance(value, (str, bytes)) or np.ndim(value) > 1 or \
            np.size(value) == 0:
        refuse(name, value, "a number from 0.001 to 1, or a list of them")
    for each in np.atleast_1d(np.asarray(value, dtype=object)):
        share(name, each)


def shares_or_none(name, value):
    """The rule for l1_ratios."""
    if value is not None:
        shares(name, value)


def _jobs(name, value):
    number(whole=True, none=True)(name, value)
    if value == 0:
        refuse(name, value, "a number of threads from 1 up, -1 for one a core, "
                            "-2 for all cores but one, or None for 1")


def _seed(name, value):
    if not hasattr(value, "randint"):
        number(least=0, below=2**64, whole=True, none=True)(name, value)


def _verbose(name, value):
    if not _is_bool(value):
        number(least=0)(name, value)


def _cv(name, value):
    if value is None or hasattr(value, "split") and not isinstance(
            value, (str, type)):
        return
    if isinstance(value, numbers.Integral) and not _is_bool(value):
        number(least=2, below=2**31, whole=True)(name, value)
    elif isinstance(value, (str, dict)) or not hasattr(value, "__iter__") or \
            (hasattr(value, "__len__") and len(value) == 0):
        refuse(name, value, "a number of folds from 2 up, a splitter of "
                            "scikit-learn, a list of (train, test) rows, or "
                            "None for 5 folds")


def _numbers_or_count(least, count_too):
    expected = "a list of numbers " + ("from" if least else "above") + " 0" + (
        ", or how many" if count_too else "")

    def rule(name, value):
        if count_too and isinstance(value, numbers.Integral):
            _COUNT(name, value)
            return
        if isinstance(value, (str, bytes)) or np.ndim(value) != 1 or \
                np.size(value) == 0:
            refuse(name, value, expected)
        for each in np.asarray(value, dtype=object):
            (number(least=0) if least else number(above=0))(name, each)
    return rule


def _or_none(rule):
    def both(name, value):
        if value is not None:
            rule(name, value)
    return both


def _scoring(name, value):
    if value is not None and not isinstance(value, str) and (
            not callable(value) or isinstance(value, type)):
        refuse(name, value, "the name of a scorer of scikit-learn, a callable "
                            "or None")


def _precompute(name, value):
    if not _is_bool(value) and np.ndim(value) != 2 and \
            not (isinstance(value, str) and value == "auto"):
        refuse(name, value, "True, False, 'auto' or a Gram matrix")


def _dual(name, value):
    if not _is_bool(value) and not (isinstance(value, str) and
                                    value == "auto"):
        refuse(name, value, "True, False or 'auto'")


def _callbacks(name, value):
    if value is None:
        return
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") or \
            not all(callable(each) for each in value):
        refuse(name, value, "a list of callables, or None")


def _class_weight(name, value):
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, dict):
        refuse(name, value, "a dict of classes and weights, 'balanced' or None")
    for label, each in value.items():
        number(least=0)(f"{name}[{label!r}]", each)


def _with_data(_name, _value):
    """Arrays of one number per column; they are checked with the data."""


_COUNT = number(least=1, most=10000, whole=True)

RULES = {
    "alpha": number(least=0), "C": number(above=0), "l1_ratio": share,
    "gamma": number(above=0, none=True),
    "lower": number(most=0, none=True, infinite=True),
    "upper": number(least=0, none=True, infinite=True),
    "loss_parameter": number(above=0, none=True), "epsilon": number(above=0),
    "intercept_scaling": number(above=0, none=True),
    "groups": _with_data, "penalty_factors": _with_data,
    "adaptive": number(above=0, most=100, none=True), "first_fit": _with_data,
    "classes": _with_data,
    "relax": number(least=0, most=1),
    "class_weight": _class_weight,
    "fit_intercept": yes_or_no, "positive": yes_or_no, "warm_start": yes_or_no,
    "penalty": one_of(), "loss": one_of(),
    "multi_class": one_of("auto", "ovr", "multinomial"),
    "standardize": yes_or_no, "copy_X": yes_or_no, "refit": yes_or_no,
    "selection": one_of("cyclic", "random"), "precompute": _precompute,
    "dual": _dual, "scoring": _scoring,
    "solver": one_of("lbfgs", "liblinear", "newton-cg", "newton-cholesky",
                     "sag", "saga"),
    "alphas": _or_none(_numbers_or_count(True, True)),
    "Cs": _numbers_or_count(False, True),
    "eps": number(above=0, below=1), "n_alphas": _COUNT, "n_points": _COUNT,
    "cv": _cv,
    "tol": number(above=0),
    "max_iter": number(least=1, below=2**63, whole=True, none=True),
    "time_limit": number(least=0),
    "n_jobs": _jobs, "random_state": _seed, "verbose": _verbose,
    "callbacks": _callbacks,
}


# Parameters of scikit-learn that change nothing here: the values that need no
# warning, and the reason.
UNUSED = {
    "precompute": ((False, "auto"), "the engine computes the products of "
                                    "columns that it needs"),
    "selection": (("cyclic",), "the engine schedules the coefficients"),
    "solver": (("auto", "lbfgs", "highs", "liblinear"),  # liblinear: ovr
               "the engine chooses the method by the data, and all methods end "
               "at the same optimum"),
    "solver_options": ((None,), "the engine has other options"),
    "dual": ((False, "auto"), "the engine chooses by the data whether it "
                              "solves the dual"),
}
_warned = set()  # (class, parameter)


def warn_user(text, category=UserWarning):
    """Warns at the first caller outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def warn_unused(owner, name, value, reason):
    """Warns once a process that a parameter of an estimator does nothing."""
    if (owner, name) not in _warned:
        _warned.add((owner, name))
        warn_user(f"{owner}: {name}={reprlib.repr(value)} does nothing here: "
                  f"{reason}")


def keep(model, given):
    """Stores the arguments of an estimator's __init__, its locals()."""
    for name, value in given.items():
        if name != "self":
            setattr(model, name, value)


def check(given, own=None, owner=None):
    """Checks values by their names; `own`: rules that replace the usual ones;
    owner: the name of an estimator or a function, for warnings. Names without
    a rule, such as a subclass may add, are not checked."""
    rules = {**RULES, **(own or {})}
    for name, value in given.items():
        if name in rules:
            rules[name](name, value)
    for name, (usual, reason) in UNUSED.items():
        if name in given and not (np.ndim(given[name]) == 0 and
                                  given[name] in usual):
            warn_unused(owner, name, given[name], reason)
