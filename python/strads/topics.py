"""Topic models: latent Dirichlet allocation by collapsed Gibbs sampling."""
import copy
import os
import tempfile
import warnings

import numpy as np
import scipy.sparse as sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative

from . import engine, packs, params, plots, states
from ._strads import ffi, lib
from .model import read_model


# Per document: a draw takes 8 bytes per token. A fit takes less
# (strads/lda.h).
MOST_TOKENS = 2**24


# The search of n_components="auto" (docs/lda.md, as `--topics auto`).
TRIAL_ENTRIES = 1e6
HELD_SHARE = 0.1
LEAST_GAIN = 0.01
TRIAL_SWEEPS = 60
LEAST_TOPICS, MOST_TOPICS, TRIALS = 10, 20480, 32
DRAW_SAMPLE = 0x746F7073


def _texts_of(X):
    """X as a sequence of texts, if it is one: a list, a series, an array, a
    data frame of one column; otherwise None."""
    if isinstance(X, (str, bytes)):
        raise ValueError("X is one text; expected a list of texts or a matrix")
    if hasattr(X, "columns") and len(X.columns) == 1:
        X = X[X.columns[0]]
    if sparse.issparse(X) or getattr(X, "ndim", 1) != 1 or not hasattr(
            X, "__len__") or len(X) == 0:
        return None
    return X if all(isinstance(text, str) for text in X) else None


def _read_texts(texts, stop_words=None, words=None, phrases=None, joined=None,
                min_df=None, max_df=None):
    """Counts of words [documents, words] in CSR, the words and the phrases, as
    the command reads text. With `words`, of these alone, and `joined` has the
    phrases; otherwise words that follow each other `phrases` times are joined."""
    options = ffi.new("strads_data_options *", {
        "size": ffi.sizeof("strads_data_options"), "partitions": 1,
        "kind": lib.STRADS_KIND_TEXT, "layout": lib.STRADS_LAYOUT_ROWS,
        "trim_words": words is None})
    kept = []
    if words is not None:
        kept.append(packs._names_of(words))
        options.col_names = kept[0]
        if joined:
            kept.append(packs._names_of(joined))
            options.phrases = kept[1]
    elif isinstance(stop_words, str):
        kept.append(ffi.new("char[]", stop_words.encode()))
        options.stop_language = kept[0]
    elif stop_words is not None:
        kept.append(packs._names_of(dict.fromkeys(stop_words)))
        options.stop_words = kept[0]
    options.min_df, options.max_df = min_df or 0, max_df or 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for text in texts:
                file.write(" ".join(text.split()) + "\n")
        if words is None and phrases is not None:
            names = ffi.new("strads_names **")
            engine.call(lib.strads_data_find_phrases, path.encode(), options,
                        phrases, names)
            kept.append(ffi.gc(names[0], lib.strads_names_free))
            options.phrases = kept[-1]
            joined = packs._words_of(options.phrases)
        out = ffi.new("strads_data **")
        engine.call(lib.strads_data_read, path.encode(), options, out)
    data = ffi.gc(out[0], lib.strads_data_free)
    found = packs._words_of(lib.strads_data_col_names(data))
    rows = lib.strads_data_share(data, 0).by_row
    start = np.frombuffer(ffi.buffer(rows.start, 8 * (rows.lines + 1)),
                          dtype=np.uint64).astype(np.int64)
    index = np.frombuffer(ffi.buffer(rows.index, 4 * rows.nnz),
                          dtype=np.uint32).astype(np.int32)
    value = np.frombuffer(ffi.buffer(rows.f64, 8 * rows.nnz)).copy()
    return sparse.csr_matrix((value, index, start),
                             shape=(len(texts), len(found))), found, joined


def _seed_lines(seeds):
    """Seeds of topics as a list of (name or None, words)."""
    lines = list(seeds.items()) if hasattr(seeds, "items") else \
        [(None, words) for words in seeds]
    return [(name, words.split() if isinstance(words, str) else list(words))
            for name, words in lines]


