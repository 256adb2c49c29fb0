/* Roles of a network are compared with the planted ones; links, scores, mutual
 * information and rankings with brute force. Results are bit-identical on any
 * number of workers, over TCP and simulated. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/policy.h"
#include "strads/network.h"
#include "strads/strads.h"
#include "tests/expect.h"
#include "tests/nodes_team.h"

static char folder[] = "/tmp/strads-roles-XXXXXX";
static char path[64];

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/graph", folder);
}

static void end(void)
{
    (void)unlink(path);
    cr_expect_eq(rmdir(folder), 0);
}

TestSuite(roles, .init = begin, .fini = end);

static double unit(uint64_t index, uint64_t draw)
{
    return strads_random_unit(7, 1, index, draw);
}

static strads_data *read_graph(strads_layout layout, uint32_t partitions)
{
    const strads_data_options options = {.size = sizeof options,
                                         .kind = STRADS_KIND_GRAPH,
                                         .layout = layout,
                                         .partitions = partitions,
                                         .values = STRADS_F32};
    strads_data *data = NULL;
    expect_ok(strads_data_read(path, &options, &data));
    return data;
}

/* ---- the reader --------------------------------------------------------- */

enum { NODES = 30, LINES = 400 };

/* In all notations of a line; the last line of a link has its weight. */
static void write_links(uint32_t weight[NODES][NODES])
{
    static const char *const form[] = {"n%u n%u %u\n", "n%u\tn%u\t%u # not\n",
                                       "n%u,n%u,%u\n", "\"n%u\"; \"n%u\";%u\n"};
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fputs("\n# a comment\n% another\nsource,target,weight\n", file);
    for (uint32_t u = 0; u < NODES; u++) /* every node, in order */
        (void)fprintf(file, "n%u n%u\n", u, u);
    for (uint32_t k = 0; k < LINES; k++) {
        const uint32_t u = (uint32_t)(NODES * unit(k, 0));
        const uint32_t v = (uint32_t)(NODES * unit(k, 1));
        const uint32_t w = 1 + (uint32_t)(9 * unit(k, 2));
        (void)fprintf(file, form[k % 4], u, v, w);
        if (u != v)
            weight[u][v] = weight[v][u] = w;
    }
    cr_assert_eq(fclose(file), 0);
}

Test(roles, links_are_read_as_a_plain_loop_reads_them)
{
    uint32_t weight[NODES][NODES] = {{0}};
    write_links(weight);
    strads_data *data = read_graph(STRADS_LAYOUT_ROWS, 1);
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    uint64_t n = 0;
    cr_assert_eq(strads_data_rows(data), NODES);
    cr_assert_eq(strads_data_cols(data), NODES);
    for (uint32_t u = 0; u < NODES; u++) {
        char name[8];
        (void)snprintf(name, sizeof name, "n%u", u);
        cr_assert_str_eq(strads_names_at(strads_data_row_names(data), u), name);
        uint64_t e = x->start[u];
        for (uint32_t v = 0; v < NODES; v++) {
            if (weight[u][v] == 0)
                continue;
            cr_assert_lt(e, x->start[u + 1]);
            cr_expect_eq(x->index[e], v);
            cr_expect_eq((uint32_t)x->f32[e++], weight[u][v]);
            n++;
        }
        cr_expect_eq(e, x->start[u + 1]);
    }
    cr_expect_eq(n, x->nnz);
    cr_expect_eq(strads_data_row_names(data), strads_data_col_names(data));
    strads_data_free(data);
}

Test(roles, a_matrix_of_either_form_is_the_same_network)
{
    static const char *const text[] = {
        "%%MatrixMarket matrix coordinate pattern symmetric\n"
        "4 4 4\n2 1\n3 1\n4 3\n2 2\n",
        "%%MatrixMarket matrix coordinate integer general\n"
        "4 4 5\n1 2 1\n3 1 1\n1 3 1\n3 4 1\n2 2 1\n"};
    for (int k = 0; k < 2; k++) {
        FILE *file = fopen(path, "w");
        cr_assert(file);
        (void)fputs(text[k], file);
        (void)fclose(file);
        strads_data *data = read_graph(STRADS_LAYOUT_ROWS, 1);
        const strads_sparse *x = &strads_data_share(data, 0)->by_row;
        const uint32_t index[] = {1, 2, 0, 0, 3, 2};
        const uint64_t start[] = {0, 2, 3, 5, 6};
        cr_assert_eq(x->nnz, 6, "%d", k);
        cr_expect_eq(memcmp(x->index, index, sizeof index), 0);
        cr_expect_eq(memcmp(x->start, start, sizeof start), 0);
        strads_data_free(data);
    }
}

