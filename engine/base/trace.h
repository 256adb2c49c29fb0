/* trace.h - what each role and thread did and when, as a file for Perfetto and
 * chrome://tracing: a track for each role and thread, a span for each activity.
 *
 * A NULL trace records nothing and costs one comparison. */
#ifndef STI_TRACE_H
#define STI_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct sti_trace sti_trace;

/* The id of a track that could not be made; its spans are dropped. */
#define STI_TRACE_NONE UINT32_MAX

/* Starts a trace. The file appears as `path` when the trace is closed. Memory
 * use is a few kilobytes per track for any length. STRADS_EIO,
 * STRADS_ENOMEM. */
strads_err sti_trace_open(const char *path, sti_trace **out);

/* Adds a track to a node (a process in the picture), below its other tracks.
 * The name is copied. Any thread. Returns STI_TRACE_NONE on a NULL trace, or if
 * there are too many tracks (65536) or memory runs out; sti_trace_close then
 * reports it. */
uint32_t sti_trace_track(sti_trace *trace, uint32_t node, const char *name);

/* Records that a track was busy with `name` (of `of`, unless NULL) from begin
 * to end, in a round. The names must live until the trace is closed. Spans of
 * one track may nest, but not cross. Any thread; threads may share a track.
 * Writes to the file once in a hundred spans. */
void sti_trace_record(sti_trace *trace, uint32_t track, const char *name,
                      const char *of, uint64_t begin_ns, uint64_t end_ns,
                      uint64_t round);

/* The same, if there is a trace. */
static inline void sti_trace_span(sti_trace *trace, uint32_t track,
                                  const char *name, uint64_t begin_ns,
                                  uint64_t end_ns, uint64_t round)
{
    if (trace)
        sti_trace_record(trace, track, name, NULL, begin_ns, end_ns, round);
}

/* Tracks for spans that may cross, for example transfers over a link: each span
 * takes a free lane. Zero-initialised they are ready; the caller locks. */
enum { STI_TRACE_LANES = 32 };

typedef struct sti_trace_lanes {
    uint32_t busy; /* one bit for each lane in use */
    uint32_t n;    /* lanes that have a track */
    uint32_t track[STI_TRACE_LANES];
} sti_trace_lanes;

/* Takes the lowest free lane; its track has this name on this node.
 * STI_TRACE_LANES on a NULL trace, or if all lanes are in use. */
uint32_t sti_trace_take_lane(sti_trace *trace, sti_trace_lanes *lanes,
                             uint32_t node, const char *name);

/* Ends the trace and moves the file into place. No other call may be in
 * progress. STRADS_EIO if a write failed, STRADS_ENOMEM, STRADS_ELIMIT if a
 * track was dropped (the file exists then). The trace is freed in any case.
 * NULL is allowed. */
strads_err sti_trace_close(sti_trace *trace);

#endif
