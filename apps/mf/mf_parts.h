/* Types and functions that the files of matrix factorisation share.
 *
 * Ratings are scaled: x = (r - mean) / sd - b_u - c_i, with biases in the same
 * unit, and the model of x is p_u'q_i. Results are in the ratings' own unit:
 * biases times sd, factors times sqrt(sd). */
#ifndef MF_PARTS_H
#define MF_PARTS_H

#include <math.h>
#include <stdlib.h>

#include <strads/mf.h>
#include <strads/plan.h>
#include <strads/policy.h>

#include "mf_conjugate.h"
#include "mf_equations.h"
#include "mf_kernels.h"

enum mf_phase {
    MF_COUNT,
    MF_STATISTICS,
    MF_BIAS,
    MF_BUILD,
    MF_EPOCH,
    MF_SPREAD,
    MF_SOLVE,
    MF_EQUATIONS,
    MF_RANK,
    MF_FILL,
    MF_TEST,
    MF_REPORT,
    MF_FINAL,
    MF_ITEMS,
    MF_USERS
};

/* Streams of random numbers. */
enum {
    MF_DRAW_HOLD = 0x6d660001,
    MF_DRAW_USER,
    MF_DRAW_ITEM,
    MF_DRAW_ORDER,
    MF_DRAW_OTHER
};

/* Indices of the sums in partials, by phase. */
enum {
    MF_RATINGS,
    MF_RATINGS_SUM,
    MF_COUNTS
}; /* count, then least and largest rating and time of each partition */
enum { MF_RANGES = 4 };
enum {
    MF_N,
    MF_SUM,
    MF_SQUARES,
    MF_SUMS
}; /* statistics, then two sums for each item */
enum {
    MF_LEFT_SQUARES,
    MF_BIAS_SQUARES,
    MF_BIAS_FREEDOM,
    MF_BIAS_SUMS
}; /* bias, then a sum for each item and two for each period */
enum {
    MF_LOSS,
    MF_HELD_LOSS,
    MF_HELD_N,
    MF_LEFT, /* sum of the errors, for rows and ranks */
    MF_LOSSES
}; /* build, epoch, fill */
enum {
    MF_PENALTY = MF_HELD_N,
    MF_SOLVED = MF_LOSSES
}; /* solve: then a Gram matrix; rank: then two sums for each item */
/* test */
enum { MF_TEST_SQUARES, MF_TEST_N, MF_TEST_HELD, MF_TESTS };

/* ---- the step-size schedule ---------------------------------------------- */

/* Step size, lambda and the decision after each sweep. The coordinator and
 * every partition apply the same rules to the same merged sums, so they
 * exchange no decisions. */
typedef struct mf_step_schedule {
    double first_step;
    double fixed_lambda; /* 0: lambda follows the held-out error;
                            -0.0: it is 0 */
    double each;         /* factor of lambda, see mf_lambda_each */
    uint32_t sweeps, patience, stop_after;
    bool descends; /* the method decreases the objective in every sweep */
    bool drawn;    /* the loss is of drawn pairs, so only a loss that is not
                    * finite undoes a sweep */
    bool lifts;    /* non-negative factors with biases: see MF_LIFT */
    double lift, next_lift; /* subtracted from predictions, in this and the next
                             * sweep */

    uint32_t done, undone; /* sweeps */
    uint32_t stale;        /* sweeps in a row with a worse held-out error */
    double scale;          /* of the step size; halved when a sweep is undone */
    double lambda;
    double train, held; /* mean squared errors, scaled, of the last sweep */
    double first_bound; /* bound on `train` after the first sweep */
    double best;        /* least held-out error so far */
    bool is_best;       /* the last sweep has the least error, or it is
                         * unknown */
    bool exploded;      /* the last sweep was undone */
} mf_step_schedule;

/* Initialises the schedule with the errors of the biases alone on n ratings.
 * held is NaN if no ratings are held out. */
void mf_step_schedule_begin(mf_step_schedule *c, double n, double train,
                            double held);