static void refuse_text(const char *text, const char *says)
{
    const strads_data_options options = {.size = sizeof options,
                                         .kind = STRADS_KIND_GRAPH};
    strads_data *data = NULL;
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fputs(text, file);
    (void)fclose(file);
    cr_expect_neq(strads_data_read(path, &options, &data), STRADS_OK);
    cr_expect_not_null(strstr(strads_error_text(), says),
                       "'%s' does not say '%s'", strads_error_text(), says);
    strads_data_free(data);
}

Test(roles, invalid_networks_are_refused_with_their_line)
{
    refuse_text("a b\nc\n", "line 2: found 'c', expected a link");
    refuse_text("a b\nb c 1.5\n", "line 2: found '1.5', expected a link's "
                                  "weight");
    refuse_text("a b 0\n", "a link's weight");
    refuse_text("a b many\n", "found 'many'");
    refuse_text("# nothing\n", "found no entries, expected at least one link");
    refuse_text("\"a b\n", "expected a link");
    refuse_text("\"a\nb\",c\n", "on one line");
    refuse_text(
        "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 2\n",
        "has 2 rows and 3 columns");
}

/* ---- runs ---------------------------------------------------------------- */

enum { GROUPS = 4, EACH = 25, PLANTED = GROUPS * EACH };

/* Links within a group are far more frequent than between groups. The last
 * node of each group is also in the next group. */
static bool is_member(uint32_t u, uint32_t group)
{
    return u / EACH == group ||
           (u % EACH == EACH - 1 && (u / EACH + 1) % GROUPS == group);
}

static void plant(void)
{
    FILE *file = fopen(path, "w");
    cr_assert(file);
    for (uint32_t u = 0; u < PLANTED; u++)
        for (uint32_t v = u + 1; v < PLANTED; v++) {
            bool together = false;
            for (uint32_t g = 0; g < GROUPS; g++)
                together |= is_member(u, g) && is_member(v, g);
            if (unit(u, v) < (together ? .6 : .02))
                (void)fprintf(file, "%u %u\n", u, v);
        }
    cr_assert_eq(fclose(file), 0);
}

static strads_lda_options planted_options(void)
{
    strads_lda_options o =
        *(const strads_lda_options *)strads_program_roles.defaults;
    o.topics = GROUPS;
    o.sweeps = 60;
    return o;
}

static strads_lda_model *fit(const strads_lda_options *config, uint32_t workers,
                             uint32_t partitions, bool simulated)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = workers,
                                           .partitions = partitions,
                                           .seed = 3};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = workers,
                                    .latency = 1e-5,
                                    .bandwidth = 1e9,
                                    .update_cost = 1e-5,
                                    .jitter = 2};
    strads_data *data = read_graph(STRADS_LAYOUT_COLS, partitions);
    strads_result *result = NULL;
    strads_lda_model *model = NULL;
    expect_ok(simulated ? strads_simulate(&strads_program_roles, config, data,
                                          &options, &sim, &result, NULL)
                        : strads_run(&strads_program_roles, config, data,
                                     &options, &result));
    cr_assert_eq(strads_lda_model_from_result(result, &model), STRADS_OK);
    strads_result_free(result);
    strads_data_free(data);
    return model;
}

static void expect_same(const strads_lda_model *a, const strads_lda_model *b)
{
    const uint64_t n = a->start[a->words];
    cr_assert_eq(n, b->start[b->words]);
    cr_expect_eq(memcmp(a->start, b->start, sizeof *a->start * a->words), 0);
    cr_expect_eq(memcmp(a->topic, b->topic, sizeof *a->topic * n), 0);
    cr_expect_eq(memcmp(a->count, b->count, sizeof *a->count * n), 0);
}

