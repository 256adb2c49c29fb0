/* Contents of messages: buffers, records, blocks, dispatches, updates,
 * effects. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/dispatch.h"
#include "engine/round/job.h"
#include "engine/base/role.h"
#include "engine/round/partials.h"

/* ---- buffers ----------------------------------------------------------- */

Test(role_objects, a_buffer_keeps_its_content_when_it_grows)
{
    sti_buffer *b;
    cr_assert_eq(sti_buffer_new(3, &b), STRADS_OK);
    memcpy(b->bytes, "abc", 3);
    for (size_t size = 4; size < 100000; size = size * 3 / 2) {
        cr_assert_eq(sti_buffer_resize(b, size), STRADS_OK);
        cr_assert_eq(b->size, size);
        cr_assert_eq((uintptr_t)b->bytes % 64, 0);
        cr_assert_eq(memcmp(b->bytes, "abc", 3), 0);
        b->bytes[size - 1] = 1;
    }
    sti_object_drop(b);
}

Test(role_objects, a_buffer_over_another_object_keeps_that_alive)
{
    sti_buffer *below, *over;
    cr_assert_eq(sti_buffer_new(8, &below), STRADS_OK);
    memcpy(below->bytes, "12345678", 8);
    cr_assert_eq(sti_buffer_over(&below->head, below->bytes + 2, 4, &over),
                 STRADS_OK);
    sti_object_drop(below);
    cr_assert_eq(memcmp(over->bytes, "3456", 4), 0);
    cr_assert_eq(over->size, 4);
    sti_object_drop(over);
    sti_object_drop(NULL);
    cr_assert_null(sti_object_keep(NULL));
}

/* ---- records ----------------------------------------------------------- */

static void append(sti_buffer *b, uint32_t block, size_t bytes, uint32_t values)
{
    sti_record r;
    cr_assert_eq(sti_records_append(b, block, bytes, values, &r), STRADS_OK);
    cr_assert_eq((uintptr_t)r.partial % 8, 0);
    for (size_t k = 0; k < bytes; k++) {
        cr_assert_eq(((unsigned char *)r.partial)[k], 0);
        ((unsigned char *)r.partial)[k] = (unsigned char)(block + k);
    }
    for (uint32_t k = 0; k < values; k++)
        r.values[k] = block * 100.0 + k;
}

static void check_record(const sti_record *r, uint32_t block, size_t bytes,
                         uint32_t values)
{
    cr_assert_eq(r->block, block);
    cr_assert_eq(r->partial_bytes, bytes);
    cr_assert_eq(r->n_values, values);
    for (size_t k = 0; k < bytes; k++)
        cr_assert_eq(((unsigned char *)r->partial)[k],
                     (unsigned char)(block + k));
    for (uint32_t k = 0; k < values; k++)
        cr_assert_eq(r->values[k], block * 100.0 + k);
}

Test(role_objects, records_come_back_as_they_were_appended)
{
    sti_buffer *b;
    sti_record r;
    strads_err err;
    size_t at = 0;
    cr_assert_eq(sti_buffer_new(0, &b), STRADS_OK);
    cr_assert_not(sti_records_next(b, &at, &r, &err));
    cr_assert_eq(err, STRADS_OK);
    for (uint32_t k = 0; k < 50; k++)
        append(b, k, k % 17, k % 5);
    for (uint32_t k = 0; k < 50; k++) {
        cr_assert(sti_records_next(b, &at, &r, &err));
        check_record(&r, k, k % 17, k % 5);
    }
    cr_assert_not(sti_records_next(b, &at, &r, &err));
    cr_assert_eq(err, STRADS_OK);
    sti_object_drop(b);
}