def _check_seeds(name, value):
    """The rule for seed_words."""
    if value is None:
        return
    wanted = "a dict from names to lists of words, a list of such lists, or None"
    if not isinstance(value, (dict, list, tuple)) or len(value) == 0:
        params.refuse(name, value, wanted)
    try:
        lines = _seed_lines(value)
    except TypeError:
        params.refuse(name, value, wanted)
    for topic, words in lines:
        if not words or (topic is not None and (
                not isinstance(topic, str) or not topic.strip() or
                any(c in topic for c in ":\r\n\0"))):
            params.refuse(name, value, wanted + "; a topic has one word or "
                          "more, and its name is a str without a colon")


def _topics_rule(name, value):
    """The rule for n_components."""
    if not (isinstance(value, str) and value == "auto"):
        try:
            params.number(least=1, most=65535, whole=True)(name, value)
        except params.ParameterError:
            params.refuse(name, value, 'a whole number from 1 to 65535, or "auto"')


class LatentDirichletAllocation(states.Checked, plots.Shown, TransformerMixin, BaseEstimator):
    """Latent Dirichlet allocation.

    Draws every token's topic from p(z | rest) ~ (n_dk + alpha)(n_wk + beta) /
    (n_k + V beta), sweep after sweep. The same seed gives the same model, bit
    for bit, on any number of threads with the same `partitions`.

    X is a matrix of counts [documents, words], dense, sparse or a data frame,
    or texts, a sequence or a data frame of one column, which are read as `strads
    lda train` does.

    Parameters
    ----------
    n_components : int, topics; or "auto": as many as describe held-out documents
        well, among 10, 20, 40, ... (`--topics auto` of the command). It never
        takes fewer than 10: give a number for few documents
    doc_topic_prior, topic_word_prior : float or None (learned), alpha and beta
    max_iter : int or None (until the likelihood is flat), sweeps
    fit_prior : "no", "symmetric" or "asymmetric": learn alpha from the counts;
        None: "asymmetric" without doc_topic_prior, otherwise "no"
    samples : int, sweeps at the end whose counts are averaged
    seed_words : words that topics are expected to have: a dict from names of
        the first topics to lists of words, or a list of lists; words are those
        of `vocabulary_` or, without names, numbers of columns; or None
    seed_weight : float, the prior of a topic's seeds, in tokens of an average
        topic (docs/lda.md)
    stop_words : of texts: "auto", a language such as "en", a list, or None
    phrases : of texts: None, or an int: words that follow each other so many
        times become one, such as new_york; `transform` joins them, too
    min_df, max_df : of texts: words in fewer documents than the int min_df, and
        in more than the share max_df of them, are left out; None: as the
        command's --min-df and --max-df
    partitions : int or None (one a thread); the draws depend on it
    transform_sweeps : int, sweeps over a new document, of which the first half
        is not counted
    scratch : str or None, a folder for the tokens during `fit`, of which a few
        blocks are in memory then; the draws depend on the number of blocks
    random_state, n_jobs, verbose, callbacks : as of Lasso

    Attributes
    ----------
    components_ : [topics, words] tokens of each word in each topic, the mean of
        `n_samples_` sweeps, plus beta
    vocabulary_ : the words, if X has names of them; otherwise None
    phrases_ : pairs of words that are one word, or None
    trials_ : after n_components="auto" the fits, a list of dicts with topics,
        perplexity (of held-out halves of documents); otherwise None
    topics_ : the ten first words of each topic [topics, 10], a data frame if
        pandas is there
    topic_names_ : [topics] the names of seed_words, None for other topics; or
        None
    alpha_, beta_ : the priors, [topics] and one number
    n_iter_ : sweeps
    log_likelihood_ : log p(words, topics) at the end
    """

    _table = plots.of_topics
    _rules = {
        "n_components": _topics_rule,
        "doc_topic_prior": params.number(above=0, none=True),
        "topic_word_prior": params.number(above=0, none=True),
        "max_iter": params.number(least=1, below=2**32, whole=True, none=True),
        "fit_prior": params.one_of("no", "symmetric", "asymmetric", none=True),
        "samples": params.number(least=1, most=1000, whole=True),
        "seed_words": _check_seeds,
        "seed_weight": params.number(above=0, most=1000),
        "stop_words": params.words("auto", "de", "en", "es", "fr", "it", "nl",
                                   "pt", "ru"),
        "phrases": params.number(least=1, below=2**32, whole=True, none=True),
        "min_df": params.number(least=1, below=2**32, whole=True, none=True),
        "max_df": params.number(above=0, most=1, none=True),
        "partitions": params.number(least=1, below=2**32, whole=True,
                                    none=True),
        "transform_sweeps": params.number(least=1, below=2**32, whole=True),
        "scratch": params.folder}

    def __init__(self, n_components=10, *, doc_topic_prior=None,
                 topic_word_prior=None, max_iter=None, fit_prior=None,
                 samples=10, seed_words=None, seed_weight=0.1, stop_words="auto",
                 phrases=None, min_df=None, max_df=None, partitions=None, transform_sweeps=20, scratch=None,
                 random_state=None, n_jobs=None, verbose=0, callbacks=None):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.fit_prior = fit_prior
        self.samples = samples
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.stop_words = stop_words
        self.phrases = phrases
        self.min_df = min_df
        self.max_df = max_df
        self.partitions = partitions
        self.transform_sweeps = transform_sweeps
        self.scratch = scratch
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def _counts(self, X, reset):
        """X as counts of words: CSR of f64 integers, without stored zeros."""
        params.check(self.get_params(deep=False), self._rules)
        texts = _texts_of(X)
        if texts is not None:
            X = self._count_texts(texts, reset)
        elif reset:
            self._refuse_rules_of_texts()
            self.phrases_ = None
            self.vocabulary_ = [str(c) for c in X.columns] \
                if hasattr(X, "columns") else None
        X = states.validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, reset=reset,
            ensure_min_samples=0 if engine.team() else 1)
        check_non_negative(X, "LatentDirichletAllocation")
        X = sparse.csr_matrix(X, copy=True)
        X.sum_duplicates()
        whole = np.rint(X.data)
        if np.any(whole != X.data):
            warnings.warn("LatentDirichletAllocation counts words: numbers "
                          "that are not whole are rounded", stacklevel=3)
            X.data = whole
        X.eliminate_zeros()
        longest = np.max(np.asarray(X.sum(axis=1)), initial=0)
        if longest > MOST_TOKENS:
            raise ValueError(f"X has a document of {longest:g} words; expected "
                             f"at most {MOST_TOKENS}: cut it into several")
        return X

    def _refuse_rules_of_texts(self):
        for name in "phrases", "min_df", "max_df":
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is of texts, and X is a matrix of "
                                 "counts: leave it out, or give texts")

    def _count_texts(self, texts, reset):
        if reset and engine.team():
            raise ValueError("X is texts; pieces of a matrix share their words: "
                             "count them first")
        if not reset and getattr(self, "vocabulary_", None) is None:
            raise ValueError("X is texts, and the model has no names of words")
        if not reset:
            return _read_texts(texts, words=self.vocabulary_,
                               joined=getattr(self, "phrases_", None))[0]
        counts, self.vocabulary_, self.phrases_ = _read_texts(
            texts, self.stop_words, phrases=self.phrases, min_df=self.min_df,
            max_df=self.max_df)
        return counts

    def _choose_topics(self, X, seed):
        """The number of topics of n_components="auto", as the command chooses
        it: fits of 10, 20, 40, ... topics to a sample without a tenth of the
        documents, until two do not describe these better than the best."""
        if engine.team():
            raise ValueError('n_components="auto" is for one process')
        if self.seed_words is not None:
            raise ValueError('n_components="auto" is without seed_words: give a '
                             "number")
        share = min(1.0, TRIAL_ENTRIES / max(1, X.nnz))
        draw = [[lib.strads_random_unit(seed, DRAW_SAMPLE + k, d, 0)
                 for d in range(X.shape[0])] for k in range(2)]
        takes_part = np.array(draw[0]) < share
        held = takes_part & (np.array(draw[1]) < HELD_SHARE)
        if X[held].nnz == 0:
            raise ValueError('n_components="auto": X has too few documents to '
                             "choose by, give a number")
        # Documents keep their numbers, on which the draws depend.
        train = sparse.diags((takes_part & ~held).astype(float)).tocsr() @ X
        train.eliminate_zeros()
        sweeps = TRIAL_SWEEPS if (self.max_iter or np.inf) > 4 * TRIAL_SWEEPS \
            else (self.max_iter + 3) // 4
        self.trials_, best, worse, topics = [], None, 0, LEAST_TOPICS
        while worse < 2 and topics <= MOST_TOPICS and len(self.trials_) < TRIALS:
            trial = LatentDirichletAllocation(**dict(
                self.get_params(deep=False), n_components=topics, partitions=1,
                max_iter=sweeps, n_jobs=1, random_state=seed, phrases=None,
                min_df=None, max_df=None, scratch=None, callbacks=None))
            trial.fit(train)
            likelihood, tokens = trial._completion(X[held], {
                "sweeps": 20, "burn_in": 5, "seed": seed})
            score = likelihood / tokens
            self.trials_.append({"topics": topics,
                                 "perplexity": float(np.exp(-score))})
            better = best is None or score > best[0] + LEAST_GAIN
            best = (score, topics) if better else best
            worse = 0 if better else worse + 1
            topics *= 2
        return best[1]

    def _write_seeds(self, words, file):
        """Writes a line for each topic, words as numbers of columns; warns of
        unknown words, which become a number that no column has."""
        if len(self.seed_words) > self.n_components:
            raise ValueError(f"seed_words has {len(self.seed_words)} topics; "
                             f"expected at most {self.n_components}, as "
                             "n_components")
        numbers = range(words) if self.vocabulary_ is None else self.vocabulary_
        column = {word: k for k, word in enumerate(numbers)}
        unknown = {}
        for name, seeds in _seed_lines(self.seed_words):
            for seed in seeds:
                if seed not in column:
                    unknown[seed] = name
            file.write(("" if name is None else name + ": ") + " ".join(
                str(column.get(seed, words)) for seed in seeds) + "\n")
        file.flush()
        if unknown:
            warnings.warn(f"seed_words: {', '.join(map(repr, unknown))} not "
                          "among the words of X: left out", stacklevel=4)

    def fit(self, X, y=None):
        """Fits the model to X [documents, words], the counts of words."""
        X = self._counts(X, True)
        if self.n_components == 1:
            return self._fit_one(X)
        seed = engine.seed_of(self.random_state)
        self.trials_ = None
        topics = self._choose_topics(X, seed) if self.n_components == "auto" \
            else self.n_components
        program = engine.program_named("lda")
        config = ffi.new("strads_lda_options *")
        ffi.memmove(config, program.defaults, ffi.sizeof("strads_lda_options"))
        config.topics = topics
        config.alpha = self.doc_topic_prior or 0
        config.beta = self.topic_word_prior or 0
        config.sweeps = self.max_iter or 0
        config.samples = self.samples
        folder = ffi.new("char[]", (self.scratch or "").encode())
        if self.scratch:
            config.scratch = folder
        if self.fit_prior is not None:
            kept = ffi.new("char[]", self.fit_prior.encode())
            config.fit_alpha = kept
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            if self.seed_words is not None:
                if engine.team():
                    raise ValueError("seed_words is for one process")
                self._write_seeds(X.shape[1], file)
                path = ffi.new("char[]", file.name.encode())
                config.seed_words = path
                config.seed_weight = self.seed_weight
            finished = engine.run(
                program, config, X, None, name=type(self).__name__,
                workers=engine.n_threads(self.n_jobs),
                partitions=self.partitions or 0,
                seed=seed,
                callbacks=self.callbacks, verbose=self.verbose)
        out = ffi.new("strads_lda_model **")
        try:
            engine.call(lib.strads_lda_model_from_result, finished.result, out)
        except engine.StradsError:
            if finished.interrupted:  # before the first sweep
                raise finished.interrupted
            raise
        self._take(ffi.gc(out[0], lib.strads_lda_model_free))
        self.n_iter_ = lib.strads_lda_ending_of(finished.result).sweeps
        if finished.interrupted:
            raise finished.interrupted
        engine.warn_unconverged(finished, None, type(self).__name__)
        return self

    def _fit_one(self, X):
        """With one topic it has all tokens, and no sampling is needed."""
        each = engine.agreed(sum, np.asarray(X.sum(axis=0)).ravel()).astype(
            np.uint32)
        has = each > 0
        self.start_ = np.concatenate([[0], np.cumsum(has)]).astype(np.uint64)
        self.topic_ = np.zeros(has.sum(), dtype=np.uint32)
        self.count_ = each[has]
        self.alpha_ = np.array([float(self.doc_topic_prior or 0.1)])
        self.beta_ = float(self.topic_word_prior or 0.01)
        self.n_samples_ = 1
        self.topic_names_ = None
        self._of_command = {}
        self.n_documents_ = engine.agreed(sum, X.shape[0])
        self.n_tokens_ = int(each.sum())
        self.log_likelihood_ = np.nan
        self.components_ = each[None, :] + self.beta_
        self.n_iter_ = 1
        return self

    def _take(self, model):
        """Copies a strads_lda_model into arrays, which can be pickled."""
        words, nnz = model.words, model.start[model.words]
        start = np.frombuffer(ffi.buffer(model.start, 8 * (words + 1)),
                              dtype=np.uint64)
        self.start_ = start.copy()
        self.topic_ = np.frombuffer(ffi.buffer(model.topic, 4 * nnz),
                                    dtype=np.uint32).copy()
        self.count_ = np.frombuffer(ffi.buffer(model.count, 4 * nnz),
                                    dtype=np.uint32).copy()
        self.alpha_ = np.frombuffer(
            ffi.buffer(model.alpha, 8 * model.topics)).copy()
        self.beta_ = model.beta
        self.n_samples_ = max(1, model.samples)
        self.log_likelihood_ = model.log_likelihood
        self.n_documents_, self.n_tokens_ = model.documents, model.tokens
        width = model.classes * model.topics
        self._of_command = {
            "word_ids": bool(model.word_ids), "network": bool(model.network),
            "hold_out": model.hold_out, "seed": model.seed,
            "labels": packs._words_of(model.labels), "options": None,
            "weight": np.frombuffer(ffi.buffer(
                model.weight, 8 * width)).copy() if width else None}
        self.topic_names_ = None if model.topic_name == ffi.NULL else [
            None if name == ffi.NULL else ffi.string(name).decode()
            for name in ffi.unpack(model.topic_name, model.topics)]
        counts = sparse.csr_matrix(
            (self.count_ / self.n_samples_, self.topic_.astype(np.int32),
             start.astype(np.int64)), shape=(words, model.topics))
        self.components_ = counts.T.toarray() + self.beta_

    def _check_state(self):
        states.whole(self, "start_", np.uint64, (None,), least=0)
        words = len(self.start_) - 1
        if words < 1 or self.start_[0] != 0 or \
                np.any(self.start_[1:] < self.start_[:-1]):
            states.refuse(self, "start_", "ascending from 0")
        entries = int(self.start_[-1])
        states.real(self, "alpha_", (None,), above=0)
        topics = len(self.alpha_)
        if not 1 <= topics <= 65535:
            states.refuse(self, "alpha_", "1 to 65,535 numbers")
        states.whole(self, "topic_", np.uint32, (entries,), below=topics)
        states.whole(self, "count_", np.uint32, (entries,), least=1)
        states.real(self, "beta_", (), above=0)
        states.count(self, "n_documents_")
        states.count(self, "n_tokens_")
        self.__dict__.setdefault("n_samples_", 1)  # of an earlier version
        states.count(self, "n_samples_")
        if not 1 <= self.n_samples_ < 2**32:
            states.refuse(self, "n_samples_", "1 or more")
        states.real(self, "log_likelihood_", (), nan=True)
        states.real(self, "components_", (topics, words), above=0)
        self.__dict__.setdefault("phrases_", None)
        self._check_command()
        names = self.__dict__.setdefault("topic_names_", None)
        if names is not None and (len(names) != topics or not all(
                name is None or isinstance(name, str) for name in names)):
            states.refuse(self, "topic_names_", "a str or None for each topic")

    def _check_command(self):
        """Checks the members of a file of the command that have no attribute of
        their own: {} without a file."""
        more = self.__dict__.setdefault("_of_command", {})
        if not isinstance(more, dict):
            states.refuse(self, "_of_command", "a dict")
        labels, weight = more.get("labels"), more.get("weight")
        if (labels is None) != (weight is None) or labels is not None and (
                not isinstance(labels, list) or
                not all(isinstance(name, str) for name in labels) or
                not isinstance(weight, np.ndarray) or
                weight.dtype != np.float64 or
                weight.shape != (len(labels) * len(self.alpha_),) or
                not weight.flags.c_contiguous or
                not np.all(np.isfinite(weight))):
            states.refuse(self, "_of_command", "a weight for each label and "
                          "topic")

    def _model(self):
        """A strads_lda_model over this object's arrays, and the objects that
        it refers to."""
        self._check_state()
        total = np.zeros(len(self.alpha_), dtype=np.uint64)
        np.add.at(total, self.topic_, self.count_)
        words = getattr(self, "vocabulary_", None)
        names = None if words is None else packs._names_of(words)
        phrases = packs._names_of(self.phrases_) if self.phrases_ else None
        texts = None if self.topic_names_ is None else [
            ffi.NULL if name is None else ffi.new("char[]", name.encode())
            for name in self.topic_names_]
        titles = ffi.NULL if texts is None else ffi.new("char *[]", texts)
        more = self._of_command
        labels, weight = more.get("labels"), more.get("weight")
        labels = None if labels is None else packs._names_of(labels)
        return ffi.new("strads_lda_model *", {
            "topics": len(self.alpha_), "words": len(self.start_) - 1,
            "documents": self.n_documents_, "tokens": self.n_tokens_,
            "alpha": engine.pointer(self.alpha_, "double *"),
            "beta": self.beta_, "log_likelihood": self.log_likelihood_,
            "total": engine.pointer(total, "uint64_t *"),
            "start": engine.pointer(self.start_, "uint64_t *"),
            "topic": engine.pointer(self.topic_, "uint32_t *"),
            "count": engine.pointer(self.count_, "uint32_t *"),
            "names": ffi.NULL if names is None else names,
            "phrases": ffi.NULL if phrases is None else phrases,
            "word_ids": more.get("word_ids", False),
            "network": more.get("network", False),
            "hold_out": more.get("hold_out", 0.0), "seed": more.get("seed", 0),
            "classes": 0 if labels is None else len(more["labels"]),
            "labels": ffi.NULL if labels is None else labels,
            "weight": ffi.NULL if weight is None else
            engine.pointer(weight, "double *"),
            "topic_name": titles, "samples": self.n_samples_}), (
                total, names, texts, titles, phrases, labels)

    def _draws(self):
        return ffi.new("strads_lda_draws *", {
            "sweeps": self.transform_sweeps,
            "burn_in": self.transform_sweeps // 2,
            "seed": engine.seed_of(self.random_state)})

    def _documents(self, X):
        """Each document of X as strads_lda_words."""
        word = np.ascontiguousarray(X.indices, dtype=np.uint32)
        count = X.data.astype(np.uint32)
        for i in range(X.shape[0]):
            first, last = int(X.indptr[i]), int(X.indptr[i + 1])
            yield ffi.new("strads_lda_words *", {
                "n": last - first,
                "word": ffi.cast("uint32_t *", word.ctypes.data + 4 * first),
                "count": ffi.cast("uint32_t *", count.ctypes.data + 4 * first)})

    def transform(self, X):
        """[documents, topics] the shares of topics in each document."""
        check_is_fitted(self, "components_")
        X = self._counts(X, False)
        if len(self.alpha_) == 1:
            return np.ones((X.shape[0], 1))
        model, kept = self._model()
        shares = np.empty((X.shape[0], len(self.alpha_)))
        draws = self._draws()
        for i, words in enumerate(self._documents(X)):
            engine.call(lib.strads_lda_infer, model, draws, words,
                        engine.pointer(shares[i], "double *"))
        del kept
        return shares

    def fit_transform(self, X, y=None):
        """fit(X).transform(X)."""
        return self.fit(X, y).transform(X)

    def score(self, X, y=None):
        """The total log-likelihood of half of each document's tokens, given
        the other half (document completion)."""
        return self._completion(X)[0]

    def perplexity(self, X):
        """exp(-log-likelihood per token), by document completion."""
        likelihood, tokens = self._completion(X)
        return np.exp(-likelihood / tokens)

    def _completion(self, X, draws=None):
        check_is_fitted(self, "components_")
        X = self._counts(X, False)
        model, kept = self._model()
        draws = ffi.new("strads_lda_draws *", draws) if draws else self._draws()
        score = ffi.new("strads_lda_score *")
        likelihood, tokens = 0.0, 0
        for words in self._documents(X):
            engine.call(lib.strads_lda_complete, model, draws, words, score)
            likelihood += score.log_likelihood
            tokens += score.tokens
        del kept
        return likelihood, max(1, tokens)

    def top_words(self, n=10, relevance=1.0, by="relevance"):
        """[topics, n] the words of each topic by relevance (Sievert and
        Shirley 2014; 1.0: by probability) or by "frex" (frequent and exclusive
        alike): their names, and None if a topic has fewer words or none at all.
        Without names, their numbers, and -1."""
        word = self._top_numbers(n, relevance, by)
        if getattr(self, "vocabulary_", None) is None:
            return word
        return np.append(np.array(self.vocabulary_, dtype=object), None)[word]

    def _top_numbers(self, n, relevance=1.0, by="relevance"):
        """top_words as numbers of columns, -1 for none."""
        check_is_fitted(self, "components_")
        params.number(least=1, below=2**31, whole=True)("n", n)
        params.number(least=0, most=1)("relevance", relevance)
        params.one_of("relevance", "frex")("by", by)
        model, kept = self._model()
        word = np.empty((len(self.alpha_), n), dtype=np.uint32)
        ranked = lib.strads_lda_frex if by == "frex" else lib.strads_lda_top_words
        engine.call(ranked, model, 0.5 if by == "frex" else relevance, n,
                    engine.pointer(word, "uint32_t *"), ffi.new(
                        "double[]", word.size))
        del kept
        return word.astype(np.int32).astype(int)

    def merge_topics(self, cosine=0.9):
        """A new model in which topics that are nearly the same are one: while
        two topics have a cosine of their probabilities of words of at least
        `cosine`, the closest two are joined, and their counts and alphas are
        added. `merged_` of the new model is the new number of each old topic.
        """
        check_is_fitted(self, "components_")
        params.number(above=0, most=1)("cosine", cosine)
        model, kept = self._model()
        out = ffi.new("strads_lda_model **")
        into = np.zeros(len(self.alpha_), dtype=np.uint32)
        engine.call(lib.strads_lda_merge, model, cosine,
                    engine.pointer(into, "uint32_t *"), out)
        del kept
        merged = copy.copy(self)
        merged._take(ffi.gc(out[0], lib.strads_lda_model_free))
        merged._of_command["options"] = self._of_command.get("options")
        merged.n_components = len(merged.alpha_)
        merged.merged_ = into.astype(int)
        return merged

    @property
    def topics_(self):
        words = self.top_words(10)
        try:
            import pandas
        except ImportError:
            return words
        names = getattr(self, "topic_names_", None) or [None] * len(words)
        index = [k if name is None else name for k, name in enumerate(names)]
        return pandas.DataFrame(words, index=pandas.Index(index, name="topic"))

    def save(self, path):
        """Writes the model in the command's format (strads lda ...)."""
        check_is_fitted(self, "components_")
        model, kept = self._model()
        options = (self._of_command.get("options") or "{}").encode()
        engine.call(lib.strads_lda_model_write, model, options,
                    str(path).encode())
        del kept

    @classmethod
    def load(cls, path):
        """The model that `save` or the command has written. Parameters other
        than the number of topics have their defaults."""
        read = read_model(path)
        if not isinstance(read, cls):
            raise ValueError(f"{path}: is no topic model")
        return read

    @property
    def _n_features_out(self):
        return len(self.alpha_)

    def get_feature_names_out(self, input_features=None):
        """"topic0", "topic1", ..."""
        check_is_fitted(self, "components_")
        return np.array([f"topic{k}" for k in range(len(self.alpha_))],
                        dtype=object)

    def _more_tags(self):
        return {"requires_positive_X": True}
