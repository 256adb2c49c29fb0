"""A run of the engine: data passed to it, progress, interrupts, errors.

This module owns the memory that the library borrows during a run, and the
thread on which the library computes. The calling thread only waits, so that it
receives Ctrl-C. The run then ends at its next commit with the current model,
and KeyboardInterrupt is raised after that model was kept.
"""
import contextlib
import os
import signal
import threading
import weakref
from _signal import getsignal  # signal.getsignal makes an enum: 60 us for all
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from . import params
from ._strads import ffi, lib

try:
    from sklearn.exceptions import ConvergenceWarning
except ImportError:
    class ConvergenceWarning(UserWarning):
        """A fit that ended short of its tolerance."""

_SIGNALS = sorted(map(int, signal.valid_signals()))
_ENDS = ("converged", "stopped", "rounds", "time", "canceled")


class StradsError(RuntimeError):
    """An error of the library, with its message."""


class Progress(NamedTuple):
    """One report of a run (strads/engine.h, strads_progress)."""

    round: int
    seconds: float
    objective: float
    gap: float
    nonzeros: int


def version():
    """The version of the linked library."""
    return ffi.string(lib.strads_version()).decode()


def raise_for(err, text):
    """Raises the Python exception for an error code of the library."""
    if err == 0:
        return
    kind = {1: ValueError, 2: MemoryError, 3: OSError, 4: ValueError}.get(
        err, StradsError)
    raise kind(text)


def call(function, *arguments):
    """Calls a function that returns strads_err, on this thread."""
    err = function(*arguments)
    if err:
        raise_for(err, ffi.string(lib.strads_error_text()).decode())


def program_named(name):
    """A built-in program of the library."""
    program = lib.strads_program_find(name.encode())
    if program == ffi.NULL:
        raise StradsError(f"this libstrads has no program '{name}'")
    return program


def pointer(array, kind):
    """A borrowed pointer to an array's memory, as C type `kind`."""
    return ffi.cast(kind, array.ctypes.data)


@ffi.def_extern()
def py_progress(handle, progress):
    ffi.from_handle(handle).report(progress)


class _Watch:
    """Reports a run's progress, and ends the run on request."""

    def __init__(self, callbacks, verbose, name, stop=None):
        self.stop = ffi.new("bool *", False) if stop is None else stop
        self.failure = None
        self.callbacks = list(callbacks or ())
        self.bar = None
        if verbose:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.callbacks.append(_print_line)
            else:
                self.bar = tqdm(desc=name, unit=" rounds")

    def report(self, progress):
        if progress.objective != progress.objective:
            return  # no progress is known yet
        seen = Progress(int(progress.round), progress.seconds,
                        progress.objective, progress.gap,
                        int(progress.nonzeros))
        try:
            if self.bar is not None:
                self.bar.update(seen.round - self.bar.n)
                self.bar.set_postfix(objective=f"{seen.objective:.6g}",
                                     gap=f"{seen.gap:.1e}")
            for callback in self.callbacks:
                if callback(seen):
                    self.stop[0] = True
        except BaseException as failure:  # must not pass through C
            self.failure = failure
            self.stop[0] = True

    def close(self):
        if self.bar is not None:
            self.bar.close()


def _print_line(progress):
    print(f"strads: round {progress.round}: objective {progress.objective:.6g},"
          f" gap {progress.gap:.1e}", flush=True)


def _called(function, *arguments):
    """Calls a function that returns strads_err; returns (err, text)."""
    err = function(*arguments)
    return err, ffi.string(lib.strads_error_text()).decode() if err else ""


def interruptible(stop, function, *arguments):
    """Calls function(*arguments), which ends soon after stop[0] becomes true.
    Returns (err, text, interrupted) after the call has ended. `interrupted` is
    the exception to raise once the model has been kept: a KeyboardInterrupt,
    or the exception of another signal handler; or None."""
    if threading.current_thread() is not threading.main_thread():
        return *_called(function, *arguments), None
    answer, interrupted = [], None
    done = threading.Event()

    def work():
        answer.extend(_called(function, *arguments))
        done.set()

    # A handler's exception can come between any two lines, such as those that
    # start the thread, which would then run on alone. So handlers run as ever,
    # and what they raise is kept until they are restored. (A short call can end
    # while Thread.start has not, and start does not survive an exception then.)
    def guard(handler):
        def run(number, frame):
            nonlocal interrupted
            try:
                handler(number, frame)
            except BaseException as raised:
                interrupted = interrupted or raised
                stop[0] = True
        return run

    handlers = {number: handler for number in _SIGNALS
                if callable(handler := getsignal(number))}
    try:
        for number, handler in handlers.items():
            signal.signal(number, guard(handler))
        threading.Thread(target=work, name="strads").start()
        while not done.is_set():  # not join: a signal would not end its wait
            done.wait(0.1)  # by turns, for a signal that another thread has got
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return *answer, interrupted


