/* Chooses rank, lambda and step by fits on a sample of users, with a part of
 * its ratings held out.
 *
 * Lambda matters most, and its best value hardly depends on the rank. So it is
 * searched at a low rank, by factors of 2, then of sqrt(2). The step comes in
 * between, the larger ranks last. A fit that is worse than the best one so far
 * ends a direction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mf_parts.h"

#include <strads/engine.h>

enum {
    TRIALS = 16,
    RANK_FIRST = 16,
    RANK_NEXT = 64,
    RANK_LAST = 128,
    RATINGS_MIN = 500
};
/* Lambda is LAMBDA x 2^(k / OCTAVE), for k from LAMBDA_LOW to LAMBDA_HIGH. */
enum { OCTAVE = 4, LAMBDA_LOW = -28, LAMBDA_HIGH = 16, STEP_HALVINGS = 3 };
static const double LAMBDA = .08, STEP = .08, HELD = .1;
/* Errors of a few held-out ratings depend on chance. Small data are fitted
 * again, with other ratings held out, until this many were. */
static const double HELD_RATINGS = 5000;
enum { REPEATS_MAX = 8 };
/* Factors, and more factors, need a held-out error that is smaller by these
 * shares. */
static const double FACTORS_GAIN = 2e-3, GAIN = 5e-4;

/* The sample: all ratings up to SAMPLE_MIN, then this share, up to SAMPLE_MAX.
 * Above SAMPLE_MIN the fits together cost at most BUDGET final ones. */
static const double SAMPLE_MIN = 1e5, SAMPLE_MAX = 1e6, SAMPLE_SHARE = .4,
                    BUDGET = 3;
enum { PARTITION_RATINGS = 250000, PARTITIONS_MAX = 4 };

enum { DRAW_SAMPLE = 0x6d660010 };

/* ---- the sample ---------------------------------------------------------- */

static strads_err check_data(const strads_data *data, bool timed)
{
    for (uint32_t k = 0; k < strads_data_partitions(data); k++) {
        const strads_share *share = strads_data_share(data, k);
        if (!share || !share->by_row.start)
            return strads_fail(STRADS_EINVAL,
                               "the search for options needs all partitions of "
                               "the ratings, by row; partition %u is missing",
                               k);
        if (timed && !share->time)
            return strads_fail(STRADS_EINVAL, "the ratings have no times: read "
                                              "them with the column of times");
    }
    return STRADS_OK;
}

static double sample_size(double ratings)
{
    if (ratings <= SAMPLE_MIN)
        return ratings;
    return fmin(fmax(SAMPLE_SHARE * ratings, SAMPLE_MIN), SAMPLE_MAX);
}

/* Copied ratings of a part of the users, with new numbers of users. */
typedef struct sample {
    uint64_t seed;
    bool timed;
    double share;    /* of the users */
    uint64_t *start; /* [rows + 1] */
    uint32_t *item;
    double *rating, *time; /* time NULL: none */
    uint64_t rows, ratings;
} sample;

static void free_sample(sample *s)
{
    free(s->start);
    free(s->item);
    free(s->rating);
    free(s->time);
}

/* Without arrays, only counts. */
static void copy_users(const strads_data *data, sample *s)
{
    s->rows = s->ratings = 0;
    for (uint32_t k = 0; k < strads_data_partitions(data); k++) {
        const strads_share *part = strads_data_share(data, k);
        const strads_sparse *x = &part->by_row;
        for (uint64_t u = 0; u < x->lines; u++) {
            const uint64_t row = part->rows.begin + u, from = x->start[u];
            const uint64_t n = x->start[u + 1] - from;
            if (strads_random_unit(s->seed, DRAW_SAMPLE, row, 0) >= s->share)
                continue;
            for (uint64_t e = 0; e < n && s->start; e++) {
                s->item[s->ratings + e] = x->index[from + e];
                s->rating[s->ratings + e] = mf_value(x, from + e);
                if (s->time)
                    s->time[s->ratings + e] = part->time[from + e];
            }
            s->ratings += n;
            s->rows++;
            if (s->start)
                s->start[s->rows] = s->ratings;
        }
    }
}

static strads_err make_sample(const strads_data *data, sample *s)
{
    copy_users(data, s);
    uint64_t *start = calloc(s->rows + 1, sizeof(*start));
    s->item = malloc(sizeof(*s->item) * (s->ratings + 1));
    s->rating = malloc(sizeof(*s->rating) * (s->ratings + 1));
    s->start = start;
    if (s->timed)
        s->time = malloc(sizeof(*s->time) * (s->ratings + 1));
    if (!start || !s->item || !s->rating || (s->timed && !s->time))
        return mf_no_memory("the ratings of a search", 12 * s->ratings);
    copy_users(data, s);
    return STRADS_OK;
}

