/* A trace owns its file and its tracks; a track owns its unwritten spans. A
 * full track is written as a whole, so threads rarely contend for the file, and
 * contend for a track only if they share it.
 *
 * Tracks are published in an array that never moves, through atomic pointers: a
 * span finds its track without a lock. The file is JSON in the Trace Event
 * Format ("X" and "M" events); closing adds its end. */
#include "engine/base/trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/atomic_file.h"

enum { TRACKS_MAX = 65536, TRACK_SPANS = 100, NAME_MAX_ESCAPED = 256 };

typedef struct span {
    const char *name, *of;
    uint64_t begin, end; /* ns */
    uint64_t round;
} span;

typedef struct track {
    pthread_mutex_t lock; /* guards n and spans */
    uint32_t node, id;
    uint32_t n;
    span spans[TRACK_SPANS];
} track;

struct sti_trace {
    pthread_mutex_t lock; /* guards all below; tracks are read without it */
    sti_atomic_file target;
    bool begun; /* an event has been written */
    strads_err dropped;
    uint32_t n_tracks;
    _Atomic(track *) tracks[TRACKS_MAX];
};

/* Escapes a name for a JSON string and truncates a long one. */
static const char *escape_name(const char *name, char out[NAME_MAX_ESCAPED])
{
    size_t n = 0;
    for (; *name && n + 7 < NAME_MAX_ESCAPED; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < 0x20) {
            n += (size_t)snprintf(out + n, 7, "\\u%04x", c);
            continue;
        }
        if (c == '"' || c == '\\')
            out[n++] = '\\';
        out[n++] = (char)c;
    }
    out[n] = 0;
    return out;
}

/* Returns the separator before the next event. The lock is held. */
static const char *next_event(sti_trace *trace)
{
    const char *before = trace->begun ? ",\n" : "\n";
    trace->begun = true;
    return before;
}

/* The stream remembers a failed write; closing the file detects it. */
static void write_spans(sti_trace *trace, track *t)
{
    char name[NAME_MAX_ESCAPED], of[NAME_MAX_ESCAPED];
    pthread_mutex_lock(&trace->lock);
    for (uint32_t k = 0; k < t->n; k++) {
        const span *s = &t->spans[k];
        uint64_t length = s->end > s->begin ? s->end - s->begin : 0;
        fprintf(trace->target.stream,
                "%s{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
                ",\"name\":\"%s%s%s\",\"ts\":%" PRIu64 ".%03" PRIu64
                ",\"dur\":%" PRIu64 ".%03" PRIu64
                ",\"args\":{\"round\":%" PRIu64 "}}",
                next_event(trace), t->node, t->id, escape_name(s->name, name),
                s->of ? " " : "", escape_name(s->of ? s->of : "", of),
                s->begin / 1000, s->begin % 1000, length / 1000, length % 1000,
                s->round);
    }
    pthread_mutex_unlock(&trace->lock);
    t->n = 0;
}

/* Names a track, and its node if the track is the node's first. The lock is
 * held. */
static void write_names(sti_trace *trace, const track *t, const char *name)
{
    char escaped[NAME_MAX_ESCAPED];
    bool known = false;
    for (uint32_t k = 0; k < trace->n_tracks && !known; k++)
        known = atomic_load(&trace->tracks[k])->node == t->node;
    if (!known)
        fprintf(trace->target.stream,
                "%s{\"ph\":\"M\",\"pid\":%" PRIu32
                ",\"name\":\"process_name\",\"args\":{\"name\":\"node %" PRIu32
                "\"}}",
                next_event(trace), t->node, t->node);
    fprintf(trace->target.stream,
            "%s{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
            ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}",
            next_event(trace), t->node, t->id, escape_name(name, escaped));
    fprintf(trace->target.stream,
            "%s{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
            ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32
            "}}",
            next_event(trace), t->node, t->id, t->id);
}

strads_err sti_trace_open(const char *path, sti_trace **out)
{
    sti_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return strads_fail(STRADS_ENOMEM, "no memory for a trace");
    strads_err err = sti_atomic_file_open(path, &trace->target);
    if (err) {
        free(trace);
        return err;
    }
    pthread_mutex_init(&trace->lock, NULL);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[",
          trace->target.stream);
    *out = trace;
    return STRADS_OK;
}

uint32_t sti_trace_track(sti_trace *trace, uint32_t node, const char *name)
{
    if (!trace)
        return STI_TRACE_NONE;
    track *t = calloc(1, sizeof *t);
    uint32_t id = STI_TRACE_NONE;
    pthread_mutex_lock(&trace->lock);
    if (!t) {
        trace->dropped = STRADS_ENOMEM;
    } else if (trace->n_tracks == TRACKS_MAX) {
        trace->dropped = STRADS_ELIMIT;
        free(t);
    } else {
        id = trace->n_tracks;
        pthread_mutex_init(&t->lock, NULL);
        t->node = node;
        t->id = id;
        write_names(trace, t, name);
        atomic_store(&trace->tracks[id], t);
        trace->n_tracks++;
    }
    pthread_mutex_unlock(&trace->lock);
    return id;
}

void sti_trace_record(sti_trace *trace, uint32_t id, const char *name,
                      const char *of, uint64_t begin_ns, uint64_t end_ns,
                      uint64_t round)
{
    if (id >= TRACKS_MAX)
        return;
    track *t = atomic_load_explicit(&trace->tracks[id], memory_order_acquire);
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->spans[t->n++] = (span){name, of, begin_ns, end_ns, round};
    if (t->n == TRACK_SPANS)
        write_spans(trace, t);
    pthread_mutex_unlock(&t->lock);
}

uint32_t sti_trace_take_lane(sti_trace *trace, sti_trace_lanes *lanes,
                             uint32_t node, const char *name)
{
    uint32_t lane = 0;
    while (lane < STI_TRACE_LANES && lanes->busy >> lane & 1)
        lane++;
    if (!trace || lane == STI_TRACE_LANES)
        return STI_TRACE_LANES;
    if (lane == lanes->n)
        lanes->track[lanes->n++] = sti_trace_track(trace, node, name);
    lanes->busy |= UINT32_C(1) << lane;
    return lane;
}

strads_err sti_trace_close(sti_trace *trace)
{
    if (!trace)
        return STRADS_OK;
    strads_err dropped = trace->dropped;
    for (uint32_t k = 0; k < trace->n_tracks; k++) {
        track *t = atomic_load(&trace->tracks[k]);
        write_spans(trace, t);
        pthread_mutex_destroy(&t->lock);
        free(t);
    }
    fputs("\n]}\n", trace->target.stream);
    strads_err err = sti_atomic_file_commit(&trace->target);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
    if (!err && dropped)
        err = strads_fail(dropped, "the trace lacks tracks: %s",
                          dropped == STRADS_ELIMIT
                              ? "65536 are the most that one can have"
                              : "memory ran out");
    return err;
}
