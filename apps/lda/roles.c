/* Evaluates a model of roles of a network: scores of links, groups of nodes,
 * and the quality of both. lda.c trains the model. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>
#include <strads/network.h>

/* Purposes of streams. */
enum { DRAW_HELD = 0x726F6C68, DRAW_PAIR };

static strads_err no_node_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for a network's nodes");
}

bool strads_roles_is_held(uint64_t seed, double hold_out, uint32_t u,
                          uint32_t v)
{
    return strads_random_unit(seed, DRAW_HELD, u < v ? u : v, u < v ? v : u) <
           hold_out;
}

/* ---- scores -------------------------------------------------------------- */

/* With w_k = 1 / (sum c_k + N beta) the sum over all roles is one over the
 * roles that both nodes have, and three that need one pass over a node's roles
 * each:
 *
 *     sum (c_u + a)(c_v + b) w = sum c_u c_v w + b sum c_u w + sum a c_v w
 *                              + b sum a w */
typedef struct scorer {
    const strads_lda_model *m;
    double *w;             /* [roles] */
    double alpha_sum, all; /* A; beta sum alpha w */
} scorer;

static bool scorer_open(scorer *s, const strads_lda_model *m)
{
    *s = (scorer){.m = m, .w = malloc(m->topics * sizeof *s->w)};
    for (uint32_t k = 0; s->w && k < m->topics; k++) {
        s->w[k] = 1 / ((double)m->total[k] + (double)m->words * m->beta);
        s->alpha_sum += m->alpha[k];
        s->all += m->alpha[k] * m->beta * s->w[k];
    }
    return s->w;
}

static double links_of(const strads_lda_model *m, uint32_t u)
{
    double sum = 0;

    for (uint64_t i = m->start[u]; i < m->start[u + 1]; i++)
        sum += m->count[i];
    return sum / 2;
}

/* sum_k theta_uk phi_vk d_u. */
static double score_one_way(const scorer *s, uint32_t u, uint32_t v)
{
    const strads_lda_model *m = s->m;
    const double links = links_of(m, u);
    uint64_t j = m->start[v];
    double sum = s->all;

    for (uint64_t i = m->start[u]; i < m->start[u + 1]; i++) {
        const uint32_t k = m->topic[i];
        while (j < m->start[v + 1] && m->topic[j] < k)
            j++;
        const double c =
            j < m->start[v + 1] && m->topic[j] == k ? (double)m->count[j] : 0;
        sum += m->count[i] * (c + m->beta) * s->w[k];
    }
    for (uint64_t i = m->start[v]; i < m->start[v + 1]; i++)
        sum += m->alpha[m->topic[i]] * m->count[i] * s->w[m->topic[i]];
    return sum * links / (2 * links + s->alpha_sum);
}

strads_err strads_roles_score(const strads_lda_model *m, uint64_t n,
                              const uint32_t *u, const uint32_t *v, double *out)
{
    scorer s;
    strads_err err = scorer_open(&s, m) ? STRADS_OK : no_node_memory();

    for (uint64_t i = 0; i < n && !err; i++) {
        if (u[i] >= m->words || v[i] >= m->words)
            err = strads_fail(STRADS_EINVAL,
                              "a pair has node %u: the model has nodes 0 to "
                              "%" PRIu64,
                              u[i] > v[i] ? u[i] : v[i], m->words - 1);
        else
            out[i] = (score_one_way(&s, u[i], v[i]) +
                      score_one_way(&s, v[i], u[i])) /
                     2;
    }
    free(s.w);
    return err;
}

/* ---- groups -------------------------------------------------------------- */

void strads_groups_free(strads_groups *g)
{
    free(g->start);
    free(g->member);
    *g = (strads_groups){0};
}

/* Pairs of a node and a group, nodes ascending within a group. */
typedef struct pairs {
    uint64_t n, capacity;
    uint32_t *node, *group;
} pairs;

