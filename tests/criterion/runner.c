/* Runs each test in a process of its own, one after the other. Has no threads,
 * so that ThreadSanitizer follows its forks. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct test_case *all;
static bool failed;

void test_register(struct test_case *c)
{
    struct test_case **at = &all;
    while (*at)
        at = &(*at)->next;
    *at = c;
}

void test_failed(const char *file, int line, bool ends, const char *what,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "%s:%d: not %s: ", file, line, what);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    if (ends)
        _exit(1);
}

void cr_skip_test(const char *format, ...)
{
    (void)format;
    _exit(0);
}

static void run(const struct test_case *c, const struct test_options *suite)
{
    const struct test_options *options[] = {suite, &c->options};
    for (int k = 0; k < 2; k++)
        if (options[k]->init)
            options[k]->init();
    c->body();
    for (int k = 1; k >= 0; k--)
        if (options[k]->fini)
            options[k]->fini();
    _exit(__atomic_load_n(&failed, __ATOMIC_RELAXED));
}

static bool is_named(const char *name, char **names)
{
    bool named = !*names;
    for (; *names && !named; names++)
        named = strcmp(*names, name) == 0;
    return named;
}

/* Names are `suite/test`; without one: all. */
int main(int argc, char **argv)
{
    (void)argc;
    int wrong = 0, tested = 0;
    for (const struct test_case *c = all; c; c = c->next) {
        struct test_options suite = {0};
        char name[256];
        int status = 0;
        (void)snprintf(name, sizeof name, "%s/%s", c->suite, c->name);
        if (!c->body || !is_named(name, argv + 1))
            continue;
        for (const struct test_case *s = all; s; s = s->next)
            if (!s->body && strcmp(s->suite, c->suite) == 0)
                suite = s->options;
        tested++;
        const pid_t child = fork();
        if (child == 0)
            run(c, &suite);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            (void)fprintf(stderr, "FAILED: %s (status %d)\n", name, status);
            wrong++;
        }
    }
    (void)printf("Tested: %d | Failed: %d\n", tested, wrong);
    return wrong > 0 || tested == 0;
}