double mf_step_schedule_step(const mf_step_schedule *c);
/* Takes a sweep's errors. False: undo the sweep. */
bool mf_step_schedule_take(mf_step_schedule *c, double train, double held);
/* Takes the errors of a sweep that always decreases the objective, so it is
 * never undone. */
void mf_step_schedule_follow(mf_step_schedule *c, double train, double held);

/* Non-negative factors cannot model ratings below the biases' prediction. So
 * they are fitted to remainders that are raised by MF_LIFT deviations of the
 * ratings. Predictions subtract it, less the mean error of the raised training
 * ratings after the previous sweep, because the penalty shrinks p'q. Lambda is
 * fixed for these models. */
static const double MF_LIFT = 3;
/* Called before a sweep's held-out errors are measured. */
static inline void mf_lift_update(mf_step_schedule *c)
{
    c->lift = c->next_lift;
}
/* Returns the mean squared error of the predictions on n training ratings, and
 * takes their mean error. */
static inline double mf_fit_error(mf_step_schedule *c, const double *sum,
                                  double n)
{
    const double by = c->lifts ? MF_LIFT - c->lift : 0;

    if (c->lifts)
        c->next_lift = fmax(MF_LIFT - sum[MF_LEFT] / n, 0);
    return (sum[MF_LOSS] - 2 * by * sum[MF_LEFT]) / n + by * by;
}

/* ---- state --------------------------------------------------------------- */

/* Merged statistics, the same on all partitions. */
typedef struct mf_scale {
    double ratings;     /* of the whole data set, including held-out ones */
    double centre;      /* the ratings' mean, subtracted before summing; 0 if 0
                         * must stay the origin: implicit feedback, non-negative
                         * factors */
    double n, mean, sd; /* of the training ratings */
    double low, high;   /* range of all ratings; infinite: not clipped to */
    strads_mf_periods times; /* biases are scaled, as x */
} mf_scale;

/* Damping of the biases' means; see mf_ratings.c. */
typedef struct mf_damping {
    double user, item;
    double noise;    /* variance of a scaled rating about its biases */
    uint32_t rounds; /* of estimates */
} mf_damping;

/* A rating for measuring only. */
typedef struct mf_sample {
    uint32_t user;   /* within this partition */
    uint16_t item;   /* position in its block */
    uint16_t period; /* of its time */
    float value;     /* scaled, without biases */
} mf_sample;

/* Samples by block: block b has start[b] to start[b + 1]. */
typedef struct mf_samples {
    uint64_t *start;
    mf_sample *sample;
} mf_samples;

/* One of the two copies of the training ratings, line by line: rating e of line
 * k is from start[k] to start[k + 1] - 1, and lies at e - first. In memory the
 * arrays have all ratings; on disk those of the block that was taken last. */
typedef struct mf_side {
    uint64_t *start; /* [lines + 1] */
    uint64_t first;
    float *value;     /* x; r for implicit feedback; for conjugate gradients
                       * weights, alpha r */
    uint32_t *other;  /* the user, or the item, on the other side */
    uint16_t *narrow; /* the same in 16 bits, if not NULL: items of users, if
                       * they are few and not for conjugate gradients */
} mf_side;

/* State for solving whole rows, see mf_rows.c. */
typedef struct mf_rows {
    mf_row_solver solver;
    mf_conjugate conjugate; /* if mf_conjugates */
    /* See mf_lines.c. Lines of items are in the order of blocks, and within a
     * block in that of its items: block b has block_line[b] to
     * block_line[b + 1] - 1. They have this partition's users. */
    mf_side by_item, by_user;
    uint32_t *block_line; /* [blocks + 1] */
    /* Users in chunks, in order: chunk c has chunk_user[c] to
     * chunk_user[c + 1] - 1. In memory one chunk has all. */
    uint64_t *chunk_user; /* [chunks + 1] */
    uint32_t chunks;
    bool on_disk; /* the arrays of both sides are in l->scratch */
    float *q;     /* [items x stride] items' factors while users are solved
                  * for */
    float *gram;  /* [stride x stride] of users; implicit feedback only */
    bool began;   /* users have been solved for once */
    /* Workspace for one row, [most ratings]. */
    uint32_t *index;
    float *target, *weight, *error;
    float *items_gram; /* [stride x stride]; implicit feedback only */
} mf_rows;

