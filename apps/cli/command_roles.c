/* strads roles: finds the roles of a network's nodes; evaluates and shows them,
 * and predicts links. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli_documents.h"
#include "cli_number_search.h"
#include "cli_options.h"
#include "cli_train.h"
#include "strads/network.h"

/* ---- train --------------------------------------------------------------- */

static strads_err write_roles_model(const cli_trained *trained,
                                    const char *path)
{
    strads_lda_model *model = NULL;
    CLI_TRY(strads_lda_model_from_result(trained->result, &model));
    model->seed = trained->seed;
    strads_err err =
        cli_words_names(trained->data, "the network", NULL, &model->names);
    if (!err)
        err = strads_lda_model_write(model, trained->options, path);
    strads_lda_model_free(model);
    return err;
}

/* ---- the number of roles ------------------------------------------------- */

/* Trials of numbers of roles on the network without a tenth of its links. The
 * numbers grow by sqrt 2 until two in a row predict those links no better. */
enum { TRIAL_SWEEPS = 50, LEAST_ROLES = 5, MOST_ROLES = 65535 };
static const double LEAST_GAIN = 2e-3; /* of the average precision */

/* Links up to which a given number is compared with its half and double. */
static const uint64_t CHECKED_LINKS = 100000;

typedef struct roles_training {
    cli_use use;
    const char *path;
    strads_data *graph;
    cli_number_search search;
} roles_training;

/* Set before the data is read, because `tunes` has the program's options alone.
 */
static bool chooses_roles;

static strads_err check_roles(void *state, void *config)
{
    strads_lda_options *o = config;
    (void)state;
    chooses_roles = o->topics == 0;
    if (chooses_roles)
        o->topics =
            ((const strads_lda_options *)strads_program_roles.defaults)->topics;
    return STRADS_OK;
}

static bool tunes_roles(const void *state, const void *config)
{
    (void)state;
    (void)config;
    return chooses_roles;
}

static strads_err keep_path(void *state, const char *path,
                            strads_data_options *options)
{
    roles_training *t = state;
    (void)options;
    t->path = path;
    return STRADS_OK;
}

/* Reads the network once more, by row and column in one part. */
static strads_err read_for_trials(roles_training *t,
                                  const strads_engine_options *engine)
{
    const strads_data_options options = {.size = sizeof options,
                                         .kind = STRADS_KIND_GRAPH,
                                         .layout = STRADS_LAYOUT_BOTH,
                                         .values = STRADS_F32,
                                         .memory_limit = engine->memory,
                                         .threads = engine->workers};
    if (!cli_is_read_twice(t->path)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is not a plain file, and --roles auto reads "
                           "the network twice: give a file, or a number",
                           t->path);
    }
    return strads_data_read(t->path, &options, &t->graph);
}

static strads_err judge_roles(void *state, const strads_lda_model *model,
                              cli_trial *trial)
{
    const roles_training *t = state;
    strads_roles_links links;
    const strads_err err =
        strads_roles_judge(model, t->graph, NULL, t->search.engine->seed,
                           t->search.options.hold_out, &links);
    if (err == STRADS_EINVAL) {
        return strads_fail(err,
                           "%s: has too few links to choose --roles by: give "
                           "a number",
                           t->path);
    }
    CLI_TRY(err);
    trial->score = trial->measure[0] = links.average_precision;
    trial->measure[1] = links.auc;
    return STRADS_OK;
}

/* Tries a given number, its double and its half. */
static strads_err compare_number(cli_number_search *s, uint32_t given)
{
    s->chosen = given;
    CLI_TRY(cli_number_try(s, given));
    if (given <= MOST_ROLES / 2 && !s->stopped)
        CLI_TRY(cli_number_try(s, 2 * given));
    if (given >= 4 && !s->stopped)
        CLI_TRY(cli_number_try(s, given / 2));
    for (uint32_t k = 1; k < s->trials; k++) {
        const double gain = s->trial[k].score - s->trial[s->best].score;
        const bool fewer = s->trial[k].number < given;
        if (gain > (fewer ? 1 : 2) * s->gain)
            s->best = k;
    }
    return STRADS_OK;
}

