/* Data-parallel programs in one process: checkpoints and refused options.
 * loop_end_test.c tests how they run and end. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/strads.h"
#include "tests/expect.h"
#include "tests/toy_data.h"

enum { SNAPSHOTS = 7, LEDGER_CLOCKS = 40, TALLY = 1 };

/* Each partition adds 1 to a row in each clock. So the row holds clocks x
 * partitions, and the exact snapshot holds its value at the snapshot's clock.
 */
static strads_err ledger_run(strads_task *task, strads_session *session)
{
    const uint32_t row = 0;
    int64_t seen;
    strads_err err = STRADS_OK;
    while (!err && strads_session_now(session) < LEDGER_CLOCKS &&
           !strads_loop_ends(task)) {
        const uint64_t now = strads_session_now(session);
        uint64_t clock;
        if (now >= SNAPSHOTS)
            err = strads_session_read_snapshot(session, TALLY, 1, &row, &seen,
                                               &clock);
        if (!err && now >= SNAPSHOTS &&
            seen != (int64_t)(clock * task->shape->partitions))
            err = strads_fail(STRADS_EPROGRAM, "the snapshot of %d has %d",
                              (int)clock, (int)seen);
        if (!err)
            err = strads_session_inc(session, TALLY, 0, 0, 1);
        if (!err)
            err = strads_session_inc(session, 0, 0, 0, 1);
        if (!err)
            err = strads_session_clock(session);
    }
    return err;
}

TOY_SHAPE(ledger_shape, shape->parameters = 1)

static strads_err ledger_tables(const void *config, const strads_shape *shape,
                                strads_store *store)
{
    const strads_table_spec spec = {.name = "tally",
                                    .type = STRADS_I64,
                                    .rows = 1,
                                    .cols = 1,
                                    .sparse = true,
                                    .snapshot_every = SNAPSHOTS};
    (void)config, (void)shape;
    return strads_store_create(store, &spec, &(uint32_t){0});
}

static strads_err ledger_pack(const void *local, strads_bytes *out)
{
    (void)local;
    return strads_bytes_append(out, "!", 1);
}

static strads_err ledger_decline(const void *local, strads_bytes *out)
{
    (void)local, (void)out;
    return STRADS_OK;
}

static strads_err ledger_unpack(strads_task *task, const void *bytes,
                                size_t size, void **local)
{
    (void)task, (void)local;
    return size == 1 && *(const char *)bytes == '!'
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT, "is no ledger's");
}

static strads_program ledger(void)
{
    return (strads_program){.size = sizeof(strads_program),
                            .name = "ledger",
                            .shape = ledger_shape,
                            .tables = ledger_tables,
                            .pack = ledger_pack,
                            .unpack = ledger_unpack,
                            .run = ledger_run};
}

static strads_err run_ledger(const strads_program *program,
                             strads_engine_options options, double *counted,
                             uint64_t *clocks)
{
    strads_data *data = toy_data(program, 23, 17, 3);
    strads_result *result = NULL;
    options.size = sizeof options;
    options.workers = 3;
    options.partitions = 3;
    strads_err err = strads_run(program, NULL, data, &options, &result);
    if (!err) {
        *counted = *values_of(result);
        *clocks = strads_result_progress(result)->round;
    }
    strads_result_free(result);
    strads_data_free(data);
    return err;
}

/* A name for a checkpoint folder that does not exist yet. */
static void name_folder(char name[64])
{
    (void)snprintf(name, 64, "/tmp/strads-loop-%ld-XXXXXX", (long)getpid());
    cr_assert_not_null(mkdtemp(name));
}

static void remove_folder(const char *name)
{
    for (int k = 1; k < 100; k++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/checkpoint-%06d.strads", name, k);
        (void)unlink(path);
    }
    (void)rmdir(name);
}

Test(engine_loop, goes_on_from_the_last_clock_that_has_exact_snapshots)
{
    const strads_program program = ledger();
    char folder[64];
    double counted = 0;
    uint64_t clocks = 0;
    name_folder(folder);
    expect_ok(run_ledger(&program,
                         (strads_engine_options){.checkpoint = folder,
                                                 .max_rounds = 23},
                         &counted, &clocks));
    cr_assert_eq(counted, 3 * 23);
    /* Clocks 21 and 22 run again; no increment is lost or repeated. */
    expect_ok(run_ledger(&program, (strads_engine_options){.resume = folder},
                         &counted, &clocks));
    cr_assert_eq(counted, 3 * LEDGER_CLOCKS);
    cr_assert_eq(clocks, LEDGER_CLOCKS);
    remove_folder(folder);
}

Test(engine_loop, a_loop_that_packs_nothing_has_no_checkpoint_and_loses_nothing)
{
    strads_program program = ledger();
    char folder[64];
    double counted = 0;
    uint64_t clocks = 0;
    name_folder(folder);
    program.pack = ledger_decline;
    expect_ok(run_ledger(&program,
                         (strads_engine_options){.checkpoint = folder,
                                                 .checkpoint_every = 1e-6},
                         &counted, &clocks));
    cr_assert_eq(counted, 3 * LEDGER_CLOCKS);
    expect_error(run_ledger(&program, (strads_engine_options){.resume = folder},
                            &counted, &clocks),
                 STRADS_EFORMAT, "has no checkpoint");
    remove_folder(folder);
}

Test(engine_loop, a_loop_that_cannot_be_packed_is_refused_checkpoints)
{
    strads_program program = ledger();
    double counted = 0;
    uint64_t clocks = 0;
    program.pack = NULL;
    program.unpack = NULL;
    expect_error(run_ledger(&program,
                            (strads_engine_options){.checkpoint = "/tmp/x"},
                            &counted, &clocks),
                 STRADS_EINVAL, "pack and unpack");
}

Test(engine_loop, a_program_cannot_have_both_run_and_phases)
{
    strads_program program = ledger();
    double counted = 0;
    uint64_t clocks = 0;
    program.n_phases = 1;
    cr_assert_eq(run_ledger(&program, (strads_engine_options){0}, &counted,
                            &clocks),
                 STRADS_EINVAL);
}
