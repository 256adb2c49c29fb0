/* Lists for many users at rank 64, beside the product of the factors alone by
 * OpenBLAS on one thread: GFLOP per CPU second of 2 x users x items x rank. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <strads/policy.h>
#include <strads/recommend.h>

enum {
    USERS = 4096,
    ITEMS = 20000,
    RANK = 64,
    TOP = 10,
    CHUNK = 256,
    RUNS = 3
};

typedef void sgemm(int, int, int, int, int, int, float, const float *, int,
                   const float *, int, float, float *, int);

static float *draw(uint64_t what, size_t n)
{
    float *x = malloc(sizeof(*x) * n);

    for (size_t k = 0; x && k < n; k++)
        x[k] = (float)strads_random_unit(1, what, k, 0) - .5F;
    return x;
}

static double cpu_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double gflops(double seconds)
{
    return 2e-9 * USERS * (double)ITEMS * RANK / seconds;
}

/* 0 without OpenBLAS. */
static double time_product(const float *user, const float *item, float *out)
{
    enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
    sgemm *product = NULL;
    void (*set_threads)(int) = NULL;

    if (!blas)
        return 0;
    *(void **)&product = dlsym(blas, "cblas_sgemm");
    *(void **)&set_threads = dlsym(blas, "openblas_set_num_threads");
    if (!product || !set_threads)
        return 0;
    set_threads(1);
    const double began = cpu_seconds();
    for (int u = 0; u < USERS; u += CHUNK)
        product(ROW_MAJOR, AS_IS, TRANSPOSED, CHUNK, ITEMS, RANK, 1,
                user + (size_t)u * RANK, RANK, item, RANK, 0, out, ITEMS);
    return cpu_seconds() - began;
}

int main(void)
{
    float *user = draw(1, (size_t)USERS * (RANK + 1));
    float *item = draw(2, (size_t)ITEMS * (RANK + 1));
    float *scores = malloc(sizeof(*scores) * CHUNK * ITEMS);
    strads_scored *list = malloc(sizeof(*list) * USERS * TOP);
    uint32_t *found = malloc(sizeof(*found) * USERS);
    const strads_mf_factors model = {.users = USERS,
                                     .items = ITEMS,
                                     .rank = RANK,
                                     .user = user,
                                     .item = item};
    const strads_top_users all = {.size = sizeof(all), .n = USERS, .row = user};
    strads_recommender *r = NULL;

    if (!user || !item || !scores || !list || !found ||
        strads_recommender_new(&model, &r))
        return 1;
    (void)printf("%d users, %d items, rank %d: GFLOP a CPU second\n"
                 "%10s %10s %8s\n",
                 USERS, ITEMS, RANK, "lists", "sgemm", "ratio");
    for (int run = 0; run < RUNS; run++) {
        const double began = cpu_seconds();
        if (strads_recommender_top_many(r, &all, TOP, list, found))
            return 1;
        const double ours = gflops(cpu_seconds() - began);
        const double theirs = time_product(user, item, scores);
        (void)printf("%10.1f %10.1f %8.2f\n", ours,
                     theirs > 0 ? gflops(theirs) : 0,
                     theirs > 0 ? ours / gflops(theirs) : 0);
    }
    strads_recommender_free(r);
    free(user);
    free(item);
    free(scores);
    free(list);
    free(found);
    return 0;
}