static void tell_better(const cli_number_search *s)
{
    const cli_trial *best = &s->trial[s->best];
    if (s->best == 0 || s->stopped)
        return;
    cli_say(false,
            "%" PRIu32 " roles predict held-out links better than %" PRIu32
            " (average precision %.4f and %.4f): --roles auto chooses",
            best->number, s->chosen, best->score, s->trial[0].score);
}

static strads_err tune_roles(void *state, void *config, const strads_data *data,
                             const strads_engine_options *engine, bool quiet)
{
    roles_training *t = state;
    strads_lda_options *o = config;
    cli_number_search *s = &t->search;
    const bool small = strads_data_nnz(data) / 2 <= CHECKED_LINKS;
    if (!chooses_roles && (quiet || !small || !cli_is_read_twice(t->path)))
        return STRADS_OK;
    CLI_TRY(read_for_trials(t, engine));
    *s = (cli_number_search){.program = &strads_program_roles,
                             .unit = "roles",
                             .measure = {"average_precision", "auc"},
                             .first = LEAST_ROLES,
                             .last = MOST_ROLES,
                             .growth = sqrt(2),
                             .gain = LEAST_GAIN,
                             .options = *o,
                             .data = t->graph,
                             .engine = engine,
                             .judge = judge_roles,
                             .state = t};
    if (o->sweeps > TRIAL_SWEEPS)
        s->options.sweeps = TRIAL_SWEEPS;
    if (!(o->hold_out > 0))
        s->options.hold_out = 0.1;
    if (!chooses_roles) {
        /* A comparison is advice: the run does not need it. It fails, for
         * example, if the network is too small to hold links out. */
        if (!compare_number(s, o->topics))
            tell_better(s);
        return STRADS_OK;
    }
    CLI_TRY(cli_number_choose(s));
    o->topics = s->chosen;
    if (s->stopped)
        return STRADS_OK;
    cli_say(quiet,
            "chosen: %" PRIu32 " roles, for an average precision of %.4f of "
            "held-out links, the best of %" PRIu32 " fits",
            o->topics, s->trial[s->best].score, s->trials);
    return STRADS_OK;
}

static strads_err log_role_trials(void *state, cli_log *log)
{
    cli_number_log(&((const roles_training *)state)->search, log);
    return STRADS_OK;
}

static const cli_train train = {
    .program = &strads_program_roles,
    .options = "Roles:",
    .size = sizeof(roles_training),
    .check = check_roles,
    .read = keep_path,
    .tunes = tunes_roles,
    .tune = tune_roles,
    .tell = log_role_trials,
    .write = write_roles_model,
};

/* ---- a model and a network ----------------------------------------------- */

typedef struct network {
    strads_lda_model *model;
    strads_data *graph, *held; /* NULL: not read */
} network;

static strads_err read_roles_model(const char *path, network *n)
{
    CLI_TRY(strads_lda_model_read(path, &n->model));
    return n->model->network
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s: is a model of topics, expected one of roles, "
                             "as `strads roles train` writes it",
                             path);
}

/* Links between the model's nodes, by row; links of other nodes are dropped. */
static strads_err read_links(const char *path, const strads_lda_model *model,
                             const cli_use *use, strads_data **out)
{
    const strads_data_options options = {.size = sizeof options,
                                         .kind = STRADS_KIND_GRAPH,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .values = STRADS_F32,
                                         .memory_limit = use->memory,
                                         .threads = use->workers,
                                         .row_names = model->names,
                                         .col_names = model->names};
    CLI_TRY(strads_data_read(path, &options, out));
    if (!model->names && strads_data_row_names(*out)) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: its nodes have names, the model's are numbers: "
                           "give MatrixMarket, as it was trained on",
                           path);
    }
    if (strads_data_rows(*out) != model->words) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: has %" PRIu64 " nodes, the model %" PRIu64
                           ": expected as many",
                           path, strads_data_rows(*out), model->words);
    }
    if (strads_data_unknown(*out) > 0) {
        cli_say(use->quiet,
                "%s: %" PRIu64 " links are of nodes that the model does not "
                "know, and were left out",
                path, strads_data_unknown(*out));
    }
    return STRADS_OK;
}

