/* What the files of matrix factorisation hand to each other.
 *
 * Ratings are scaled: x = (r - mean) / sd - b_u - c_i, with biases in the same
 * unit, and p_u'q_i is to be x. Results are in the ratings' own unit: biases
 * times sd, factors times sqrt(sd). */
#ifndef MF_PARTS_H
#define MF_PARTS_H

#include <stdlib.h>

#include <strads/mf.h>
#include <strads/plan.h>
#include <strads/policy.h>

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
    MF_MEET,
    MF_RANK,
    MF_FILL,
    MF_TEST,
    MF_REPORT,
    MF_FINAL,
    MF_ITEMS,
    MF_USERS
};

/* Streams of random numbers. */
enum { MF_DRAW_HOLD = 0x6d660001, MF_DRAW_USER, MF_DRAW_ITEM, MF_DRAW_ORDER };

/* Places of the sums in partials. */
enum { MF_RATINGS, MF_RATINGS_SUM, MF_COUNTS }; /* count */
enum { MF_N, MF_SUM, MF_SQUARES, MF_SUMS };     /* statistics; then per item */
enum { MF_LOSS, MF_HELD_LOSS, MF_HELD_N, MF_LOSSES }; /* build, epoch */
enum {
    MF_PENALTY = MF_HELD_N,
    MF_SOLVED
}; /* solve: then a Gram; rank: then
                                               a pair of sums for each item */
/* test */
enum { MF_TEST_SQUARES, MF_TEST_N, MF_TEST_HELD, MF_TESTS };

/* ---- the step-size schedule: how a run goes on after a sweep -------------- */

/* One rule that the coordinator and every partition follow on the same merged
 * sums, so that they need not tell each other. */
typedef struct mf_step_schedule {
    double first_step;
    double fixed_lambda; /* 0: follows the held-out error */
    double each;         /* lambda counts so many times as much then */
    uint32_t sweeps, patience;
    bool descends; /* the objective falls from sweep to sweep */

    uint32_t done, undone; /* sweeps */
    uint32_t stale;        /* sweeps in a row with a worse held-out error */
    double scale;          /* of the step: halved when a sweep is undone */
    double lambda;
    double train, held; /* mean squared errors, scaled; of the last sweep */
    double first_bound; /* what the first sweep may leave of train */
    double best;        /* held-out error so far */
    bool is_best;       /* the last sweep's is the least so far, or unknown */
    bool exploded;      /* the last sweep was undone */
} mf_step_schedule;

/* Begins with the errors of the biases alone on n ratings; held is NaN when
 * nothing is held out. */
void mf_step_schedule_begin(mf_step_schedule *c, double n, double train,
                            double held);
double mf_step_schedule_step(const mf_step_schedule *c);
/* Takes a sweep's errors; false: it is to be undone. */
bool mf_step_schedule_take(mf_step_schedule *c, double train, double held);
/* Takes the errors of a sweep that descends: it always stands. */
void mf_step_schedule_follow(mf_step_schedule *c, double train, double held);

/* ---- state ------------------------------------------------------------------ */

/* What merging the statistics has told: the same on all partitions. */
typedef struct mf_scale {
    double ratings;     /* of the whole data set, held out or not */
    double centre;      /* their mean, from which sums are taken; 0 where zero
                           is a rating's origin: implicit, non-negative */
    double n, mean, sd; /* of those trained on */
} mf_scale;

/* A rating that is only measured. */
typedef struct mf_sample {
    uint32_t user; /* of this partition */
    uint32_t item; /* place in its block */
    float value;   /* scaled, without biases */
} mf_sample;

/* Samples by block: those of block b are from start[b] to start[b + 1]. */
typedef struct mf_samples {
    uint64_t *start;
    mf_sample *sample;
} mf_samples;

/* Solving for whole rows, see mf_rows.c. */
typedef struct mf_rows {
    mf_row_solver solver;
    /* Ratings trained on, twice: x, or r where feedback is implicit. By item,
     * with this partition's users, and by user, in place of the share's, with
     * items of 16 bits if these are enough: 14 bytes a rating, or 16. */
    uint64_t *item_start; /* [items + 1] */
    uint32_t *item_user;
    float *item_value;
    uint64_t *user_start; /* [users + 1] */
    uint16_t *user_item;  /* NULL: there are too many items */
    uint32_t *user_item_wide;
    float *user_value;
    float *q;    /* [items x stride] as they are when users are solved */
    float *gram; /* [stride x stride] of users; implicit feedback only */
    bool began;  /* users have been solved for once */
    /* Of one row, [most ratings]. */
    uint32_t *index;
    float *target, *weight, *error;
    float *items_gram; /* [stride x stride]; implicit feedback only */
} mf_rows;

