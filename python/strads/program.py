"""Programs in Python: a class with the engine's callbacks as methods.

A program trains `parameters` rows of `width` numbers each. In each round the
engine picks blocks of parameters and calls `update` on every partition of the
data. It adds the partials up, calls `aggregate` to turn the sum into a commit,
and passes the changes to every partition through `refresh`
(strads/program.h). A callback receives numpy arrays. The engine reads
`task.partial`, `commit.change` and `commit.priority` after the callback has
returned. The objects `task`, `commit` and `session` are valid during the call
and raise a StradsError afterwards; arrays may be kept. A share's arrays are the
data itself, and callbacks must not change them::

    class Ridge(strads.Program):
        def open(self, share):
            return share.label.copy()            # the residual

        def partial(self, block):
            return 2

        def update(self, task):
            index, x = task.share.column(task.block[0])
            task.partial[:] = x @ task.local[index], x @ x

        def aggregate(self, commit):
            q, xx = commit.partial
            commit.change[0] = (q - self.l2 * commit.value[0, 0]) / (
                xx + self.l2)

        def refresh(self, task, changes):
            for j, change in changes:
                index, x = task.share.column(j)
                task.local[index] -= x * change[0]

        def objective(self, report): ...

Callbacks hold the interpreter's lock; numpy releases it in long computations.
An exception in a callback ends the run, and `fit` raises it.
"""
from __future__ import annotations

import functools
import traceback
from typing import TYPE_CHECKING, Any, TypeVar, Union

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from . import engine, params
from ._strads import ffi, lib

if TYPE_CHECKING:
    from . import _Callbacks, _Floats, _Matrix

_Indices = NDArray[np.uint32]
_Values = Union[NDArray[np.float64], NDArray[np.float32]]
_P = TypeVar("_P", bound="Program")

_LAYOUT = {"columns": 1, "rows": 2, "both": 3}


_RULES = {
    "partitions": params.number(least=0, below=2**32, whole=True, none=True),
    "max_rounds": params.number(least=0, below=2**63, whole=True),
    "seed": params.number(least=0, below=2**64, whole=True),
    "policy": params.one_of("priority", "uniform", "cyclic"),
}


def _matrix(X):
    """X as numpy or scipy, of numbers."""
    if sparse.issparse(X):
        return X
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"X has the shape {X.shape} and the type {X.dtype}; "
                         "expected numbers [rows, columns]")
    return X


def _view(pointer, shape, dtype=np.float64):
    """The engine's memory at `pointer` as an array, valid during the call."""
    if pointer == ffi.NULL:
        return None
    count = int(np.prod(shape))
    bytes_ = count * np.dtype(dtype).itemsize
    return np.frombuffer(ffi.buffer(pointer, bytes_), dtype=dtype).reshape(
        shape)


def _copy(pointer, shape, dtype=np.float64):
    """A copy, which stays valid after the call."""
    view = _view(pointer, shape, dtype)
    return None if view is None else view.copy()


def _data_view(pointer, shape, data, dtype=np.float64):
    """A view of a data set's memory, which it keeps alive; read only."""
    if pointer == ffi.NULL:
        return None
    view = _view(ffi.gc(pointer, lambda _, kept=data: None), shape, dtype)
    view.flags.writeable = False
    return view


class _DuringCall:
    """An object that is valid until its callback returns; _end then empties
    it."""

    def __getattr__(self, name):
        if name.startswith("__") or vars(self):
            raise AttributeError(f"a {type(self).__name__} has no {name}")
        raise engine.StradsError(
            f"{name} of a {type(self).__name__} is read after its callback has "
            "returned: keep the array and not the object")

    def _end(self):
        vars(self).clear()


class _Lines:
    """One orientation of a partition's data, without a copy."""

    def __init__(self, lines, data):
        self.start = _data_view(lines.start, lines.lines + 1, data, np.uint64)
        if self.start is None:
            return
        self.index = _data_view(lines.index, lines.nnz, data, np.uint32)
        self.value = _data_view(lines.f64, lines.nnz, data) \
            if lines.f64 != ffi.NULL \
            else _data_view(lines.f32, lines.nnz, data, np.float32)

    def line(self, k):
        if self.start is None:
            raise ValueError("this orientation of the data was not asked for: "
                             "set the program's `layout`")
        span = slice(int(self.start[k]), int(self.start[k + 1]))
        return self.index[span], self.value[span]