def each(work, count, threads):
    """[work(k, stop) for k < count] on `threads` threads; `stop` is for
    engine.run. Ctrl-C ends all of them, and is raised."""
    stop = ffi.new("bool *", False)
    results, failures = [None] * count, []

    def one(k):
        try:
            if not stop[0]:
                results[k] = work(k, stop)
        except BaseException as failure:  # raised by the calling thread
            failures.append(failure)
            stop[0] = True

    def work_all():
        if threads == 1:
            for k in range(count):
                one(k)
        else:
            with ThreadPoolExecutor(min(threads, count)) as pool:
                list(pool.map(one, range(count)))
        return 0
    interrupted = interruptible(stop, work_all)[2]
    if interrupted or failures:
        raise interrupted or failures[0]
    return results


_SCALARS = {"float64": lib.STRADS_F64, "float32": lib.STRADS_F32,
            "int32": lib.STRADS_I32, "int64": lib.STRADS_I64}


_keep = weakref.WeakKeyDictionary()  # objects that a data set borrows


def _numbers(array):
    """f64 or f32, in C's or Fortran's order."""
    if array.dtype not in (np.float64, np.float32):
        array = array.astype(np.float64)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _places(array):
    """i32 or i64, contiguous, in this machine's order of bytes."""
    wanted = np.int32 if array.dtype.itemsize == 4 and \
        array.dtype.kind == "i" else np.int64
    return np.ascontiguousarray(array, dtype=wanted)


