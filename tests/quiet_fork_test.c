/* A child that is forked beside a thread within malloc can allocate, under
 * AddressSanitizer too, whose allocator takes no locks for a fork. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 4000, FORKS = 20, SECONDS = 20 };

/* Touches each block, so that none is optimised away. */
static void allocate(size_t n)
{
    static _Thread_local void *block[BLOCKS];

    for (size_t k = 0; k < n; k++) {
        block[k] = malloc(16 + 16 * (k % 60));
        if (block[k])
            memset(block[k], 1, 16);
    }
    for (size_t k = 0; k < n; k++)
        free(block[k]);
}

static void *allocate_then_end(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    for (int k = 0; k < 10; k++)
        allocate(BLOCKS);
    return NULL;
}

static void fork_beside_a_thread(void)
{
    atomic_bool runs = false;
    pthread_t thread;
    int status = -1;

    cr_assert_eq(pthread_create(&thread, NULL, allocate_then_end, &runs), 0);
    while (!atomic_load(&runs))
        ;
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS); /* ends a child that waits for a lock */
        allocate(BLOCKS);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    pthread_join(thread, NULL);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "the child ended by %d", status);
}

Test(quiet_fork, a_child_can_allocate)
{
    for (int k = 0; k < FORKS; k++)
        fork_beside_a_thread();
}