/* ---- evaluate ------------------------------------------------------------ */

typedef struct evaluation {
    cli_use use;
    const char *communities, *held_out;
    double threshold;
    network n;
    strads_groups roles, known;
    strads_roles_links links;
    double nmi;
} evaluation;

static const strads_option evaluate_table[] = {
    CLI_TEXT(evaluation, communities, "communities", "FILE",
             "known groups, lines `node group group ...` (none)"),
    CLI_TEXT(evaluation, held_out, "held-out", "FILE",
             "links to predict (default: what training held out)"),
    CLI_F64(evaluation, threshold, "threshold", "T",
            "least share of a member's links in its role (default: 0.1)", 0, 1),
    {.name = NULL},
};

static strads_err compare_groups(evaluation *e)
{
    const strads_lda_model *m = e->n.model;
    uint64_t unknown = 0;
    CLI_TRY(strads_groups_read(e->communities, m->words, m->names, &e->known,
                               &unknown));
    if (unknown > 0) {
        cli_say(e->use.quiet,
                "%s: %" PRIu64 " nodes are not in the network, and were left "
                "out",
                e->communities, unknown);
    }
    CLI_TRY(strads_roles_members(m, e->threshold, &e->roles));
    return strads_groups_nmi(m->words, &e->roles, &e->known, &e->nmi);
}

static strads_err evaluate_links(void *state, const char *const *path)
{
    evaluation *e = state;
    CLI_TRY(read_roles_model(path[0], &e->n));
    const strads_lda_model *m = e->n.model;
    const bool links = e->held_out || m->hold_out > 0;
    if (!links && !e->communities) {
        return strads_fail(
            STRADS_EINVAL,
            "nothing to compare the roles with: give --communities FILE or "
            "--held-out FILE, or train with --hold-out");
    }
    CLI_TRY(read_links(path[1], m, &e->use, &e->n.graph));
    if (e->held_out)
        CLI_TRY(read_links(e->held_out, m, &e->use, &e->n.held));
    if (e->communities)
        CLI_TRY(compare_groups(e));
    return links ? strads_roles_judge(m, e->n.graph, e->n.held, m->seed,
                                      m->hold_out, &e->links)
                 : STRADS_OK;
}

enum { MOST_FIGURES = 9 };

static strads_err put_link_evaluation(void *state, FILE *out)
{
    const evaluation *e = state;
    const strads_lda_model *m = e->n.model;
    cli_measure measure[MOST_FIGURES];
    uint32_t n = 0;
    measure[n++] = cli_figure("nodes", NULL, (double)m->words);
    measure[n++] = cli_figure("roles", NULL, m->topics);
    if (e->communities) {
        measure[n++] = cli_figure("communities", NULL, (double)e->known.n);
        measure[n++] = cli_figure("nmi", NULL, e->nmi);
    }
    if (e->links.links > 0) {
        const strads_roles_links *l = &e->links;
        measure[n++] = cli_figure("links", NULL, (double)l->links);
        measure[n++] = cli_figure("links_left_out", NULL, (double)l->left_out);
        measure[n++] = cli_figure("auc", NULL, l->auc);
        measure[n++] =
            cli_figure("average_precision", NULL, l->average_precision);
        measure[n++] =
            cli_figure("common_neighbours_auc", NULL, l->common_neighbours_auc);
    }
    return cli_measures_write(out, &e->use.out, measure, n);
}