/* Solving for one rank after the other, see mf_ranks.c. */
typedef struct mf_ranks {
    mf_rank_swap swap;
    /* Ratings trained on, by user: user u's are start[u] .. start[u + 1] - 1.
     * left is x less all products but that of the rank before `rank`. */
    uint64_t *start; /* [users + 1] */
    uint32_t *item;
    float *left;
    float *q;      /* [items x stride] */
    float *pair;   /* [items x 2], see mf_ranks_kernels.h */
    uint32_t rank; /* that is updated next */
} mf_ranks;

/* Merged sums of a rank, and what divides them. */
typedef struct mf_rank_sum {
    const strads_mf_options *options;
    const mf_step_schedule *steps;
    uint32_t items, stride;
    const double *item_n;
    const double *partial;
} mf_rank_sum;

/* What a rank leaves of all ratings, and its part of the penalty. */
typedef struct mf_rank_end {
    double loss, penalty;
} mf_rank_end;

/* The factors of the best sweep by held-out error, which a run's result has:
 * not there (p is NULL) while the last sweep is the best. By SGD they are the
 * copies that the sweep after it began with; by rows and ranks a copy is made
 * of each sweep that is the best so far. */
typedef struct mf_best {
    float *p;      /* [users x stride] */
    float *q;      /* [items x stride]; by rows and ranks */
    float **block; /* [blocks] of blocks that are at home here; by SGD */
} mf_best;

/* One partition. */
typedef struct mf_local {
    strads_mf_options options; /* resolved */
    uint32_t stride;           /* floats a row */
    uint64_t users;
    uint32_t items, blocks;
    uint32_t held_below; /* a hash below that is held out */
    mf_scale scale;
    mf_step_schedule steps;

    float *item_bias, *user_bias;
    double *item_n; /* ratings trained on */
    strads_cut *cut;
    uint32_t *item_block, *item_at; /* where an item is: block, place */

    /* The ratings, by block, and within it by micro-block of 2^micro users:
     * cell (b, m) is rating[first[b] + cell[b (micros + 1) + m]] up to
     * [.. m + 1]: paired[b micros + m] of them two by two, then single ones, in
     * random order. */
    uint32_t micro, micros;
    mf_rating *rating;
    uint64_t *first; /* [blocks + 1] */
    uint32_t *cell, *paired;
    uint32_t *order; /* [micros] of this sweep */
    mf_samples held, test;
    double unknown_squares, unknown_n; /* test ratings of unknown items */

    float *p, *p_good; /* [users x stride] now, and when the sweep began */
    float **q_good;    /* [blocks] of blocks that are at home here */
    mf_kernel kernel;
    mf_best best;
    bool undo; /* items are to go back to q_good */
    double sum[MF_LOSSES];
    uint32_t met;  /* blocks of this sweep that have been here */
    uint32_t told; /* blocks of this sweep whose sums are in */
    mf_rows rows;
    mf_ranks ranks;
} mf_local;

/* A block's object: the factors of its items. */
typedef struct mf_items {
    uint64_t floats;
    float *q; /* [items of the block x stride] */
    /* Between the partitions of a lap: a matrix and a side for each item. */
    uint64_t system_floats;
    float *system;
    uint32_t slab; /* of factors that comes next */
} mf_items;

/* A sweep, as the coordinator knows it. */
typedef struct mf_sweep {
    uint32_t number;            /* from 1 */
    double train, held, lambda; /* as in mf_step_schedule, after it */
    double test_rmse;
} mf_sweep;

/* The coordinator. */
typedef struct mf_state {
    strads_mf_options options;
    uint64_t users;
    uint32_t items, blocks, partitions, pieces;
    mf_scale scale;
    mf_step_schedule steps;
    strads_cut *cut;
    enum mf_phase next;
    double sum[MF_LOSSES], test[MF_TESTS];
    double test_rmse;
    mf_sweep best;  /* by held-out error: the result's */
    uint32_t added; /* blocks of this lap whose sums are in */
    double seconds, cpu_seconds, sweep_seconds; /* of training */
    double preparation; /* CPU seconds from the first count to the cells */
    double wall_from, cpu_from;
    double objective; /* by rows and ranks: what is minimised; else NaN */
    uint32_t sent;    /* blocks of this lap that have been sent out */
    uint32_t slab;    /* of factors; by rows: laps of this sweep that are done,
                         by ranks: updates */
    double *item_n;   /* [items] ratings trained on */
    double penalty;   /* by ranks: of those that are done */
    bool began;       /* by rows: users have been solved for once */
    float *user;      /* [users x (1 + rank)] */
    uint64_t users_home;
    uint32_t piece; /* of users, the next to ask for */
} mf_state;

