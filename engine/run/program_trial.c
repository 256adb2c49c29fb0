/* strads_program_check: tries a program on data in a child process, in several
 * ways, and checks that the results agree. The program's callbacks are replaced
 * by those of this file. Each one records which call is in progress, for the
 * message after a crash, and passes the program buffers between guard zones.
 *
 * Invariant: the child tries one program and exits, so its state may be static.
 * The parent only reads `shared`. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/sized.h"
#include "engine/run/program_check.h"
#include "engine/run/run_setup.h"

enum {
    GUARDS = 64,    /* numbers before and after a buffer */
    ROUNDS = 300,   /* of runs that are compared bit by bit */
    SECONDS = 10,   /* limit of runs to the end */
    PARTITIONS = 3, /* besides runs with one */
    FEW = 16,       /* unset numbers that may be chance */
};

/* ---- the call in progress, for the message after a crash ---------------- */

typedef struct call {
    const char *callback; /* NULL: none */
    char phase[64];
    uint32_t param, n; /* the block: first parameter and length */
    bool on_share;
    uint32_t partition;
} call;

typedef struct shared {
    bool done; /* the child has finished */
    strads_err err;
    char text[1024];
    bool crashed; /* it crashed in this call */
    call call;
} shared;

static shared *told;
static _Thread_local call now;

static void describe_call(const call *c, char *text, size_t size)
{
    char block[64] = "", share[48] = "";
    if (c->n)
        (void)snprintf(block, sizeof block, ", block of parameters %u to %u",
                       c->param, c->param + c->n - 1);
    if (c->n == 1)
        (void)snprintf(block, sizeof block, ", block of parameter %u",
                       c->param);
    if (c->on_share)
        (void)snprintf(share, sizeof share, ", partition %u", c->partition);
    (void)snprintf(text, size, "%s%s%s%s%s", c->callback,
                   c->phase[0] ? " of phase " : "", c->phase, block, share);
}

/* Runs on the thread that crashed. */
static void on_crash(int signal)
{
    (void)signal;
    told->call = now;
    told->crashed = now.callback != NULL;
}

static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
    action.sa_handler = on_crash;
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        (void)sigaction(signals[k], &action, NULL);
}

/* ---- the program with replaced callbacks --------------------------------- */

/* Counts the numbers in commit->change, and those that aggregate has set, by
 * phase. */
typedef struct filled {
    uint64_t first, set_first; /* of each block's first parameter, */
    uint64_t more, set_more;   /* and of its other parameters */
    uint32_t longest;
} filled;

static strads_program users;  /* the program as given */
static strads_program tried;  /* with this file's callbacks */
static strads_phase *guarded; /* [n_phases] of `tried` */
static filled *filling;       /* [n_phases, or 1] */
static bool counts;           /* whether to count into `filling` */

static void enter(const char *callback, uint32_t phase,
                  const strads_block *block, const strads_share *share)
{
    now = (call){.callback = callback};
    if (users.n_phases)
        (void)snprintf(now.phase, sizeof now.phase, "%s",
                       users.phases[phase].name);
    if (block && block->n) {
        now.n = block->n;
        now.param = strads_block_param(block, 0);
    }
    if (share) {
        now.on_share = true;
        now.partition = share->partition;
    }
}

static strads_err leave_callback(strads_err err)
{
    now.callback = NULL;
    return err;
}

static strads_err fail_with_call(const char *what)
{
    char where[256];
    describe_call(&now, where, sizeof where);
    return strads_fail(STRADS_EPROGRAM, "program %s, %s: %s", users.name, where,
                       what);
}

/* A signalling NaN that no computation produces. */
static const uint64_t GUARD = UINT64_C(0x7ff4dead5afe600d);

typedef struct guard {
    unsigned char *whole;
    size_t bytes;
} guard;

