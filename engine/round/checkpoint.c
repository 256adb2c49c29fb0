/* Checkpoints as bytes. State is kept only while a job runs. */
#include "engine/round/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/cursor.h"
#include "engine/round/partials.h"
#include "engine/store/local_store.h"

/* ---- packing by programs
 * --------------------------------------------------- */

struct strads_bytes {
    sti_buffer *buffer;
};

strads_err strads_bytes_append(strads_bytes *bytes, const void *from,
                               size_t size)
{
    const size_t at = bytes->buffer->size;
    strads_err err = sti_buffer_resize(bytes->buffer, at + size);
    if (!err && size)
        memcpy(bytes->buffer->bytes + at, from, size);
    return err;
}

strads_err sti_checkpoint_pack(strads_err (*pack)(const void *object,
                                                  strads_bytes *out),
                               const void *object, sti_buffer **out)
{
    strads_bytes bytes;
    strads_err err = sti_buffer_new(0, &bytes.buffer);
    if (err)
        return err;
    err = pack(object, &bytes);
    if (err)
        sti_object_drop(bytes.buffer);
    else
        *out = bytes.buffer;
    return err;
}

/* ---- a partition's part --------------------------------------------------
 *
 * A program packs directly into the records, because its bytes may be many. The
 * layout is that of a sti_writer. */

static strads_err append_aligned(sti_buffer *to, const void *from, size_t size,
                                 size_t align)
{
    const size_t at = to->size, skip = (align - at % align) % align;
    strads_err err = sti_buffer_resize(to, at + skip + size);
    if (!err) {
        memset(to->bytes + at, 0, skip);
        if (size)
            memcpy(to->bytes + at + skip, from, size);
    }
    return err;
}

static strads_err append_packed(sti_buffer *to,
                                strads_err (*pack)(const void *object,
                                                   strads_bytes *out),
                                const void *object)
{
    uint64_t size = 0;
    strads_err err = append_aligned(to, &size, sizeof size, sizeof size);
    const size_t at = to->size;
    if (!err)
        err = pack(object, &(strads_bytes){to});
    size = to->size - at;
    if (!err)
        memcpy(to->bytes + at - sizeof size, &size, sizeof size);
    return err;
}

static strads_err append_partition(const sti_run *run,
                                   const sti_partition *part, sti_buffer *to,
                                   bool *empty)
{
    const strads_program *program = run->program;
    const size_t at = to->size;
    strads_err err = STRADS_OK;
    uint32_t parked = 0;
    for (uint32_t k = 0; program->payload && k < part->n_parked; k++)
        parked += part->parked[k].object != NULL;
    if (program->pack)
        err = append_packed(to, program->pack, part->local);
    /* the size of the packed bytes */
    *empty = to->size - at <= sizeof(uint64_t);
    if (!err)
        err = append_aligned(to, &parked, sizeof parked, sizeof parked);
    for (uint32_t k = 0; !err && parked && k < part->n_parked; k++) {
        if (!part->parked[k].object)
            continue;
        const uint64_t block = part->parked[k].block;
        err = append_aligned(to, &block, sizeof block, sizeof block);
        if (!err)
            err = append_packed(to, program->payload->pack,
                                part->parked[k].object);
    }
    return err;
}

strads_err sti_checkpoint_append_partition(const sti_run *run,
                                           uint32_t partition,
                                           sti_buffer *records, bool *empty)
{
    sti_record record;
    strads_err err = sti_records_append(records, partition, 0, 0, &record);
    const size_t at = records->size;
    if (!err)
        err = append_partition(run, &run->partition[partition], records, empty);
    const size_t size = records->size - at;
    if (!err)
        err = append_aligned(records, NULL, 0, sizeof(uint64_t));
    /* the buffer may have moved */
    record.partial = (double *)(void *)(records->bytes + at);
    if (!err)
        sti_records_shrink(records, &record, size);
    return err;
}

