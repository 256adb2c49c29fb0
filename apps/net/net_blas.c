/* Loads the machine's BLAS and finds its C functions. */
#include "net_blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Constants of cblas.h. */
enum { BY_ROWS = 101, AS_IS = 111, TRANSPOSED = 112 };

static struct {
    void (*f64)(int, int, int, int, int, int, double, const double *, int,
                const double *, int, double, double *, int);
    void (*f32)(int, int, int, int, int, int, float, const float *, int,
                const float *, int, float, float *, int);
    bool shared; /* built without threads: all callers share its buffers */
} blas;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_mutex_t one_caller = PTHREAD_MUTEX_INITIALIZER;

/* dlsym returns functions as object pointers, which C does not convert. */
static void find_symbol(void *library, const char *name, void *out)
{
    void *const symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

static void load_library(void)
{
    int (*parallel)(void) = NULL;
    void (*set_threads)(int) = NULL;
    void *library;
    /* Partitions are the threads, and results must not depend on further
     * threads. A library that is already loaded has read the variable
     * before. */
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0);
    library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    find_symbol(library, "cblas_dgemm", &blas.f64);
    find_symbol(library, "cblas_sgemm", &blas.f32);
    find_symbol(library, "openblas_get_parallel", &parallel);
    find_symbol(library, "openblas_set_num_threads", &set_threads);
    blas.shared = parallel && parallel() == 0;
    if (set_threads)
        set_threads(1);
}

strads_err net_blas_load(void)
{
    (void)pthread_once(&loaded, load_library);
    return blas.f64 && blas.f32
               ? STRADS_OK
               : strads_fail(STRADS_ESTATE,
                             "networks need OpenBLAS, and neither "
                             "libopenblas.so.0 nor libblas.so.3 has "
                             "cblas_dgemm and cblas_sgemm; install it "
                             "(Debian: libopenblas0-pthread)");
}

static void begin_call(void)
{
    if (blas.shared)
        (void)pthread_mutex_lock(&one_caller);
}

static void end_call(void)
{
    if (blas.shared)
        (void)pthread_mutex_unlock(&one_caller);
}

void net_blas_f64(const net_product *p, const double *a, const double *b,
                  double *c)
{
    begin_call();
    blas.f64(BY_ROWS, p->transpose_a ? TRANSPOSED : AS_IS,
             p->transpose_b ? TRANSPOSED : AS_IS, (int)p->m, (int)p->n,
             (int)p->k, p->alpha, a, (int)p->lda, b, (int)p->ldb, p->beta, c,
             (int)p->ldc);
    end_call();
}

void net_blas_f32(const net_product *p, const float *a, const float *b,
                  float *c)
{
    begin_call();
    blas.f32(BY_ROWS, p->transpose_a ? TRANSPOSED : AS_IS,
             p->transpose_b ? TRANSPOSED : AS_IS, (int)p->m, (int)p->n,
             (int)p->k, (float)p->alpha, a, (int)p->lda, b, (int)p->ldb,
             (float)p->beta, c, (int)p->ldc);
    end_call();
}
