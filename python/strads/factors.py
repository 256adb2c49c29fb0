"""Matrix factorisation of ratings, and recommendations from it."""
import numpy as np
import scipy.sparse as sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import engine, params, plots, states
from ._strads import ffi, lib
from .model import read_state, write_state


_ZERO = 2**32 - 1  # a 0 that is given, see STRADS_OPTION_ZERO


def _given(number):
    """An option of which 0 means "not given"."""
    return 0 if number is None else number or _ZERO


def _union(parts):
    import pandas
    return pandas.Index(np.unique(np.concatenate(
        [np.asarray(part) for part in parts])))


def _one_after_the_other(parts):
    """Concatenates the users of all pieces; each piece has the users of its
    rows."""
    import pandas
    users = parts[0]
    for part in parts[1:]:
        users = users.append(part)
    if not users.is_unique:
        raise ValueError(f"user {users[users.duplicated()][0]!r} has ratings "
                         "in two pieces; expected all of a user in one")
    return pandas.Index(users)


class MatrixFactorization(states.Checked, plots.Shown, TransformerMixin,
                          BaseEstimator):
    """r_ui ~ mean + b_u + c_i + p_u'q_i, and with times + g_t, a bias of the
    period.

    `fit` takes a matrix [users, items] of ratings: all nonzero entries, and
    zeros that a scipy sparse matrix stores. Or it takes a data frame of three
    columns: user, item, rating, in that order or by these names.

    Parameters
    ----------
    rank : int or None, factors of a user and an item; 0: biases alone; None:
        chosen
    method : "sgd", "als", "cd", "ccd++" or None (chosen by the data)
    max_iter : int, sweeps over the ratings
    alpha : float, confidence of implicit feedback is 1 + alpha r
    implicit, nonnegative : bool
    loss : "squared"; or "bpr" or "warp", which fit the order of items for
        implicit feedback by SGD
    cg_steps : int or None, steps of conjugate gradients for implicit feedback; 0:
        exact; None: 3 above rank 32, exact up to there
    penalty : float or None, penalty per rating; None: chosen
    scratch : str or None, a folder for the ratings during `fit`, of which a few
        blocks are in memory then; methods "sgd", "als" and "cd" with the
        squared loss, also implicit
    holdout : float or None, share of held-out ratings; None: 0.1 to choose, then
        0
    holdout_by : "random", or "time": the last ratings of each user
    tune : int or None, fits that choose what is None, by their errors on
        held-out ratings; 0: none, rank is then 16; None: 16. Fits of several
        processes together, and of implicit feedback, choose nothing
    clip : bool, keep predictions in the range of the ratings
    random_state, n_jobs, verbose, callbacks : as of Lasso

    Attributes
    ----------
    mean_ : float
    user_bias_ [users], user_factors_ [users, rank]
    item_bias_ [items], item_factors_ [items, rank] (and components_, their
        transpose)
    periods_ : of a fit with times: the first and the last time, and the biases
        of 20 periods of equal length between them; otherwise None
    users_, items_ : names, of a data frame
    validation_error_ : root mean squared error on held-out ratings, of the best
        fit if there was a choice
    trials_ : list of dict, the fits of the choice
    """

    _table = plots.of_factors
    _rules = {
        "rank": params.number(least=0, most=1024, whole=True, none=True),
        "tune": params.number(least=0, most=64, whole=True, none=True),
        "clip": params.yes_or_no,
        "method": params.one_of("sgd", "als", "cd", "ccd++", none=True),
        "max_iter": params.number(least=1, below=2**32, whole=True),
        "implicit": params.yes_or_no, "nonnegative": params.yes_or_no,
        "alpha": params.number(above=0),
        "loss": params.one_of("squared", "bpr", "warp"),
        "cg_steps": params.number(least=0, most=1000, whole=True, none=True),
        "penalty": params.number(above=0, none=True),
        "scratch": params.folder,
        "holdout": params.number(above=0, below=1, none=True),
        "holdout_by": params.one_of("random", "time")}

    def __init__(self, rank=None, *, method=None, max_iter=20, implicit=False,
                 nonnegative=False, alpha=1.0, penalty=None, holdout=None,
                 tune=None, clip=True, cg_steps=None, loss="squared",
                 scratch=None, holdout_by="random", random_state=None,
                 n_jobs=None, verbose=0, callbacks=None):
        self.rank = rank
        self.method = method
        self.max_iter = max_iter
        self.implicit = implicit
        self.nonnegative = nonnegative
        self.alpha = alpha
        self.penalty = penalty
        self.holdout = holdout
        self.tune = tune
        self.clip = clip
        self.cg_steps = cg_steps
        self.loss = loss
        self.scratch = scratch
        self.holdout_by = holdout_by
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    # ---- ratings in -----------------------------------------------------

    def _ratings(self, X, reset):
        """X as CSR [users, items]; stores the names of a frame, or looks them
        up."""
        params.check(self.get_params(deep=False), self._rules)
        if hasattr(X, "columns") and X.shape[1] == 3:
            return self._frame(X, reset)
        self._refuse_other_frames(X)
        if sparse.issparse(X) and X.format == "bsr":
            X = X.tocsr()  # blocks store zeros that are not ratings
            X.eliminate_zeros()
        X = states.validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, reset=reset,
            ensure_min_features=1, ensure_min_samples=0 if engine.team() else 1)
        if reset:
            self.users_ = self.items_ = None
        X = sparse.csr_matrix(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    @staticmethod
    def _refuse_other_frames(X):
        """Raises a ValueError if a frame without three columns lists ratings: a
        frame of a matrix has a column of numbers for each item."""
        if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
            return
        names = [str(c) for c in X.columns]
        text = any(getattr(t, "kind", "O") not in "biuf" for t in X.dtypes
                   if type(t).__name__ != "SparseDtype")
        if len(names) == 2 or text or len(names) < 7 and any(
                name.lower().startswith("user") for name in names):
            raise ValueError(
                f"X has {len(names)} columns, {', '.join(names[:6])}"
                f"{', ...' if len(names) > 6 else ''}; expected three columns "
                "user, item, rating (times: fit(X, time=...)), or a matrix "
                "[users, items]")

    def _with_times(self, X, time):
        """Ratings, and their times as a CSR matrix with the same entries, or
        None."""
        if time is None:
            if self.holdout_by == "time":
                raise ValueError('holdout_by="time" needs fit(X, time=...)')
            return self._ratings(X, True), None
        if engine.team():
            raise ValueError("time is for fits of one process")
        if hasattr(X, "columns") and X.shape[1] == 3:
            times = np.asarray(time, dtype=np.float64)
            if times.shape != (len(X),):
                raise ValueError(f"time has the shape {times.shape}; expected "
                                 f"({len(X)},), a number for each row of X")
            ratings = self._ratings(X, True)
            columns = list(X.columns)
            timed = X.copy()
            timed[self._columns(X)[2]] = times
            times = self._frame(timed[columns], False)
        else:
            ratings = self._ratings(X, True)
            times = sparse.csr_matrix(time, dtype=np.float64)
            if not times.has_canonical_format:
                times = times.copy()
                times.sum_duplicates()
        if times.shape != ratings.shape or \
                not np.array_equal(times.indptr, ratings.indptr) or \
                not np.array_equal(times.indices, ratings.indices):
            raise ValueError("time is not of the entries of X: expected a "
                             "sparse matrix with a time for each rating; a "
                             "time of 0 has to be stored")
        if not np.all(np.isfinite(times.data)):
            raise ValueError("time has a number that is not finite")
        return ratings, times

    @staticmethod
    def _columns(frame):
        by_name = {str(c).lower(): c for c in frame.columns}
        named = all(n in by_name for n in ("user", "item", "rating"))
        return [by_name[n] for n in ("user", "item", "rating")] if named \
            else list(frame.columns)

    def _frame(self, frame, reset):
        import pandas
        columns = self._columns(frame)
        user, own_users = pandas.factorize(frame[columns[0]], sort=True)
        if np.any(user < 0) or frame[columns[1]].isna().any():
            raise ValueError("a row has no user or no item: expected a name in "
                             f"columns {columns[0]!r} and {columns[1]!r}")
        rating = frame[columns[2]].to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(rating)):
            raise ValueError(f"column {columns[2]!r} has a rating that is not "
                             "a finite number")
        if reset:
            self.items_ = engine.agreed(_union, pandas.unique(
                frame[columns[1]]))
            self.users_ = engine.agreed(_one_after_the_other, own_users)
            self.n_features_in_ = len(self.items_)
        item = pandas.Index(self.items_).get_indexer(frame[columns[1]])
        known = item >= 0
        user, item, rating = user[known], item[known], rating[known]
        order = np.arange(len(rating))
        last = pandas.DataFrame({"u": user, "i": item, "k": order}).groupby(
            ["u", "i"])["k"].max().to_numpy()
        return sparse.csr_matrix(
            (rating[last], (user[last], item[last])),
            shape=(len(own_users), self.n_features_in_))

    # ---- fit ------------------------------------------------------------

    def fit(self, X, y=None, time=None):
        """Fits the model; returns self. time: of each rating: a number for each
        row of a frame, or a sparse matrix with the entries of X; None: no
        times."""
        ratings, times = self._with_times(X, time)
        rows = engine.agreed(sum, ratings.shape[0])
        if engine.agreed(sum, ratings.nnz) == 0:
            raise ValueError("X has no ratings: found 0 entries, expected at "
                             "least 1")
        program = engine.program_named("mf")
        self.trials_ = []
        kept = ffi.new("char[]", (self.method or "").encode())
        loss = ffi.new("char[]", self.loss.encode())
        config = ffi.new("strads_mf_options *", {
            "rank": _given(self.rank), "sweeps": self.max_iter,
            "lambda": self.penalty or 0.0, "holdout": self.holdout or 0.0,
            "implicit": self.implicit, "nonnegative": self.nonnegative,
            "alpha": self.alpha, "tune": _given(self.tune),
            "no_clip": not self.clip, "cg_steps": _given(self.cg_steps),
            "loss": loss})
        words = ffi.new("char[]", b"time")
        if times is not None:
            config.time = words
            if self.holdout_by == "time":
                config.holdout_by = words
        if self.method:
            config.method = kept
        folder = ffi.new("char[]", (self.scratch or "").encode())
        if self.scratch:
            config.scratch = folder
        finished = engine.run(
            program, config, ratings, None, name=type(self).__name__,
            workers=engine.n_threads(self.n_jobs),
            seed=engine.seed_of(self.random_state), callbacks=self.callbacks,
            verbose=self.verbose, times=times,
            choose=lambda data, options: self._choose(config, data, options))
        users = lib.strads_mf_users(finished.state)
        if users == ffi.NULL and finished.interrupted:  # no sweep yet
            raise finished.interrupted
        if users == ffi.NULL:
            raise engine.StradsError("the fit was stopped before its factors "
                                     "could be brought together")
        rank = lib.strads_mf_resolved(finished.state).rank
        width = 1 + (0 if rank == _ZERO else rank)
        user = np.frombuffer(ffi.buffer(users, 4 * width * rows),
                             dtype=np.float32).reshape(-1, width)
        item = finished.values()
        self.user_bias_, self.user_factors_ = user[:, 0].copy(), \
            user[:, 1:].copy()
        self.item_bias_ = item[:, 0].astype(np.float32)
        self.item_factors_ = item[:, 1:].astype(np.float32)
        self.components_ = self.item_factors_.T
        self.mean_ = lib.strads_mf_mean(finished.state)
        self.penalty_ = lib.strads_mf_penalty(finished.state)
        self.lift_ = lib.strads_mf_lift(finished.state)
        self.raise_ = lib.strads_mf_raise(finished.state)
        self.damping_ = lib.strads_mf_damping(finished.state)
        found = lib.strads_mf_times(finished.state)
        self.periods_ = (found.first, found.last, np.array(
            list(found.bias))) if found.any else None
        low, high = ffi.new("double *"), ffi.new("double *")
        lib.strads_mf_range(finished.state, low, high)
        self.range_ = low[0], high[0]
        errors = [ffi.new("double *") for _ in range(3)]
        lib.strads_mf_errors(finished.state, *errors)
        self.training_error_ = errors[0][0]
        chosen = [trial["rmse"] for trial in self.trials_ if trial["chosen"]]
        self.validation_error_ = chosen[0] if chosen else errors[1][0]
        self.n_iter_ = max(1, finished.progress.round)
        if finished.interrupted:
            raise finished.interrupted
        engine.warn_unconverged(finished, None, type(self).__name__)
        return self

    def _choose(self, config, data, options):
        """Replaces the options that are None by the best of a search."""
        found = ffi.new("strads_mf_tuning *")
        err, text, interrupted = engine.interruptible(
            options.stop, lib.strads_mf_tune, config, data, options, found)
        if err == lib.STRADS_OK:
            config[0] = found.options
            self.trials_ = [
                {"chosen": k == found.best,
                 **{name: getattr(found.trial[k], name) for name in
                    ("rank", "lambda", "step", "sweep", "rmse", "seconds")}}
                for k in range(found.trials)]
        return err, text, interrupted

    # ---- use ------------------------------------------------------------

    def _check_state(self):
        states.real(self, "item_factors_", (None, None), dtype=np.float32)
        items, rank = self.item_factors_.shape
        if not items or rank > 1024:
            states.refuse(self, "item_factors_", "items by 0 to 1,024 factors")
        states.real(self, "item_bias_", (items,), dtype=np.float32)
        states.real(self, "user_bias_", (None,), dtype=np.float32)
        states.real(self, "user_factors_", (len(self.user_bias_), rank),
                    dtype=np.float32)
        states.real(self, "mean_", ())
        states.real(self, "penalty_", ())
        for name, wanted in ("users_", len(self.user_bias_)), ("items_", items):
            names = getattr(self, name, None)
            if names is not None and (not hasattr(names, "__len__") or
                                      len(names) != wanted):
                states.refuse(self, name, f"{wanted} names, or None")

    def _recommender(self):
        """A strads_recommender over this model."""
        self._check_state()
        params.check(self.get_params(deep=False), self._rules)
        items = np.ascontiguousarray(
            np.column_stack([self.item_bias_, self.item_factors_]),
            dtype=np.float32)
        factors = ffi.new("strads_mf_factors *", {
            "users": 0, "items": len(items), "rank": items.shape[1] - 1,
            "mean": self.mean_ + self._period_bias(np.inf), "item": engine.pointer(items, "float *"),
            "penalty": self.penalty_, "no_biases": False,
            "nonnegative": self.nonnegative,
            "implicit": self.implicit or self.loss != "squared",
            "alpha": self.alpha, "lift": getattr(self, "lift_", 0.0),
            "raise": getattr(self, "raise_", 0.0),
            "damping": getattr(self, "damping_", 0.0)})
        out = ffi.new("strads_recommender **")
        engine.call(lib.strads_recommender_new, factors, out)
        return ffi.gc(out[0], lib.strads_recommender_free)

    def fold_in(self, X):
        """Biases [n] and factors [n, rank] of new users, from their ratings of
        the model's items."""
        check_is_fitted(self, "item_factors_")
        ratings = self._ratings(X, False)
        recommender = self._recommender()
        rows = np.zeros((ratings.shape[0], 1 + self.item_factors_.shape[1]),
                        dtype=np.float32)
        item = np.ascontiguousarray(ratings.indices, dtype=np.uint32)
        if np.any(np.abs(ratings.data) > np.finfo(np.float32).max):
            raise ValueError("X has a rating that does not fit into 32 bits: "
                             "scale the ratings down")
        value = np.ascontiguousarray(ratings.data, dtype=np.float32)
        for u in range(ratings.shape[0]):
            first, last = int(ratings.indptr[u]), int(ratings.indptr[u + 1])
            engine.call(
                lib.strads_recommender_fold, recommender, last - first,
                ffi.cast("uint32_t *", item.ctypes.data + 4 * first),
                ffi.cast("float *", value.ctypes.data + 4 * first),
                engine.pointer(rows[u], "float *"))
        return rows[:, 0], rows[:, 1:]

    def transform(self, X):
        """[n, rank] the factors of users from their ratings (see fold_in)."""
        return self.fold_in(X)[1].astype(np.float64)

    def _period_bias(self, time):
        """The bias of the period of each time; 0 without times."""
        if getattr(self, "periods_", None) is None:
            return 0.0
        first, last, bias = self.periods_
        with np.errstate(invalid="ignore", divide="ignore"):
            at = (np.asarray(time, dtype=np.float64) - first) / (last - first)
        at = np.where(at > 0, np.minimum(at, 1), 0)
        return bias[np.minimum((at * len(bias)).astype(int), len(bias) - 1)]

    def rate(self, users, items, time=None):
        """Predicted ratings of pairs users[n] and items[n]: names if the model
        was fitted to a frame, otherwise numbers. time[n]: of the pairs, for a
        model with times; None: its last period."""
        check_is_fitted(self, "item_factors_")
        if time is not None and getattr(self, "periods_", None) is None:
            raise ValueError("time: the model was fitted without times; "
                             "expected None")
        return self._rate(self._users(users), self._items(items), time)

    def _rate(self, u, i, time):
        """Ratings of pairs of places; -1 is a user or an item that the model does
        not have: its bias and its factors are 0."""
        p = np.where((u >= 0)[:, None], self.user_factors_[u], 0)
        q = np.where((i >= 0)[:, None], self.item_factors_[i], 0)
        biases = np.where(u >= 0, self.user_bias_[u], 0) + \
            np.where(i >= 0, self.item_bias_[i], 0)
        lift = getattr(self, "lift_", 0.0)  # of those without ratings
        product = np.where(p.any(axis=1) & q.any(axis=1), 0, lift) + \
            np.einsum("nk,nk->n", p, q)
        period = self._period_bias(np.inf if time is None else time)
        return np.clip(self.mean_ + biases + product + period,
                       *getattr(self, "range_", (-np.inf, np.inf)))

    def score(self, X, y=None, time=None):
        """Minus the root mean squared error of the ratings in X: greater is
        better, as of scikit-learn's neg_root_mean_squared_error. X and time are
        those of `fit`: a frame of user, item and rating, or a matrix with the
        users and the items of the model. A user or an item of a frame that the
        model does not have is rated without its bias and its factors."""
        check_is_fitted(self, "item_factors_")
        if self.implicit or self.loss != "squared":
            raise ValueError("score is an error of ratings, and the model ranks "
                             "items: compare lists of recommend()")
        if time is not None and getattr(self, "periods_", None) is None:
            raise ValueError("time: the model was fitted without times; "
                             "expected None")
        if hasattr(X, "columns") and X.shape[1] == 3:
            u, i, right = self._pairs(X)
            if time is not None and np.shape(time) != right.shape:
                raise ValueError(f"time has the shape {np.shape(time)}; expected "
                                 f"{right.shape}, a number for each row of X")
        else:
            X = self._seen(sparse.csr_matrix(X), "X")
            right = X.data
            u, i = X.tocoo().row, X.indices
            if time is not None:
                time = self._seen(sparse.csr_matrix(time), "time")
                if not np.array_equal(time.indptr, X.indptr) or \
                        not np.array_equal(time.indices, X.indices):
                    raise ValueError("time is not of the entries of X: expected "
                                     "a sparse matrix with a time for each rating")
                time = time.data
        if right.size == 0 or not np.all(np.isfinite(right)):
            raise ValueError("X has no ratings, or one that is not finite: "
                             "expected at least one number")
        return -float(np.sqrt(np.mean((self._rate(u, i, time) - right) ** 2)))

    def _pairs(self, frame):
        """Places of users and items in a frame, -1 for others, and ratings."""
        import pandas
        user, item, rating = self._columns(frame)

        def places(names, count, asked):
            names = np.arange(count) if names is None else names
            return pandas.Index(names).get_indexer(asked)
        return places(self.users_, len(self.user_bias_), frame[user]), \
            places(self.items_, len(self.item_bias_), frame[item]), \
            frame[rating].to_numpy(dtype=np.float64)

    def _users(self, asked):
        return self._places(self.users_, len(self.user_bias_), asked, "user")

    def _items(self, asked):
        return self._places(self.items_, len(self.item_bias_), asked, "item")

    @staticmethod
    def _places(names, count, asked, what):
        """The indices of users or items: looked up by name, or, without names,
        checked numbers from 0."""
        asked = np.atleast_1d(asked)
        if asked.size == 0:
            return np.zeros(asked.shape, dtype=int)
        if names is None:
            if asked.dtype.kind not in "iu":
                raise ValueError(f"{what} {asked.item(0)!r}: expected whole "
                                 f"numbers from 0 to {count - 1}")
            place, known = asked, (asked >= 0) & (asked < count)
        else:
            import pandas
            place = pandas.Index(names).get_indexer(asked)
            known = place >= 0
        if not np.all(known):
            raise ValueError(f"the model has no {what} "
                             f"{asked[~known].item(0)!r}")
        return place.astype(int)

    def recommend(self, user=None, n=10, *, seen=()):
        """The `n` items with the highest predicted rating for a user of the
        model, without the items in `seen`: a list of (item, score), best
        first. For a list or an array of users, or None for all of them, a list
        of such lists, one per user, which are computed together.

        `seen` may also have items of each user: the ratings that `fit` takes, a
        frame of user, item (and rating) or a matrix [users, items] of the whole
        model; or a list with a list of items for each of the asked
        users. A frame's users and items that the model does not have are left
        out."""
        check_is_fitted(self, "item_factors_")
        params.check({"n": n}, {"n": params.number(least=1, below=2**31,
                                                   whole=True)})
        recommender = self._recommender()
        places = np.arange(len(self.user_bias_)) if user is None else \
            self._users(user)
        own, rows_of = None, places
        if not sparse.issparse(seen) and not hasattr(seen, "columns") and \
                not (isinstance(seen, np.ndarray) and seen.ndim == 2):
            seen = list(seen)
        if hasattr(seen, "columns"):
            own = self._seen_frame(seen)
        elif not isinstance(seen, list):
            own = self._seen(seen)
        elif any(isinstance(each, (list, tuple, set, frozenset, np.ndarray))
                 for each in seen):
            own, rows_of = self._seen_lists(seen, len(places)), \
                np.arange(len(places))
        else:
            hidden = self._items(seen).astype(np.uint32)
            lib.strads_recommender_hide(recommender, len(hidden),
                                        engine.pointer(hidden, "uint32_t *"))
        rows = np.column_stack([self.user_bias_[places],
                                self.user_factors_[places]])
        lists = self._lists(recommender, rows, n, rows_of, own, self.items_)
        return lists[0] if user is not None and np.ndim(user) == 0 else lists

    def _seen(self, seen, name="seen"):
        """A matrix of users and items in CSR, with sorted rows."""
        wanted = len(self.user_bias_), len(self.item_bias_)
        if seen.shape != wanted:
            raise ValueError(f"{name} has shape {seen.shape}; expected {wanted}, "
                             "a row for each user and a column for each item of "
                             "the model")
        seen = sparse.csr_matrix(seen)
        if not seen.has_sorted_indices:
            seen = seen.sorted_indices()
        return seen

    def _seen_frame(self, frame):
        """The same of a frame of user, item and perhaps more."""
        import pandas
        by_name = {str(c).lower(): c for c in frame.columns}
        if "user" in by_name and "item" in by_name:
            columns = [by_name["user"], by_name["item"]]
        elif frame.shape[1] in (2, 3):
            columns = list(frame.columns)[:2]
        else:
            raise ValueError(f"seen has {frame.shape[1]} columns; expected "
                             "user, item and perhaps rating")
        sizes = len(self.user_bias_), len(self.item_bias_)
        user, item = (
            pandas.Index(range(size) if names is None else names).get_indexer(
                frame[column])
            for column, size, names in zip(columns, sizes,
                                           (self.users_, self.items_)))
        known = (user >= 0) & (item >= 0)
        return sparse.csr_matrix((np.ones(known.sum(), dtype=np.float32),
                                  (user[known], item[known])), shape=sizes)

    def _seen_lists(self, seen, asked):
        """The same of a list of items for each of the asked users."""
        if len(seen) != asked:
            raise ValueError(f"seen has {len(seen)} lists of items; expected "
                             f"{asked}, one for each user asked for")
        if any(isinstance(each, str) or not hasattr(each, "__iter__")
               for each in seen):
            raise ValueError("seen has lists and single items; expected items, "
                             "or a list of items for each user asked for")
        items = [self._items(list(each)) for each in seen]
        return sparse.csr_matrix((
            np.ones(sum(map(len, items)), dtype=np.float32),
            (np.repeat(np.arange(asked), list(map(len, items))),
             np.concatenate(items))), shape=(asked, len(self.item_bias_)))

    @staticmethod
    def _lists(recommender, rows, n, places, own, names):
        """Lists for rows [k, 1 + rank]. `own` is a CSR matrix; row places[k] has
        the items that list k lacks."""
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        users = ffi.new("strads_top_users *", {
            "size": ffi.sizeof("strads_top_users"),
            "row": engine.pointer(rows, "float *")})
        if own is not None:
            start = np.ascontiguousarray(own.indptr[places], dtype=np.uint64)
            end = np.ascontiguousarray(own.indptr[places + 1], dtype=np.uint64)
            item = np.ascontiguousarray(own.indices, dtype=np.uint32)
            users.start = engine.pointer(start, "uint64_t *")
            users.end = engine.pointer(end, "uint64_t *")
            users.seen = engine.pointer(item, "uint32_t *")
        users.n = len(rows)
        place = np.zeros((len(rows), n), dtype=[("item", np.uint32),
                                                ("score", np.float32)])
        found = np.zeros(len(rows), dtype=np.uint32)
        engine.call(lib.strads_recommender_top_many, recommender, users, n,
                    engine.pointer(place, "strads_scored *"),
                    engine.pointer(found, "uint32_t *"))
        item = place["item"].astype(np.int64)
        item = item if names is None else np.asarray(names)[item]
        return [list(zip(item[k, :m].tolist(), place["score"][k, :m].tolist()))
                for k, m in enumerate(found)]

    def similar_items(self, item=None, n=10):
        """The `n` items with the largest cosine of their factors to that of an
        item: a list of (item, cosine), best first. For a list of items, or None
        for all of them, a list of such lists. Items without factors are left
        out."""
        check_is_fitted(self, "item_factors_")
        return self._similar(item, n, self.item_factors_, self.items_,
                             self._items)

    def similar_users(self, user=None, n=10):
        """The same for users."""
        check_is_fitted(self, "item_factors_")
        return self._similar(user, n, self.user_factors_, self.users_,
                             self._users)

    def _similar(self, asked, n, factors, names, find):
        self._check_state()
        params.check({"n": n}, {"n": params.number(least=1, below=2**31,
                                                   whole=True)})
        if factors.shape[1] == 0:
            raise ValueError("the model has biases alone: similarity needs "
                             "factors, fit with a rank of at least 1")
        places = np.arange(len(factors)) if asked is None else find(asked)
        length = np.linalg.norm(factors.astype(np.float64), axis=1)
        rows = np.zeros((len(factors), 1 + factors.shape[1]), dtype=np.float32)
        rows[:, 1:] = factors / np.where(length > 0, length, 1)[:, None]
        vectors = ffi.new("strads_mf_factors *", {
            "items": len(rows), "rank": factors.shape[1],
            "item": engine.pointer(rows, "float *")})
        out = ffi.new("strads_recommender **")
        engine.call(lib.strads_recommender_new, vectors, out)
        recommender = ffi.gc(out[0], lib.strads_recommender_free)
        empty = np.flatnonzero(length == 0).astype(np.uint32)
        lib.strads_recommender_hide(recommender, len(empty),
                                    engine.pointer(empty, "uint32_t *"))
        lists = self._lists(recommender, rows[places], min(n, len(rows)), places,
                            sparse.eye(len(rows), format="csr"), names)
        return lists[0] if asked is not None and np.ndim(asked) == 0 else lists

    def save(self, path):
        """Writes the model, atomically; `load` reads it."""
        check_is_fitted(self, "item_factors_")
        self._check_state()
        write_state(self, path)

    @classmethod
    def load(cls, path):
        """The fitted model that `save` has written, without parameters that
        are objects, such as callbacks."""
        return read_state(cls, path)

    @property
    def _n_features_out(self):
        return self.item_factors_.shape[1]

    def _more_tags(self):
        return {"non_deterministic": False}
