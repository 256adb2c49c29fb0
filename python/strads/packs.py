"""Packed files (docs/pack-format.md): a sparse matrix by columns in some 2 to
4 bytes an entry, with its labels and names, that the command `strads` reads in
place of text."""
import os

import numpy as np
import scipy.sparse as sparse

from . import arrow
from ._strads import ffi, lib
from .engine import call, data_of, pointer

_VALUES = {"exact": lib.STRADS_PACK_EXACT, "f16": lib.STRADS_PACK_F16,
           "f32": lib.STRADS_PACK_F32}


def _names_of(words):
    """A strads_names * of distinct words."""
    out = ffi.new("strads_names **")
    call(lib.strads_names_new, out)
    names = ffi.gc(out[0], lib.strads_names_free)
    number = ffi.new("uint32_t *")
    for k, word in enumerate(words):
        text = str(word).encode()
        if not text or b"\0" in text:
            raise ValueError(f"name {k} is {word!r}; expected text")
        call(lib.strads_names_add, names, text, len(text), number)
        if number[0] != k:
            raise ValueError(f"the name {word!r} occurs twice")
    return names


def _words_of(names):
    if names == ffi.NULL:
        return None
    return [ffi.string(lib.strads_names_at(names, k)).decode()
            for k in range(lib.strads_names_count(names))]


def names_to_write(names):
    """The names of a data frame's columns as texts, or None if a model file
    cannot have them: they are missing, empty or not distinct."""
    if names is None:
        return None
    words = [str(name) for name in names]
    if len(set(words)) < len(words) or any(
            not word or not word.isprintable() for word in words):
        return None
    return words


def _matrix_of(X):
    """X as numpy or scipy, and the names of a data frame's columns."""
    if sparse.issparse(X):
        return X, None
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = [str(c) for c in X.columns]
        if all(type(t).__name__ == "SparseDtype" for t in X.dtypes) and len(names) > 0:
            return X.sparse.to_coo().tocsc(), names
        return X.to_numpy(dtype=np.float64), names
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; expected 2, rows and "
                         "columns")
    return X, None


def _labels_of(y):
    """Labels as numbers, and their names if they are text."""
    if y is None:
        return None, None
    y = np.asarray(y)
    if y.dtype.kind in "biuf":
        return y.astype(np.float64), None
    words, number = np.unique(y.astype(str), return_inverse=True)
    return number.reshape(y.shape).astype(np.float64), list(words)


def _options(values, weight):
    if values not in _VALUES:
        raise ValueError(f"values is {values!r}; expected exact, f16 or f32")
    return ffi.new("strads_pack_options *", {
        "size": ffi.sizeof("strads_pack_options"), "values": _VALUES[values],
        "weight": ffi.NULL if weight is None else pointer(weight, "double *")})


def pack(X, path, y=None, *, values="exact", sample_weight=None,
         feature_names=None):
    """Writes a pack to `path`, which is complete or absent afterwards.

    X: scipy sparse in any form, numpy, a pandas data frame or a table of Arrow
    (their columns give the names), or the name of a file, or a list of such names: LIBSVM,
    MatrixMarket, .npy, .npz as scipy.sparse.save_npz writes it, or packs.
    y: [rows] numbers or text; with files: the name of a file with labels,
    where the file has none. values: "exact", "f16" or "f32". Up to 256
    different values of a chunk are always exact. Returns the open pack.
    """
    path = os.fspath(path)
    weight = (None if sample_weight is None else
              np.ascontiguousarray(sample_weight, dtype=np.float64))
    how = _options(values, weight)
    cut = ffi.new("strads_data_options *",
                  {"size": ffi.sizeof("strads_data_options"),
                   "named_labels": True})
    if isinstance(X, (str, os.PathLike)) or (
            isinstance(X, (list, tuple)) and len(X) > 0 and
            all(isinstance(x, (str, os.PathLike)) for x in X)):
        if feature_names is not None or weight is not None:
            raise ValueError("feature_names and sample_weight belong to a "
                             "matrix, X names files")
        files = [X] if isinstance(X, (str, os.PathLike)) else X
        kept = [ffi.new("char[]", os.fsencode(f)) for f in files]
        labels = None if y is None else ffi.new("char[]", os.fsencode(y))
        cut.labels_path = ffi.NULL if labels is None else labels
        call(lib.strads_pack_files, ffi.new("char *[]", kept), len(kept),
             os.fsencode(path), cut, how, ffi.NULL)
        return open_pack(path)
    matrix, names = _matrix_of(arrow.matrix_of(X))
    names = names if feature_names is None else list(feature_names)
    label, words = _labels_of(y)
    for what, given in (("y", label), ("sample_weight", weight)):
        if given is not None and given.shape != (matrix.shape[0],):
            raise ValueError(f"{what} has the shape {given.shape}; expected "
                             f"({matrix.shape[0]},), a number for each row")
    if names is not None and len(names) != matrix.shape[1]:
        raise ValueError(f"{len(names)} feature_names; expected "
                         f"{matrix.shape[1]}, one for each column")
    keep = [_names_of(given) if given is not None else ffi.NULL
            for given in (names, words)]
    cut.col_names, cut.label_names = keep
    cut.named_labels = words is not None
    data = data_of(matrix, label, cut)
    call(lib.strads_pack_write, data, os.fsencode(path), how, ffi.NULL)
    return open_pack(path)