Test(roles, the_bits_are_the_same_on_any_workers_over_tcp_and_simulated)
{
    strads_lda_options config = planted_options();
    config.hold_out = .1;
    config.sweeps = 5;
    plant();
    for (uint32_t topics = 4; topics <= 150; topics += 146) {
        config.topics = topics; /* rows, lists */
        strads_lda_model *alone = fit(&config, 1, 4, false);
        for (uint32_t workers = 2; workers <= 4; workers += 2)
            for (int simulated = 0; simulated < 2; simulated++) {
                strads_lda_model *other = fit(&config, workers, 4, simulated);
                expect_same(alone, other);
                strads_lda_model_free(other);
            }
        team t = {.program = &strads_program_roles,
                  .config = &config,
                  .options = {.partitions = 4, .seed = 3},
                  .nodes = 2,
                  .workers = {1, 2},
                  .path = path};
        strads_lda_model *spread = NULL;
        strads_result *result = expect_team(&t);
        cr_assert_eq(strads_lda_model_from_result(result, &spread), STRADS_OK);
        expect_same(alone, spread);
        strads_lda_model_free(spread);
        strads_result_free(result);
        strads_lda_model_free(alone);
    }
}

/* Both ends of every link that is not held out are counted, at their nodes. */
Test(roles, counts_are_the_links_that_were_trained_on)
{
    strads_lda_options config = planted_options();
    config.hold_out = .3;
    config.sweeps = 2;
    plant();
    strads_lda_model *m = fit(&config, 2, 3, false);
    strads_data *data = read_graph(STRADS_LAYOUT_ROWS, 1);
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    uint64_t held = 0;
    for (uint32_t u = 0; u < PLANTED; u++) {
        uint64_t links = 0, counted = 0;
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const bool is = strads_roles_is_held(3, .3, u, x->index[e]);
            cr_expect_eq(is, strads_roles_is_held(3, .3, x->index[e], u));
            links += !is;
            held += is;
        }
        for (uint64_t i = m->start[u]; i < m->start[u + 1]; i++)
            counted += m->count[i];
        cr_expect_eq(counted, 2 * links, "node %u", u);
    }
    cr_expect_float_eq((double)held / (double)x->nnz, .3, .06);
    cr_expect_eq(m->tokens, 2 * (x->nnz - held));
    strads_data_free(data);
    strads_lda_model_free(m);
}

/* A hub's counts do not fit in 16 bits. */
Test(roles, a_node_may_have_more_than_65535_links)
{
    enum { LEAVES = 150000 };
    FILE *file = fopen(path, "w");
    cr_assert(file);
    for (uint32_t k = 0; k < LEAVES; k++)
        (void)fprintf(file, "hub l%u\n", k);
    (void)fprintf(file, "l0 l1 65535\n");
    (void)fclose(file);
    for (uint32_t topics = 3; topics <= 200; topics += 197) {
        strads_lda_options config = planted_options();
        config.topics = topics;
        config.sweeps = 3;
        strads_lda_model *m = fit(&config, 2, 2, false);
        uint64_t counted[3] = {0};
        for (uint32_t u = 0; u < 3; u++)
            for (uint64_t i = m->start[u]; i < m->start[u + 1]; i++)
                counted[u] += m->count[i];
        cr_expect_eq(counted[0], 2 * LEAVES);
        cr_expect_eq(counted[1], 2 * (1 + 65535));
        cr_expect_eq(counted[2], 2 * (1 + 65535));
        strads_lda_model_free(m);
    }
}

/* ---- measures of a model ------------------------------------------------- */

static double count_of(const strads_lda_model *m, uint32_t u, uint32_t k)
{
    for (uint64_t i = m->start[u]; i < m->start[u + 1]; i++)
        if (m->topic[i] == k)
            return m->count[i];
    return 0;
}

static double score_by_force(const strads_lda_model *m, uint32_t u, uint32_t v)
{
    double sum = 0, degree = 0, a = 0;
    for (uint32_t k = 0; k < m->topics; k++) {
        degree += count_of(m, u, k) / 2;
        a += m->alpha[k];
    }
    for (uint32_t k = 0; k < m->topics; k++)
        sum += (count_of(m, u, k) + m->alpha[k]) / (2 * degree + a) *
               (count_of(m, v, k) + m->beta) /
               ((double)m->total[k] + (double)m->words * m->beta) * degree;
    return sum;
}

