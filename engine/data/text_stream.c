/* Decompressed text in pieces. One thread decompresses into BUFFERS buffers in
 * turn, the caller parses the oldest: at most BUFFERS x PIECE bytes of text
 * exist at a time. What follows the last cut of a buffer moves to the front of
 * the next one, so that a piece ends between two tokens (or lines).
 *
 * `mutex` guards made, taken, done, stop, failed and sentence; a buffer belongs
 * to the producer until `made` counts it, then to the consumer until `taken`
 * does. */
#include "engine/data/text_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/big_array.h"
#include "engine/data/parse_number.h"
#include "engine/data/text_unpack.h"

enum { BUFFERS = 3, PIECE = 1 << 20, CARRY = 4096 };

typedef struct buffer {
    char *text; /* PIECE + CARRY + STI_TEXT_SLACK bytes */
    size_t size;
    size_t cut; /* what belongs to this piece; the rest opens the next */
} buffer;

struct sti_stream {
    const sti_text *text;
    char cut;
    sti_unpacker *unpacker;
    buffer buffers[BUFFERS];
    pthread_t thread;
    bool running;
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uint64_t made, taken;
    bool done, stop;
    strads_err failed;
    char sentence[256];
    /* the consumer's */
    bool holding;
    uint64_t line, bytes;
    sti_piece last;
};

static bool is_cut(char c, char cut)
{
    return cut == '\n' ? c == '\n' : (unsigned char)c <= ' ';
}

static size_t find_cut(const buffer *b, char cut)
{
    size_t least = b->size > CARRY ? b->size - CARRY : 0;
    for (size_t i = b->size; i > least; i--)
        if (is_cut(b->text[i - 1], cut))
            return i;
    return b->size;
}

/* Fills a buffer behind what was carried over; true at the end of the text. */
static bool fill(sti_stream *s, buffer *b, const buffer *before,
                 strads_err *err)
{
    b->size = before != NULL ? before->size - before->cut : 0;
    if (b->size > 0)
        memcpy(b->text, before->text + before->cut, b->size);
    bool end = false;
    while (!end && b->size < PIECE && *err == STRADS_OK) {
        size_t got = 0;
        *err = sti_unpacker_read(s->unpacker, b->text + b->size,
                                 PIECE + CARRY - b->size, &got, &end);
        b->size += got;
    }
    memset(b->text + b->size, 0, STI_TEXT_SLACK);
    b->cut = end ? b->size : find_cut(b, s->cut);
    return end;
}

/* Waits until a buffer is free; false when the stream was closed. The one
 * before it may be with the consumer: both only read its tail. */
static bool wait_for_room(sti_stream *s)
{
    pthread_mutex_lock(&s->mutex);
    while (!s->stop && s->made - s->taken == BUFFERS)
        pthread_cond_wait(&s->moved, &s->mutex);
    bool go = !s->stop;
    pthread_mutex_unlock(&s->mutex);
    return go;
}

static void *produce(void *arg)
{
    sti_stream *s = arg;
    const buffer *before = NULL;
    bool end = false;
    for (size_t i = 0; !end && wait_for_room(s); i = (i + 1) % BUFFERS) {
        strads_err err = STRADS_OK;
        end = fill(s, &s->buffers[i], before, &err);
        before = &s->buffers[i];
        pthread_mutex_lock(&s->mutex);
        if (err != STRADS_OK) {
            end = true;
            s->failed = err;
            (void)snprintf(s->sentence, sizeof s->sentence, "%s",
                           sti_unpacker_trouble(s->unpacker));
        } else {
            s->made++;
        }
        s->done = end;
        pthread_cond_broadcast(&s->moved);
        pthread_mutex_unlock(&s->mutex);
    }
    return NULL;
}

strads_err sti_stream_open(const sti_text *text, char cut, sti_stream **out)
{
    sti_stream *s = calloc(1, sizeof *s);
    bool room = s != NULL;
    for (size_t i = 0; room && i < BUFFERS; i++) {
        s->buffers[i].text = sti_big_alloc(PIECE + CARRY + STI_TEXT_SLACK);
        room = s->buffers[i].text != NULL;
    }
    if (room) {
        s->text = text;
        s->cut = cut;
        s->line = 1;
        pthread_mutex_init(&s->mutex, NULL);
        pthread_cond_init(&s->moved, NULL);
        s->unpacker = sti_unpacker_new(text);
        s->running = s->unpacker != NULL &&
                     pthread_create(&s->thread, NULL, produce, s) == 0;
    }
    if (!room || !s->running) {
        sti_stream_close(s);
        return strads_fail(STRADS_ENOMEM,
                           "%s: no memory or thread to decompress it",
                           text->path);
    }
    *out = s;
    return STRADS_OK;
}

/* Gives the held piece back and counts its lines. */
static void release(sti_stream *s)
{
    if (!s->holding)
        return;
    s->line += sti_text_count_lines(s->last.begin, s->last.end);
    s->holding = false;
    s->taken++;
    pthread_cond_broadcast(&s->moved);
}

strads_err sti_stream_next(sti_stream *s, sti_piece *piece)
{
    pthread_mutex_lock(&s->mutex);
    release(s);
    while (s->made == s->taken && !s->done)
        pthread_cond_wait(&s->moved, &s->mutex);
    bool more = s->made != s->taken;
    strads_err failed = more ? STRADS_OK : s->failed;
    uint64_t number = s->taken;
    pthread_mutex_unlock(&s->mutex);
    if (failed != STRADS_OK)
        return strads_fail(failed, "%s: %s", s->text->path, s->sentence);
    *piece = (sti_piece){.line = s->line};
    if (more) {
        const buffer *b = &s->buffers[number % BUFFERS];
        piece->begin = b->text;
        piece->end = b->text + b->cut;
        s->bytes += b->cut;
        s->last = *piece;
        s->holding = true;
    }
    return STRADS_OK;
}

uint64_t sti_stream_bytes(const sti_stream *s)
{
    return s->bytes;
}

void sti_stream_close(sti_stream *s)
{
    if (s == NULL)
        return;
    if (s->running) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_broadcast(&s->moved);
        pthread_mutex_unlock(&s->mutex);
        (void)pthread_join(s->thread, NULL);
    }
    if (s->text != NULL) {
        pthread_mutex_destroy(&s->mutex);
        pthread_cond_destroy(&s->moved);
    }
    sti_unpacker_free(s->unpacker);
    for (size_t i = 0; i < BUFFERS; i++)
        sti_big_free(s->buffers[i].text, PIECE + CARRY + STI_TEXT_SLACK);
    free(s);
}