/* A copy of `bytes` bytes between guard zones; NULL: no memory. */
static void *guard_make(guard *g, const void *from, size_t bytes)
{
    const size_t zone = GUARDS * sizeof GUARD;
    *g = (guard){.whole = malloc(2 * zone + bytes), .bytes = bytes};
    if (!g->whole)
        return NULL;
    for (size_t k = 0; k < GUARDS; k++) {
        memcpy(g->whole + k * sizeof GUARD, &GUARD, sizeof GUARD);
        memcpy(g->whole + zone + bytes + k * sizeof GUARD, &GUARD,
               sizeof GUARD);
    }
    if (bytes)
        memcpy(g->whole + zone, from, bytes);
    return g->whole + zone;
}

static bool zone_is_whole(const unsigned char *zone)
{
    bool whole = true;
    for (size_t k = 0; k < GUARDS; k++)
        whole = whole && !memcmp(zone + k * sizeof GUARD, &GUARD, sizeof GUARD);
    return whole;
}

/* Called after a callback that returned `err`. Copies the buffer back, or fails
 * if the guard zones were written to. */
static strads_err guard_end(guard *g, void *to, const char *what,
                            const char *advice, strads_err err)
{
    const size_t zone = GUARDS * sizeof GUARD;
    char text[320];
    if (!g->whole)
        return err;
    const bool before = !zone_is_whole(g->whole);
    if (before || !zone_is_whole(g->whole + zone + g->bytes)) {
        (void)snprintf(text, sizeof text,
                       "it writes %s the %zu numbers of %s: %s",
                       before ? "before" : "beyond", g->bytes / sizeof(double),
                       what, advice);
        err = err ? err : fail_with_call(text);
    } else if (to && g->bytes) {
        memcpy(to, g->whole + zone, g->bytes);
    }
    free(g->whole);
    return err;
}

static strads_err no_trial_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory to try a program");
}

static strads_err on_update(strads_task *task)
{
    double *const partial = task->partial, *const value = task->value;
    const size_t bytes = task->partial_bytes;
    const size_t values = sizeof(double) * task->block.n * task->width;
    guard p = {0}, v = {0};
    enter("update", task->phase, &task->block, task->share);
    task->partial = guard_make(&p, partial, partial ? bytes : 0);
    if (value)
        task->value = guard_make(&v, value, values);
    strads_err err = task->partial && (!value || task->value)
                         ? (users.n_phases ? users.phases[task->phase].update
                                           : users.update)(task)
                         : no_trial_memory();
    const size_t kept = task->partial_bytes;
    task->partial = partial;
    task->value = value;
    if (!err && kept > bytes)
        err = fail_with_call("it raises partial_bytes: it may only lower them");
    err = guard_end(&p, partial, "its partial",
                    "`partial` returns their number, n x width without it; "
                    "have it return more",
                    err);
    err = guard_end(&v, value, "task->value", "a block has n x width of them",
                    err);
    return leave_callback(err);
}

/* The content of commit->change before aggregate. An aggregate that sets
 * nothing leaves this value. */
static double fill_of(const strads_commit *commit)
{
    return commit->round % 2 ? -0.0 : 0.0;
}

static void count_filled(const strads_commit *commit, const double *change)
{
    filled *f = &filling[commit->phase];
    const bool sign = signbit(fill_of(commit));
    for (size_t k = 0; k < (size_t)commit->block.n * commit->width; k++) {
        const bool set = change[k] != 0 || !signbit(change[k]) != !sign;
        const bool first = k < commit->width;
        f->first += first;
        f->more += !first;
        f->set_first += first && set;
        f->set_more += !first && set;
    }
    if (commit->block.n > f->longest)
        f->longest = commit->block.n;
}