/* State for solving one rank after another, see mf_ranks.c. */
typedef struct mf_ranks {
    mf_rank_swap swap;
    /* Training ratings by user: user u has start[u] .. start[u + 1] - 1. left
     * is x less all products except that of the rank before `rank`. */
    uint64_t *start; /* [users + 1] */
    uint32_t *item;
    float *left;
    float *q;      /* [items x stride] */
    float *pair;   /* [items x 2], `factor` of mf_rank_swap in mf_kernels.h */
    uint32_t rank; /* the rank to update next */
} mf_ranks;

/* The items of each user, ascending, for ranking losses; see mf_pairs.c. */
typedef struct mf_pairs {
    uint64_t *start; /* [users + 1] */
    uint32_t *item;
} mf_pairs;

/* The factors of a user, of an item that it had, and of one that it had not. */
typedef struct mf_pair {
    float *p, *had, *other; /* [stride] */
    uint32_t stride;
    double size, lambda; /* of the step */
} mf_pair;

/* Merged sums of a rank, and their divisors. */
typedef struct mf_rank_sum {
    const strads_mf_options *options;
    const mf_step_schedule *steps;
    uint32_t items, stride;
    const double *item_n;
    const double *partial;
} mf_rank_sum;

/* Sum of squared remainders after a rank, and the rank's part of the
 * penalty. */
typedef struct mf_rank_end {
    double loss, penalty;
} mf_rank_end;

/* The factors of the sweep with the least held-out error, which are the result.
 * p is NULL while the last sweep is the best. For SGD, they are the copies made
 * at the start of the next sweep. For rows and ranks, each sweep that is the
 * best so far is copied. */
typedef struct mf_best {
    float *p;      /* [users x stride] */
    float *q;      /* [items x stride]; for rows and ranks */
    float **block; /* [blocks] for home blocks of this partition; for SGD */
} mf_best;

/* Ratings on disk, see mf_scratch.c. */
typedef struct mf_scratch mf_scratch;

/* State of one partition. */
typedef struct mf_local {
    strads_mf_options options; /* resolved */
    uint32_t stride;           /* floats in a row */
    uint64_t users;
    uint32_t items, blocks;
    uint32_t held_below; /* ratings with a smaller hash are held out */
    double *held_after;  /* [users] or ratings after this time; or NULL */
    mf_scale scale;
    mf_damping damping;
    mf_step_schedule steps;

    float *item_bias, *user_bias;
    double *item_n; /* ratings trained on */
    strads_cut *cut;
    uint32_t *item_block, *item_at; /* block of each item, and position in it */

    /* The ratings by block and, within it, by micro-block of 2^micro users:
     * cell (b, m) is rating[first[b] + cell[b (micros + 1) + m]] up to [.. m +
     * 1]. First come paired[b micros + m] ratings in pairs, then single ones,
     * in random order. */
    uint32_t micro, micros;
    mf_rating *rating; /* NULL: they are on disk */
    mf_scratch *scratch;
    mf_rating *block_rating; /* of the block taken last, mf_ratings_take */
    uint64_t *first;         /* [blocks + 1] */
    uint32_t *cell, *paired;
    uint32_t *order; /* [micros] order of this sweep */
    mf_samples held, test;
    double unknown_squares, unknown_n; /* test ratings of unknown items */

    float *p, *p_good; /* [users x stride] current, and at the start of the
                        * sweep */
    float **q_good;    /* [blocks] for home blocks of this partition */
    mf_kernel kernel;
    mf_best best;
    bool undo; /* reset items to q_good */
    double sum[MF_LOSSES];
    uint32_t met;  /* number of this sweep's blocks that have visited */
    uint32_t told; /* number of this sweep's blocks with merged sums */
    mf_rows rows;
    mf_ranks ranks;
    mf_pairs pairs;
} mf_local;