static const cli_verb evaluate_verb = {
    .size = sizeof(evaluation),
    .initial = &(const evaluation){.threshold = .1},
    .table = evaluate_table,
    .usual = "json",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = evaluate_links,
    .write = put_link_evaluation,
};

/* ---- show ---------------------------------------------------------------- */

typedef struct shown {
    cli_use use;
    const char *of;
    uint32_t top;
    network n;
    uint32_t *node; /* [roles x top] */
    double *score;
} shown;

static const strads_option show_table[] = {
    CLI_CHOICE(shown, of, "of", "WHAT",
               "roles: their first members; nodes: their shares (roles)",
               "roles|nodes"),
    CLI_U32(shown, top, "top", "N", "members of each role (default: 10)", 1,
            1e6),
    {.name = NULL},
};

static strads_err show_roles(void *state, const char *const *path)
{
    shown *s = state;
    CLI_TRY(read_roles_model(path[0], &s->n));
    if (strcmp(s->of, "nodes") == 0)
        return STRADS_OK;
    const size_t n = (size_t)s->n.model->topics * s->top;
    CLI_TRY(cli_reserve(n, sizeof *s->node, "members", &s->node));
    CLI_TRY(cli_reserve(n, sizeof *s->score, "members", &s->score));
    return strads_lda_top_words(s->n.model, 1, s->top, s->node, s->score);
}

/* The share of a node's links that are in a role; *all is the number of its
 * links. */
static double share_of(const strads_lda_model *m, uint32_t node, uint32_t role,
                       double *all)
{
    double in_role = 0;
    *all = 0;
    for (uint64_t i = m->start[node]; i < m->start[node + 1]; i++) {
        *all += m->count[i];
        in_role += m->topic[i] == role ? m->count[i] : 0;
    }
    return *all > 0 ? in_role / *all : 0;
}

static strads_err put_members(const shown *s, FILE *out)
{
    const strads_lda_model *m = s->n.model;
    const cli_column columns[] = {{"role", CLI_COUNT, 0},
                                  {"rank", CLI_COUNT, 0},
                                  cli_id_column("node", m->names),
                                  {"share", CLI_NUMBER, 0},
                                  {"links", CLI_NUMBER, 0}};
    const size_t n = (size_t)m->topics * s->top;
    cli_table t = {.column = columns, .n = 5, .digits = 9, .gap = "\t"};
    for (size_t i = 0; i < n; i++)
        t.rows += s->node[i] != STRADS_LDA_NO_WORD;
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    for (size_t i = 0; i < n; i++) {
        double all;
        const uint32_t role = (uint32_t)(i / s->top);
        if (s->node[i] == STRADS_LDA_NO_WORD)
            continue;
        const double share = share_of(m, s->node[i], role, &all);
        cli_table_count(&t, role);
        cli_table_count(&t, i % s->top + 1);
        cli_table_id(&t, m->names, s->node[i], 1);
        cli_table_number(&t, share);
        cli_table_number(&t, all / 2);
    }
    return STRADS_OK;
}

static strads_err put_shares(const shown *s, FILE *out)
{
    const strads_lda_model *m = s->n.model;
    const cli_column columns[] = {cli_id_column("node", m->names),
                                  {"role", CLI_NUMBER, m->topics}};
    const bool npy = cli_format_of(&s->use.out) == CLI_FORMAT_NPY;
    cli_table t = {.column = npy ? columns + 1 : columns,
                   .n = npy ? 1 : 2,
                   .rows = m->words,
                   .digits = 9};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    for (uint32_t u = 0; u < m->words; u++) {
        double all;
        uint64_t i = m->start[u];
        (void)share_of(m, u, 0, &all);
        if (!npy)
            cli_table_id(&t, m->names, u, 1);
        for (uint32_t k = 0; k < m->topics; k++) {
            const bool has = i < m->start[u + 1] && m->topic[i] == k;
            cli_table_number(&t, has ? m->count[i++] / all : 0);
        }
    }
    return STRADS_OK;
}

