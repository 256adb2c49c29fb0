"""One fit by several processes that each hold some of the rows.

This module owns two things. The hub: over it the processes of a fit agree on
the facts that Python needs before and after the run (classes, numbers of rows,
the fitted model). The run itself, on the pieces of the processes
(strads/engine.h, strads_data_from_part). Rows, labels and documents stay in
their processes; besides the engine's own messages, only the model is sent.

Process 0 opens the hub, the others connect. The launcher (strads.mpi,
strads.dask) passes a key to all processes. The hub accepts only connections
with this key, and the key is also the run's token. If a process fails, it
reports this once, and all others raise its error.
"""
import socket
import tempfile
import threading
from multiprocessing.connection import Client, Listener, wait

from . import engine
from ._strads import ffi, lib

SPREADABLE = ("Lasso", "ElasticNet", "Ridge", "LassoCV", "ElasticNetCV",
              "LogisticRegression", "LogisticRegressionCV", "LinearSVC",
              "LinearSVR", "GLM", "PoissonRegressor", "GammaRegressor",
              "TweedieRegressor", "HuberRegressor",
              "GroupLasso", "SparseGroupLasso", "GLMCV", "GLMClassifier",
              "LatentDirichletAllocation", "MatrixFactorization")
_EPEER, _ECANCELED = 6, 8
_INTERRUPTED = -1  # used like an error code: Ctrl-C came before there was a
                   # model
_POLL = 0.05  # seconds between two polls of the own run


class Joined(Exception):
    """The run has ended without an error; process 0 has the fitted model."""

    def __init__(self, interrupted=None):
        super().__init__()
        self.interrupted = interrupted


class _Told(Exception):
    """Another process has failed, and all processes know it."""


def open_hub(host, key):
    """A Listener for process 0, on a free port of `host`."""
    return Listener((host, 0), authkey=key)