/* The object of a block: its items' factors. */
typedef struct mf_items {
    uint64_t floats;
    float *q; /* [items of the block x stride] */
    /* While a block travels in mf_rows.c: a matrix and a side for each item; or
     * remainders, directions and their changes of all items. */
    uint64_t system_floats;
    float *system;
    uint32_t slab; /* the next pass: a slab of factors or a step */
} mf_items;

/* A sweep on the coordinator. */
typedef struct mf_sweep {
    uint32_t number;            /* from 1 */
    double train, held, lambda; /* as in mf_step_schedule, after the sweep */
    double test_rmse, lift;
} mf_sweep;

/* State of the coordinator. */
typedef struct mf_state {
    strads_mf_options options;
    uint64_t users;
    uint32_t items, blocks, partitions, pieces;
    mf_scale scale;
    mf_damping damping;
    mf_step_schedule steps;
    strads_cut *cut;
    enum mf_phase next;
    double sum[MF_LOSSES], test[MF_TESTS];
    double test_rmse;
    mf_sweep best;  /* least held-out error: the result */
    uint32_t added; /* blocks of this pass with merged sums */
    double seconds, cpu_seconds, sweep_seconds; /* of training */
    double preparation; /* CPU seconds from the first count to the end of
                         * `build` */
    double wall_from, cpu_from;
    double objective; /* the objective, for rows and ranks; else NaN */
    uint32_t sent;    /* blocks of this pass that were dispatched */
    uint32_t slab;    /* slab of factors; rows: passes of this sweep that are
                       * done; ranks: updates */
    double *item_n;   /* [items] ratings trained on */
    double penalty;   /* ranks: penalty of those that are done */
    bool began;       /* rows: users have been solved for once */
    float *user;      /* [users x (1 + rank)] */
    uint64_t users_home;
    strads_mf_periods periods; /* in the ratings' unit, at the end */
    uint32_t piece;            /* the next piece of users to request */
} mf_state;

/* mf_options.c */
extern const strads_mf_options mf_defaults;
extern const strads_option mf_option_table[];
strads_err mf_options_resolve(const strads_mf_options *given,
                              strads_mf_options *out);
uint32_t mf_stride(uint32_t rank);
/* The number of factors, 0 for biases alone. */
uint32_t mf_rank(const strads_mf_options *o);
/* True if 0 stays the origin of the ratings: no mean is subtracted. */
bool mf_from_zero(const strads_mf_options *o);
/* The factor of an unweighted penalty relative to one weighted by ratings:
 * sqrt(n / users x n / items). Because length can move between the factors of
 * both sides, two penalties act like their geometric mean. 1 if the penalty is
 * weighted. */
double mf_lambda_each(const strads_mf_options *o, const mf_scale *scale,
                      uint64_t users, uint32_t items);
/* True for methods that solve whole rows (als, cd), and one rank after another
 * (ccd++). */
bool mf_by_rows(const strads_mf_options *o);
bool mf_by_ranks(const strads_mf_options *o);
/* The weight of |p|^2 in the penalty of a row with n ratings. */
static inline double mf_row_penalty(const strads_mf_options *o,
                                    const mf_step_schedule *steps, double n)
{
    return steps->lambda * (o->implicit || o->unweighted ? 1 : n);
}
/* True for ranking losses, bpr and warp. */
bool mf_by_pairs(const strads_mf_options *o);
/* True if the last ratings of each user are held out. */
bool mf_holds_last(const strads_mf_options *o);
/* True if rows are solved by conjugate gradients, not exactly. */
bool mf_conjugates(const strads_mf_options *o);
/* Number of factors that are solved for at once. */
uint32_t mf_slab(const strads_mf_options *o);

/* mf_scratch.c: ratings on disk. The blocks that keep a block small, and
 * memory of a partition; a batch of MF_CONJUGATE_ROWS users has up to `batch`
 * ratings. */
uint64_t mf_scratch_blocks(const strads_data *data, uint32_t partitions);
uint64_t mf_scratch_memory(const strads_mf_options *o, uint64_t ratings,
                           uint64_t batch, uint64_t blocks);
/* Makes a block of the file for each block of items, for the ratings that
 * l->first counts, and after these one for each chunk, chunk_bytes[chunks].
 * Then each rating is added to its block of items, in order; chunks may be
 * taken and changed meanwhile. mf_scratch_free also after an error. */
