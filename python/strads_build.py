"""Declares the public headers for cffi's API mode.

Only the members that the package uses are declared; "..." lets the C compiler
fill in the rest from the real headers, so a struct that grows needs no change
here. setup.py, at the top of the tree, builds or finds libstrads.
"""
from cffi import FFI

ffi = FFI()
ffi.cdef("""
typedef enum { STRADS_OK, STRADS_EINVAL, ... } strads_err;
typedef enum { STRADS_KIND_SAMPLES, STRADS_KIND_TEXT, ... } strads_kind;
typedef enum { STRADS_SPLIT_ROWS, ... } strads_split;
typedef enum { STRADS_LAYOUT_COLS = 1, STRADS_LAYOUT_ROWS, ... } strads_layout;
typedef enum { STRADS_F64, STRADS_F32, STRADS_I32, STRADS_I64, ... }
    strads_scalar;
typedef enum { STRADS_END_CONVERGED, ... } strads_end;
const char *strads_error_text(void);
const char *strads_version(void);
strads_err strads_fail_text(int err, const char *text);

typedef struct strads_names strads_names;
strads_err strads_names_new(strads_names **);
void strads_names_free(strads_names *);
strads_err strads_names_add(strads_names *, const char *, size_t, uint32_t *);
double strads_random_unit(uint64_t, uint64_t, uint64_t, uint64_t);
uint32_t strads_names_count(const strads_names *);
const char *strads_names_at(const strads_names *, uint32_t);

/* data */
typedef struct strads_data strads_data;
typedef struct strads_arrays {
    size_t size;
    uint64_t rows, cols;
    bool by_row, borrow;
    const void *start;
    strads_scalar starts;
    const void *index;
    strads_scalar indices;
    const void *value;
    strads_scalar values;
    const double *label;
    ...;
} strads_arrays;
typedef struct strads_data_options {
    size_t size;
    uint32_t partitions;
    strads_scalar values;
    strads_kind kind;
    const char *labels_path;
    const strads_names *col_names, *label_names;
    bool named_labels;
    uint64_t partition_entries;
    const uint64_t *row_bounds;
    strads_layout layout;
    const strads_names *stop_words;
    const char *stop_language;
    uint32_t min_df;
    double max_df;
    bool trim_words;
    const strads_names *phrases;
    ...;
} strads_data_options;
typedef struct strads_range { uint64_t begin, end; } strads_range;
typedef struct strads_sparse {
    uint64_t lines, nnz;
    const uint64_t *start;
    const uint32_t *index;
    const double *f64;
    const float *f32;
} strads_sparse;
typedef struct strads_share {
    uint32_t partition, partitions;
    strads_range rows, cols;
    strads_sparse by_col, by_row;
    const double *label;
    ...;
} strads_share;
strads_err strads_data_from_arrays(const strads_arrays *,
                                   const strads_data_options *, strads_data **);
strads_err strads_data_read(const char *, const strads_data_options *,
                            strads_data **);
strads_err strads_data_find_phrases(const char *, const strads_data_options *,
                                    uint32_t, strads_names **);
void strads_data_free(strads_data *);
strads_err strads_data_time(strads_data *, strads_data *);
uint32_t strads_data_partitions(const strads_data *);
const strads_names *strads_data_col_names(const strads_data *);
const strads_share *strads_data_share(const strads_data *, uint32_t);
strads_err strads_data_weigh(strads_data *, const double *, uint64_t);
uint64_t strads_data_rows(const strads_data *);
uint64_t strads_data_cols(const strads_data *);
uint64_t strads_data_bytes(const strads_data *);

/* packs */
typedef enum { STRADS_PACK_EXACT, STRADS_PACK_F16, STRADS_PACK_F32, ... }
    strads_pack_values;
typedef struct strads_pack_options {
    size_t size;
    strads_pack_values values;
    const double *weight;
    ...;
} strads_pack_options;
typedef struct strads_pack_result {
    size_t size;
    uint64_t rows, cols, nnz, chunks, file_bytes;
    strads_pack_values values;
    ...;
} strads_pack_result;
typedef struct strads_pack strads_pack;
strads_err strads_pack_files(const char *const *, size_t, const char *,
                             const strads_data_options *,
                             const strads_pack_options *,
                             strads_pack_result *);
strads_err strads_pack_write(const strads_data *, const char *,
                             const strads_pack_options *,
                             strads_pack_result *);
strads_err strads_pack_open(const char *, strads_pack **);
void strads_pack_free(strads_pack *);
void strads_pack_describe(const strads_pack *, strads_pack_result *);
strads_err strads_pack_count(const strads_pack *, uint64_t, uint64_t,
                             uint64_t *);
strads_err strads_pack_columns(const strads_pack *, uint64_t, uint64_t,
                               uint32_t *, double *);
strads_err strads_pack_moments(const strads_pack *, uint64_t, uint64_t,
                               double *, double *);
const double *strads_pack_labels(const strads_pack *);
const double *strads_pack_weights(const strads_pack *);
const strads_names *strads_pack_label_names(const strads_pack *);
const strads_names *strads_pack_col_names(const strads_pack *);

/* programs */
typedef struct strads_store strads_store;
typedef struct strads_session strads_session;
typedef struct strads_block {
    uint64_t id;
    uint32_t n, first;
    const uint32_t *param;
    uint32_t owner;
    ...;
} strads_block;
typedef struct strads_change {
    uint64_t version;
    uint32_t n;
    const uint32_t *param;
    const double *change;
    ...;
} strads_change;
typedef struct strads_shape {
    uint64_t parameters;
    uint32_t width, block_max;
    uint64_t rows, cols;
    uint32_t partitions;
    ...;
} strads_shape;
typedef struct strads_task {
    const strads_share *share;
    void *local;
    const void *config;
    strads_store *store;
    uint64_t seed, round;
    uint32_t width;
    strads_block block;
    double *value;
    double *partial;
    size_t partial_bytes;
    const strads_shape *shape;
    ...;
} strads_task;
typedef struct strads_commit {
    void *state;
    const void *config;
    strads_store *store;
    uint64_t seed, round;
    uint32_t width;
    strads_block block;
    const double *partial;
    size_t partial_bytes;
    const double *value;
    const strads_change *since;
    uint32_t n_since;
    double *change;
    double *priority;
    ...;
} strads_commit;
#define STRADS_MEASURES ...
typedef struct strads_report {
    double objective, gap;
    uint64_t nonzeros;
    bool stop;
    double measure[...];
} strads_report;
typedef struct strads_program {
    size_t size;
    const char *name;
    const char *summary;
    strads_split split;
    strads_layout layout;
    strads_kind kind;
    strads_scalar values;
    size_t config_size;
    const void *defaults;
    strads_err (*shape)(const void *, const strads_data *, strads_shape *);
    strads_err (*tables)(const void *, const strads_shape *, strads_store *);
    strads_err (*begin)(const void *, const strads_data *, const strads_shape *,
                        void **);
    void (*end)(void *);
    strads_err (*open)(const strads_task *, void **);
    void (*close)(void *);
    strads_err (*refresh)(strads_task *, const strads_change *, uint32_t);
    size_t (*partial)(const strads_task *);
    strads_err (*update)(strads_task *);
    strads_err (*aggregate)(strads_commit *);
    strads_err (*objective)(void *, strads_report *);
    strads_err (*run)(strads_task *, strads_session *);
    ...;
} strads_program;
const strads_program *strads_program_find(const char *);
bool strads_loop_ends(const strads_task *);
void strads_loop_report(const strads_task *, const strads_report *);

/* store and sessions */
typedef struct strads_table_spec {
    const char *name;
    uint64_t rows;
    uint32_t cols;
    strads_scalar type;
    bool sparse;
    ...;
} strads_table_spec;
strads_err strads_store_create(strads_store *, const strads_table_spec *,
                               uint32_t *);
strads_err strads_store_find(const strads_store *, const char *, uint32_t *);
const strads_table_spec *strads_store_spec(const strads_store *, uint32_t);
strads_err strads_session_read_rows(strads_session *, uint32_t, uint32_t,
                                    const uint32_t *, uint32_t, void *);
strads_err strads_session_inc(strads_session *, uint32_t, uint64_t, uint32_t,
                              double);
strads_err strads_session_inc_row(strads_session *, uint32_t, uint64_t,
                                  const void *);
strads_err strads_session_clock(strads_session *);
strads_err strads_session_flush(strads_session *);
strads_err strads_session_barrier(strads_session *);
uint32_t strads_session_worker(const strads_session *);
uint32_t strads_session_workers(const strads_session *);
uint64_t strads_session_now(const strads_session *);

/* engine */
typedef struct strads_result strads_result;
typedef struct strads_progress {
    uint64_t round;
    double seconds, cpu_seconds, objective, gap;
    uint64_t nonzeros;
    uint64_t updates_policy, updates_other;
    ...;
} strads_progress;
typedef struct strads_engine_options {
    size_t size;
    uint32_t workers, partitions;
    const char *policy;
    uint32_t depth, blocks, schedulers;
    double threshold, tolerance;
    uint64_t max_rounds;
    double time_limit;
    uint64_t seed;
    bool deterministic;
    uint32_t pools;
    const char *listen, *token_file;
    uint32_t nodes;
    double reconnect;
    uint64_t n_start;
    const uint32_t *start_param;
    const double *start_value;
    void (*progress)(void *, const strads_progress *);
    void *progress_arg;
    const volatile bool *stop;
    ...;
} strads_engine_options;
strads_err strads_run_cut(const strads_program *, const void *,
                          const strads_engine_options *, strads_data_options *);
strads_err strads_run(const strads_program *, const void *, const strads_data *,
                      const strads_engine_options *, strads_result **);
typedef struct strads_engine strads_engine;
typedef struct strads_join_options {
    size_t size;
    uint32_t workers;
    const char *listen;
    const strads_program *(*find)(void *, const char *);
    void *find_arg;
    const volatile bool *stop;
    const char *token_file;
    ...;
} strads_join_options;
strads_err strads_engine_listen(const strads_program *, const void *,
                                const strads_engine_options *,
                                strads_engine **);
strads_err strads_engine_join(const char *, const strads_join_options *,
                              strads_engine **);
const char *strads_engine_url(const strads_engine *);
strads_err strads_engine_keep(strads_engine *, strads_data_options *);
strads_err strads_data_from_part(strads_engine *, const strads_arrays *,
                                 const strads_data_options *, strads_data **);
strads_err strads_engine_run(strads_engine *, const strads_data *,
                             strads_result **);
void strads_engine_free(strads_engine *);
void strads_result_free(strads_result *);
strads_end strads_result_end(const strads_result *);
const strads_progress *strads_result_progress(const strads_result *);
uint32_t strads_result_partitions(const strads_result *);
const double *strads_result_values(const strads_result *, uint64_t *,
                                   uint32_t *);
uint64_t strads_result_coefficients(const strads_result *);
void *strads_result_state(const strads_result *);

/* models */
typedef struct strads_model_fit {
    double objective, gap;
    uint64_t rounds;
    double seconds;
    uint64_t seed;
    uint32_t partitions;
    ...;
} strads_model_fit;
typedef struct strads_baseline {
    uint64_t n;
    const uint32_t *stratum;
    const double *time, *hazard;
} strads_baseline;
typedef struct strads_model {
    const char *program;
    uint64_t columns;
    uint32_t width;
    double intercept;
    const double *intercepts;
    uint64_t n;
    const uint32_t *index;
    const double *value;
    const char *options;
    strads_model_fit fit;
    const strads_names *names;
    const double *means;
    const char *target;
    strads_baseline baseline;
    uint32_t n_thresholds;
    const double *thresholds;
    ...;
} strads_model;
strads_err strads_model_write(const strads_model *, const char *);
strads_err strads_model_read(const char *, const char *, strads_model **);
void strads_model_free(strads_model *);

/* linear models */
typedef struct strads_path_point {
    double lambda, objective, gap, intercept, deviance;
    uint64_t nonzeros, round;
    const uint32_t *index;
    const double *value;
    ...;
} strads_path_point;
typedef struct strads_glm_options {
    const char *loss, *penalty, *classes;
    double loss_parameter, lambda, lambda_ratio, l1_ratio, gamma, lower, upper;
    bool intercept, standardize;
    const double *row_weight, *row_offset, *penalty_factor, *start_intercept;
    const uint32_t *column_group, *row_stratum;
    ...;
} strads_glm_options;
typedef struct strads_glm_path_options {
    strads_glm_options fit;
    uint32_t points;
    double ratio, first;
    const double *lambda;
    ...;
} strads_glm_path_options;
const strads_path_point *strads_glm_path(const void *, uint32_t *);
double strads_glm_lambda_max(const void *);
bool strads_glm_separable(const void *);
const double *strads_glm_intercepts(const void *);
const strads_baseline *strads_glm_baseline(const void *);
const double *strads_glm_thresholds(const void *, uint32_t *);
strads_err strads_glm_loss(const strads_glm_options *, uint64_t,
                           const double *, const double *, double *);
double strads_glm_mean(const char *, double);
bool strads_glm_classifies(const char *);
typedef struct strads_glm_relax_options {
    strads_glm_options fit;
    double share;
    const volatile bool *stop;
    ...;
} strads_glm_relax_options;
strads_err strads_glm_relax(const strads_data *,
                            const strads_glm_relax_options *,
                            const strads_path_point *, uint32_t,
                            strads_path_point *);
void strads_glm_relaxed_free(strads_path_point *, uint32_t);
typedef struct strads_glm_adaptive_options {
    strads_glm_options fit;
    double gamma;
    const double *first;
    uint32_t threads;
    uint64_t seed;
    const volatile bool *stop;
    ...;
} strads_glm_adaptive_options;
strads_err strads_glm_adaptive(const strads_data *,
                               const strads_glm_adaptive_options *, double *);
typedef struct strads_glm_dispersion {
    double value, dof;
    bool estimated;
} strads_glm_dispersion;
strads_err strads_glm_errors(const strads_data *, const strads_glm_options *,
                             const double *, double, double *,
                             strads_glm_dispersion *);

typedef struct strads_logistic_options {
    double lambda, lambda_ratio, c, l1_ratio;
    bool intercept, standardize;
    const char *multiclass, *classes;
    const double *row_weight;
    const double *start_intercept;
    ...;
} strads_logistic_options;
bool strads_logistic_suits_dual(const strads_logistic_options *,
                                const strads_data *);

typedef struct strads_svm_options {
    const char *loss, *classes;
    double c, bias;
    bool intercept, standardize;
    double epsilon;
    const double *row_weight;
    ...;
} strads_svm_options;
typedef struct strads_svm_l1_options {
    strads_logistic_options fit;
    const char *loss;
    ...;
} strads_svm_l1_options;
const double *strads_svm_intercepts(const void *);
uint64_t strads_svm_supports(const void *);

/* topics */
typedef struct strads_lda_options {
    uint32_t topics;
    double alpha, beta;
    uint32_t sweeps, evaluate;
    const char *fit_alpha;
    bool fit_beta;
    uint32_t burn_in, samples;
    const char *seed_words;
    double seed_weight;
    const char *scratch;
    ...;
} strads_lda_options;
typedef struct strads_lda_model {
    uint32_t topics;
    uint64_t words, documents, tokens;
    double *alpha;
    double beta, log_likelihood;
    uint64_t *total;
    uint64_t *start;
    uint32_t *topic, *count;
    strads_names *names;
    uint32_t samples;
    strads_names *phrases;
    char **topic_name;
    bool word_ids, network;
    double hold_out;
    uint64_t seed;
    uint32_t classes;
    strads_names *labels;
    double *weight;
    ...;
} strads_lda_model;
typedef struct strads_lda_ending {
    uint64_t sweeps;
    uint32_t samples;
    bool flat;
} strads_lda_ending;
strads_lda_ending strads_lda_ending_of(const strads_result *);
typedef struct strads_lda_words {
    uint32_t n;
    const uint32_t *word, *count;
    ...;
} strads_lda_words;
typedef struct strads_lda_draws {
    uint32_t sweeps, burn_in;
    uint64_t seed;
    ...;
} strads_lda_draws;
typedef struct strads_lda_score {
    uint64_t tokens;
    double log_likelihood;
    ...;
} strads_lda_score;
strads_err strads_lda_model_from_result(const strads_result *,
                                        strads_lda_model **);
void strads_lda_model_free(strads_lda_model *);
strads_err strads_lda_model_write(const strads_lda_model *, const char *,
                                  const char *);
strads_err strads_lda_model_read(const char *, strads_lda_model **);
strads_err strads_lda_infer(const strads_lda_model *, const strads_lda_draws *,
                            const strads_lda_words *, double *);
strads_err strads_lda_complete(const strads_lda_model *,
                               const strads_lda_draws *,
                               const strads_lda_words *, strads_lda_score *);
strads_err strads_lda_top_words(const strads_lda_model *, double, uint32_t,
                                uint32_t *, double *);
strads_err strads_lda_merge(const strads_lda_model *, double, uint32_t *,
                            strads_lda_model **);
strads_err strads_lda_frex(const strads_lda_model *, double, uint32_t,
                           uint32_t *, double *);

/* factors */
typedef struct strads_mf_options {
    const char *method;
    uint32_t rank, sweeps;
    double step, lambda;
    bool unweighted;
    double holdout;
    uint32_t patience;
    bool no_biases, no_clip, implicit, nonnegative;
    double alpha;
    uint32_t tune, cg_steps;
    const char *loss;
    const char *scratch;
    const char *time, *holdout_by;
    ...;
} strads_mf_options;
typedef struct strads_mf_periods {
    bool any;
    double first, last;
    double bias[...];
} strads_mf_periods;
const strads_mf_periods *strads_mf_times(const void *);
typedef struct strads_mf_trial {
    uint32_t rank;
    double lambda, step;
    uint32_t sweep;
    double rmse, seconds;
    ...;
} strads_mf_trial;
typedef struct strads_mf_tuning {
    strads_mf_options options;
    uint64_t ratings;
    uint32_t trials, best;
    strads_mf_trial trial[...];
    ...;
} strads_mf_tuning;
const float *strads_mf_users(const void *);
double strads_mf_mean(const void *);
double strads_mf_lift(const void *);
double strads_mf_raise(const void *);
double strads_mf_damping(const void *);
void strads_mf_range(const void *, double *, double *);
strads_err strads_mf_tune(const strads_mf_options *, const strads_data *,
                          const strads_engine_options *, strads_mf_tuning *);
double strads_mf_penalty(const void *);
const strads_mf_options *strads_mf_resolved(const void *);
void strads_mf_errors(const void *, double *, double *, double *);
typedef struct strads_mf_factors {
    uint64_t users, items;
    uint32_t rank;
    double mean;
    const float *user, *item;
    double penalty;
    bool no_biases, nonnegative, implicit, unweighted;
    double alpha, lift, raise, damping;
    ...;
} strads_mf_factors;
typedef struct strads_recommender strads_recommender;
typedef struct strads_scored { uint32_t item; float score; } strads_scored;
strads_err strads_recommender_new(const strads_mf_factors *,
                                  strads_recommender **);
void strads_recommender_free(strads_recommender *);
strads_err strads_recommender_fold(strads_recommender *, uint32_t,
                                   const uint32_t *, const float *, float *);
void strads_recommender_hide(strads_recommender *, uint64_t, const uint32_t *);
typedef struct strads_top_users {
    size_t size;
    uint64_t n;
    const float *row;
    const uint64_t *start, *end;
    const uint32_t *seen;
    ...;
} strads_top_users;
strads_err strads_recommender_top_many(strads_recommender *,
                                       const strads_top_users *, uint32_t,
                                       strads_scored *, uint32_t *);

/* machines */
typedef struct strads_fm_options {
    const char *loss;
    uint32_t rank, sweeps;
    double lambda, lambda_factors;
    const char *method;
    double step;
    uint32_t context;
    ...;
} strads_fm_options;
const strads_fm_options *strads_fm_resolved(const void *);
const double *strads_fm_intercepts(const void *);

/* what the engine calls in Python */
extern "Python" {
    void py_progress(void *, const strads_progress *);
    const strads_program *py_find(void *, const char *);
    strads_err py_shape(const void *, const strads_data *, strads_shape *);
    strads_err py_tables(const void *, const strads_shape *, strads_store *);
    strads_err py_begin(const void *, const strads_data *,
                        const strads_shape *, void **);
    strads_err py_open(const strads_task *, void **);
    void py_close(void *);
    strads_err py_refresh(strads_task *, const strads_change *, uint32_t);
    size_t py_partial(const strads_task *);
    strads_err py_update(strads_task *);
    strads_err py_aggregate(strads_commit *);
    strads_err py_objective(void *, strads_report *);
    strads_err py_run(strads_task *, strads_session *);
}
""")


ffi.set_source(
    "strads._strads",
    """
    #include <strads/strads.h>
    #include <strads/fm.h>
    #include <strads/glm.h>
    #include <strads/lda.h>
    #include <strads/logistic.h>
    #include <strads/mf.h>
    #include <strads/pack.h>
    #include <strads/recommend.h>
    #include <strads/svm.h>
    static strads_err strads_fail_text(int err, const char *text)
    {
        return strads_fail((strads_err)err, "%s", text);
    }
    """)