/* mf_options.c */
extern const strads_mf_options mf_defaults;
extern const strads_option mf_option_table[];
strads_err mf_options_resolve(const strads_mf_options *given,
                              strads_mf_options *out);
uint32_t mf_stride(uint32_t rank);
/* How much more a row's own penalty is than one that counts its ratings:
 * sqrt(n / users x n / items), since moving a factor's length from one side to
 * the other makes two penalties their geometric mean. 1 where ratings count. */
double mf_lambda_each(const strads_mf_options *o, const mf_scale *scale,
                      uint64_t users, uint32_t items);
/* Whether whole rows are solved for: als, cd; or one rank after the other:
 * ccd++. */
bool mf_by_rows(const strads_mf_options *o);
bool mf_by_ranks(const strads_mf_options *o);
/* What |p|^2 of a row with n ratings counts. */
static inline double mf_row_penalty(const strads_mf_options *o,
                                    const mf_step_schedule *steps, double n)
{
    return steps->lambda * (o->implicit || o->unweighted ? 1 : n);
}
/* Factors that are solved for at once. */
uint32_t mf_slab(const strads_mf_options *o);

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
/* How many ratings there are, and their mean, from the merged counts. */
void mf_scale_count(const strads_mf_options *o, const double *sums,
                    mf_scale *scale);
/* Scale from the merged sums; STRADS_EFORMAT: there is nothing to train on. */
strads_err mf_scale_take(const strads_mf_options *o, const double *sums,
                         mf_scale *scale);
static inline bool mf_is_held(uint64_t salt, uint32_t item, uint32_t below)
{
    uint64_t x = salt + item * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(x >> 32) < below;
}
static inline double mf_value(const strads_sparse *x, uint64_t e)
{
    return x->f32 ? (double)x->f32[e] : x->f64[e];
}

/* splitmix64 (Steele et al. 2014): the next bits of a stream that begins with a
 * draw of the run's. */
