"""Estimators on Dask collections: data stays on the workers that hold it.

    from strads.dask import Lasso
    model = Lasso(alpha=0.1).fit(X, y)      # dask arrays or frames, cut by rows

Each worker that holds blocks of rows becomes a node of the run, with one
partition of the data per thread (`n_jobs`). Rows are numbered worker by
worker. The client receives the fitted model. If a worker is lost, the fit
restarts on the workers that then hold the data, and issues a warning.
"""
import os
import time
import warnings

import dask
import distributed
import numpy as np

from . import engine, spread

_POLL = 0.05  # seconds
_PATIENCE = 5.0  # seconds until the scheduler notices a loss
_hubs = {}  # by key, of fits with process 0 in this process


# ---- on a worker -----------------------------------------------------------

def _open(key):
    """Opens the hub of a fit; returns its address."""
    host = distributed.get_worker().address.rpartition("://")[2]
    _hubs[key] = spread.open_hub(host.rpartition(":")[0], key)
    return _hubs[key].address


def _stack(blocks):
    """Stacks blocks of rows, of a frame or of a bag into one matrix."""
    import scipy.sparse as sparse
    flat = []
    for block in blocks:
        flat.extend(block if isinstance(block, list) else [block])
    if len(flat) == 1 and np.ndim(flat[0]) > 1:
        return flat[0]
    if any(sparse.issparse(block) for block in flat):
        return sparse.vstack(flat, format="csr")
    if hasattr(flat[0], "columns"):
        import pandas
        return pandas.concat(flat)
    return np.vstack(flat)


def _fit_piece(model, blocks, rank, size, address, key):
    """Runs one process of a fit; returns process 0's model and its warnings.
    """
    host = distributed.get_worker().address.rpartition("://")[2]
    hub = _hubs.pop(key) if rank == 0 else tuple(address)
    team = spread.Team(rank, size, hub, host.rpartition(":")[0], key)
    try:
        given = {key: np.concatenate([block[key] for block in blocks])
                 for key in blocks[0] if key != "X"}
        texts = team.fit(super(type(model), model).fit.__func__, model,
                         _stack([block["X"] for block in blocks]), **given)
    finally:
        team.close()
    return (spread.fitted(model), texts) if rank == 0 else None


# ---- at the client ---------------------------------------------------------

def _blocks(**given):
    """Returns blocks of rows of all arguments, as delayed dicts. Each dict is
    computed on the worker that has its first item."""
    parts = {}
    for key, data in given.items():
        if data is None:
            continue
        if not hasattr(data, "to_delayed"):
            raise ValueError("expected a dask array, frame or bag, found "
                             f"{type(data).__name__}: for what is in this "
                             "process take the estimators of strads itself")
        made = np.asarray(data.to_delayed(), dtype=object)
        if made.ndim == 2 and made.shape[1] > 1:
            raise ValueError(f"{key} is cut into {made.shape[1]} ranges of columns;"
                             " expected blocks of whole rows: "
                             f"{key}.rechunk({{1: -1}})")
        parts[key] = made.ravel()
        if len(parts[key]) != len(parts["X"]):
            raise ValueError(f"X has {len(parts['X'])} blocks of rows and {key} "
                             f"{len(parts[key])}; expected as many, of the "
                             "same rows")
    return [dask.delayed(dict)(zip(parts, blocks))
            for blocks in zip(*parts.values())]


def _alive(client, addresses):
    known = client.scheduler_info()["workers"]
    return all(address in known for address in addresses)


def _try(client, model, blocks):
    """Makes one attempt: returns the fitted model, or None if a worker was
    lost."""
    held = client.compute(blocks)
    distributed.wait(held)
    where = client.who_has(held)
    groups = {}
    for future in held:
        if future.status == "error":
            future.result()
        on = where.get(future.key)
        if not on:
            return None
        groups.setdefault(sorted(on)[0], []).append(future)
    key = os.urandom(32)

    def submit(worker, function, *arguments):
        return client.submit(function, *arguments, workers=[worker],
                             allow_other_workers=False, pure=False, retries=0)
    first, *_ = groups
    opened = submit(first, _open, key)
    pieces = []
    try:
        if not _ended(client, [opened], groups):
            return None
        pieces = [submit(worker, _fit_piece, model, mine, rank, len(groups),
                         opened.result(), key)
                  for rank, (worker, mine) in enumerate(groups.items())]
        if not _ended(client, pieces, groups):
            return None
        return pieces[0].result()
    finally:
        client.cancel([opened, *pieces, *held])


def _ended(client, futures, workers):
    """Waits until all futures have ended. Returns false if a worker was lost,
    and raises any other failure."""
    until = None  # deadline after which a failure is not due to a loss
    while True:
        if not _alive(client, workers):
            return False
        failed = [f for f in futures if f.status == "error"]
        if failed:
            until = until or time.monotonic() + _PATIENCE
            own = [f for f in failed
                   if isinstance(f.exception(), (ValueError, MemoryError))]
            if own or time.monotonic() > until:
                (own or failed)[0].result()
        elif all(f.status == "finished" for f in futures):
            return True
        time.sleep(_POLL)


def _fit(model, fit, X, y=None, sample_weight=None, *, client=None, retries=2):
    """Fits the model to dask collections, in blocks of rows; returns self.

    X, y, sample_weight: arrays or frames. Topic models take documents by
    words. Ratings are users by items, or frames of (user, item, rating) with
    all rows of a user in one block. A bag holds rows: arrays or sparse
    matrices. client: default is the newest one; retries: number of restarts if
    workers are lost."""
    del fit  # workers use the base class's fit
    client = client or distributed.default_client()
    blocks = _blocks(X=X, y=y, sample_weight=sample_weight)
    for left in range(retries, -1, -1):
        made = _try(client, model, blocks)
        if made is not None:
            model.__dict__.update(made[0])
            for text in made[1]:
                engine.warn(text)
            return model
        if left:
            warnings.warn("a worker that held data was lost: the fit begins "
                          "anew, from the start, on those that hold it now",
                          stacklevel=3)
    raise engine.StradsError(f"workers were lost in {retries + 1} fits: see "
                             "their logs for why")


def __getattr__(name):
    made = spread.namesake(__name__, name, _fit)
    globals()[name] = made
    return made