static strads_err run_aggregate(strads_commit *commit, bool fills)
{
    const size_t n = (size_t)commit->block.n * commit->width;
    double *const change = commit->change, *const priority = commit->priority;
    guard c = {0}, p = {0};
    commit->change = guard_make(&c, change, sizeof(double) * n);
    commit->priority =
        guard_make(&p, priority, sizeof(double) * commit->block.n);
    strads_err err =
        commit->change && commit->priority ? STRADS_OK : no_trial_memory();
    for (size_t k = 0; !err && fills && k < n; k++)
        commit->change[k] = fill_of(commit);
    if (!err)
        err = (users.n_phases ? users.phases[commit->phase].aggregate
                              : users.aggregate)(commit);
    if (!err && fills)
        count_filled(commit, commit->change);
    commit->change = change;
    commit->priority = priority;
    err = guard_end(&c, change, "commit->change",
                    "a block has n x width of them", err);
    return guard_end(&p, priority, "commit->priority", "a block has n of them",
                     err);
}

static strads_err on_aggregate(strads_commit *commit)
{
    const strads_to to =
        users.n_phases ? users.phases[commit->phase].to : STRADS_TO_ALL;
    const bool held = to == STRADS_TO_OWNER || to == STRADS_TO_RING;
    strads_err err;
    enter("aggregate", commit->phase, &commit->block, NULL);
    if (commit->change && commit->priority)
        err = run_aggregate(commit, counts && !held);
    else
        err = (users.n_phases ? users.phases[commit->phase].aggregate
                              : users.aggregate)(commit);
    return leave_callback(err);
}

static size_t on_partial(const strads_task *task)
{
    const call before = now;
    enter("partial", task->phase, &task->block, NULL);
    const size_t size = (users.n_phases ? users.phases[task->phase].partial
                                        : users.partial)(task);
    now = before;
    return size;
}

static strads_err on_receive(strads_task *task)
{
    enter("receive", task->phase, &task->block, task->share);
    return leave_callback(users.phases[task->phase].receive(task));
}

/* Enters a callback that belongs to no phase. */
static void enter_other(const char *callback, const strads_share *share)
{
    now = (call){.callback = callback};
    now.on_share = share != NULL;
    now.partition = share ? share->partition : 0;
}

static strads_err on_shape(const void *config, const strads_data *data,
                           strads_shape *shape)
{
    enter_other("shape", NULL);
    return leave_callback(users.shape(config, data, shape));
}

static strads_err on_begin(const void *config, const strads_data *data,
                           const strads_shape *shape, void **state)
{
    enter_other("begin", NULL);
    return leave_callback(users.begin(config, data, shape, state));
}

static void on_end(void *state)
{
    enter_other("end", NULL);
    users.end(state);
    now.callback = NULL;
}

static strads_err on_open(const strads_task *task, void **local)
{
    enter_other("open", task->share);
    return leave_callback(users.open(task, local));
}

static void on_close(void *local)
{
    enter_other("close", NULL);
    users.close(local);
    now.callback = NULL;
}

static strads_err on_refresh(strads_task *task, const strads_change *changes,
                             uint32_t n)
{
    enter_other("refresh", task->share);
    return leave_callback(users.refresh(task, changes, n));
}

static strads_err on_schedule(strads_turn *turn)
{
    enter_other("schedule", NULL);
    return leave_callback(users.schedule(turn));
}

static strads_err on_objective(void *state, strads_report *report)
{
    enter_other("objective", NULL);
    return leave_callback(users.objective(state, report));
}

static strads_err on_run(strads_task *task, strads_session *session)
{
    enter_other("run", task->share);
    return leave_callback(users.run(task, session));
}

/* Empty slots stay empty. */
#define REPLACE(table, slot) \
    (table).slot = (table).slot ? on_##slot : (table).slot

static strads_err make_tried(void)
{
    const uint32_t n = users.n_phases;
    tried = users;
    guarded = calloc(n + 1, sizeof *guarded);
    filling = calloc(n + 1, sizeof *filling);
    if (!guarded || !filling)
        return no_trial_memory();
    for (uint32_t k = 0; k < n; k++) {
        guarded[k] = users.phases[k];
        REPLACE(guarded[k], partial);
        REPLACE(guarded[k], update);
        REPLACE(guarded[k], aggregate);
        REPLACE(guarded[k], receive);
    }
    tried.phases = n ? guarded : NULL;
    REPLACE(tried, partial);
    REPLACE(tried, update);
    REPLACE(tried, aggregate);
    REPLACE(tried, shape);
    REPLACE(tried, begin);
    REPLACE(tried, end);
    REPLACE(tried, open);
    REPLACE(tried, close);
    REPLACE(tried, refresh);
    REPLACE(tried, schedule);
    REPLACE(tried, objective);
    REPLACE(tried, run);
    return STRADS_OK;
}

