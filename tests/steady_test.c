/* Waits by the clock that is never set. */
#include <criterion/criterion.h>

#include "engine/base/steady.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called;
static bool is_called;

static void *call(void *arg)
{
    pthread_mutex_lock(&lock);
    is_called = true;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&lock);
    return arg;
}

Test(steady, a_wait_that_nobody_ends_ends_at_its_moment_and_not_before)
{
    cr_assert(sti_steady_init(&called));
    const uint64_t until = sti_steady_in(2000000);
    pthread_mutex_lock(&lock);
    while (sti_steady_wait(&called, &lock, until))
        continue;
    cr_expect_geq(sti_steady_now(), until);
    cr_expect_not(sti_steady_wait(&called, &lock, 0), "a moment long ago");
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&called);
}

Test(steady, a_wait_without_an_end_ends_when_it_is_called)
{
    pthread_t thread;
    cr_assert(sti_steady_init(&called));
    const uint64_t until = sti_steady_in(UINT64_MAX);
    cr_expect_eq(until, UINT64_MAX);
    pthread_mutex_lock(&lock);
    cr_assert_eq(pthread_create(&thread, NULL, call, NULL), 0);
    while (!is_called)
        cr_expect(sti_steady_wait(&called, &lock, until));
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&called);
}
