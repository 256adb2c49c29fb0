"""Tables of Arrow's C data interface, with structures built by hand."""
import ctypes
from ctypes import byref, c_void_p, pointer

import numpy as np
import pytest
from strads import GLMClassifier, Lasso, LassoCV, lasso_path, pack
from strads.arrow import _Array, _Schema, _Stream

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
KINDS = {b"c": np.int8, b"S": np.uint16, b"i": np.int32, b"l": np.int64,
         b"e": np.float16, b"f": np.float32, b"g": np.float64, b"b": bool}


class Table:
    """Batches of columns [(name, format, values, mask of nulls or None)]; the
    first `skip` values of a buffer are before the column's offset."""

    def __init__(self, *batches, skip=0, unknown_nulls=False, text=False):
        self.batches, self.skip, self.text = batches, skip, text
        self.unknown = unknown_nulls
        self.kept, self.released = [], 0

    def _release(self, kind):
        def released(at):
            self.released += 1
            ctypes.memset(ctypes.addressof(at.contents) +
                          kind.release.offset, 0, kind.release.size)
        made = dict(kind._fields_)["release"](released)
        self.kept.append(made)
        return made

    def _list(self, kind, items):
        made = (ctypes.POINTER(kind) * len(items))(*map(pointer, items))
        self.kept += [made, items]
        return ctypes.cast(made, ctypes.POINTER(ctypes.POINTER(kind)))

    def schema(self):
        columns = [_Schema(format=b"u" if self.text else kind,
                           name=name.encode())
                   for name, kind, _, _ in self.batches[0]]
        return _Schema(format=b"+s", n_children=len(columns),
                       children=self._list(_Schema, columns),
                       release=self._release(_Schema))

    def array(self, batch):
        columns = []
        for _, kind, values, nulls in batch:
            front = np.full(self.skip, 1)
            values = np.concatenate([front, values]).astype(KINDS[kind])
            if kind == b"b":
                values = np.packbits(values, bitorder="little")
            bits = None
            if nulls is not None:
                bits = np.packbits(np.concatenate(
                    [np.zeros(self.skip, bool), ~np.asarray(nulls)]),
                    bitorder="little")
            buffers = (c_void_p * 2)(None if bits is None else bits.ctypes.data,
                                     values.ctypes.data)
            self.kept += [values, bits, buffers]
            columns.append(_Array(
                length=len(batch[0][2]), offset=self.skip, n_buffers=2,
                null_count=-1 if self.unknown else
                0 if nulls is None else int(np.sum(nulls)),
                buffers=ctypes.cast(buffers, ctypes.POINTER(c_void_p))))
        none = (c_void_p * 1)(None)
        self.kept.append(none)
        return _Array(length=len(batch[0][2]), n_buffers=1,
                      buffers=ctypes.cast(none, ctypes.POINTER(c_void_p)),
                      n_children=len(columns),
                      children=self._list(_Array, columns),
                      release=self._release(_Array))


class Streamed(Table):
    def __arrow_c_stream__(self, requested_schema=None):
        rest = list(self.batches)

        def get_schema(stream, out):
            ctypes.memmove(out, byref(self.schema()), ctypes.sizeof(_Schema))
            return 0

        def get_next(stream, out):
            ctypes.memmove(out, byref(self.array(rest.pop(0)) if rest else
                                      _Array()), ctypes.sizeof(_Array))
            return 0

        kinds = dict(_Stream._fields_)
        stream = _Stream(get_schema=kinds["get_schema"](get_schema),
                         get_next=kinds["get_next"](get_next))
        self.kept.append(stream)
        return _new(ctypes.addressof(stream), b"arrow_array_stream", None)


class Single(Table):
    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.schema(), self.array(self.batches[0])
        self.kept += [schema, array]
        return (_new(ctypes.addressof(schema), b"arrow_schema", None),
                _new(ctypes.addressof(array), b"arrow_array", None))


def columns_of(rows, seed=0):
    random = np.random.default_rng(seed)
    return [(f"c{k}", kind, random.integers(0, 2 if kind == b"b" else 9, rows),
             None) for k, kind in enumerate(KINDS)]


def joined(*batches):
    return np.column_stack([np.concatenate(parts) for parts in zip(
        *([column[2] for column in batch] for batch in batches))]).astype(float)


@pytest.mark.parametrize("skip", [0, 3])
@pytest.mark.parametrize("unknown", [False, True])
def test_tables_fit_as_their_matrix(skip, unknown):
    one, two = columns_of(40), columns_of(30, 1)
    X = joined(one, two)
    y = X[:, 1] - X[:, 3] + np.arange(70) % 3
    expected = Lasso(alpha=0.1).fit(X, y)
    table = Streamed(one, two, skip=skip, unknown_nulls=unknown)
    made = Lasso(alpha=0.1).fit(table, y)
    np.testing.assert_array_equal(made.coef_, expected.coef_)
    assert table.released == 3  # the schema and two batches
    np.testing.assert_allclose(made.predict(Single(one, skip=skip)),
                               expected.predict(X[:40]), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(
        lasso_path(Single(one), y[:40])[1], lasso_path(X[:40], y[:40])[1])
    for model in LassoCV(), GLMClassifier():
        labels = y if isinstance(model, LassoCV) else y > np.median(y)
        np.testing.assert_array_equal(model.fit(table, labels).coef_,
                                      model.fit(X, labels).coef_)


def test_columns_names_are_features():
    pytest.importorskip("pandas")
    one = columns_of(20)
    made = Lasso().fit(Single(one), np.arange(20))
    assert list(made.feature_names_in_) == [f"c{k}" for k in range(len(KINDS))]
    with pytest.raises(ValueError, match="feature names"):
        made.predict(Single(one[::-1]))


def test_a_pack_of_a_table_has_its_names(tmp_path):
    one = columns_of(20)
    made = pack(Streamed(one), tmp_path / "t.pack", np.arange(20))
    assert made.shape == (20, len(KINDS))


def test_nulls_and_text_are_refused():
    one, two = columns_of(10), columns_of(10, 1)
    nulls = np.arange(10) == 4
    two[2] = two[2][:3] + (nulls,)
    for unknown in False, True:
        with pytest.raises(ValueError, match="'c2' has a null in row 15"):
            Lasso().fit(Streamed(one, two, skip=3, unknown_nulls=unknown),
                        np.arange(20))
    with pytest.raises(ValueError, match="Arrow type 'u'"):
        Lasso().fit(Single(one, text=True), np.arange(10))