strads_err sti_checkpoint_join(sti_buffer *records, const sti_buffer *more)
{
    const size_t at = records->size;
    strads_err err = sti_buffer_resize(records, at + more->size);
    if (!err && more->size)
        memcpy(records->bytes + at, more->bytes, more->size);
    return err;
}

strads_err sti_checkpoint_pack_partition(const sti_run *run,
                                         const sti_worker_job *job)
{
    bool empty;
    strads_err err = sti_totals_begin_records(run, job->partial);
    return err ? err
               : sti_checkpoint_append_partition(run, job->partition,
                                                 job->partial, &empty);
}

static strads_err read_partition(const sti_run *run, strads_task *task,
                                 sti_reader *r)
{
    const strads_program *program = run->program;
    sti_partition *part = &run->partition[task->share->partition];
    uint64_t size;
    strads_err err = STRADS_OK;
    if (program->unpack) {
        const void *bytes = sti_read_bytes(r, &size);
        err =
            r->err ? r->err : program->unpack(task, bytes, size, &part->local);
        part->opened = !err;
    }
    for (uint32_t n = err ? 0 : sti_read_u32(r); n > 0 && !err; n--) {
        const uint64_t block = sti_read_u64(r);
        const void *bytes = sti_read_bytes(r, &size);
        void *object = NULL;
        err = r->err ? r->err
              : !program->payload
                  ? strads_fail(STRADS_EPEER, "an unexpected block")
                  : program->payload->unpack(bytes, size, &object);
        if (!err)
            err = sti_park(part, block, object);
    }
    return err ? err : sti_reader_end(r, "a partition's part of a checkpoint");
}

strads_err sti_checkpoint_open_partition(const sti_run *run, strads_task *task,
                                         const sti_buffer *parts)
{
    sti_record record;
    strads_err err;
    size_t at = sti_totals_bytes(run);
    while (at <= parts->size && sti_records_next(parts, &at, &record, &err)) {
        if (record.block != task->share->partition)
            continue;
        sti_reader r;
        sti_reader_init(&r, record.partial, record.partial_bytes);
        return read_partition(run, task, &r);
    }
    return strads_fail(
        STRADS_EPEER,
        "the checkpoint has no part of partition %u: it is damaged, or "
        "another version wrote it",
        task->share->partition);
}

/* ---- tables -------------------------------------------------------------- */

static void write_table(sti_writer *w, const sti_table *table)
{
    const strads_table_spec *spec = &table->spec;
    sti_write_string(w, spec->name);
    sti_write_u32(w, spec->type);
    sti_write_u32(w, spec->sparse);
    sti_write_u64(w, spec->rows);
    sti_write_u32(w, spec->cols);
    sti_write_u64(w, table->version);
    if (table->dense) {
        sti_write_bytes(w, table->dense, spec->rows * table->row_bytes);
        return;
    }
    for (uint64_t r = 0; r < spec->rows; r++) {
        const sti_sparse_row *row = &table->sparse[r];
        sti_write_u32s(w, row->cols, row->n);
        sti_write_bytes(w, row->values, row->n * table->cell);
    }
}

static strads_err fail_other_tables(const char *name)
{
    return strads_fail(STRADS_EFORMAT,
                       "the checkpoint does not have the program's table %s: "
                       "it was made by another program of the same name",
                       name);
}

static strads_err read_table_rows(sti_reader *r, sti_table *table)
{
    const strads_table_spec *spec = &table->spec;
    uint64_t n, size;
    strads_err err = STRADS_OK;
    if (table->dense) {
        const void *cells = sti_read_bytes(r, &size);
        if (r->err || size != spec->rows * table->row_bytes)
            return fail_other_tables(spec->name);
        memcpy(table->dense, cells, size);
        return STRADS_OK;
    }
    for (uint64_t row = 0; !err && row < spec->rows; row++) {
        const uint32_t *cols = sti_read_u32s(r, &n);
        const void *cells = sti_read_bytes(r, &size);
        if (r->err || n > UINT32_MAX || size != n * table->cell)
            return fail_other_tables(spec->name);
        if (n)
            err = sti_table_add(table, 1,
                                &(sti_row_delta){.row = (uint32_t)row,
                                                 .n = (uint32_t)n,
                                                 .cols = cols,
                                                 .cells = cells},
                                NULL);
    }
    return err;
}