class Team:
    """The processes of one fit, as seen by one of them.

    rank, size: number of this process, and of all; hub: process 0's Listener,
    or its address; host: an address at which others reach this process; key:
    bytes."""

    def __init__(self, rank, size, hub, host, key, patience=60.0):
        self.rank, self.size, self.host, self.key = rank, size, host, key
        self.warnings = []  # of process 0, which has the run's results
        self.interrupted = None  # set at process 0
        if rank:
            self._links = [Client(hub, authkey=key)]
            self._links[0].send(rank)
            return
        # A Listener has no timeout of its own, and a dead process never
        # connects.
        hub._listener._socket.settimeout(patience)
        met = {}
        while len(met) < size - 1:
            try:
                link = hub.accept()
            except TimeoutError:
                raise engine.StradsError(
                    f"{size - 1 - len(met)} of {size} processes did not come "
                    f"within {patience:g} s") from None
            met[link.recv()] = link
        self._links = [met[k] for k in sorted(met)]
        hub.close()

    def close(self):
        for link in self._links:
            link.close()

    # ---- agreeing ---------------------------------------------------------

    def gather(self, value):
        """The values of all processes, in order; every process must call it.
        """
        return self._exchange((0, value))

    def share(self, work):
        """See engine.shared; an interrupt of one process interrupts all."""
        made = interrupted = None
        try:
            made = work()
        except Joined as joined:
            interrupted = joined.interrupted
        except KeyboardInterrupt as asked:
            interrupted = self._of_the_run(asked)
        ends = self.gather((interrupted is not None, made))
        if any(end[0] for end in ends):
            raise interrupted or KeyboardInterrupt
        return ends[0][1]

    def _of_the_run(self, asked):
        """Returns an interrupt that ended the run: all processes then continue
        from the same point. Raises any other one, so that the others lose this
        process."""
        if asked is not self.interrupted:
            raise asked
        return asked

    def _exchange(self, mine):
        try:
            if self.rank:
                self._links[0].send(mine)
                said = self._links[0].recv()
            else:
                said = [mine] + [link.recv() for link in self._links]
                for link in self._links:
                    link.send(said)
        except (EOFError, OSError):
            raise _Told(_EPEER, "another process of the fit was lost") from None
        self._look_for_failures(said)
        return [value for _, value in said]

    @staticmethod
    def _look_for_failures(said):
        """Raises the most informative failure out of [(err, text or value)].
        """
        failed = [(err in (_EPEER, _ECANCELED), k) for k, (err, _) in
                  enumerate(said) if err]
        if failed:
            k = min(failed)[1]
            raise _Told(said[k][0], f"process {k}: {said[k][1]}")

    def fit(self, fit, model, *data, **more):
        """All processes fit `model` on their pieces by fit(model, *data,
        **more). Afterwards all have the fitted model, even if Ctrl-C ended the
        run. Returns the texts of the fit's warnings."""
        interrupted = None
        try:
            with engine.together(self):
                try:
                    fit(model, *data, **more)
                except Joined as joined:
                    interrupted = joined.interrupted
                except KeyboardInterrupt as asked:
                    interrupted = self._of_the_run(asked)
            ends = self.gather((interrupted is not None, self.warnings,
                                None if self.rank else fitted(model)))
            model.__dict__.update(ends[0][2])
        except _Told as told:
            engine.raise_for(*told.args)
        except Exception as wrong:
            err = 1 if isinstance(wrong, ValueError) else \
                2 if isinstance(wrong, MemoryError) else _EPEER + 1
            try:
                self._exchange((err, str(wrong)))
            except _Told:
                pass
            raise
        if any(end[0] for end in ends):
            raise interrupted or KeyboardInterrupt
        return ends[0][1]

    # ---- the run ----------------------------------------------------------

    def run(self, program, config, options, make_data):
        """Trains on all pieces like strads_run on the whole data. Returns the
        result (a strads_result *) and the interrupt or None; raises Joined in
        all processes except the first.

        options: a strads_engine_options; make_data(engine,
        strads_data_options): makes a data set of this process's piece."""
        with tempfile.NamedTemporaryFile("w", suffix=".token") as token:
            token.write(self.key.hex() + "\n")
            token.flush()
            names = {"listen": ffi.new("char[]",
                                       f"tcp://{self.host}:0".encode()),
                     "token_file": ffi.new("char[]", token.name.encode())}
            out = ffi.new("strads_result **")
            if self.rank:
                said, interrupted = self._follow(options, names, make_data)
            else:
                said, interrupted = self._lead(program, config, options, names,
                                               make_data, out)
        if said[0][0] == _INTERRUPTED:
            raise KeyboardInterrupt
        try:
            self._look_for_failures(said)
        except _Told:
            if out[0] != ffi.NULL:
                lib.strads_result_free(out[0])
            raise
        if self.rank:
            raise Joined(interrupted)
        return out[0], interrupted

    def _lead(self, program, config, options, names, make_data, out):
        """Process 0: runs the fit and collects the ends of all processes, as
        [(err, text)]."""
        engine_out = ffi.new("strads_engine **")
        for key, value in names.items():
            setattr(options, key, value)
        options.nodes, options.reconnect = self.size, 1.0
        engine.call(lib.strads_engine_listen, program, config, options,
                    engine_out)
        self.gather(ffi.string(lib.strads_engine_url(engine_out[0])).decode())
        ends = [None] * self.size
        done = threading.Event()

        def work():
            ends[0] = _take_part(engine_out[0], make_data, out)
            done.set()

        threading.Thread(target=work, name="strads").start()
        interrupted, joined = None, False
        told = 0  # the last process that was asked to join
        while None in ends:
            try:
                # Nodes are numbered as they join, so they join one after the
                # other.
                if told < self.size - 1 and (told == 0 or joined):
                    told, joined = told + 1, False
                    self._links[told - 1].send("join")
                for link in wait([self._links[k - 1] for k in
                                  range(1, self.size) if ends[k] is None],
                                 _POLL) if None in ends[1:] else ():
                    k = self._links.index(link) + 1
                    try:
                        message = link.recv()
                    except (EOFError, OSError):
                        message = _EPEER, "it was lost"
                    if message == "joined":
                        joined = True
                    elif message == "interrupted":
                        interrupted = KeyboardInterrupt()
                        options.stop[0] = True
                    else:
                        ends[k] = message
                if None not in ends[1:]:
                    done.wait()
                if any(end and end[0] for end in ends):
                    options.stop[0] = True
                    for k in range(told + 1, self.size):
                        self._links[k - 1].send("stop")
                        ends[k] = _ECANCELED, "the run was over"
                    told = self.size - 1
            except KeyboardInterrupt as asked:
                interrupted = asked
                options.stop[0] = True
        if interrupted and any(err for err, _ in ends):
            if out[0] != ffi.NULL:
                lib.strads_result_free(out[0])
            ends = [(_INTERRUPTED, "")] * self.size
        for link in self._links:
            try:
                link.send(ends)
            except OSError:
                pass  # the process was lost; its end reports that
        return ends, interrupted

    def _follow(self, options, names, make_data):
        """The other processes: joins the run and returns the ends of all."""
        link, interrupted = _ToFirst(self._links[0]), None
        url = self.gather(None)[0]
        handle = ffi.new_handle(link)
        join = ffi.new("strads_join_options *", {
            "size": ffi.sizeof("strads_join_options"),
            "workers": options.workers, "find": lib.py_find,
            "find_arg": handle, "stop": options.stop, **names})

        def work():
            out = ffi.new("strads_engine **")
            end = _told(lib.strads_engine_join(url.encode(), join, out))
            ends.append(end if end[0] else _take_part(
                out[0], make_data, ffi.new("strads_result **")))
            return 0
        try:
            if self._links[0].recv() == "join":
                ends = []
                interrupted = engine.interruptible(link, work)[2]
                link.send(ends[0])
            return self._links[0].recv(), interrupted
        except (EOFError, OSError):
            return [(_EPEER, "it was lost")], interrupted


