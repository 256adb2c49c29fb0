/* Notes between the nodes of a data-parallel program, as counted objects and as
 * bytes. */
#include "engine/round/loop_message.h"

#include <stdlib.h>

enum { STOP = 1, COUNTED = 2 };

static void note_destroy(sti_object *object)
{
    free(object);
}

strads_err sti_loop_note_new(const sti_loop_note *note, sti_loop_note **out)
{
    sti_loop_note *copy = malloc(sizeof *copy);
    if (!copy)
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    *copy = *note;
    sti_object_init(&copy->head, note_destroy);
    *out = copy;
    return STRADS_OK;
}

void sti_loop_encode(const sti_msg *msg, sti_writer *w)
{
    const sti_loop_note *note = (const sti_loop_note *)msg->object;
    sti_write_u32(w, note->word);
    sti_write_u32(w, (note->report.stop ? STOP : 0) |
                         (note->counted ? COUNTED : 0));
    sti_write_u64(w, note->report.nonzeros);
    sti_write_f64(w, note->report.objective);
    sti_write_f64(w, note->report.gap);
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        sti_write_f64(w, note->report.measure[k]);
    sti_write_f64(w, note->times.computing);
    sti_write_f64(w, note->times.waiting);
    sti_write_f64(w, note->times.network);
}

strads_err sti_loop_decode(sti_reader *r, sti_msg *msg)
{
    uint32_t word = sti_read_u32(r); /* one after the other */
    uint32_t flags = sti_read_u32(r);
    sti_loop_note note = {.report.nonzeros = sti_read_u64(r)};
    note.report.objective = sti_read_f64(r);
    note.report.gap = sti_read_f64(r);
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        note.report.measure[k] = sti_read_f64(r);
    note.times.computing = sti_read_f64(r);
    note.times.waiting = sti_read_f64(r);
    note.times.network = sti_read_f64(r);
    strads_err err = sti_reader_end(r, "a LOOP");
    if (err)
        return err;
    if (word < STI_LOOP_GO || word > STI_LOOP_CLOSE)
        return strads_fail(STRADS_EPEER,
                           "a node said what no node says of a loop: it runs "
                           "another version");
    note.word = (sti_loop_word)word;
    note.report.stop = flags & STOP;
    note.counted = flags & COUNTED;
    sti_loop_note *copy = NULL;
    err = sti_loop_note_new(&note, &copy);
    if (!err)
        msg->object = &copy->head;
    return err;
}