static strads_err add_pair(pairs *p, uint32_t node, uint32_t group)
{
    if (p->n == p->capacity) {
        const uint64_t capacity = 2 * p->capacity + 1024;
        uint32_t *node_at = realloc(p->node, capacity * sizeof *node_at);
        if (node_at)
            p->node = node_at;
        uint32_t *group_at = realloc(p->group, capacity * sizeof *group_at);
        if (group_at)
            p->group = group_at;
        if (!node_at || !group_at)
            return no_node_memory();
        p->capacity = capacity;
    }
    p->node[p->n] = node;
    p->group[p->n++] = group;
    return STRADS_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Orders the pairs by group; a repeated node counts once. */
static strads_err group_pairs(pairs *p, uint32_t groups, strads_groups *out)
{
    strads_groups g = {.n = groups};
    uint64_t to = 0;

    g.start = calloc((size_t)groups + 2, sizeof *g.start);
    g.member = malloc((p->n + 1) * sizeof *g.member);
    if (!g.start || !g.member) {
        strads_groups_free(&g);
        return no_node_memory();
    }
    for (uint64_t i = 0; i < p->n; i++)
        g.start[p->group[i] + 2]++;
    for (uint32_t k = 1; k <= groups; k++)
        g.start[k + 1] += g.start[k];
    for (uint64_t i = 0; i < p->n; i++)
        g.member[g.start[p->group[i] + 1]++] = p->node[i];
    for (uint32_t k = 0; k < groups; k++) {
        const uint64_t from = g.start[k], end = g.start[k + 1];
        qsort(g.member + from, end - from, sizeof *g.member, by_number);
        g.start[k] = to;
        for (uint64_t i = from; i < end; i++)
            if (i == from || g.member[i] != g.member[i - 1])
                g.member[to++] = g.member[i];
    }
    g.start[groups] = to;
    *out = g;
    return STRADS_OK;
}

strads_err strads_roles_members(const strads_lda_model *m, double share,
                                strads_groups *out)
{
    pairs p = {0};
    strads_err err = STRADS_OK;

    for (uint32_t u = 0; u < m->words && !err; u++) {
        const double least = share * 2 * links_of(m, u);
        for (uint64_t i = m->start[u]; i < m->start[u + 1] && !err; i++)
            if (m->count[i] > least)
                err = add_pair(&p, u, m->topic[i]);
    }
    if (!err)
        err = group_pairs(&p, m->topics, out);
    free(p.node);
    free(p.group);
    return err;
}

static const char *next_word(const char *p, size_t *size)
{
    p += strspn(p, " \t\r,;");
    *size = strcspn(p, " \t\r,;");
    return p;
}

/* Finds a node by name, or by its number from 1. */
static bool find_node(const strads_names *names, uint64_t nodes,
                      const char *word, size_t size, uint32_t *node)
{
    uint64_t value = 0;

    if (names)
        return strads_names_find(names, word, size, node);
    for (size_t k = 0; k < size; k++) {
        if (word[k] < '0' || word[k] > '9' || value > nodes)
            return false;
        value = 10 * value + (uint64_t)(word[k] - '0');
    }
    *node = (uint32_t)(value - 1);
    return value >= 1 && value <= nodes;
}

static strads_err read_line(const char *path, uint64_t number, const char *line,
                            uint64_t nodes, const strads_names *names,
                            strads_names *groups, pairs *p, uint64_t *unknown)
{
    size_t size;
    const char *word = next_word(line, &size);
    uint32_t node = 0, group;
    strads_err err = STRADS_OK;

    if (*word == '#' || size == 0)
        return STRADS_OK;
    if (!find_node(names, nodes, word, size, &node)) {
        ++*unknown;
        return STRADS_OK;
    }
    word = next_word(word + size, &size);
    if (size == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %" PRIu64
                           ": found a node alone, expected its groups after "
                           "it: `node group group ...`",
                           path, number);
    for (; size > 0 && !err; word = next_word(word + size, &size)) {
        err = strads_names_add(groups, word, size, &group);
        if (!err)
            err = add_pair(p, node, group);
    }
    return err;
}

strads_err strads_groups_read(const char *path, uint64_t nodes,
                              const strads_names *names, strads_groups *out,
                              uint64_t *unknown)
{
    strads_names *lines = NULL, *groups = NULL;
    pairs p = {0};
    strads_err err = strads_names_read(path, &lines);

    *unknown = 0;
    if (!err)
        err = strads_names_new(&groups);
    for (uint32_t k = 0; !err && k < strads_names_count(lines); k++)
        err = read_line(path, k + UINT64_C(1), strads_names_at(lines, k), nodes,
                        names, groups, &p, unknown);
    if (!err)
        err = group_pairs(&p, strads_names_count(groups), out);
    strads_names_free(lines);
    strads_names_free(groups);
    free(p.node);
    free(p.group);
    return err;
}

/* ---- mutual information of covers ---------------------------------------- */

/* h(x) = -x/n log x/n, for x of n nodes. */
static double part_entropy(double x, double n)
{
    return x > 0 ? -x / n * log(x / n) : 0;
}

static double entropy(double x, double n)
{
    return part_entropy(x, n) + part_entropy(n - x, n);
}

/* H(X | Y) of two groups of x and y nodes that share `both`; infinite if Y
 * describes X's complement better than X (equation B.14). */
static double conditional(double x, double y, double both, double n)
{
    const double h11 = part_entropy(both, n), h10 = part_entropy(x - both, n);
    const double h01 = part_entropy(y - both, n);
    const double h00 = part_entropy(n - x - y + both, n);

    return h11 + h00 >= h10 + h01 ? h11 + h10 + h01 + h00 - entropy(y, n)
                                  : INFINITY;
}

static double size_of(const strads_groups *g, uint32_t k)
{
    return (double)(g->start[k + 1] - g->start[k]);
}

/* Inverts the groups: the groups of each node. */
static strads_err invert_groups(uint64_t nodes, const strads_groups *g,
                                strads_groups *out)
{
    pairs p = {0};
    strads_err err = STRADS_OK;

    for (uint32_t k = 0; k < g->n && !err; k++)
        for (uint64_t i = g->start[k]; i < g->start[k + 1] && !err; i++)
            err = add_pair(&p, k, g->member[i]);
    if (!err)
        err = group_pairs(&p, (uint32_t)nodes, out);
    free(p.node);
    free(p.group);
    return err;
}

/* The mean over a's groups X of min_Y H(X | Y) / H(X). */
static strads_err normalised(uint64_t nodes, const strads_groups *a,
                             const strads_groups *b, double *out)
{
    const double n = (double)nodes;
    strads_groups of_node = {0};
    double *both = calloc((size_t)b->n + 1, sizeof *both);
    strads_err err =
        both ? invert_groups(nodes, b, &of_node) : no_node_memory();
    double sum = 0, counted = 0;

    for (uint32_t x = 0; x < a->n && !err; x++) {
        const double size = size_of(a, x), own = entropy(size, n);
        double least = INFINITY;
        if (size == 0 || size == n)
            continue;
        memset(both, 0, b->n * sizeof *both);
        for (uint64_t i = a->start[x]; i < a->start[x + 1]; i++) {
            const uint32_t u = a->member[i];
            for (uint64_t j = of_node.start[u]; j < of_node.start[u + 1]; j++)
                both[of_node.member[j]]++;
        }
        for (uint32_t y = 0; y < b->n; y++)
            if (size_of(b, y) > 0 && size_of(b, y) < n)
                least =
                    fmin(least, conditional(size, size_of(b, y), both[y], n));
        sum += isinf(least) ? 1 : least / own;
        counted++;
    }
    strads_groups_free(&of_node);
    free(both);
    *out = counted > 0 ? sum / counted : NAN;
    return err;
}

strads_err strads_groups_nmi(uint64_t nodes, const strads_groups *a,
                             const strads_groups *b, double *out)
{
    double of_a = NAN, of_b = NAN;
    strads_err err = normalised(nodes, a, b, &of_a);

    if (!err)
        err = normalised(nodes, b, a, &of_b);
    if (!err)
        *out = isnan(of_a) || isnan(of_b) ? 0 : 1 - (of_a + of_b) / 2;
    return err;
}

/* ---- links --------------------------------------------------------------- */

typedef struct ranked {
    double score;
    bool is_link;
} ranked;

static int by_score(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;

    return (x < y) - (x > y);
}

strads_err strads_ranking_auc(uint64_t n, const double *score,
                              const bool *is_link, double *auc,
                              double *average_precision)
{
    ranked *x = malloc((n + 1) * sizeof *x);
    double links = 0, seen = 0, found = 0, area = 0, precision = 0;

    if (!x)
        return no_node_memory();
    for (uint64_t i = 0; i < n; i++) {
        x[i] = (ranked){score[i], is_link[i]};
        links += is_link[i];
    }
    qsort(x, n, sizeof *x, by_score);
    for (uint64_t i = 0, end; i < n; i = end) {
        double hits = 0;
        for (end = i; end < n && x[end].score == x[i].score; end++)
            hits += x[end].is_link;
        const double misses = (double)(end - i) - hits;
        /* links above, and half of the ties */
        area += misses * (found + hits / 2);
        seen += (double)(end - i);
        found += hits;
        precision += hits * found / seen;
    }
    free(x);
    *auc = links > 0 && links < (double)n ? area / (links * ((double)n - links))
                                          : NAN;
    *average_precision = links > 0 ? precision / links : NAN;
    return STRADS_OK;
}

typedef struct judging {
    const strads_sparse *graph;
    uint64_t seed;
    double hold_out;      /* of the graph's own links; 0: none */
    uint64_t *degree;     /* [nodes] number of links trained on */
    uint32_t *mark;       /* [nodes] last pair that visited the node */
    uint64_t n, capacity; /* pairs: links first, then as many non-links */
    uint32_t *u, *v;
} judging;

static bool is_trained_on(const judging *j, uint32_t u, uint32_t v)
{
    return j->hold_out == 0 ||
           !strads_roles_is_held(j->seed, j->hold_out, u, v);
}

static bool has_link(const strads_sparse *x, uint64_t u, uint32_t v)
{
    uint64_t low = x->start[u], high = x->start[u + 1];

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (x->index[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->start[u + 1] && x->index[low] == v;
}

static void add_judged_link(judging *j, uint32_t u, uint32_t v,
                            uint64_t *left_out)
{
    if (j->degree[u] == 0 || j->degree[v] == 0) {
        ++*left_out;
        return;
    }
    j->u[j->n] = u;
    j->v[j->n++] = v;
}

/* Lists the links to predict: those of `held`, or the graph's own. */
static void list_links(judging *j, const strads_sparse *held,
                       uint64_t *left_out)
{
    const strads_sparse *x = held ? held : j->graph;

    for (uint32_t u = 0; u < x->lines; u++)
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const uint32_t v = x->index[e];
            if (u < v &&
                (held ? !has_link(j->graph, u, v) : !is_trained_on(j, u, v)))
                add_judged_link(j, u, v, left_out);
        }
}

/* Draws as many pairs without a link, of nodes with links. In a nearly complete
 * network this stops after many draws. */
static strads_err draw_pairs(judging *j, const strads_sparse *held)
{
    const uint64_t links = j->n, most = 1000 * links + 100000;
    const double nodes = (double)j->graph->lines;

    for (uint64_t draw = 0; j->n < 2 * links && draw < most; draw++) {
        const uint32_t u =
            (uint32_t)(nodes * strads_random_unit(j->seed, DRAW_PAIR, draw, 0));
        const uint32_t v =
            (uint32_t)(nodes * strads_random_unit(j->seed, DRAW_PAIR, draw, 1));
        if (u == v || j->degree[u] == 0 || j->degree[v] == 0 ||
            has_link(j->graph, u, v) ||
            (held && u < held->lines && has_link(held, u, v)))
            continue;
        j->u[j->n] = u;
        j->v[j->n++] = v;
    }
    return j->n == 2 * links
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "hardly any two nodes of the network have no "
                             "link: there are no non-links to compare with");
}

/* The number of common neighbours of pair i, by links trained on. */
static double common_neighbours(judging *j, uint64_t i)
{
    const strads_sparse *x = j->graph;
    const uint32_t u = j->u[i], v = j->v[i];
    double n = 0;

    for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++)
        if (is_trained_on(j, u, x->index[e]))
            j->mark[x->index[e]] = (uint32_t)i + 1;
    for (uint64_t e = x->start[v]; e < x->start[v + 1]; e++)
        n += j->mark[x->index[e]] == (uint32_t)i + 1 &&
             is_trained_on(j, v, x->index[e]);
    return n;
}