static strads_err read_table(sti_reader *r, sti_table *table)
{
    const strads_table_spec *spec = &table->spec;
    const char *name = sti_read_string(r);
    const uint32_t type = sti_read_u32(r), sparse = sti_read_u32(r);
    const uint64_t rows = sti_read_u64(r);
    const uint32_t cols = sti_read_u32(r);
    const uint64_t version = sti_read_u64(r);
    if (r->err || strcmp(name, spec->name) != 0 || type != spec->type ||
        sparse != spec->sparse || rows != spec->rows || cols != spec->cols)
        return fail_other_tables(spec->name);
    strads_err err = read_table_rows(r, table);
    table->version = version;
    return err;
}

strads_err sti_checkpoint_load(sti_run *run, const sti_checkpoint *checkpoint)
{
    const strads_store *store = run->store;
    sti_reader r;
    strads_err err = STRADS_OK;
    sti_reader_init(&r, checkpoint->tables, checkpoint->tables_size);
    for (uint32_t t = 0; !err && t < store->n_tables; t++)
        err = read_table(&r, store->tables[t]);
    return err || r.at == r.size ? err
                                 : fail_other_tables("behind the last one");
}

void sti_checkpoint_drop_step(sti_run *run)
{
    if (run->shape.totals) {
        sti_table *totals = run->store->tables[run->totals];
        memset(totals->dense, 0, totals->row_bytes);
    }
}

strads_err sti_checkpoint_start(const sti_run *run,
                                const sti_checkpoint *checkpoint,
                                sti_update **start)
{
    const uint32_t width = run->shape.width;
    const double *values = strads_store_dense(run->store, 0);
    uint32_t n = 0;
    strads_err err =
        sti_update_change(checkpoint->at.version,
                          (uint32_t)run->shape.parameters, width, start);
    if (err)
        return err;
    uint32_t *param = (uint32_t *)(uintptr_t)(*start)->change.param;
    double *change = (double *)(uintptr_t)(*start)->change.change;
    for (uint32_t j = 0; j < run->shape.parameters; j++) {
        const double *row = values + (size_t)j * width;
        bool moved = false;
        for (uint32_t c = 0; c < width; c++)
            moved = moved || row[c] != 0;
        if (!moved)
            continue;
        memcpy(change + (size_t)n * width, row, sizeof *row * width);
        param[n++] = j;
    }
    (*start)->change.n = n;
    return STRADS_OK;
}

/* ---- the whole checkpoint
 * -------------------------------------------------- */

static void write_position(sti_writer *w, const sti_checkpoint_position *at)
{
    const strads_progress *p = &at->progress;
    const double figure[] = {p->objective, p->gap};
    const uint64_t count[] = {at->next,          at->laps,         at->version,
                              p->round,          p->nonzeros,      p->blocks,
                              p->updates_policy, p->updates_other, p->probes};
    sti_write_u64s(w, count, sizeof count / sizeof *count);
    sti_write_f64s(w, figure, 2);
    sti_write_f64s(w, p->measure, STRADS_MEASURES);
}

