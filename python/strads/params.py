"""Checks of parameters: a name has one meaning in all estimators and paths.

Every parameter is checked when a fit starts. The error names the parameter,
its value and its range.
"""
import math
import numbers
import reprlib

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
        if not (above < value < below and least <= value <= most):
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
    "alpha": number(above=0), "C": number(above=0), "l1_ratio": share,
    "gamma": number(above=0, none=True),
    "lower": number(most=0, none=True, infinite=True),
    "upper": number(least=0, none=True, infinite=True),
    "loss_parameter": number(above=0, none=True), "epsilon": number(above=0),
    "intercept_scaling": number(above=0, none=True),
    "groups": _with_data, "penalty_factors": _with_data,
    "class_weight": _class_weight,
    "fit_intercept": yes_or_no, "positive": yes_or_no, "warm_start": yes_or_no,
    "penalty": one_of(), "loss": one_of(),
    "multi_class": one_of("auto", "ovr", "multinomial"),
    "eps": number(above=0, below=1), "n_alphas": _COUNT, "n_points": _COUNT,
    "cv": number(least=2, below=2**31, whole=True),
    "tol": number(above=0),
    "max_iter": number(least=1, below=2**63, whole=True, none=True),
    "time_limit": number(least=0),
    "n_jobs": _jobs, "random_state": _seed, "verbose": _verbose,
    "callbacks": _callbacks,
}


def check(given, own=None):
    """Checks values by their names; `own`: rules that replace the usual ones.
    Names without a rule, such as a subclass may add, are not checked."""
    rules = {**RULES, **(own or {})}
    for name, value in given.items():
        if name in rules:
            rules[name](name, value)
