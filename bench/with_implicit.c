/* Implicit feedback: makes counts, and factorises them by conjugate gradients,
 * written plainly, row by row, as implicit (Frederickson) and Takacs, Pilaszy
 * and Tikk 2011 do it. The peer of `mf train --implicit` in with_mf.py.
 *
 *     with_implicit make USERS ITEMS COUNTS SEED FILE
 *     with_implicit cg FILE RANK SWEEPS STEPS ALPHA LAMBDA
 *
 * The second prints CPU seconds of the sweeps and the objective. The build
 * compiles this file for its own processor, with fast mathematics. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct side {
    uint32_t rows;
    uint64_t *start;
    uint32_t *index;
    float *weight; /* alpha r */
    float *factor; /* [rows x rank] */
} side;

static uint64_t random_bits(uint64_t *s)
{
    uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double random_unit(uint64_t *s)
{
    return 0x1p-53 * (double)(random_bits(s) >> 11);
}

/* Skewed popularity; half of a user's counts are in one of 20 groups. */
static int make_counts(char **argv)
{
    enum { GROUPS = 20 };
    const uint32_t users = (uint32_t)atoi(argv[0]);
    const uint32_t items = (uint32_t)atoi(argv[1]);
    const uint64_t n = strtoull(argv[2], NULL, 10);
    uint64_t seed = strtoull(argv[3], NULL, 10);
    FILE *out = fopen(argv[4], "w");

    if (!out)
        return 1;
    for (uint64_t k = 0; k < n; k++) {
        const double a = random_unit(&seed), b = random_unit(&seed);
        const uint32_t u = (uint32_t)(a * sqrt(a) * users);
        uint32_t i = (uint32_t)(b * b * b * items);
        if (random_unit(&seed) < .5)
            i = i / GROUPS * GROUPS + u * 7919 % GROUPS;
        const double count = 1 - 2 * log(1 - random_unit(&seed));
        (void)fprintf(out, "%u %u %d\n", u, i < items ? i : items - 1,
                      (int)count);
    }
    return fclose(out);
}

/* ---- one row ------------------------------------------------------------- */

static float dot(uint32_t rank, const float *a, const float *b)
{
    float sum = 0;

    for (uint32_t k = 0; k < rank; k++)
        sum += a[k] * b[k];
    return sum;
}

static void add(uint32_t rank, float by, const float *a, float *out)
{
    for (uint32_t k = 0; k < rank; k++)
        out[k] += by * a[k];
}

typedef struct workspace {
    uint32_t rank, steps;
    float *gram; /* with the penalty on its diagonal */
    float *left, *way, *change;
} workspace;

static void solve_row(const workspace *w, const side *own, const side *other,
                      uint32_t row)
{
    const uint32_t rank = w->rank;
    float *x = own->factor + (size_t)row * rank;

    memset(w->left, 0, sizeof(float) * rank);
    for (uint32_t k = 0; k < rank; k++)
        add(rank, -x[k], w->gram + (size_t)k * rank, w->left);
    for (uint64_t e = own->start[row]; e < own->start[row + 1]; e++) {
        const float *q = other->factor + (size_t)own->index[e] * rank;
        add(rank, 1 + own->weight[e] - own->weight[e] * dot(rank, q, x), q,
            w->left);
    }
    memcpy(w->way, w->left, sizeof(float) * rank);
    float squares = dot(rank, w->left, w->left);
    for (uint32_t step = 0; step < w->steps && squares > 1e-20F; step++) {
        memset(w->change, 0, sizeof(float) * rank);
        for (uint32_t k = 0; k < rank; k++)
            add(rank, w->way[k], w->gram + (size_t)k * rank, w->change);
        for (uint64_t e = own->start[row]; e < own->start[row + 1]; e++) {
            const float *q = other->factor + (size_t)own->index[e] * rank;
            add(rank, own->weight[e] * dot(rank, q, w->way), q, w->change);
        }
        const float by = squares / dot(rank, w->way, w->change);
        add(rank, by, w->way, x);
        add(rank, -by, w->change, w->left);
        const float now = dot(rank, w->left, w->left);
        for (uint32_t k = 0; k < rank; k++)
            w->way[k] = w->left[k] + now / squares * w->way[k];
        squares = now;
    }
}

static void solve_side(const workspace *w, const side *own, const side *other,
                       float penalty)
{
    memset(w->gram, 0, sizeof(float) * w->rank * w->rank);
    for (uint32_t i = 0; i < other->rows; i++) {
        const float *q = other->factor + (size_t)i * w->rank;
        for (uint32_t k = 0; k < w->rank; k++)
            add(w->rank, q[k], q, w->gram + (size_t)k * w->rank);
    }
    for (uint32_t k = 0; k < w->rank; k++)
        w->gram[(size_t)k * (w->rank + 1)] += penalty;
    for (uint32_t row = 0; row < own->rows; row++)
        if (own->start[row] < own->start[row + 1])
            solve_row(w, own, other, row);
        else
            memset(own->factor + (size_t)row * w->rank, 0,
                   sizeof(float) * w->rank);
}

/* ---- counts -------------------------------------------------------------- */

typedef struct count {
    uint32_t row, col;
    uint64_t order;
    float value;
} count;

static int by_row(const void *a, const void *b)
{
    const count *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->col != y->col)
        return x->col < y->col ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Of equal pairs the last count holds. */
static side fill_side(count *c, uint64_t n, uint32_t rows, uint32_t rank,
                      float alpha)
{
    side s = {.rows = rows,
              .start = calloc(rows + (size_t)1, sizeof(*s.start)),
              .index = malloc(sizeof(*s.index) * n),
              .weight = malloc(sizeof(*s.weight) * n),
              .factor = calloc((size_t)rows * rank, sizeof(float))};
    uint64_t kept = 0;

    qsort(c, n, sizeof(*c), by_row);
    for (uint64_t k = 0; k < n; k++) {
        if (k + 1 < n && c[k].row == c[k + 1].row && c[k].col == c[k + 1].col)
            continue;
        s.index[kept] = c[k].col;
        s.weight[kept++] = alpha * c[k].value;
        s.start[c[k].row + 1] = kept;
    }
    for (uint32_t r = 0; r < rows; r++)
        if (s.start[r + 1] < s.start[r])
            s.start[r + 1] = s.start[r];
    return s;
}

static double measure(const workspace *w, const side *user, const side *item,
                      double penalty)
{
    const uint32_t rank = w->rank;
    double sum = 0;

    for (uint32_t i = 0; i < item->rows; i++)
        sum += penalty * (double)dot(rank, item->factor + (size_t)i * rank,
                                     item->factor + (size_t)i * rank);
    memset(w->gram, 0, sizeof(float) * rank * rank);
    for (uint32_t i = 0; i < item->rows; i++)
        for (uint32_t k = 0; k < rank; k++)
            add(rank, item->factor[(size_t)i * rank + k],
                item->factor + (size_t)i * rank, w->gram + (size_t)k * rank);
    for (uint32_t u = 0; u < user->rows; u++) {
        const float *p = user->factor + (size_t)u * rank;
        sum += penalty * (double)dot(rank, p, p);
        for (uint32_t k = 0; k < rank; k++)
            sum +=
                (double)p[k] * (double)dot(rank, p, w->gram + (size_t)k * rank);
        for (uint64_t e = user->start[u]; e < user->start[u + 1]; e++) {
            const double s =
                (double)dot(rank, p,
                            item->factor + (size_t)user->index[e] * rank);
            sum += (1 + (double)user->weight[e]) * (1 - s) * (1 - s) - s * s;
        }
    }
    return sum;
}

static int factorise(char **argv)
{
    const uint32_t rank = (uint32_t)atoi(argv[1]);
    const int sweeps = atoi(argv[2]);
    const float alpha = strtof(argv[4], NULL), penalty = strtof(argv[5], NULL);
    FILE *in = fopen(argv[0], "r");
    uint64_t n = 0, room = 1 << 20, seed = 1;
    uint32_t users = 0, items = 0;
    count *c = malloc(sizeof(*c) * room);

    if (!in || !c)
        return 1;
    for (count x; fscanf(in, "%u %u %f", &x.row, &x.col, &x.value) == 3;) {
        if (n == room)
            c = realloc(c, sizeof(*c) * (room *= 2));
        if (!c)
            return 1;
        x.order = n;
        c[n++] = x;
        users = x.row + 1 > users ? x.row + 1 : users;
        items = x.col + 1 > items ? x.col + 1 : items;
    }
    (void)fclose(in);
    side user = fill_side(c, n, users, rank, alpha);
    for (uint64_t k = 0; k < n; k++) {
        const uint32_t row = c[k].row;
        c[k].row = c[k].col;
        c[k].col = row;
    }
    side item = fill_side(c, n, items, rank, alpha);
    const float most = (float)sqrt(.3 / sqrt(rank));
    for (uint64_t k = 0; k < (uint64_t)items * rank; k++)
        item.factor[k] = most * (float)(2 * random_unit(&seed) - 1);
    workspace w = {.rank = rank,
                   .steps = (uint32_t)atoi(argv[3]),
                   .gram = malloc(sizeof(float) * rank * rank),
                   .left = malloc(sizeof(float) * rank),
                   .way = malloc(sizeof(float) * rank),
                   .change = malloc(sizeof(float) * rank)};
    solve_side(&w, &user, &item, penalty);
    const clock_t began = clock();
    for (int sweep = 0; sweep < sweeps; sweep++) {
        solve_side(&w, &item, &user, penalty);
        solve_side(&w, &user, &item, penalty);
    }
    (void)printf("%.3f %.9g\n", (double)(clock() - began) / CLOCKS_PER_SEC,
                 measure(&w, &user, &item, (double)penalty));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "make") == 0)
        return make_counts(argv + 2);
    if (argc == 8 && strcmp(argv[1], "cg") == 0)
        return factorise(argv + 2);
    (void)fprintf(stderr, "with_implicit make USERS ITEMS COUNTS SEED FILE, or "
                          "cg FILE RANK SWEEPS STEPS ALPHA LAMBDA\n");
    return 2;
}