static void read_position(sti_reader *r, sti_checkpoint_position *at)
{
    strads_progress *p = &at->progress;
    uint64_t counts, figures, measures;
    const uint64_t *count = sti_read_u64s(r, &counts);
    const double *figure = sti_read_f64s(r, &figures);
    const double *measure = sti_read_f64s(r, &measures);
    if (r->err || counts != 9 || figures != 2 || measures != STRADS_MEASURES) {
        r->err = STRADS_EPEER;
        return;
    }
    at->next = count[0];
    at->laps = count[1];
    at->version = count[2];
    p->round = count[3];
    p->nonzeros = count[4];
    p->blocks = count[5];
    p->updates_policy = count[6];
    p->updates_other = count[7];
    p->probes = count[8];
    p->objective = figure[0];
    p->gap = figure[1];
    memcpy(p->measure, measure, sizeof p->measure);
}

/* A finished writer as an object that backs a buffer. */
typedef struct written {
    sti_object head;
    sti_writer w;
} written_buffer;

static void free_written(sti_object *object)
{
    sti_writer_free(&((written_buffer *)object)->w);
    free(object);
}

static strads_err make_buffer(sti_writer *w, sti_buffer **out)
{
    written_buffer *all = malloc(sizeof *all);
    if (!all)
        return strads_fail(STRADS_ENOMEM, "no memory for a checkpoint");
    sti_object_init(&all->head, free_written);
    all->w = *w;
    *w = (sti_writer){0};
    strads_err err =
        sti_buffer_over(&all->head, all->w.bytes, all->w.size, out);
    sti_object_drop(all);
    return err;
}

strads_err sti_checkpoint_write(const sti_run *run,
                                const sti_checkpoint_position *at,
                                const sti_buffer *state,
                                const sti_buffer *parts, sti_buffer **out)
{
    const strads_store *store = run->store;
    sti_writer w = {0};
    uint64_t room = parts ? parts->size : 0;
    for (uint32_t t = 0; t < store->n_tables; t++)
        if (store->tables[t]->dense)
            room += store->tables[t]->spec.rows * store->tables[t]->row_bytes;
    sti_writer_reserve(&w, room + room / 64 + 4096);
    sti_write_string(&w, run->checkpoints->identity);
    write_position(&w, at);
    sti_write_bytes(&w, state ? state->bytes : NULL, state ? state->size : 0);
    sti_write_bytes(&w, parts ? parts->bytes : NULL, parts ? parts->size : 0);
    sti_write_bytes(&w, NULL, 0);
    const uint64_t tables = w.size;
    for (uint32_t t = 0; t < store->n_tables; t++)
        write_table(&w, store->tables[t]);
    const uint64_t size = w.size - tables;
    if (!w.err)
        memcpy(w.bytes + tables - sizeof size, &size, sizeof size);
    strads_err err = w.err ? w.err : make_buffer(&w, out);
    sti_writer_free(&w);
    return err;
}

strads_err sti_checkpoint_read(sti_buffer *bytes, sti_checkpoint *out)
{
    sti_reader r;
    sti_checkpoint checkpoint = {.bytes = bytes};
    uint64_t size;
    sti_reader_init(&r, bytes->bytes, bytes->size);
    checkpoint.identity = sti_read_string(&r);
    read_position(&r, &checkpoint.at);
    checkpoint.state = sti_read_bytes(&r, &checkpoint.state_size);
    const void *parts = sti_read_bytes(&r, &size);
    checkpoint.tables = sti_read_bytes(&r, &checkpoint.tables_size);
    if (sti_reader_end(&r, "a checkpoint"))
        return strads_fail(STRADS_EFORMAT,
                           "is not a checkpoint that this version reads");
    strads_err err = STRADS_OK;
    if (size)
        err = sti_buffer_over(&bytes->head, (void *)(uintptr_t)parts, size,
                              &checkpoint.parts);
    if (err)
        return err;
    sti_object_keep(bytes);
    *out = checkpoint;
    return STRADS_OK;
}

void sti_checkpoint_free(sti_checkpoint *checkpoint)
{
    sti_object_drop(checkpoint->parts);
    sti_object_drop(checkpoint->bytes);
    *checkpoint = (sti_checkpoint){0};
}