static strads_err judge_pairs(judging *j, const strads_lda_model *m,
                              strads_roles_links *out)
{
    double *score = malloc((j->n + 1) * sizeof *score), unused;
    bool *is_link = malloc((j->n + 1) * sizeof *is_link);
    strads_err err = score && is_link ? STRADS_OK : no_node_memory();

    for (uint64_t i = 0; i < j->n && !err; i++)
        is_link[i] = i < j->n / 2;
    if (!err)
        err = strads_roles_score(m, j->n, j->u, j->v, score);
    if (!err)
        err = strads_ranking_auc(j->n, score, is_link, &out->auc,
                                 &out->average_precision);
    for (uint64_t i = 0; i < j->n && !err; i++)
        score[i] = common_neighbours(j, i);
    if (!err)
        err = strads_ranking_auc(j->n, score, is_link,
                                 &out->common_neighbours_auc, &unused);
    free(score);
    free(is_link);
    return err;
}

static const strads_sparse *rows_of(const strads_data *data)
{
    const strads_share *share = data ? strads_data_share(data, 0) : NULL;

    return share && share->by_row.start ? &share->by_row : NULL;
}

strads_err strads_roles_judge(const strads_lda_model *m,
                              const strads_data *graph, const strads_data *held,
                              uint64_t seed, double hold_out,
                              strads_roles_links *out)
{
    const strads_sparse *of_held = rows_of(held);
    judging j = {.graph = rows_of(graph),
                 .seed = seed,
                 .hold_out = held ? 0 : hold_out};
    strads_roles_links links = {0};

    if (!j.graph || (held && !of_held))
        return strads_fail(STRADS_EINVAL,
                           "measuring links needs data with rows "
                           "(STRADS_LAYOUT_ROWS)");
    if (j.graph->lines != m->words || (held && of_held->lines > m->words))
        return strads_fail(STRADS_EINVAL,
                           "the model has %" PRIu64 " nodes, the network "
                           "%" PRIu64 ": expected as many",
                           m->words, j.graph->lines);
    j.capacity = 2 * (held ? of_held->nnz : j.graph->nnz) + 2;
    j.degree = calloc(j.graph->lines + 1, sizeof *j.degree);
    j.mark = calloc(j.graph->lines + 1, sizeof *j.mark);
    j.u = malloc(j.capacity * sizeof *j.u);
    j.v = malloc(j.capacity * sizeof *j.v);
    strads_err err =
        j.degree && j.mark && j.u && j.v ? STRADS_OK : no_node_memory();
    for (uint32_t u = 0; u < j.graph->lines && !err; u++)
        for (uint64_t e = j.graph->start[u]; e < j.graph->start[u + 1]; e++)
            j.degree[u] += is_trained_on(&j, u, j.graph->index[e]);
    if (!err)
        list_links(&j, of_held, &links.left_out);
    links.links = j.n;
    if (!err && j.n == 0)
        err = strads_fail(STRADS_EINVAL,
                          "no links are held out, or none between nodes that "
                          "have others: train with --hold-out, or give "
                          "--held-out FILE");
    if (!err)
        err = draw_pairs(&j, of_held);
    if (!err)
        err = judge_pairs(&j, m, &links);
    if (!err)
        *out = links;
    free(j.degree);
    free(j.mark);
    free(j.u);
    free(j.v);
    return err;
}