strads_err mf_scratch_open(mf_local *l, uint32_t chunks,
                           const uint64_t *chunk_bytes);
strads_err mf_scratch_add(mf_scratch *s, uint32_t b, mf_rating rating);
strads_err mf_scratch_added(mf_scratch *s, uint32_t blocks);
void mf_scratch_free(mf_scratch *s);
/* Sets *bytes to those of block b of the file, until the next call. */
strads_err mf_scratch_take(mf_scratch *s, uint32_t b, void **bytes);
/* The first n bytes of the block that was taken were changed. */
void mf_scratch_changed(mf_scratch *s, uint64_t n);
/* For SGD: sets l->block_rating to the ratings of block b, in memory or from
 * disk. */
strads_err mf_ratings_take(mf_local *l, uint32_t b);
/* The ratings of block b, which was taken, were changed. */
void mf_ratings_changed(mf_local *l, uint32_t b);
/* For passes over a share's rows: user u was read. Lets go of memory now and
 * then, if the entries are on disk. */
void mf_evict(const strads_share *share, uint64_t *from, uint64_t u);

/* mf_ratings.c: counts, scale, biases. */
size_t mf_partial_count(const strads_task *task);
strads_err mf_update_count(strads_task *task);
strads_err mf_receive_count(strads_task *task);
size_t mf_partial_statistics(const strads_task *task);
strads_err mf_update_statistics(strads_task *task);
strads_err mf_receive_statistics(strads_task *task);
size_t mf_partial_bias(const strads_task *task);
strads_err mf_update_bias(strads_task *task);
strads_err mf_receive_bias(strads_task *task);
/* Computes the number of ratings, their mean and range from the merged counts.
 */
void mf_scale_count(const strads_mf_options *o, const double *sums,
                    uint32_t partitions, mf_scale *scale);
/* Estimates the damping from the merged sums of `bias`, and computes the items'
 * new biases, if `bias` is not NULL, and those of periods. True after the last
 * round. */
bool mf_damping_take(mf_damping *damping, mf_scale *scale, uint32_t items,
                     const double *item_n, const double *sums, float *bias);
extern const mf_damping mf_damping_first;
/* Computes the scale from the merged sums. STRADS_EFORMAT: no training
 * ratings. */
strads_err mf_scale_take(const strads_mf_options *o, const double *sums,
                         mf_scale *scale);
/* Finds the last ratings of each user, if these are held out. Call it once
 * held_below is known. */
strads_err mf_hold_last(mf_local *l, const strads_share *share);
static inline bool mf_is_drawn(uint64_t salt, uint32_t item, uint32_t below)
{
    uint64_t x = salt + item * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(x >> 32) < below;
}
static inline double mf_value(const strads_sparse *x, uint64_t e)
{
    return x->f32 ? (double)x->f32[e] : x->f64[e];
}

/* splitmix64 (Steele et al. 2014): the next bits of a stream that is seeded
 * with a draw of the run. */
