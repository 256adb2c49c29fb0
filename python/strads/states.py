"""Checks of fitted attributes before they are used.

A pickle can be damaged, and users can set attributes. Arrays that are passed
to the library are checked when they are unpickled and before each such call:
type, shape, range.
"""
import numbers

import numpy as np

from . import arrow

try:
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:  # scikit-learn before 1.6
    def _validate_data(estimator, *data, **how):
        return estimator._validate_data(*data, **how)


def validate_data(estimator, X, *y, **how):
    """Checks data; stores or compares their columns."""
    return _validate_data(estimator, arrow.matrix_of(X), *y, **how)


def refuse(model, name, expected):
    """Raises a ValueError about an attribute."""
    raise ValueError(f"{type(model).__name__}.{name}: expected {expected}; the "
                     "model is damaged: fit or load it again")


def _has_shape(value, shape):
    return np.ndim(value) == len(shape) and all(
        wanted in (None, got) for wanted, got in zip(shape, np.shape(value)))


def real(model, name, shape, *, above=-np.inf, dtype=np.float64, nan=False):
    """A number (shape ()) or an array [shape] of finite numbers above a bound;
    None in the shape allows any length."""
    value = getattr(model, name, None)
    fits = isinstance(value, numbers.Real) if shape == () else (
        isinstance(value, np.ndarray) and value.dtype == dtype)
    if not fits or not _has_shape(value, shape) or not np.all(
            (np.isfinite(value) & (value > above)) | (nan & np.isnan(value))):
        refuse(model, name, f"finite numbers above {above:g} of shape {shape}")


def whole(model, name, dtype, shape, *, least=0, below=2**64):
    """A contiguous array of integers of this type, shape and range."""
    value = getattr(model, name, None)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or \
            not value.flags.c_contiguous or not _has_shape(value, shape) or \
            (value.size and not least <= int(value.min()) <= int(value.max())
             < below):
        refuse(model, name, f"{np.dtype(dtype).name} of shape {shape} from "
                            f"{least} up and below {below}")


def count(model, name):
    """An integer that fits into u64."""
    value = getattr(model, name, None)
    if not isinstance(value, numbers.Integral) or not 0 <= value < 2**64:
        refuse(model, name, "a whole number from 0 up")


class Checked:
    """An estimator that checks its state when it is unpickled. `_check_state`
    raises a ValueError."""

    def __setstate__(self, state):
        if not isinstance(state, dict):
            raise ValueError(f"{type(self).__name__}: the pickle is damaged: "
                             "it has no attributes")
        super().__setstate__(state)
        if any(name.endswith("_") and not name.startswith("_")
               for name in state):
            self._check_state()
