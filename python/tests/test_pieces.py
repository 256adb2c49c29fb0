"""Fits by several processes that each hold some rows: by mpirun, and on a Dask
cluster of processes. Results are bit-identical to those of one process with
the same cuts."""
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas
import pytest
from sklearn.exceptions import ConvergenceWarning

import strads
from strads import engine
from pieces import bounds_of, counts, ratings, same, samples

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- MPI ---------------------------------------------------------------------

def mpirun(ranks, *words):
    pytest.importorskip("mpi4py")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(ranks), sys.executable, "-m",
         "mpi4py", os.path.join(HERE, "mpi_pieces.py"), *words],
        capture_output=True, text=True, timeout=200, env=environment)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_with_a_piece_each_have_the_bits_of_one_process(ranks):
    ended = mpirun(ranks)
    assert ended.returncode == 0, ended.stderr
    assert f"{ranks} ranks are one process" in ended.stdout


def test_every_rank_says_what_is_wrong_with_one_piece():
    ended = mpirun(2, "wrong")
    assert ended.returncode == 0, ended.stderr
    for rank in 0, 1:
        assert f"rank {rank}: " in ended.stdout
    assert ended.stdout.count("39 columns, that of node 0 has 40") == 2
    assert ended.stdout.count("inconsistent numbers of samples") == 2


def test_a_rank_may_be_without_rows_and_all_ranks_warn():
    ended = mpirun(2, "empty")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("no rows are no trouble") == 2


def test_ctrl_c_at_any_rank_ends_all_with_the_model_so_far():
    ended = mpirun(2, "interrupted")
    assert ended.returncode == 0, ended.stderr
    for rank in 0, 1:
        for who in 0, 1:
            assert f"rank {rank}: stopped by rank {who}" in ended.stdout, \
                ended.stdout


# ---- Dask --------------------------------------------------------------------

@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    import dask
    # Keeps blocks on their workers, even if a worker is busy.
    dask.config.set({"distributed.scheduler.work-stealing": False})
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True,
            dashboard_address=None, host="127.0.0.1") as cluster:
        with distributed.Client(cluster) as found:
            yield found


def blocks_of(client, X, y, chunks):
    """Dask arrays with blocks on the two workers in turn, and the bounds of
    the pieces in a fit."""
    import dask.array
    import dask.delayed
    workers = sorted(client.scheduler_info()["workers"])
    bounds = bounds_of(X.shape[0], chunks)

    def spread(data):
        parts = []
        for k in range(chunks):
            held = client.scatter(data[bounds[k]:bounds[k + 1]],
                                  workers=[workers[k % 2]])
            parts.append(dask.array.from_delayed(
                dask.delayed(held), dtype=data.dtype,
                shape=(bounds[k + 1] - bounds[k], *data.shape[1:])))
        return dask.array.concatenate(parts)
    return spread(X), spread(y)


def fit_there(fit, alone):
    """Repeats a fit, at most three times, until the blocks stayed on their
    workers; a busy scheduler does not guarantee that."""
    for _ in range(3):
        if np.array_equal(fit().coef_, alone.coef_):
            break


def test_dask_arrays_have_the_bits_of_one_process(client):
    from strads import dask as on_dask
    X, y = samples()
    dX, dy = blocks_of(client, X, y, 4)
    # Worker by worker: blocks 0 and 2, then 1 and 3.
    cut = bounds_of(len(y), 4)
    order = np.concatenate([np.arange(cut[k], cut[k + 1]) for k in (0, 2, 1, 3)])
    first = (cut[1] - cut[0]) + (cut[3] - cut[2])
    with engine.cut_at([0, first, len(y)]):
        alone = strads.Lasso(0.05).fit(X[order], y[order])
    model = on_dask.Lasso(0.05)
    fit_there(lambda: model.fit(dX, dy), alone)
    same("Lasso", model, alone)
    assert np.allclose(model.predict(X), alone.predict(X))
    weight = np.arange(len(y)) % 3 + 0.5
    dw = blocks_of(client, X, weight, 4)[1]
    with engine.cut_at([0, first, len(y)]):
        alone.fit(X[order], y[order], weight[order])
    fit_there(lambda: model.fit(dX, dy, dw), alone)
    same("Lasso of weighed rows", model, alone)


def test_dask_warns_here_of_a_fit_that_ends_short(client):
    from strads import dask as on_dask
    # Must differ from the previous test's data: Dask names blocks by their
    # contents.
    X, y = samples(88)
    dX, dy = blocks_of(client, X, y, 4)
    with pytest.warns(ConvergenceWarning, match="reached max_iter"):
        on_dask.Lasso(1e-4, max_iter=1).fit(dX, dy)


def test_dask_frames_and_bags_are_taken(client):
    import dask.bag
    import dask.dataframe
    from strads import dask as on_dask
    X, y = samples()
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["label"] = np.where(y > 0, "yes", "no")
    table = dask.dataframe.from_pandas(frame, npartitions=3)
    model = on_dask.LogisticRegression(C=0.5).fit(
        table.drop(columns="label"), table["label"])
    alone = strads.LogisticRegression(C=0.5).fit(X, frame["label"])
    assert list(model.classes_) == ["no", "yes"]
    assert np.allclose(model.coef_, alone.coef_, atol=1e-2)
    bag = dask.bag.from_sequence(list(counts()), npartitions=2)
    topics = on_dask.LatentDirichletAllocation(
        3, max_iter=5, random_state=1).fit(bag)
    assert topics.n_documents_ == 60
    assert topics.components_.shape == (3, 50)
    rated = dask.dataframe.from_pandas(ratings(), npartitions=1)
    factors = on_dask.MatrixFactorization(3, max_iter=5).fit(rated)
    assert len(factors.user_bias_) == 60


def test_what_is_no_dask_collection_is_refused(client):
    import dask.array
    from strads import dask as on_dask
    X, y = samples()
    with pytest.raises(ValueError, match="expected a dask array"):
        on_dask.Lasso().fit(X, y)
    wide = dask.array.from_array(X, chunks=(45, 20))
    with pytest.raises(ValueError, match="blocks of whole rows"):
        on_dask.Lasso().fit(wide, dask.array.from_array(y, chunks=45))
    bad = dask.array.from_array(np.where(X > 2, np.nan, X), chunks=(45, 40))
    with pytest.raises(ValueError, match="NaN"):
        on_dask.Lasso().fit(bad, dask.array.from_array(y, chunks=45))
    with pytest.raises(AttributeError, match="estimators of pieces"):
        on_dask.RidgeCV


def test_a_fit_outlives_a_worker_that_is_killed(client):
    import dask.array
    from strads import dask as on_dask
    client.wait_for_workers(2)
    X = counts(200, 100).toarray()
    documents = dask.array.from_array(X, chunks=(100, 100))
    pids = client.run(os.getpid)
    victim = sorted(pids.values())[-1]
    told = []

    def kill():
        # Once the run has started, both workers take part in the fit.
        until = time.monotonic() + 60
        while time.monotonic() < until:
            busy = client.processing()
            if sum(any("_fit_piece" in str(k) for k in keys)
                   for keys in busy.values()) == 2:
                break
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(victim, signal.SIGKILL)
        told.append(True)

    killer = threading.Thread(target=kill)
    killer.start()
    model = on_dask.LatentDirichletAllocation(
        8, max_iter=3000, random_state=2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(documents)
    killer.join()
    assert told and any("begins anew" in str(w.message) for w in said)
    assert model.n_documents_ == 200
    assert model.n_iter_ >= 3000
