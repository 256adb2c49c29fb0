"""Estimators under mpirun: every rank passes the rows that it holds.

In a file that ``mpirun -n 4 python3 train.py`` starts::

    from strads.mpi import Lasso
    model = Lasso(alpha=0.1).fit(X_piece, y_piece)

Rows are numbered in the order of the ranks. All ranks have the same model
afterwards. If one fails, all raise. MPI carries an address and a key; all
further messages use tcp.
"""
import os
import socket

from mpi4py import MPI

from . import engine, spread


def _fit(model, fit, X, y=None, *, comm=None, **more):
    """Fits the model to the pieces of all ranks of `comm` (default
    COMM_WORLD). Each rank calls this with its own piece (and sample_weight);
    returns self."""
    comm = MPI.COMM_WORLD if comm is None else comm
    rank, size = comm.Get_rank(), comm.Get_size()
    host = spread.host_among(comm.allgather(socket.gethostname()))
    key, hub = os.urandom(32), None
    if rank == 0:
        hub = spread.open_hub(host, key)
    address, key = comm.bcast((hub.address, key) if rank == 0 else None)
    team = spread.Team(rank, size, hub or address, host, key)
    try:
        texts = team.fit(fit, model, X, y, **more)
    finally:
        team.close()
    for text in texts:
        engine.warn(text)
    return model


def __getattr__(name):
    made = spread.namesake(__name__, name, _fit)
    globals()[name] = made
    return made