static strads_err add_times(const strads_rows *rows,
                            const strads_data_options *cut, strads_data *data)
{
    strads_data_options wide = *cut;
    strads_data *times = NULL;

    wide.values = STRADS_F64;
    strads_err err = strads_data_from_rows(rows, &wide, &times);
    if (!err)
        err = strads_data_time(data, times);
    if (err)
        strads_data_free(times);
    return err;
}

static strads_err draw_sample(const strads_data *data,
                              strads_engine_options *engine,
                              const strads_mf_options *given, strads_data **out)
{
    const double ratings = (double)strads_data_nnz(data);
    strads_data_options cut = {.size = sizeof(cut), .threads = 1};
    sample s = {.seed = engine->seed,
                .timed = given->time != NULL,
                .share = sample_size(ratings) / ratings};
    strads_err err = make_sample(data, &s);

    if (!err) {
        const uint64_t parts = s.ratings / PARTITION_RATINGS + 1;
        engine->partitions =
            parts < PARTITIONS_MAX ? (uint32_t)parts : PARTITIONS_MAX;
        err = strads_run_cut(&strads_program_mf, given, engine, &cut);
    }
    if (!err) {
        cut.partitions = engine->partitions;
        cut.partition_entries = 0;
        strads_rows rows = {.rows = s.rows,
                            .cols = strads_data_cols(data),
                            .start = s.start,
                            .index = s.item,
                            .value = s.rating};
        err = strads_data_from_rows(&rows, &cut, out);
        if (!err && s.timed) {
            rows.value = s.time;
            err = add_times(&rows, &cut, *out);
        }
    }
    free_sample(&s);
    return err;
}

/* ---- fits -------------------------------------------------------------- */

typedef struct point {
    uint32_t rank;    /* 0: biases alone */
    int lambda, step; /* in quarters of octaves; in halvings */
} point;

typedef struct search {
    const strads_mf_options *given;
    strads_engine_options engine;
    strads_data *sample;
    double sample_each, each; /* factors of lambda: of the sample, of all */
    double ratings;           /* of all */
    uint32_t most;            /* points */
    uint32_t repeats;         /* fits of a point */
    bool bounded;             /* by their cost, too */
    double cost;
    point tried[STRADS_MF_TRIALS], best;
    strads_mf_tuning *out;
} search;

static double lambda_of(const search *s, const point *p, double each)
{
    static const double part[OCTAVE] = {1, 1.1892071150027210,
                                        1.4142135623730951, 1.6817928305074290};
    const int up = p->lambda - LAMBDA_LOW;

    if (s->given->lambda > 0 || signbit(s->given->lambda))
        return s->given->lambda;
    return each * LAMBDA *
           ldexp(part[up % OCTAVE], up / OCTAVE + LAMBDA_LOW / OCTAVE);
}

static double step_of(const search *s, const point *p)
{
    return s->given->step > 0 ? s->given->step : ldexp(STEP, -p->step);
}

static bool is_sgd(const search *s)
{
    return s->given->method ? strcmp(s->given->method, "sgd") == 0
                            : !s->given->nonnegative;
}

static strads_mf_options options_at(const search *s, const point *p,
                                    double each)
{
    strads_mf_options o = *s->given;

    o.rank = p->rank ? p->rank : STRADS_MF_BIASES;
    if (p->rank == 0)
        return o;
    o.lambda = lambda_of(s, p, each);
    if (is_sgd(s))
        o.step = step_of(s, p);
    return o;
}

/* The cost of a sweep for each rating, in factors. */
static double cost_of(uint32_t rank)
{
    enum { RATING = 16 };

    return rank + RATING;
}

static bool is_stopped(const search *s)
{
    return s->engine.stop && *s->engine.stop;
}

/* Without a bound on the number of fits, the cost of all is bounded. */
static bool may_fit(const search *s, const point *p)
{
    const double final =
        s->ratings * cost_of(s->best.rank > p->rank ? s->best.rank : p->rank);
    const double next = (double)s->out->ratings * cost_of(p->rank);

    if (s->out->trials == s->most || is_stopped(s) || p->lambda < LAMBDA_LOW ||
        p->lambda > LAMBDA_HIGH || p->step > STEP_HALVINGS)
        return false;
    for (uint32_t k = 0; k < s->out->trials; k++)
        if (memcmp(&s->tried[k], p, sizeof(*p)) == 0)
            return false;
    return !s->bounded || s->cost + next <= BUDGET * final;
}