static inline uint64_t mf_next_bits(uint64_t *s)
{
    uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* mf_state.c: objects that travel; first factors. */
extern const strads_payload mf_payload;
strads_err mf_items_equations(mf_items *items, uint64_t floats);
void mf_draw(const strads_mf_options *o, uint64_t seed, uint64_t purpose,
             uint64_t row, float *out);

/* mf_ratings.c: separates training ratings from held-out ones, user by user.
 * Calls for a partition: open; count for every user, then counted; take for
 * every user, in order; close, also after an error. */
typedef struct mf_split {
    uint64_t most;     /* most ratings of a user */
    uint64_t *held_at; /* [blocks] next position of a sample */
    uint32_t *item;    /* [most] training items of the current user, */
    float *left;       /* and their ratings less mean and biases (take) */
} mf_split;
strads_err mf_split_open(mf_local *l, const strads_task *task, mf_split *s);
void mf_split_close(mf_split *s);
/* Lists user u's training items in s->item and returns their number. */
uint64_t mf_split_count(const mf_split *s, mf_local *l, const strads_task *task,
                        uint64_t u);
/* Allocates the samples. */
strads_err mf_split_counted(mf_split *s, mf_local *l);
/* The same, and fills in s->left, l->user_bias[u], and MF_LOSS, MF_HELD_LOSS
 * and MF_HELD_N of the partial. */
uint64_t mf_split_take(mf_split *s, mf_local *l, const strads_task *task,
                       uint64_t u);

/* mf_sgd.c: ratings into cells, users' first factors. */
strads_err mf_update_build(strads_task *task);
strads_err mf_receive_build(strads_task *task);
strads_err mf_samples_alloc(mf_samples *samples, uint32_t blocks);
/* Releases rows [from, to) of the share, because their ratings are copied, if
 * there are many of them. Returns the first row that is not released. */
uint64_t mf_spend(const strads_share *share, uint64_t from, uint64_t to);
void mf_draw_users(mf_local *l, const strads_task *task);

/* mf_lines.c: the training ratings by item and by user, in memory or on disk.
 * `count` is before mf_split_counted, `fill` after it. */
strads_err mf_lines_count(mf_local *l, const strads_task *task,
                          const mf_split *split);
strads_err mf_lines_fill(mf_local *l, const strads_task *task, mf_split *split);
void mf_lines_free(mf_rows *rows);
/* Have the lines of a block's items, or of a chunk's users, in the arrays of
 * their side until the next of these calls. */
strads_err mf_lines_take_block(mf_local *l, uint32_t b);
strads_err mf_lines_take_chunk(mf_local *l, uint32_t c);

/* mf_rows.c: both copies of the ratings, and workspace for a row. */
strads_err mf_rows_build(strads_task *task);
void mf_rows_free(mf_rows *rows);

/* mf_rows.c: solving for whole rows, on partitions. */
strads_err mf_update_spread(strads_task *task);
size_t mf_partial_solve(const strads_task *task);
strads_err mf_update_solve(strads_task *task);
strads_err mf_receive_solve(strads_task *task);
strads_err mf_update_equations(strads_task *task);

/* mf_rows.c: the coordinator's part. */
strads_err mf_rows_dispatch(strads_turn *turn, mf_state *s);
strads_err mf_spread_done(strads_commit *commit);
strads_err mf_solved(strads_commit *commit);
strads_err mf_met(strads_commit *commit);
uint64_t mf_rows_blocks(const strads_mf_options *o, uint64_t items,
                        uint32_t partitions);

/* mf_ranks.c: ratings by user, and their remainders. */
strads_err mf_ranks_build(strads_task *task);
void mf_ranks_free(mf_ranks *ranks);

/* mf_ranks.c: solving for one rank after another. */
size_t mf_partial_rank(const strads_task *task);
strads_err mf_update_rank(strads_task *task);
strads_err mf_receive_rank(strads_task *task);
strads_err mf_ranked(strads_commit *commit);
strads_err mf_update_fill(strads_task *task);
strads_err mf_receive_fill(strads_task *task);
strads_err mf_filled(strads_commit *commit);

/* mf_pairs.c: x = p'(q_had - q_other); a step of size `size` down the gradient
 * of a loss with its penalty. Returns the loss before, without penalty. */
double mf_pair_margin(const mf_pair *pair);
double mf_pair_bpr(const mf_pair *pair, double x);
double mf_pair_warp(const mf_pair *pair, double x, double weight);
/* Copies the users' items. */
strads_err mf_pairs_open(mf_pairs *pairs, const strads_sparse *rows);
void mf_pairs_free(mf_pairs *pairs);
/* One pass over a block's ratings. Returns the sum of their losses. */
double mf_pairs_sweep(mf_local *l, const strads_task *task);

void mf_lap_begins(mf_state *s);
void mf_lap_ends(mf_state *s);

/* Moves the error of a sample to that of the clipped prediction. x is the
 * scaled rating, without its bias. */
static inline double mf_clip(const mf_scale *scale, double x, double error)
{
    const double low = x - (scale->high - scale->mean) / scale->sd;
    const double high = x - (scale->low - scale->mean) / scale->sd;

    return fmin(fmax(error, low), high);
}
/* Scaled ratings of a sample: s->value with the biases added. */
static inline double mf_sample_rating(const mf_local *l, uint64_t block,
                                      const mf_sample *s)
{
    const uint32_t i = strads_block_param(&l->cut->block[block], s->item);

    return (double)s->value + (double)l->user_bias[s->user] +
           (double)l->item_bias[i] + l->scale.times.bias[s->period];
}

/* The lift of a pair: 0 if one of them has no factors. */
static inline double mf_lift_of(const mf_local *l, const float *p,
                                const float *q)
{
    const double lift = l->steps.lift;
    bool any_p = false, any_q = false;

    for (uint32_t k = 0; k < l->stride && lift > 0; k++) {
        any_p = any_p || p[k] > 0;
        any_q = any_q || q[k] > 0;
    }
    return any_p && any_q ? lift : 0;
}

/* mf_ratings.c: the ratings of --test. */
strads_err mf_test_read(mf_local *l, const strads_share *share);
size_t mf_partial_test(const strads_task *task);
strads_err mf_update_test(strads_task *task);
/* Whether the phase `test` follows each sweep of SGD: if ratings are held out,
 * or --test is given. */
static inline bool mf_sgd_measures(const strads_mf_options *o,
                                   const double *sum)
{
    return !mf_by_rows(o) && !mf_by_ranks(o) && (sum[MF_HELD_N] > 0 || o->test);
}
double mf_samples_loss(const mf_local *l, const mf_samples *samples,
                       const strads_task *task);

/* mf_sgd.c: sweeps, and collecting the factors. */
size_t mf_partial_losses(const strads_task *task);
strads_err mf_update_epoch(strads_task *task);
strads_err mf_receive_epoch(strads_task *task);
strads_err mf_receive_test(strads_task *task);
/* The loss of the best sweep's factors on the training ratings. */
strads_err mf_update_final(strads_task *task);
/* Whether to keep the sweep with these sums; no held-out ratings give 0 / 0. */
bool mf_sweep_judge(mf_step_schedule *steps, const double *sum,
                    const mf_scale *scale);
size_t mf_partial_none(const strads_task *task);
strads_err mf_update_items(strads_task *task);
size_t mf_partial_users(const strads_task *task);
strads_err mf_update_users(strads_task *task);
/* Number of users in a piece, except the last one. */
uint64_t mf_piece_users(uint32_t rank);

/* mf.c: reports; whether a new sweep is next. */
extern const char *const mf_measures[];
bool mf_sweep_begins(const mf_state *s);

/* mf_checkpoint.c */
strads_err mf_pack(const void *local, strads_bytes *out);
strads_err mf_unpack(strads_task *task, const void *bytes, size_t size,
                     void **local);
strads_err mf_pack_state(const void *state, strads_bytes *out);
strads_err mf_unpack_state(void *state, const void *bytes, size_t size);

/* mf_state.c */
strads_err mf_open(const strads_task *task, void **local);
void mf_close(void *local);
/* Called after a sweep by rows or ranks, with the items' factors q: keeps the
 * factors if the sweep is the best so far. */
strads_err mf_best_keep(mf_local *l, const float *q);
/* Called after training: frees the ratings, and sets users' factors to those of
 * the best sweep. */
void mf_forget_ratings(mf_local *l);
/* The best sweep's factors of the current block. */
const float *mf_best_items(const mf_local *l, const strads_task *task,
                           uint32_t k);
strads_err mf_begin(const void *config, const strads_data *data,
                    const strads_shape *shape, void **state);
void mf_end(void *state);
strads_err mf_no_memory(const char *what, uint64_t bytes);
/* Zeroed floats, aligned to MF_ALIGN; release with free. */
float *mf_floats(uint64_t n);
/* Memory for random access, not zeroed; release with free. Uses large pages if
 * possible, because the TLB cannot hold the addresses of many small ones.
 * Rounds up to whole pages, at most 2 MB more. */
void *mf_large(uint64_t bytes);
/* The same for floats. */
float *mf_large_floats(uint64_t n);

#endif