static strads_err put_roles(void *state, FILE *out)
{
    const shown *s = state;
    return strcmp(s->of, "nodes") == 0 ? put_shares(s, out)
                                       : put_members(s, out);
}

static const cli_verb show_verb = {
    .size = sizeof(shown),
    .initial = &(const shown){.of = "roles", .top = 10},
    .table = show_table,
    .usual = "text",
    .read = show_roles,
    .write = put_roles,
};

/* ---- predict ------------------------------------------------------------- */

typedef struct prediction {
    cli_use use;
    network n; /* graph: the pairs to score */
    uint64_t pairs;
    uint32_t *u, *v;
    double *score;
} prediction;

static strads_err predict_links(void *state, const char *const *path)
{
    prediction *p = state;
    CLI_TRY(read_roles_model(path[0], &p->n));
    CLI_TRY(read_links(path[1], p->n.model, &p->use, &p->n.graph));
    const strads_sparse *x = &strads_data_share(p->n.graph, 0)->by_row;
    CLI_TRY(cli_reserve(x->nnz + 1, sizeof *p->u, "pairs", &p->u));
    CLI_TRY(cli_reserve(x->nnz + 1, sizeof *p->v, "pairs", &p->v));
    CLI_TRY(cli_reserve(x->nnz + 1, sizeof *p->score, "pairs", &p->score));
    for (uint32_t u = 0; u < x->lines; u++) {
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            if (u < x->index[e]) {
                p->u[p->pairs] = u;
                p->v[p->pairs++] = x->index[e];
            }
        }
    }
    return strads_roles_score(p->n.model, p->pairs, p->u, p->v, p->score);
}

static strads_err put_link_predictions(void *state, FILE *out)
{
    const prediction *p = state;
    const strads_lda_model *m = p->n.model;
    const cli_column columns[] = {cli_id_column("u", m->names),
                                  cli_id_column("v", m->names),
                                  {"score", CLI_NUMBER, 0}};
    cli_table t = {.column = columns, .n = 3, .rows = p->pairs, .gap = "\t"};
    CLI_TRY(cli_table_begin(&t, &p->use.out, out));
    for (uint64_t i = 0; i < p->pairs; i++) {
        cli_table_id(&t, m->names, p->u[i], 1);
        cli_table_id(&t, m->names, p->v[i], 1);
        cli_table_number(&t, p->score[i]);
    }
    return STRADS_OK;
}

static const cli_verb predict_verb = {
    .size = sizeof(prediction),
    .usual = "text",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = predict_links,
    .write = put_link_predictions,
};

/* ---- the commands -------------------------------------------------------- */

const cli_command cli_roles_commands[] = {
    {.name = "roles train",
     .args = "GRAPH",
     .summary = "find the roles of a network's nodes",
     .about = "Finds roles of a network's nodes, which overlap: lines `u v` or "
              "`u v weight`, or MatrixMarket.",
     .train = &train},
    {.name = "roles evaluate",
     .args = "MODEL GRAPH",
     .summary = "measure its roles by known groups and links",
     .about = "Compares roles with known groups, and measures how well the "
              "model separates held-out links from pairs without a link.",
     .verb = &evaluate_verb},
    {.name = "roles show",
     .args = "MODEL",
     .summary = "list members of its roles, or nodes' shares",
     .about = "Lists the first members of each role, with their share of "
              "links in the role and their number of links; or the shares of "
              "each node.",
     .verb = &show_verb},
    {.name = "roles predict",
     .args = "MODEL PAIRS",
     .summary = "write how many links pairs should have",
     .about = "Writes `u v score` for each pair of nodes in a file like a "
              "network's: how many links the model expects between them.",
     .verb = &predict_verb},
    {.name = NULL},
};