static double wall_clock(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Fits at p with the held-out ratings of repeat k; adds their mean squared
 * error and the best sweep. */
static strads_err fit_once(search *s, const point *p, uint32_t k,
                           double *square, double *sweeps)
{
    strads_engine_options engine = s->engine;
    strads_mf_options o = options_at(s, p, s->sample_each);
    strads_result *result = NULL;
    double train = NAN, held = NAN, test = NAN;

    engine.seed += k;
    if (o.holdout == 0)
        o.holdout = HELD;
    o.test = NULL;
    strads_err err =
        strads_run(&strads_program_mf, &o, s->sample, &engine, &result);
    if (!err && !is_stopped(s)) {
        const void *state = strads_result_state(result);
        strads_mf_errors(state, &train, &held, &test);
        *square += held * held;
        *sweeps += strads_mf_best_sweep(state);
    }
    strads_result_free(result);
    return err;
}

/* Fits at p. *better: its error is below (1 - gain) times the best one. */
static strads_err fit_at(search *s, const point *p, double gain, bool *better)
{
    strads_mf_tuning *out = s->out;
    const double from = wall_clock();
    double square = 0, sweeps = 0;
    strads_err err = STRADS_OK;

    *better = false;
    if (!may_fit(s, p))
        return STRADS_OK;
    for (uint32_t k = 0; k < s->repeats && !err && !is_stopped(s); k++)
        err = fit_once(s, p, k, &square, &sweeps);
    if (err || is_stopped(s))
        return err;
    const double held = sqrt(square / s->repeats);
    s->tried[out->trials] = *p;
    out->trial[out->trials] =
        (strads_mf_trial){.rank = p->rank,
                          .lambda = p->rank ? lambda_of(s, p, s->each) : 0,
                          .step = p->rank && is_sgd(s) ? step_of(s, p) : 0,
                          .sweep = (uint32_t)(sweeps / s->repeats + .5),
                          .rmse = held,
                          .seconds = wall_clock() - from};
    s->cost += (double)out->ratings * cost_of(p->rank);
    *better =
        out->trials == 0 || held < (1 - gain) * out->trial[out->best].rmse;
    if (*better) {
        out->best = out->trials;
        s->best = *p;
    }
    out->trials++;
    return STRADS_OK;
}

/* ---- the search ---------------------------------------------------------- */

/* Moves the best point by steps of one coordinate while it improves. */
static strads_err walk(search *s, int lambda, int step)
{
    bool better = true;
    strads_err err = STRADS_OK;

    while (better && !err) {
        const point p = {s->best.rank, s->best.lambda + lambda,
                         s->best.step + step};
        err = fit_at(s, &p, 0, &better);
    }
    return err;
}

static strads_err walk_lambda(search *s, int by)
{
    const point from = s->best;

    if (s->given->lambda > 0 || signbit(s->given->lambda))
        return STRADS_OK;
    strads_err err = walk(s, by, 0);
    if (!err && s->best.lambda == from.lambda)
        err = walk(s, -by, 0);
    return err;
}

static strads_err walk_step(search *s)
{
    return is_sgd(s) && !(s->given->step > 0) ? walk(s, 0, 1) : STRADS_OK;
}

static strads_err climb_ranks(search *s)
{
    static const uint32_t ranks[] = {RANK_NEXT, RANK_LAST};
    const uint64_t rows = strads_data_rows(s->sample);
    const uint64_t cols = strads_data_cols(s->sample);
    bool better = s->given->rank == 0;
    strads_err err = STRADS_OK;

    for (size_t k = 0; k < sizeof(ranks) / sizeof(*ranks); k++) {
        const point p = {ranks[k], s->best.lambda, s->best.step};
        /* Large non-negative rows are slow. */
        if (s->given->nonnegative && p.rank == RANK_LAST)
            break;
        if (better && !err && p.rank < rows && p.rank < cols)
            err = fit_at(s, &p, GAIN, &better);
    }
    return err;
}

/* Fits with factors, beside the biases alone. Lambda is searched even if the
 * first one is worse than these. */
static strads_err search_factors(search *s)
{
    strads_mf_tuning *out = s->out;
    const uint32_t first = out->trials;
    const point biases = s->best;
    const point start = {.rank = s->given->rank ? s->given->rank : RANK_FIRST};
    const uint32_t was = out->best;
    bool better;
    strads_err err = fit_at(s, &start, 0, &better);

    if (err || out->trials == first)
        return err;
    s->best = start;
    out->best = first;
    err = walk_lambda(s, OCTAVE);
    if (!err)
        err = walk_step(s);
    if (!err)
        err = walk_lambda(s, OCTAVE / 2);
    if (!err && first > 0 &&
        !(out->trial[out->best].rmse <
          (1 - FACTORS_GAIN) * out->trial[was].rmse)) {
        s->best = biases;
        out->best = was;
        return STRADS_OK;
    }
    if (!err)
        err = climb_ranks(s);
    /* What is left of the fits refines the result. */
    for (int by = OCTAVE / 2; by > 0 && !err; by--) {
        err = walk_lambda(s, by);
        if (!err)
            err = walk_step(s);
    }
    return err;
}

static strads_err search_all(search *s)
{
    const point biases = {.rank = 0};
    bool better;
    strads_err err = STRADS_OK;

    if (s->given->rank == 0 && !s->given->no_biases)
        err = fit_at(s, &biases, 0, &better);
    return err ? err : search_factors(s);
}

static bool is_searched(const strads_mf_options *o, const strads_data *data)
{
    const bool sgd =
        o->method ? strcmp(o->method, "sgd") == 0 : !o->nonnegative;
    const bool fixed = o->rank > 0 && (o->lambda > 0 || signbit(o->lambda)) &&
                       (o->step > 0 || !sgd);

    return !fixed && !o->implicit && !mf_by_pairs(o) &&
           o->tune != STRADS_MF_NO_SEARCH && o->rank != STRADS_MF_BIASES &&
           !(o->holdout == 0 && signbit(o->holdout)) &&
           strads_data_nnz(data) >= RATINGS_MIN;
}

/* The factor of an unweighted lambda for these data. */
static double lambda_each(const strads_mf_options *o, const strads_data *data)
{
    const mf_scale scale = {.n = (double)strads_data_nnz(data)};

    return mf_lambda_each(o, &scale, strads_data_rows(data),
                          (uint32_t)strads_data_cols(data));
}

/* A split by time, and one that the user has asked for, is not drawn again. */
static uint32_t count_repeats(const strads_mf_options *o, uint64_t ratings)
{
    const double n = HELD_RATINGS / (HELD * (double)ratings);

    if (o->holdout > 0 || o->holdout_by || n <= 1)
        return 1;
    return n < REPEATS_MAX ? (uint32_t)n : REPEATS_MAX;
}

static void take_best(search *s)
{
    strads_mf_tuning *out = s->out;

    if (out->trials == 0)
        return;
    out->options = options_at(s, &s->best, s->each);
    out->options.stop_after = out->trial[out->best].sweep;
    out->options.patience = out->options.stop_after; /* no early end */
    out->options.holdout = -0.;
    out->options.holdout_by = NULL;
}

strads_err strads_mf_tune(const strads_mf_options *given,
                          const strads_data *data,
                          const strads_engine_options *engine,
                          strads_mf_tuning *out)
{
    strads_mf_options resolved;
    search s = {.given = given, .out = out};
    strads_err err = mf_options_resolve(given, &resolved);

    *out = (strads_mf_tuning){.options = *given};
    if (err || !is_searched(given, data))
        return err;
    s.engine = (strads_engine_options){
        .size = sizeof(s.engine),
        .workers = engine ? engine->workers : 0,
        .seed = engine ? engine->seed : 0,
        .memory = engine ? engine->memory : 0,
        .stop = engine ? engine->stop : NULL,
    };
    err = check_data(data, given->time != NULL);
    if (!err)
        err = draw_sample(data, &s.engine, given, &s.sample);
    if (err)
        return err;
    out->ratings = strads_data_nnz(s.sample);
    s.ratings = (double)strads_data_nnz(data);
    s.repeats = count_repeats(given, out->ratings);
    s.sample_each = lambda_each(given, s.sample);
    s.each = lambda_each(given, data);
    s.bounded = given->tune == 0 && s.ratings > SAMPLE_MIN;
    s.most = given->tune ? given->tune : TRIALS;
    if (s.most > STRADS_MF_TRIALS)
        s.most = STRADS_MF_TRIALS;
    err = search_all(&s);
    strads_data_free(s.sample);
    if (!err)
        take_best(&s);
    return err;
}