Test(roles, scores_are_those_of_the_formula)
{
    strads_lda_options config = planted_options();
    config.sweeps = 3;
    config.topics = 9;
    plant();
    strads_lda_model *m = fit(&config, 1, 1, false);
    for (uint32_t u = 0; u < PLANTED; u += 7)
        for (uint32_t v = 1; v < PLANTED; v += 5) {
            double score = NAN;
            const double want =
                (score_by_force(m, u, v) + score_by_force(m, v, u)) / 2;
            cr_assert_eq(strads_roles_score(m, 1, &u, &v, &score), STRADS_OK);
            cr_expect_float_eq(score, want, 1e-12 * want);
        }
    const uint32_t nobody = PLANTED, u = 0;
    double score;
    cr_expect_eq(strads_roles_score(m, 1, &u, &nobody, &score), STRADS_EINVAL);
    strads_lda_model_free(m);
}

Test(roles, planted_groups_and_links_are_found)
{
    strads_lda_options config = planted_options();
    pid_t pid = getpid();
    char known_path[80];
    (void)snprintf(known_path, sizeof known_path, "%s-%d.known", folder,
                   (int)pid);
    config.hold_out = .1;
    plant();
    strads_lda_model *m = fit(&config, 2, 2, false);
    m->seed = 3;
    strads_data *data = read_graph(STRADS_LAYOUT_ROWS, 1);
    FILE *file = fopen(known_path, "w");
    cr_assert(file);
    for (uint32_t u = 0; u < PLANTED; u++) {
        (void)fprintf(file, "%u", u);
        for (uint32_t g = 0; g < GROUPS; g++)
            if (is_member(u, g))
                (void)fprintf(file, "\tgroup%u", g);
        (void)fputc('\n', file);
    }
    (void)fputs("nobody x\n", file);
    (void)fclose(file);
    strads_groups known = {0}, found = {0};
    uint64_t unknown;
    double nmi;
    expect_ok(strads_groups_read(known_path, PLANTED,
                                 strads_data_row_names(data), &known,
                                 &unknown));
    (void)unlink(known_path);
    cr_expect_eq(unknown, 1);
    cr_expect_eq(known.n, GROUPS);
    cr_assert_eq(strads_roles_members(m, .15, &found), STRADS_OK);
    cr_assert_eq(strads_groups_nmi(PLANTED, &found, &known, &nmi), STRADS_OK);
    cr_expect_gt(nmi, .85, "%g", nmi);
    strads_roles_links links;
    expect_ok(strads_roles_judge(m, data, NULL, 3, .1, &links));
    cr_expect_gt(links.auc, .85, "%g", links.auc);
    cr_expect_gt(links.common_neighbours_auc, .7);
    strads_groups_free(&known);
    strads_groups_free(&found);
    strads_data_free(data);
    strads_lda_model_free(m);
}

/* ---- mutual information -------------------------------------------------- */

/* Groups as bit sets, computed from the definition: joint distributions of
 * two indicators, counted node by node. */
static double h(double p)
{
    return p > 0 ? -p * log2(p) : 0;
}

static double conditional_by_force(uint32_t x, uint32_t y, uint32_t n)
{
    double p[2][2] = {{0}};
    for (uint32_t u = 0; u < n; u++)
        p[x >> u & 1][y >> u & 1] += 1. / n;
    if (h(p[1][1]) + h(p[0][0]) < h(p[0][1]) + h(p[1][0]))
        return INFINITY;
    return h(p[0][0]) + h(p[0][1]) + h(p[1][0]) + h(p[1][1]) -
           h(p[0][1] + p[1][1]) - h(p[0][0] + p[1][0]);
}