class Share:
    """A partition's share of the data. Its arrays are read only and keep the
    data set alive."""

    partition: int
    partitions: int
    label: Any  # [rows], or None if the data has no labels

    def __init__(self, share, data):
        self.partition, self.partitions = share.partition, share.partitions
        self.rows = range(share.rows.begin, share.rows.end)
        self.cols = range(share.cols.begin, share.cols.end)
        self.label = _data_view(share.label, len(self.rows), data)
        self._by_col = _Lines(share.by_col, data)
        self._by_row = _Lines(share.by_row, data)

    def column(self, j: int) -> tuple[_Indices, _Values]:
        """(rows of the partition, values) of column j."""
        return self._by_col.line(j - self.cols.start)

    def row(self, i: int) -> tuple[_Indices, _Values]:
        """(columns, values) of row i, counted within the partition."""
        return self._by_row.line(i)

    def matrix(self) -> Any:
        """The partition as a scipy matrix [rows, cols] (indices copied)."""
        lines, kind = (self._by_col, sparse.csc_matrix) \
            if self._by_col.start is not None else \
            (self._by_row, sparse.csr_matrix)
        return kind((lines.value, lines.index.astype(np.int64),
                     lines.start.astype(np.int64)),
                    shape=(len(self.rows), len(self.cols)))


def _block(block):
    """The parameters of a block."""
    if block.param != ffi.NULL:
        return _copy(block.param, block.n, np.uint32)
    return np.arange(block.first, block.first + block.n, dtype=np.uint32)