/* ---- runs --------------------------------------------------------------- */

typedef struct trial {
    const void *config;
    const strads_data *whole, *parts; /* one partition, and three */
} trial;

/* A run and its outcome. */
typedef struct trial_run {
    bool parts, simulated, to_end;
    uint32_t workers;
    const struct trial_run *start; /* take its values as start values */
    bool one_report;               /* end after the first report */
    /* Out: */
    strads_result *result;
    const double *value;
    uint64_t parameters;
    uint32_t width;
    double first, last; /* objectives */
    bool reported, stop;
} trial_run;

static void on_progress(void *arg, const strads_progress *progress)
{
    trial_run *r = arg;
    if (!r->reported)
        r->first = progress->objective;
    r->reported = true;
    r->stop = r->one_report;
}

static strads_err run_one(const trial *t, trial_run *r)
{
    const strads_data *data = r->parts ? t->parts : t->whole;
    strads_engine_options o = {
        .size = sizeof o,
        .workers = r->workers ? r->workers : 1,
        .partitions = r->parts ? PARTITIONS : 1,
        /* A program whose blocks go by a plan has no policy. */
        .policy = r->to_end || sti_program_excludes(&users, "policy")
                      ? NULL
                      : "cyclic",
        .max_rounds = r->to_end ? 0 : ROUNDS,
        .time_limit = r->to_end ? SECONDS : 0,
        .seed = 1,
        .deterministic = true,
        .progress = on_progress,
        .progress_arg = r,
        .stop = &r->stop,
    };
    uint32_t *param = NULL;
    if (r->start && r->start->parameters) {
        param = malloc(sizeof *param * r->start->parameters);
        if (!param)
            return no_trial_memory();
        for (uint64_t j = 0; j < r->start->parameters; j++)
            param[j] = (uint32_t)j;
        o.n_start = r->start->parameters;
        o.start_param = param;
        o.start_value = r->start->value;
    }
    const strads_sim_options sim = {.size = sizeof sim, .nodes = PARTITIONS};
    strads_err err = r->simulated
                         ? strads_simulate(&tried, t->config, data, &o, &sim,
                                           &r->result, NULL)
                         : strads_run(&tried, t->config, data, &o, &r->result);
    free(param);
    if (err)
        return err;
    r->value = strads_result_values(r->result, &r->parameters, &r->width);
    r->last = strads_result_progress(r->result)->objective;
    return STRADS_OK;
}

static size_t count_values(const trial_run *r)
{
    return (size_t)r->parameters * r->width;
}

static bool same_bits(const trial_run *a, const trial_run *b)
{
    return count_values(a) == count_values(b) &&
           (count_values(a) == 0 ||
            memcmp(a->value, b->value, sizeof(double) * count_values(a)) == 0);
}

static bool near(const trial_run *a, const trial_run *b, double bound)
{
    double largest = 0, apart = 0;
    if (count_values(a) != count_values(b))
        return false;
    for (size_t k = 0; k < count_values(a); k++) {
        largest = fmax(largest, fabs(a->value[k]));
        apart = fmax(apart, fabs(a->value[k] - b->value[k]));
    }
    return apart <= bound * largest;
}

/* ---- checks ------------------------------------------------------------- */

static strads_err blame(const char *what)
{
    return strads_fail(STRADS_EPROGRAM, "program %s %s", users.name, what);
}

/* Phases to ALL sum over partitions, so the number of partitions changes only
 * rounding. Start values are sent by refresh. */
static bool all_to_all(void)
{
    bool all = !users.run && !users.owned && !users.payload;
    for (uint32_t k = 0; k < users.n_phases; k++)
        all = all && (users.phases[k].to == STRADS_TO_ALL ||
                      users.phases[k].to == STRADS_TO_NOBODY);
    return all;
}

