/* trace.h - who did what when, as a file that Perfetto and chrome://tracing
 * show: a track for each role and thread, a span for each thing it did.
 *
 * A NULL trace records nothing and costs one comparison. */
#ifndef STI_TRACE_H
#define STI_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct sti_trace sti_trace;

/* A track that could not be made: its spans are dropped. */
#define STI_TRACE_NONE UINT32_MAX

/* Starts a trace. It is written aside and appears as `path` when it is closed;
 * what it holds in memory is a few kilobytes a track, however long it gets.
 * STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_trace_open(const char *path, sti_trace **out);

/* Adds a track to a node (a process in the picture), below those it has. The
 * name is copied. Any thread. STI_TRACE_NONE on a NULL trace, or when there
 * are too many (65536) or memory runs out: then closing says so. */
uint32_t sti_trace_track(sti_trace *trace, uint32_t node, const char *name);

/* Records that a track was busy with `name` (of `of`, unless that is NULL) from
 * begin to end, for a round. The names must last until the trace is closed. Spans
 * of one track may nest, but not cross. Any thread, threads may share a track;
 * writes to the file once in a hundred spans. */
void sti_trace_record(sti_trace *trace, uint32_t track, const char *name,
                      const char *of, uint64_t begin_ns, uint64_t end_ns,
                      uint64_t round);

/* The same, when there is a trace. */
static inline void sti_trace_span(sti_trace *trace, uint32_t track,
                                  const char *name, uint64_t begin_ns,
                                  uint64_t end_ns, uint64_t round)
{
    if (trace)
        sti_trace_record(trace, track, name, NULL, begin_ns, end_ns, round);
}

/* Tracks for spans that may cross, as transfers over a link do: each takes a lane
 * that is free. Zero-initialised they are ready; whoever uses them locks. */
enum { STI_TRACE_LANES = 32 };

typedef struct sti_trace_lanes {
    uint32_t busy; /* a bit for each lane that is taken */
    uint32_t n;    /* lanes that have a track */
    uint32_t track[STI_TRACE_LANES];
} sti_trace_lanes;

/* The lowest lane that is free, whose track has this name on this node;
 * STI_TRACE_LANES on a NULL trace, or when all are taken. */
uint32_t sti_trace_take_lane(sti_trace *trace, sti_trace_lanes *lanes,
                             uint32_t node, const char *name);

/* Ends the trace and puts the file in its place. No other call may be under
 * way. STRADS_EIO when any of it could not be written, STRADS_ENOMEM,
 * STRADS_ELIMIT when a track was dropped (the file is there then); the trace is
 * gone in any case. NULL is fine. */
strads_err sti_trace_close(sti_trace *trace);

#endif