Test(role_objects, the_last_record_can_shrink)
{
    sti_buffer *b;
    sti_record r;
    strads_err err;
    cr_assert_eq(sti_buffer_new(0, &b), STRADS_OK);
    for (uint32_t k = 0; k < 20; k++) {
        cr_assert_eq(sti_records_append(b, k, 40, 0, &r), STRADS_OK);
        memset(r.partial, (int)k, 40);
        sti_records_shrink(b, &r, k);
    }
    size_t at = 0;
    for (uint32_t k = 0; k < 20; k++) {
        cr_assert(sti_records_next(b, &at, &r, &err));
        cr_assert_eq(r.block, k);
        cr_assert_eq(r.partial_bytes, k);
    }
    cr_assert_eq(at, b->size);
    sti_object_drop(b);
}

/* A truncated buffer ends at a record or causes an error. The copies have the
 * exact size, so that a sanitizer detects reads beyond the end. */
Test(role_objects, records_that_end_in_the_middle_are_an_error)
{
    sti_buffer *b;
    cr_assert_eq(sti_buffer_new(0, &b), STRADS_OK);
    append(b, 1, 5, 2);
    size_t first = b->size;
    append(b, 2, 16, 0);
    for (size_t size = 0; size <= b->size; size++) {
        unsigned char *bytes = aligned_alloc(8, (size + 15) / 8 * 8);
        memcpy(bytes, b->bytes, size);
        sti_buffer *cut;
        sti_record r;
        strads_err err;
        size_t at = 0;
        cr_assert_eq(sti_buffer_over(&b->head, bytes, size, &cut), STRADS_OK);
        while (sti_records_next(cut, &at, &r, &err))
            ;
        bool whole = size == 0 || size == first || size == b->size;
        cr_assert_eq(err, whole ? STRADS_OK : STRADS_EPEER);
        sti_object_drop(cut);
        free(bytes);
    }
    sti_object_drop(b);
}

Test(role_objects, a_record_that_claims_to_be_huge_is_an_error)
{
    const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 6, UINT64_C(1) << 63,
                              24};
    for (uint32_t k = 0; k < 4; k++) {
        sti_buffer *b;
        sti_record r;
        strads_err err;
        size_t at = 0;
        cr_assert_eq(sti_buffer_new(0, &b), STRADS_OK);
        append(b, 1, 16, 0);
        memcpy(b->bytes + 8, &sizes[k], sizeof sizes[k]);
        cr_assert_not(sti_records_next(b, &at, &r, &err));
        cr_assert_eq(err, STRADS_EPEER);
        sti_object_drop(b);
    }
}

/* ---- dispatches and updates --------------------------------------------- */

static bool same_block(const strads_block *a, const strads_block *b)
{
    bool same = a->id == b->id && a->n == b->n && a->first == b->first &&
                a->owner == b->owner && !a->param == !b->param;
    for (uint32_t k = 0; same && a->param && k < a->n; k++)
        same = a->param[k] == b->param[k];
    return same;
}