static bool is_all_zero(const trial_run *r)
{
    bool zero = true;
    for (size_t k = 0; k < count_values(r); k++)
        zero = zero && r->value[k] == 0;
    return zero;
}

static strads_err check_filled(const trial_run *r)
{
    char text[320];
    for (uint32_t k = 0; k < (users.n_phases ? users.n_phases : 1); k++) {
        const filled *f = &filling[k];
        const bool policys =
            !users.n_phases || users.phases[k].when == STRADS_WHEN_POLICY;
        if (policys && f->first > 0 && f->set_first + f->set_more == 0 &&
            is_all_zero(r))
            return blame("sets commit->change in no aggregate: fill in "
                         "change[0 .. n * width - 1], what to add to the "
                         "block's parameters");
        if (policys && f->more >= FEW && f->set_first > 0 && !f->set_more) {
            (void)snprintf(text, sizeof text,
                           "sets commit->change of the first parameter of a "
                           "block alone, and blocks have up to %u: fill in "
                           "change[0 .. n * width - 1], or set "
                           "shape->block_max to 1 in a `shape`",
                           f->longest);
            return blame(text);
        }
    }
    return STRADS_OK;
}

/* Three partitions give the same bits on one worker, on two workers and
 * simulated. */
static strads_err check_same_results(const trial *t, const trial_run *one)
{
    trial_run two = {.parts = true, .workers = 2};
    trial_run simulated = {.parts = true, .simulated = true};
    strads_err err = run_one(t, &two);
    if (!err && !users.run && !same_bits(one, &two))
        err = blame("gives other numbers on two workers than on one: callbacks "
                    "of one partition may not touch data that those of another "
                    "write; keep it in the state that open makes");
    if (!err)
        err = run_one(t, &simulated);
    if (!err && !users.run && !same_bits(one, &simulated))
        err = blame(
            "gives other numbers on simulated nodes: callbacks may use their "
            "arguments only, not clocks, addresses or static variables");
    strads_result_free(two.result);
    strads_result_free(simulated.result);
    return err;
}

/* Compares the objectives if both are known, otherwise the values. */
static bool objectives_agree(const trial_run *a, const trial_run *b,
                             double bound)
{
    if (!isfinite(a->last) || !isfinite(b->last))
        return near(a, b, bound);
    return fabs(a->last - b->last) <= bound * fmax(fabs(a->last), 1e-300);
}

static strads_err check_objective(const trial *t, const trial_run *end)
{
    char text[400];
    if (isfinite(end->first) &&
        (!isfinite(end->last) ||
         end->last > end->first + 1e-6 * fabs(end->first))) {
        (void)snprintf(
            text, sizeof text,
            "starts from an objective of %.9g and ends at %.9g, which is "
            "worse: %s",
            end->first, end->last,
            users.open && !users.refresh
                ? "it has no refresh, so its workers' state is that of "
                  "parameters that are all 0; add one that applies the changes"
                : "check how update, aggregate and refresh compute a step");
        return blame(text);
    }
    if (!users.refresh || !isfinite(end->last))
        return STRADS_OK;
    trial_run again = {.to_end = true, .start = end, .one_report = true};
    strads_err err = run_one(t, &again);
    const bool settled =
        !err && strads_result_end(end->result) == STRADS_END_CONVERGED;
    if (!err && again.reported &&
        (again.first > end->last + 1e-4 * fabs(end->last) ||
         (settled && again.first < end->last - 1e-3 * fabs(end->last)))) {
        (void)snprintf(text, sizeof text,
                       "reports an objective of %.9g, and %.9g when it "
                       "restarts from the same parameters: refresh must bring "
                       "the workers' state to the same value by many changes "
                       "as by one, and objective must cover all parameters",
                       end->last, again.first);
        err = blame(text);
    }
    strads_result_free(again.result);
    return err;
}