static double half_by_force(const uint32_t *a, uint32_t na, const uint32_t *b,
                            uint32_t nb, uint32_t n)
{
    double sum = 0, count = 0;
    for (uint32_t i = 0; i < na; i++) {
        const double p = __builtin_popcount(a[i]) / (double)n;
        double least = INFINITY;
        if (p == 0 || p == 1)
            continue;
        for (uint32_t j = 0; j < nb; j++) {
            const int size = __builtin_popcount(b[j]);
            if (size > 0 && size < (int)n)
                least = fmin(least, conditional_by_force(a[i], b[j], n));
        }
        sum += isinf(least) ? 1 : least / (h(p) + h(1 - p));
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static strads_groups groups_of(const uint32_t *set, uint32_t n)
{
    strads_groups g = {.n = n,
                       .start = calloc(n + 1, sizeof *g.start),
                       .member = calloc(32 * (size_t)n + 1, sizeof *g.member)};
    cr_assert(g.start && g.member);
    for (uint32_t k = 0; k < n; k++) {
        g.start[k + 1] = g.start[k];
        for (uint32_t u = 0; u < 32; u++)
            if (set[k] >> u & 1)
                g.member[g.start[k + 1]++] = u;
    }
    return g;
}

Test(roles, mutual_information_is_that_of_the_definition)
{
    enum { N = 14 };
    for (uint32_t trial = 0; trial < 200; trial++) {
        uint32_t a[5], b[7], all = (1U << N) - 1;
        for (uint32_t k = 0; k < 5; k++)
            a[k] = (uint32_t)(unit(trial, 10 + k) * (all + 1.));
        for (uint32_t k = 0; k < 7; k++)
            b[k] = k < 5 && unit(trial, 30 + k) < .5
                       ? a[k] ^ 1U << k
                       : (uint32_t)(unit(trial, 20 + k) * (all + 1.));
        if (trial % 10 == 0)
            a[0] = all, b[1] = 0;
        strads_groups x = groups_of(a, 5), y = groups_of(b, 7);
        const double want =
            1 -
            (half_by_force(a, 5, b, 7, N) + half_by_force(b, 7, a, 5, N)) / 2;
        double same, nmi;
        cr_assert_eq(strads_groups_nmi(N, &x, &y, &nmi), STRADS_OK);
        cr_expect_float_eq(nmi, want, 1e-9, "%g %g", nmi, want);
        cr_assert_eq(strads_groups_nmi(N, &x, &x, &same), STRADS_OK);
        cr_expect_float_eq(same, 1, 1e-9);
        strads_groups_free(&x);
        strads_groups_free(&y);
    }
}

/* ---- rankings ------------------------------------------------------------ */

/* Over every pair; precision and recall at every threshold. */
static void rank_by_force(uint32_t n, const double *score, const bool *is,
                          double *auc, double *precision)
{
    double won = 0, pairs = 0, links = 0, before = 0;
    for (uint32_t i = 0; i < n; i++) {
        links += is[i];
        for (uint32_t j = 0; j < n; j++) {
            if (!is[i] || is[j])
                continue;
            pairs++;
            won += score[i] > score[j] ? 1 : score[i] == score[j] ? .5 : 0;
        }
    }
    *auc = won / pairs;
    *precision = 0;
    for (double t = 20; t >= 0; t--) { /* scores are whole numbers */
        double above = 0, hits = 0;
        for (uint32_t i = 0; i < n; i++) {
            above += score[i] >= t;
            hits += is[i] && score[i] >= t;
        }
        if (above > 0)
            *precision += hits / above * (hits - before) / links;
        before = hits;
    }
}

Test(roles, rankings_agree_with_all_pairs_and_thresholds)
{
    enum { N = 60 };
    for (uint32_t trial = 0; trial < 100; trial++) {
        double score[N], auc, precision, want_auc, want_precision;
        bool is[N];
        for (uint32_t i = 0; i < N; i++) {
            score[i] = floor(20 * unit(trial, 100 + i));
            is[i] = i == 0 || (i > 1 && unit(trial, 200 + i) < score[i] / 25);
        }
        rank_by_force(N, score, is, &want_auc, &want_precision);
        cr_assert_eq(strads_ranking_auc(N, score, is, &auc, &precision),
                     STRADS_OK);
        cr_expect_float_eq(auc, want_auc, 1e-12);
        cr_expect_float_eq(precision, want_precision, 1e-12);
    }
}