static inline uint64_t mf_next_bits(uint64_t *s)
{
    uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* mf_state.c: what travels; first factors. */
extern const strads_payload mf_payload;
strads_err mf_items_equations(mf_items *items, uint64_t floats);
void mf_draw(const strads_mf_options *o, uint64_t seed, uint64_t purpose,
             uint64_t row, float *out);

/* mf_ratings.c: a user's ratings after the other, those that are held out put
 * aside. For each partition: open; count for every user, then counted; take for
 * every user, in order; close, whatever came of it. */
typedef struct mf_split {
    uint64_t most;     /* ratings of a user */
    uint64_t *held_at; /* [blocks] where a sample of theirs goes next */
    uint32_t *item;    /* [most] of a user's ratings that are trained on, */
    float *left;       /* and what mean and biases leave of them (take) */
} mf_split;
strads_err mf_split_open(mf_local *l, const strads_task *task, mf_split *s);
void mf_split_close(mf_split *s);
/* User u's items to train on: how many, the first ones of s->item. */
uint64_t mf_split_count(const mf_split *s, mf_local *l, const strads_task *task,
                        uint64_t u);
/* Makes room for the samples. */
strads_err mf_split_counted(mf_split *s, mf_local *l);
/* The same with s->left; l->user_bias[u], and MF_LOSS, MF_HELD_LOSS and
 * MF_HELD_N of the partial. */
uint64_t mf_split_take(mf_split *s, mf_local *l, const strads_task *task,
                       uint64_t u);

/* mf_sgd.c: ratings into cells, users' first factors. */
strads_err mf_update_build(strads_task *task);
strads_err mf_receive_build(strads_task *task);
strads_err mf_samples_alloc(mf_samples *samples, uint32_t blocks);
/* What has been taken over need not be in the share as well: gives rows
 * [from, to) back when they are many, and returns how far that has come. */
uint64_t mf_spend(const strads_share *share, uint64_t from, uint64_t to);
void mf_draw_users(mf_local *l, const strads_task *task);

/* mf_rows.c: ratings by item, and memory for a row. */
strads_err mf_rows_build(strads_task *task);
void mf_rows_free(mf_rows *rows);

/* mf_rows.c: solving for whole rows. */
strads_err mf_update_spread(strads_task *task);
size_t mf_partial_solve(const strads_task *task);
strads_err mf_update_solve(strads_task *task);
strads_err mf_receive_solve(strads_task *task);
strads_err mf_update_meet(strads_task *task);

/* mf_rows.c: what the coordinator does for that. */
strads_err mf_rows_dispatch(strads_turn *turn, mf_state *s);
strads_err mf_spread_done(strads_commit *commit);
strads_err mf_solved(strads_commit *commit);
strads_err mf_met(strads_commit *commit);
uint64_t mf_rows_blocks(const strads_mf_options *o, uint64_t items,
                        uint32_t partitions);

/* mf_ranks.c: ratings by user, and what is left of them. */
strads_err mf_ranks_build(strads_task *task);
void mf_ranks_free(mf_ranks *ranks);

/* mf_ranks.c: solving for one rank after the other. */
size_t mf_partial_rank(const strads_task *task);
strads_err mf_update_rank(strads_task *task);
strads_err mf_receive_rank(strads_task *task);
strads_err mf_ranked(strads_commit *commit);
strads_err mf_update_fill(strads_task *task);
strads_err mf_receive_fill(strads_task *task);
strads_err mf_filled(strads_commit *commit);

void mf_lap_begins(mf_state *s);
void mf_lap_ends(mf_state *s);

/* mf_ratings.c: the ratings of --test. */
strads_err mf_test_read(mf_local *l, const strads_share *share);
size_t mf_partial_test(const strads_task *task);
strads_err mf_update_test(strads_task *task);
/* Whether a lap of `test` measures each sweep of SGD: there are ratings held out
 * or of --test. */
static inline bool mf_sgd_measures(const strads_mf_options *o,
                                   const double *sum)
{
    return !mf_by_rows(o) && !mf_by_ranks(o) && (sum[MF_HELD_N] > 0 || o->test);
}
double mf_samples_loss(const mf_local *l, const mf_samples *samples,
                       const strads_task *task);

/* mf_sgd.c: sweeps, and bringing the factors together. */
size_t mf_partial_losses(const strads_task *task);
strads_err mf_update_epoch(strads_task *task);
strads_err mf_receive_epoch(strads_task *task);
strads_err mf_receive_test(strads_task *task);
/* The loss on the ratings trained on, of the best sweep's factors. */
strads_err mf_update_final(strads_task *task);
/* Whether the sweep of these sums stands; 0 / 0 where nothing is held out. */
bool mf_sweep_judge(mf_step_schedule *steps, const double *sum,
                    const mf_scale *scale);
size_t mf_partial_none(const strads_task *task);
strads_err mf_update_items(strads_task *task);
size_t mf_partial_users(const strads_task *task);
strads_err mf_update_users(strads_task *task);
/* Users of a piece, but for the last one. */
uint64_t mf_piece_users(uint32_t rank);

/* mf.c: reports; whether nothing but a sweep is next. */
extern const char *const mf_measures[];
bool mf_sweep_begins(const mf_state *s);

/* mf_cut.c */
strads_err mf_pack(const void *local, strads_bytes *out);
strads_err mf_unpack(strads_task *task, const void *bytes, size_t size,
                     void **local);
strads_err mf_pack_state(const void *state, strads_bytes *out);
strads_err mf_unpack_state(void *state, const void *bytes, size_t size);

/* mf_state.c */
strads_err mf_open(const strads_task *task, void **local);
void mf_close(void *local);
/* A sweep by rows or ranks stands, whose items' factors are q: keeps it if it is
 * the best so far. */
strads_err mf_best_keep(mf_local *l, const float *q);
/* Training is over: gives back what it took; users' factors are those of the
 * best sweep. */
void mf_forget_ratings(mf_local *l);
/* Where the best sweep's factors of the block at hand are. */
const float *mf_best_items(const mf_local *l, const strads_task *task,
                           uint32_t k);
strads_err mf_begin(const void *config, const strads_data *data,
                    const strads_shape *shape, void **state);
void mf_end(void *state);
strads_err mf_no_memory(const char *what, uint64_t bytes);
/* Zeroed rows of floats at MF_ALIGN, to be freed by free. */
float *mf_floats(uint64_t n);
/* Bytes that are read here and there, not zeroed, to be freed by free: in large
 * pages where these are to be had, for addresses of many small ones are not all
 * at hand. Takes whole pages, which is 2 MB more at most. */
void *mf_large(uint64_t bytes);
/* mf_floats in such pages. */
float *mf_large_floats(uint64_t n);

#endif