class Task(_DuringCall):
    """Arguments of a worker's callback: share, local, block, partial, value,
    round, seed, width."""

    share: Share
    local: Any
    round: int
    seed: int
    width: int

    def __init__(self, task, program):
        self.share = program._shares[task.share.partition]
        self.local = None if task.local == ffi.NULL else \
            ffi.from_handle(task.local).value
        self.round, self.seed = task.round, task.seed
        self.width = task.width
        self._task = task

    @functools.cached_property
    def block(self) -> _Indices:
        return _block(self._task.block)

    def _partial_view(self):
        return _view(self._task.partial, self._task.partial_bytes // 8)

    @functools.cached_property
    def partial(self) -> Any:
        view = self._partial_view()
        return None if view is None else view.copy()

    @functools.cached_property
    def value(self) -> _Floats:
        return _copy(self._task.value, (self._task.block.n, self.width))

    def _hand_over(self):
        if vars(self).get("partial") is not None:
            self._partial_view()[:] = self.partial

    def ends(self) -> bool:
        """In `run`: true if the loop should end. Call it once per clock."""
        return bool(lib.strads_loop_ends(self._task))

    def report(self, objective: float = np.nan, gap: float = np.nan,
               nonzeros: int = 0, stop: bool = False) -> None:
        """In `run`: reports progress."""
        report = ffi.new("strads_report *", {
            "objective": objective, "gap": gap, "nonzeros": nonzeros,
            "stop": stop})
        for k in range(lib.STRADS_MEASURES):
            report.measure[k] = np.nan
        lib.strads_loop_report(self._task, report)


class Commit(_DuringCall):
    """Arguments and results of `aggregate`: partial (the sum over partitions),
    block, value [n, width] as committed, change [n, width] to fill in,
    priority [n], since: commits that no partition had applied yet, as
    (parameters, changes [n, width])."""

    block: _Indices
    partial: _Floats
    value: _Floats
    change: _Floats
    priority: Any
    round: int
    seed: int
    since: list[tuple[_Indices, _Floats]]

    def __init__(self, commit):
        n, width = commit.block.n, commit.width
        self.block = _block(commit.block)
        self.partial = _copy(commit.partial, commit.partial_bytes // 8)
        self.value = _copy(commit.value, (n, width))
        self.change = _copy(commit.change, (n, width))
        self.priority = _copy(commit.priority, n)
        self.round, self.seed = commit.round, commit.seed
        self.since = [_change(commit.since[k], width)
                      for k in range(commit.n_since)]
        self._commit = commit

    def _hand_over(self):
        n = self._commit.block.n
        _view(self._commit.change, (n, self._commit.width))[:] = self.change
        if self.priority is not None:
            _view(self._commit.priority, n)[:] = self.priority


def _change(change, width):
    return (_copy(change.param, change.n, np.uint32),
            _copy(change.change, (change.n, width)))


class Report:
    """The results of `objective`."""

    def __init__(self) -> None:
        self.objective = self.gap = np.nan
        self.nonzeros = 0
        self.stop = False


class _Box:
    """A partition's state, while the engine holds its address."""

    def __init__(self, value):
        self.value = value
        self.handle = ffi.new_handle(self)


class Session(_DuringCall):
    """A worker's clocked view of the store's tables (strads/store.h)."""

    worker: int
    workers: int

    def __init__(self, session, store):
        self._session, self._store = session, store
        self.worker = lib.strads_session_worker(session)
        self.workers = lib.strads_session_workers(session)

    def _spec(self, table):
        number = table
        if isinstance(table, str):
            out = ffi.new("uint32_t *")
            engine.call(lib.strads_store_find, self._store,
                        table.encode(), out)
            number = out[0]
        if self._store == ffi.NULL:
            raise ValueError("tables are known by number on several nodes")
        spec = lib.strads_store_spec(self._store, number)
        if spec == ffi.NULL:
            raise ValueError(f"there is no table {table!r}")
        dtype = (np.float64, np.float32, np.int32, np.int64)[spec.type]
        return number, spec.cols, dtype

    def read_rows(self, table: str | int, rows: ArrayLike,
                  staleness: int = 0) -> NDArray[Any]:
        """[n, cols] the rows, at most `staleness` clocks old; a worker's own
        increments are always included."""
        number, cols, dtype = self._spec(table)
        rows = np.ascontiguousarray(rows, dtype=np.uint32)
        out = np.empty((len(rows), cols), dtype=dtype)
        engine.call(lib.strads_session_read_rows, self._session, number,
                    len(rows), engine.pointer(rows, "uint32_t *"), staleness,
                    ffi.cast("void *", out.ctypes.data))
        return out

    def read_row(self, table: str | int, row: int,
                 staleness: int = 0) -> NDArray[Any]:
        """[cols] one row; see read_rows."""
        return self.read_rows(table, [row], staleness)[0]

    def inc(self, table: str | int, row: int, column: int,
            delta: float) -> None:
        """Adds delta to one number."""
        number, _, _ = self._spec(table)
        engine.call(lib.strads_session_inc, self._session, number, row, column,
                    delta)

    def inc_row(self, table: str | int, row: int, delta: ArrayLike) -> None:
        """Adds delta[cols] to a row."""
        number, cols, dtype = self._spec(table)
        delta = np.ascontiguousarray(delta, dtype=dtype)
        if delta.shape != (cols,):
            raise ValueError(f"delta has shape {delta.shape}; expected "
                             f"({cols},), a number for each column")
        engine.call(lib.strads_session_inc_row, self._session, number, row,
                    ffi.cast("void *", delta.ctypes.data))

    def clock(self) -> None:
        """Sends the increments and ends this worker's clock."""
        engine.call(lib.strads_session_clock, self._session)

    def flush(self) -> None:
        """Sends the increments."""
        engine.call(lib.strads_session_flush, self._session)

    def barrier(self) -> None:
        """Waits until all workers have reached this clock."""
        engine.call(lib.strads_session_barrier, self._session)

    @property
    def now(self) -> int:
        """This worker's clock."""
        return lib.strads_session_now(self._session)


class Program:
    """A user-defined program; see the module. Class attributes:

    name : lower case; layout : "columns", "rows" or "both"; split : "rows" or
    "columns"; width : numbers per parameter; block_max : largest number of
    parameters in a block; tables : {name: (rows, cols, dtype)}, for `run`.
    """

    name = "python"
    layout = "columns"
    split = "rows"
    width = 1
    block_max = 64
    tables: dict[str, tuple[int, int, Any]] = {}
    values_: _Floats
    progress_: engine.Progress
    end_: str
    partitions_: int
    _shares: dict[int, Share]
    _boxes: dict[int, _Box]
    _data: list[Any]

    # Callbacks of a run in rounds: open, update, aggregate and, if needed,
    # partial, refresh, objective; or `run`, a data-parallel loop.
    def parameters(self, rows: int, cols: int) -> int:
        """The number of parameters."""
        return cols

    def open(self, share: Share) -> Any:
        """The state of one partition: task.local."""
        return None

    def partial(self, block: _Indices) -> int:
        """The length of update's partial for a block."""
        return len(block) * self.width

    update: Any = None
    aggregate: Any = None
    refresh: Any = None
    objective: Any = None
    run: Any = None

    def fit(self: _P, X: _Matrix, y: ArrayLike | None = None, *,
            n_jobs: int | None = None, partitions: int | None = None,
            tol: float = 1e-6, max_rounds: int = 0, time_limit: float = 0.0,
            seed: int = 0, policy: str = "priority", verbose: int = 0,
            callbacks: _Callbacks = None) -> _P:
        """Trains on X [rows, cols] (numpy, scipy or engine.File) and y [rows]; policy:
        "priority", "uniform" or "cyclic" chooses the blocks. Sets ``values_``
        [parameters, width], ``progress_``, ``end_`` and ``partitions_``; returns
        self."""
        params.check({"n_jobs": n_jobs, "partitions": partitions, "tol": tol,
                      "max_rounds": max_rounds, "time_limit": time_limit,
                      "seed": seed, "policy": policy, "verbose": verbose,
                      "callbacks": callbacks}, _RULES)
        kind = type(self)
        table, kept = self._table()
        self._shares, self._boxes, self._failure = {}, {}, None
        self._data = []  # the data set, once it was read
        matrix = X if isinstance(X, engine.File) else _matrix(X)
        try:
            finished = engine.run(
                table, kept[0], matrix, y, name=self.name,
                workers=engine.n_threads(n_jobs), partitions=partitions or 0,
                tolerance=tol, max_rounds=max_rounds, time_limit=time_limit,
                seed=seed, policy=policy, callbacks=callbacks, verbose=verbose,
                keep=self._data)
        except Exception:
            if self._failure is not None:
                raise self._failure from None
            raise
        finally:
            self._shares, self._boxes, self._data = {}, {}, []
        self.values_ = finished.values()
        self.progress_, self.end_ = finished.progress, finished.end
        self.partitions_ = finished.partitions
        if finished.interrupted:
            raise finished.interrupted
        engine.warn_unconverged(finished, None, kind.__name__, "max_rounds")
        return self

    def _table(self):
        """The strads_program of this object, and the objects that it refers
        to. A run's config is the address of this object's handle."""
        kind = type(self)
        handle = ffi.new_handle(self)
        config = ffi.new("void **", handle)
        name = ffi.new("char[]", self.name.encode())
        summary = ffi.new("char[]", (kind.__doc__ or self.name).strip()
                          .split("\n")[0].encode())
        table = ffi.new("strads_program *", {
            "size": ffi.sizeof("strads_program"), "name": name,
            "summary": summary, "layout": _LAYOUT[self.layout],
            "split": {"rows": 0, "columns": 1}[self.split],
            "config_size": ffi.sizeof("void *"), "defaults": config,
            "shape": lib.py_shape, "open": lib.py_open, "close": lib.py_close})
        if self.run is not None:
            table.run = lib.py_run
            if self.tables:
                table.tables = lib.py_tables
        else:
            if self.update is None or self.aggregate is None:
                raise TypeError(f"{kind.__name__} needs `update` and "
                                "`aggregate`, or `run`")
            table.begin, table.partial = lib.py_begin, lib.py_partial
            table.update, table.aggregate = lib.py_update, lib.py_aggregate
            if self.refresh is not None:
                table.refresh = lib.py_refresh
            if self.objective is not None:
                table.objective = lib.py_objective
        return table, (config, handle, name, summary)

    def _fails(self, failure):
        """Keeps an exception for `fit`, and reports the failure to the engine.
        """
        if self._failure is None:
            self._failure = failure
        text = traceback.format_exception_only(type(failure), failure)[-1]
        return lib.strads_fail_text(7, text.strip().encode("utf-8", "replace"))


def _of(config):
    return ffi.from_handle(ffi.cast("void **", config)[0])


def _guard(program, function, *arguments):
    try:
        function(*arguments)
    except BaseException as failure:
        return program._fails(failure)
    return 0


def _during(given, callback, *more):
    """Calls callback(given, *more) and passes its results to the engine.
    Empties `given` afterwards."""
    try:
        callback(given, *more)
        given._hand_over()
    finally:
        given._end()
        for each in more:
            if isinstance(each, _DuringCall):
                each._end()


@ffi.def_extern(error=7)
def py_shape(config, data, shape):
    program = _of(config)

    def fill():
        shape.parameters = program.parameters(int(shape.rows), int(shape.cols))
        shape.width, shape.block_max = program.width, program.block_max
    return _guard(program, fill)


@ffi.def_extern(error=7)
def py_tables(config, shape, store):
    program = _of(config)

    def make():
        number = ffi.new("uint32_t *")
        for name, (rows, cols, dtype) in program.tables.items():
            kept = ffi.new("char[]", name.encode())
            kind = {"float64": 0, "float32": 1, "int32": 2, "int64": 3}[
                np.dtype(dtype).name]
            spec = ffi.new("strads_table_spec *", {
                "name": kept, "type": kind, "rows": rows, "cols": cols})
            engine.call(lib.strads_store_create, store, spec, number)
    return _guard(program, make)


@ffi.def_extern(error=7)
def py_begin(config, data, shape, state):
    state[0] = ffi.cast("void *", ffi.cast("void **", config)[0])
    return 0


@ffi.def_extern(error=7)
def py_open(task, local):
    program = _of(task.config)

    def make():
        share = Share(task.share, program._data[0])
        program._shares[share.partition] = share
        box = _Box(program.open(share))
        program._boxes[share.partition] = box
        local[0] = box.handle
    return _guard(program, make)


@ffi.def_extern()
def py_close(local):
    pass  # fit drops all boxes after the run


@ffi.def_extern(error=7)
def py_refresh(task, changes, n):
    program = _of(task.config)

    def tell():
        told = []
        for k in range(n):
            told.extend(zip(*_change(changes[k], task.width)))
        _during(Task(task, program), program.refresh, told)
    return _guard(program, tell)


@ffi.def_extern(error=0)
def py_partial(task):
    program = _of(task.config)
    try:
        return int(program.partial(_block(task.block)))
    except BaseException as failure:
        program._fails(failure)
        return 1  # fit raises before update is called


@ffi.def_extern(error=7)
def py_update(task):
    program = _of(task.config)
    if program._failure is not None:
        return program._fails(program._failure)
    return _guard(program,
                  lambda: _during(Task(task, program), program.update))


@ffi.def_extern(error=7)
def py_aggregate(commit):
    program = _of(commit.config)
    return _guard(program, lambda: _during(Commit(commit), program.aggregate))


@ffi.def_extern(error=7)
def py_objective(state, report):
    program = ffi.from_handle(state)

    def ask():
        filled = Report()
        program.objective(filled)
        report.objective, report.gap = filled.objective, filled.gap
        report.nonzeros, report.stop = int(filled.nonzeros), filled.stop
    return _guard(program, ask)


@ffi.def_extern(error=7)
def py_run(task, session):
    program = _of(task.config)
    return _guard(program, lambda: _during(
        Task(task, program), program.run, Session(session, task.store)))