Test(role_objects, a_dispatch_copies_blocks_and_keeps_updates)
{
    uint32_t param[] = {9, 8, 7};
    strads_block blocks[] = {{.id = 1, .n = 3, .param = param, .owner = 2},
                             {.id = 2, .n = 4, .first = 5},
                             {.id = 3}};
    const strads_block flying[] = {{.id = 4, .n = 2, .param = param + 1}};
    const strads_block against = {.id = 5, .n = 1, .param = param};
    sti_update *updates[2];
    cr_assert_eq(sti_update_change(7, 2, 3, &updates[0]), STRADS_OK);
    cr_assert_eq(updates[0]->change.version, 7);
    sti_buffer *partial;
    cr_assert_eq(sti_buffer_new(16, &partial), STRADS_OK);
    cr_assert_eq(sti_update_result(1, &blocks[0], partial, &updates[1]),
                 STRADS_OK);
    sti_object_drop(partial);
    const sti_dispatch_parts parts = {.round = 11,
                                      .seq = 12,
                                      .phase = 1,
                                      .width = 3,
                                      .known = 6,
                                      .n_blocks = 3,
                                      .blocks = blocks,
                                      .against = &against,
                                      .n_in_flight = 1,
                                      .in_flight = flying,
                                      .n_updates = 2,
                                      .updates = updates,
                                      .n_values = 21};
    sti_dispatch *d;
    cr_assert_eq(sti_dispatch_new(&parts, &d), STRADS_OK);
    sti_object_drop(updates[0]);
    sti_object_drop(updates[1]);
    for (uint32_t k = 0; k < 3; k++)
        cr_assert(same_block(&d->blocks[k], &blocks[k]));
    cr_assert_neq(d->blocks[0].param, param);
    cr_assert(same_block(&d->in_flight[0], &flying[0]));
    cr_assert(same_block(&d->against, &against));
    cr_assert(same_block(&d->updates[1]->block, &blocks[0]));
    param[0] = 0;
    cr_assert_eq(d->blocks[0].param[0], 9);
    cr_assert_eq((uintptr_t)d->values % sizeof(double), 0);
    for (uint32_t k = 0; k < 21; k++)
        d->values[k] = k;
    for (uint32_t k = 0; k <= 3; k++)
        cr_assert(d->value_at[k] == 0 && d->partial_at[k] == 0);
    cr_assert(d->round == 11 && d->seq == 12 && d->phase == 1 && d->known == 6);
    cr_assert_eq(d->n_updates, 2);
    sti_object_drop(d);
}

Test(role_objects, nothing_is_no_priority)
{
    sti_priorities *moved = NULL;
    cr_assert_eq(sti_priorities_new(&moved), STRADS_OK);
    cr_assert_eq(sti_priorities_add(moved, 0, NULL, NULL), STRADS_OK);
    cr_expect_eq(moved->n, 0);
    sti_object_drop(moved);
}

Test(role_objects, a_dispatch_may_be_empty)
{
    sti_dispatch *d;
    cr_assert_eq(sti_dispatch_new(&(sti_dispatch_parts){.round = 1}, &d),
                 STRADS_OK);
    cr_assert_null(d->values);
    cr_assert_not(d->has_against);
    cr_assert_eq(d->partial_at[0], 0);
    sti_object_drop(d);
}

/* ---- effects ----------------------------------------------------------- */

Test(role_objects, effects_keep_their_order_and_free_unsent_messages)
{
    sti_effects e = {0};
    for (uint32_t k = 0; k < 100; k++) {
        sti_buffer *b;
        cr_assert_eq(sti_buffer_new(k, &b), STRADS_OK);
        sti_effect_send(&e, (sti_msg){.round = k, .object = &b->head});
        sti_effect_report(&e);
    }
    sti_effect_end(&e, STRADS_EPEER);
    cr_assert_eq(e.n, 201);
    for (uint32_t k = 0; k < 100; k++) {
        cr_assert_eq(e.at[2 * k].kind, STI_EFFECT_SEND);
        cr_assert_eq(e.at[2 * k].msg.round, k);
        cr_assert_eq(e.at[2 * k + 1].kind, STI_EFFECT_REPORT);
    }
    cr_assert_eq(e.at[200].err, STRADS_EPEER);
    cr_assert_not(e.lost);
    sti_effects_free(&e);
    cr_assert_eq(e.n, 0);
}

Test(role_objects, a_failure_keeps_its_sentence_and_cuts_a_long_one)
{
    static char text[4096];
    memset(text, 'x', sizeof text - 1);
    sti_failure *f = (sti_failure *)sti_failure_object(STRADS_EIO, text);
    cr_assert_eq(f->err, STRADS_EIO);
    cr_assert_eq(strlen(f->text), sizeof f->text - 1);
    sti_object_drop(f);
    f = (sti_failure *)sti_failure_object(STRADS_EPEER, "a node was lost");
    cr_assert_str_eq(f->text, "a node was lost");
    sti_object_drop(f);
}
