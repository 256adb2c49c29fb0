"""Tables of Arrow's C data interface, without pyarrow: any object with
__arrow_c_stream__ or __arrow_c_array__
(https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html).
"""
import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p,
                    c_int, c_int64, c_void_p)

import numpy as np


class _Schema(Structure):
    pass


_Schema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p),
    ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))), ("dictionary", c_void_p),
    ("release", CFUNCTYPE(None, POINTER(_Schema))), ("private_data", c_void_p)]


class _Array(Structure):
    pass


_Array._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64),
    ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(_Array))),
    ("dictionary", c_void_p),
    ("release", CFUNCTYPE(None, POINTER(_Array))), ("private_data", c_void_p)]


class _Stream(Structure):
    pass


_Stream._fields_ = [
    ("get_schema", CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Schema))),
    ("get_next", CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Array))),
    ("get_last_error", CFUNCTYPE(c_char_p, POINTER(_Stream))),
    ("release", CFUNCTYPE(None, POINTER(_Stream))), ("private_data", c_void_p)]

_TYPES = {b"c": np.int8, b"C": np.uint8, b"s": np.int16, b"S": np.uint16,
          b"i": np.int32, b"I": np.uint32, b"l": np.int64, b"L": np.uint64,
          b"e": np.float16, b"f": np.float32, b"g": np.float64, b"b": None}

_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype = c_void_p
_address.argtypes = [ctypes.py_object, c_char_p]


def _held(capsule, name, kind):
    return ctypes.cast(_address(capsule, name), POINTER(kind)).contents


def is_table(X):
    """Whether X is a table of Arrow, and not one that scikit-learn reads."""
    return (hasattr(X, "__arrow_c_stream__") or
            hasattr(X, "__arrow_c_array__")) and not hasattr(X, "iloc") and \
        not hasattr(X, "__array_interface__")


def _bits(address, first, count):
    """count bits from bit `first` on, as booleans."""
    raw = (c_char * ((first + count + 7) // 8)).from_address(address)
    return np.unpackbits(np.frombuffer(raw, np.uint8), count=first + count,
                         bitorder="little")[first:].astype(bool)


def _refuse_nulls(array, first, count, row, words):
    if array.null_count == 0 or not array.n_buffers or not array.buffers[0] \
            or not count:
        return
    valid = _bits(array.buffers[0], first, count)
    if not valid.all():
        raise ValueError(f"X: {words.format(row + int(np.argmin(valid)) + 1)}")


class _Table:
    """The columns of a struct's schema, and the rows of batches so far."""

    def __init__(self, schema):
        if schema.format != b"+s":
            raise ValueError(f"X has the Arrow type {schema.format.decode()!r};"
                             " expected a table or a record batch: a struct")
        self.names, self.formats = [], []
        for k in range(schema.n_children):
            column = schema.children[k].contents
            name = (column.name or b"").decode()
            if column.dictionary or column.format not in _TYPES:
                raise ValueError(
                    f"X: column {name or k + 1!r} has the Arrow type "
                    f"{column.format.decode()!r}"
                    f"{' with a dictionary' if column.dictionary else ''}; "
                    "expected numbers or booleans: leave it out or encode it")
            self.names.append(name)
            self.formats.append(column.format)
        self.dtype = np.float32 if set(self.formats) == {b"f"} else np.float64
        self.rows, self.parts = 0, []

    def add(self, batch):
        """Copies a batch."""
        n = batch.length
        _refuse_nulls(batch, batch.offset, n, self.rows, "row {} is null; "
                      "leave such rows out")
        part = np.empty((n, len(self.names)), self.dtype, order="F")
        for k, kind in enumerate(self.formats):
            column = batch.children[k].contents
            first = column.offset + batch.offset
            if batch.offset + n > column.length or column.n_buffers != 2:
                raise ValueError(f"X: column {self.names[k] or k + 1!r}: its "
                                 "Arrow array is shorter than the batch")
            _refuse_nulls(column, first, n, self.rows,
                          f"column {self.names[k] or k + 1!r} has a null in "
                          "row {}; fill nulls in, or leave these rows out")
            if n and kind == b"b":
                part[:, k] = _bits(column.buffers[1], first, n)
            elif n:
                dtype = np.dtype(_TYPES[kind])
                raw = (c_char * (n * dtype.itemsize)).from_address(
                    column.buffers[1] + first * dtype.itemsize)
                part[:, k] = np.frombuffer(raw, dtype)
        self.rows += n
        self.parts.append(part)

    def matrix(self):
        """All rows, as a pandas frame with the columns' names if pandas is
        installed."""
        if len(self.parts) == 1:
            whole = self.parts[0]
        else:
            whole = np.empty((self.rows, len(self.names)), self.dtype,
                             order="F")
            if self.parts:
                np.concatenate(self.parts, out=whole)
        if not all(self.names) or len(set(self.names)) < len(self.names):
            return whole
        try:
            import pandas
        except ImportError:
            return whole
        return pandas.DataFrame(whole, columns=self.names, copy=False)


def _read_stream(stream):
    schema = _Schema()

    def checked(code):
        if code:
            why = stream.get_last_error(byref(stream))
            raise ValueError("X: the Arrow stream fails: "
                             f"{(why or b'').decode() or f'error {code}'}")

    checked(stream.get_schema(byref(stream), byref(schema)))
    try:
        table = _Table(schema)
    finally:
        if schema.release:
            schema.release(byref(schema))
    while True:
        batch = _Array()
        checked(stream.get_next(byref(stream), byref(batch)))
        if not batch.release:
            return table.matrix()
        try:
            table.add(batch)
        finally:
            batch.release(byref(batch))


def matrix_of(X):
    """X, or if it is a table of Arrow, a frame or an array with its numbers."""
    if not is_table(X):
        return X
    if hasattr(X, "__arrow_c_stream__"):
        capsule = X.__arrow_c_stream__()
        return _read_stream(_held(capsule, b"arrow_array_stream", _Stream))
    schema, array = X.__arrow_c_array__()
    table = _Table(_held(schema, b"arrow_schema", _Schema))
    table.add(_held(array, b"arrow_array", _Array))
    return table.matrix()