def data_of(matrix, label, cut, node=None, weight=None):
    """Makes a strads_data * over a matrix that it borrows and keeps alive
    (strads_data_from_arrays; for a node's part, strads_data_from_part).

    matrix: numpy, or scipy in any form (CSC and CSR are used in place); label,
    weight: [rows] or None; cut: a strads_data_options."""
    import scipy.sparse as sparse
    given = ffi.new("strads_arrays *", {
        "size": ffi.sizeof("strads_arrays"), "rows": matrix.shape[0],
        "cols": matrix.shape[1], "borrow": True})
    if sparse.issparse(matrix):
        by_row = matrix.format == "csr"
        if matrix.format not in ("csc", "csr"):
            matrix = matrix.tocsc()
        # Makes a new matrix: the flags that scipy caches on the given one are
        # stale if its arrays were changed.
        matrix = (sparse.csr_matrix if by_row else sparse.csc_matrix)(
            (matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        if np.any(np.diff(matrix.indptr) < 0):
            raise ValueError("X: indptr of a sparse matrix does not ascend")
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        value = _numbers(matrix.data)
        start, index = _places(matrix.indptr), _places(matrix.indices)
        given.by_row = by_row
        given.start = pointer(start, "void *")
        given.starts = _SCALARS[start.dtype.name]
        given.index = pointer(index, "void *")
        given.indices = _SCALARS[index.dtype.name]
    else:
        start = index = None
        value = _numbers(np.asarray(matrix))
        given.by_row = not value.flags.f_contiguous
    given.value = pointer(value, "void *")
    given.values = _SCALARS[value.dtype.name]
    if label is not None:
        label = np.ascontiguousarray(label, dtype=np.float64)
        if label.shape != (matrix.shape[0],):
            raise ValueError(f"y has the shape {label.shape}; expected "
                             f"({matrix.shape[0]},), a number for each row of "
                             "X")
        given.label = pointer(label, "double *")
    out = ffi.new("strads_data **")
    if node is None:
        call(lib.strads_data_from_arrays, given, cut, out)
    else:
        call(lib.strads_data_from_part, node, given, cut, out)
    data = ffi.gc(out[0], lib.strads_data_free)
    if weight is not None:
        call(lib.strads_data_weigh, data, pointer(weight, "double *"),
             len(weight))
    _keep[data] = (start, index, value)
    return data


def add_times(data, times):
    """Gives the entries of `data`, made of a CSR matrix, the values of `times`,
    a CSR matrix with the same entries."""
    cut = ffi.new("strads_data_options *", {
        "size": ffi.sizeof("strads_data_options"), "values": lib.STRADS_F64,
        "layout": lib.STRADS_LAYOUT_ROWS,
        "partitions": lib.strads_data_partitions(data)})
    other = data_of(times, None, cut)
    kept = _keep.pop(other)
    call(lib.strads_data_time, data, other)
    ffi.gc(other, None)  # it belongs to `data`
    _keep[data] += kept


class File:
    """A data file that the library reads itself."""

    def __init__(self, path, labels=None):
        self.path, self.labels = str(path), labels

    def read(self, cut):
        kept = self.labels and ffi.new("char[]", str(self.labels).encode())
        if kept:
            cut.labels_path = kept
        out = ffi.new("strads_data **")
        call(lib.strads_data_read, self.path.encode(), cut, out)
        return ffi.gc(out[0], lib.strads_data_free)


class Run:
    """A finished run: its numbers, and its state while this object lives."""

    def __init__(self, result, interrupted):
        kept = self._result = ffi.gc(result, lib.strads_result_free)
        self.interrupted = interrupted
        # The state refers to the result and keeps it alive.
        self.state = ffi.gc(lib.strads_result_state(result),
                            lambda _, kept=kept: None)
        self.end = _ENDS[lib.strads_result_end(result)]
        last = lib.strads_result_progress(result)
        self.progress = Progress(int(last.round), last.seconds, last.objective,
                                 last.gap, int(last.nonzeros))
        self.partitions = int(lib.strads_result_partitions(result))

    @property
    def result(self):
        return self._result

    def values(self):
        """A copy of the model's parameters, [coefficients, width]."""
        count = ffi.new("uint64_t *")
        width = ffi.new("uint32_t *")
        values = lib.strads_result_values(self._result, count, width)
        kept = lib.strads_result_coefficients(self._result)
        flat = np.frombuffer(ffi.buffer(values, kept * width[0] * 8))
        return flat.reshape(kept, width[0]).copy()


def cores():
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def n_threads(n_jobs):
    """scikit-learn's n_jobs as a number of workers (0: one per core)."""
    if n_jobs is None:
        return 1
    if n_jobs < -1:  # joblib's meaning: -2 is all cores except one
        return max(1, cores() + 1 + n_jobs)
    return 0 if n_jobs == -1 else int(n_jobs)


def seed_of(random_state):
    """scikit-learn's random_state as the run's seed."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(random_state.randint(0, 2**31 - 1))


# ---- fits that end before they reach their tolerance ------------------------

_WHY = {
    "rounds": ("reached {bound}", "raise {bound} or tol"),
    "time": ("reached its time limit", "raise the limit or tol"),
    "canceled": ("was stopped by a callback", "let it run on"),
    "stopped": ("made no more progress", "scale the columns, or raise tol"),
    "converged": ("ended", "scale the columns, or raise tol"),
}


def warn(text):
    """Issues a ConvergenceWarning at the first caller outside of this package.
    If several processes fit together, all of them warn at the end."""
    if team() is not None:
        team().warnings.append(text)
        return
    params.warn_user(text, ConvergenceWarning)


def warn_unconverged(finished, tolerance, name, bound="max_iter",
                     separable=False):
    """Warns if a run did not reach its tolerance or, without a tolerance, if
    it ended before it was done. bound: the name of the bound on rounds.
    separable: there is no minimum, and this is why."""
    last = finished.progress
    if separable:
        warn(f"{name}: without a penalty the data are separable: there is no "
             "minimum, and the coefficients are those of the fit's last step; "
             "give a penalty, or leave out the columns that separate")
        return
    why, what = (text.format(bound=bound) for text in _WHY[finished.end])
    rounds = "1 round" if last.round == 1 else f"{last.round} rounds"
    if tolerance is None:
        if finished.end in ("rounds", "time", "canceled"):
            warn(f"{name}: the fit {why} after {rounds}: the model is the one "
                 "so far")
    elif not last.gap <= tolerance:
        warn(f"{name}: the fit {why} before it converged: relative gap "
             f"{last.gap:.3g} after {rounds}, expected at most tol = "
             f"{tolerance:.3g}; {what}")


# ---- several processes (strads.spread) --------------------------------------

_here = threading.local()  # .team: the fit's processes; .bounds: see cut_at


@contextlib.contextmanager
def together(team):
    """Within this context, fits of this thread are those of a
    strads.spread.Team."""
    _here.team = team
    try:
        yield
    finally:
        _here.team = None


@contextlib.contextmanager
def cut_at(bounds):
    """Cuts the data of this thread's fits at rows `bounds` [partitions + 1],
    like the pieces of several processes."""
    _here.bounds = np.ascontiguousarray(bounds, dtype=np.uint64)
    try:
        yield
    finally:
        _here.bounds = None


def agreed(combine, value):
    """Returns combine([values of all processes that fit together])."""
    others = team()
    return combine([value] if others is None else others.gather(value))


def rank():
    """The number of this process among those that fit together, from 0."""
    return team().rank if team() else 0


def team():
    """The strads.spread.Team of processes that fit together, or None in a fit
    by a single process."""
    return getattr(_here, "team", None)


def shared(work):
    """Calls work(), which makes one run; every process returns process 0's
    value."""
    others = team()
    return work() if others is None else others.share(work)


def cut_for(program, config, options, matrix, label, weight=None):
    """Makes a strads_data * of the matrix, or of a File, cut as the program's
    run requires. Borrowed objects live as long as the result. options: a
    strads_engine_options *, or a number of workers."""
    if isinstance(options, int):
        options = ffi.new("strads_engine_options *", {
            "size": ffi.sizeof("strads_engine_options"), "workers": options})
    cut = ffi.new("strads_data_options *",
                  {"size": ffi.sizeof("strads_data_options")})
    call(lib.strads_run_cut, program, config, options, cut)
    if isinstance(matrix, File):
        return matrix.read(cut)
    bounds = getattr(_here, "bounds", None)
    if bounds is not None:
        cut.partitions, cut.partition_entries = len(bounds) - 1, 0
        cut.row_bounds = pointer(bounds, "uint64_t *")
    return data_of(matrix, label, cut, weight=weight)


def run(program, config, matrix, label, *, name, weight=None, workers=1,
        tolerance=0.0,
        max_rounds=0, time_limit=0.0, seed=0, start=None, partitions=0,
        policy=None, callbacks=None, verbose=0, keep=None, data=None,
        stop=None, choose=None, times=None):
    """Trains `program` (a strads_program *) on a matrix; returns a Run.

    weight: [rows] weight of each row, or None; start: (parameters, values [n,
    width]) to begin with, or None; keep: a list that receives the data set;
    data: the strads_data * that cut_for has made of the matrix, or None; stop:
    a bool * that ends the run, for a thread of `each`; choose: called with data
    set and engine options before a run of one process, to fill in the config;
    returns (error, its text, what interrupted it); times: see add_times, for
    runs of one process."""
    watch = _Watch(callbacks, verbose, name, stop)
    handle = ffi.new_handle(watch)
    options = ffi.new("strads_engine_options *", {
        "size": ffi.sizeof("strads_engine_options"), "workers": workers,
        "partitions": partitions, "tolerance": tolerance,
        "max_rounds": max_rounds, "time_limit": time_limit, "seed": seed,
        "deterministic": True, "stop": watch.stop})
    if watch.callbacks or watch.bar is not None:
        options.progress = lib.py_progress
        options.progress_arg = handle
    if policy is not None:
        policy = ffi.new("char[]", policy.encode())
        options.policy = policy
    if start is not None:
        parameters = np.ascontiguousarray(start[0], dtype=np.uint32)
        values = np.ascontiguousarray(start[1], dtype=np.float64)
        options.n_start = len(parameters)
        options.start_param = pointer(parameters, "uint32_t *")
        options.start_value = pointer(values, "double *")
    out = ffi.new("strads_result **")
    if team() is not None:
        try:
            result, interrupted = team().run(
                program, config, options,
                lambda node, keep: data_of(matrix, label, keep, node, weight))
        finally:
            watch.close()
        team().interrupted = watch.failure or interrupted
        return Run(result, team().interrupted)
    try:
        if data is None:
            data = cut_for(program, config, options, matrix, label, weight)
        if times is not None:
            add_times(data, times)
        if keep is not None:
            keep.append(data)
        err, text, interrupted = choose(data, options) if choose else \
            (lib.STRADS_OK, "", None)
        if err == lib.STRADS_OK and not interrupted:
            work = lib.strads_run, program, config, data, options, out
            err, text, interrupted = interruptible(watch.stop, *work) \
                if stop is None else (*_called(*work), None)
    finally:
        watch.close()
    if watch.failure is not None and out[0] == ffi.NULL:
        raise watch.failure
    if interrupted and out[0] == ffi.NULL:
        raise interrupted
    raise_for(err, text)
    return Run(out[0], watch.failure or interrupted)