/* Runs to the end: one and three partitions have about the same objective. */
static strads_err check_ends(const trial *t, bool differ)
{
    trial_run end = {.to_end = true}, other = {.to_end = true, .parts = true};
    strads_err err = run_one(t, &end);
    if (!err)
        err = check_objective(t, &end);
    if (!err && differ)
        err = run_one(t, &other);
    if (!err && differ && !objectives_agree(&end, &other, 1e-3))
        err = blame(
            "ends with another result on three partitions than on one: an "
            "update may sum over its own share only; a term of the whole, such "
            "as a penalty or the number of rows, belongs in aggregate");
    strads_result_free(end.result);
    strads_result_free(other.result);
    return err;
}

static strads_err try_all(const trial *t)
{
    trial_run whole = {0}, parts = {.parts = true};
    counts = true;
    strads_err err = run_one(t, &whole);
    counts = false;
    if (!err)
        err = check_filled(&whole);
    if (!err)
        err = run_one(t, &parts);
    if (!err)
        err = check_same_results(t, &parts);
    if (!err && all_to_all())
        err = check_ends(t, !near(&whole, &parts, 1e-6));
    strads_result_free(whole.result);
    strads_result_free(parts.result);
    return err;
}

static strads_err read_split_data(const void *config, const char *path,
                                  const strads_data_options *how,
                                  uint32_t partitions, strads_data **out)
{
    strads_data_options cut = {.size = sizeof cut};
    const strads_engine_options o = {.size = sizeof o,
                                     .workers = 1,
                                     .partitions = partitions};
    strads_err err =
        how ? sti_sized_copy(&cut, sizeof cut, how, "the data's options")
            : STRADS_OK;
    if (!err)
        err = strads_run_cut(&users, config, &o, &cut);
    return err ? err : strads_data_read(path, &cut, out);
}

static strads_err child(const void *config, const char *path,
                        const strads_data_options *how)
{
    strads_data *whole = NULL, *parts = NULL;
    catch_crashes();
    strads_err err = make_tried();
    if (!err)
        err = read_split_data(config, path, how, 1, &whole);
    if (!err)
        err = read_split_data(config, path, how, PARTITIONS, &parts);
    if (!err)
        err =
            try_all(&(trial){.config = config, .whole = whole, .parts = parts});
    strads_data_free(whole);
    strads_data_free(parts);
    free(guarded);
    free(filling);
    return err;
}

/* ---- the parent --------------------------------------------------------- */

static strads_err judge_child(int status)
{
    char where[256] = "outside its callbacks, by a write that one of them has "
                      "overwritten";
    if (told->done)
        return told->err ? strads_fail(told->err, "%s", told->text) : STRADS_OK;
    if (told->crashed)
        describe_call(&told->call, where, sizeof where);
    if (WIFSIGNALED(status))
        return strads_fail(STRADS_EPROGRAM,
                           "program %s crashes (%s) in %s: run it under a "
                           "debugger, with these options, to see the line",
                           users.name, strsignal(WTERMSIG(status)), where);
    return strads_fail(STRADS_EPROGRAM,
                       "program %s ends the process with exit code %d: a "
                       "callback returns strads_fail(...) instead",
                       users.name, WEXITSTATUS(status));
}

strads_err strads_program_check(const strads_program *program,
                                const void *config, const char *path,
                                const strads_data_options *how)
{
    strads_err err = sti_program_take(program, &users);
    if (err)
        return err;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        return no_trial_memory();
    const pid_t pid = fork();
    if (pid == 0) {
        told->err = child(config, path, how);
        if (told->err)
            (void)snprintf(told->text, sizeof told->text, "%s",
                           strads_error_text());
        told->done = true;
        _exit(0);
    }
    int status = 0;
    if (pid < 0) {
        err = strads_fail(STRADS_ENOMEM, "no process to try a program in");
    } else {
        while (waitpid(pid, &status, 0) < 0)
            continue;
        err = judge_child(status);
    }
    (void)munmap(told, sizeof *told);
    return err;
}