def open_pack(path):
    """Opens a pack: reads its header and index, not its columns."""
    return Pack(path)


class Pack:
    """An open pack. Its columns are read and checked when they are asked for.

    shape, nnz, file_bytes, chunks; values: "exact", "f16" or "f32"; y and
    sample_weight: [rows] or None; classes: the names of labels, or None (y then
    has numbers); feature_names or None.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        out = ffi.new("strads_pack **")
        call(lib.strads_pack_open, os.fsencode(self.path), out)
        self._pack = ffi.gc(out[0], lib.strads_pack_free)
        held = ffi.new("strads_pack_result *",
                       {"size": ffi.sizeof("strads_pack_result")})
        lib.strads_pack_describe(self._pack, held)
        self.shape = (int(held.rows), int(held.cols))
        self.nnz = int(held.nnz)
        self.file_bytes = int(held.file_bytes)
        self.chunks = int(held.chunks)
        self.values = {v: k for k, v in _VALUES.items()}[held.values]
        self.y = self._per_row(lib.strads_pack_labels(self._pack))
        self.sample_weight = self._per_row(
            lib.strads_pack_weights(self._pack))
        self.classes = _words_of(lib.strads_pack_label_names(self._pack))
        self.feature_names = _words_of(lib.strads_pack_col_names(self._pack))

    def _per_row(self, numbers):
        if numbers == ffi.NULL:
            return None
        return np.frombuffer(ffi.buffer(numbers, 8 * self.shape[0])).copy()

    def __array__(self, dtype=None, copy=None):
        """Refuses: fits of arrays would read the whole pack."""
        raise ValueError(
            f"{self.path} is a pack, which is no matrix in memory: train with "
            f"the command, as `strads lasso train {self.path} --model "
            "model.json`, and read the model by strads.read_model; or give "
            "columns, by tocsc()")

    def __repr__(self):
        return (f"<Pack {self.path}: {self.shape[0]} x {self.shape[1]}, "
                f"{self.nnz} entries, {self.file_bytes} bytes>")

    def _range(self, begin, end):
        begin, end, _ = slice(begin, end).indices(self.shape[1])
        return begin, max(begin, end)

    def tocsc(self, begin=None, end=None):
        """Columns begin to end - 1 (default: all) as scipy's csc_matrix."""
        begin, end = self._range(begin, end)
        start = np.zeros(end - begin + 1, dtype=np.uint64)
        call(lib.strads_pack_count, self._pack, begin, end,
             pointer(start, "uint64_t *"))
        row = np.empty(int(start[-1]), dtype=np.uint32)
        value = np.empty(int(start[-1]))
        call(lib.strads_pack_columns, self._pack, begin, end,
             pointer(row, "uint32_t *"), pointer(value, "double *"))
        small = self.shape[0] < 2**31 and len(row) < 2**31
        whole = np.int32 if small else np.int64
        return sparse.csc_matrix(
            (value, row.astype(whole), start.astype(whole)),
            shape=(self.shape[0], end - begin))

    def moments(self, begin=None, end=None):
        """The sum of each column's values, and the sum of (x - mean)^2 over
        all rows: two arrays [end - begin]."""
        begin, end = self._range(begin, end)
        total, centred = np.zeros(end - begin), np.zeros(end - begin)
        call(lib.strads_pack_moments, self._pack, begin, end,
             pointer(total, "double *"), pointer(centred, "double *"))
        return total, centred