class _ToFirst:
    """The link to process 0 during a run, shared by two threads. It also
    replaces the stop flag: Ctrl-C sets an item, and process 0 ends the run."""

    def __init__(self, link):
        self._link, self._lock = link, threading.Lock()

    def send(self, message):
        with self._lock:
            self._link.send(message)

    def __setitem__(self, place, value):
        self.send("interrupted")


def _told(err):
    """An error code with its message."""
    return err, ffi.string(lib.strads_error_text()).decode() if err else ""


def _take_part(node, make_data, out):
    """Runs one node and frees it; returns (err, text)."""
    keep = ffi.new("strads_data_options *",
                   {"size": ffi.sizeof("strads_data_options")})
    end = _told(lib.strads_engine_keep(node, keep))
    try:
        data = None if end[0] else make_data(node, keep)
        if data is not None:
            end = _told(lib.strads_engine_run(node, data, out))
    except MemoryError as wrong:
        end = 2, str(wrong)
    except ValueError as wrong:
        end = 1, str(wrong)
    except Exception as wrong:  # otherwise lost in this thread
        end = _EPEER, str(wrong)
    lib.strads_engine_free(node)
    return end


@ffi.def_extern(error=ffi.NULL)
def py_find(link, name):
    """The engine asks a node for the run's program right after the node got
    its number."""
    ffi.from_handle(link).send("joined")
    return lib.strads_program_find(name)


def fitted(model):
    """The attributes that a fit has set, without the parameters."""
    given = model.get_params(deep=False)
    return {k: v for k, v in vars(model).items() if k not in given}


def host_among(hosts):
    """An address of this machine that the given hosts can reach."""
    others = [name for name in hosts if name != socket.gethostname()]
    if not others:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((others[0], 9))  # sends no packet
        return probe.getsockname()[0]


def spread(kind, fit):
    """A subclass of `kind` for pieces. It calls fit(model, base_fit, X, y,
    **more); `more` has a sample_weight only if one was given."""
    def fit_pieces(self, X, y=None, sample_weight=None, **more):
        if sample_weight is not None:
            more["sample_weight"] = sample_weight
        return fit(self, kind.fit, X, y, **more)
    fit_pieces.__doc__ = fit.__doc__
    return type(kind.__name__, (kind,), {"fit": fit_pieces,
                                         "__doc__": kind.__doc__})


def namesake(module, name, fit):
    """For a module's __getattr__: the estimator class of that name for pieces.
    """
    import strads
    if name not in SPREADABLE:
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}; estimators of "
            f"pieces are {', '.join(SPREADABLE)}")
    made = spread(getattr(strads, name), fit)
    made.__module__ = module
    return made
