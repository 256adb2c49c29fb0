/* engine/run/run_trace.h - the trace of a run: opened before its roles are
 * made, closed before they are freed, because spans bear the names of jobs. */
#ifndef STI_RUN_TRACE_H
#define STI_RUN_TRACE_H

#include "engine/base/trace.h"
#include "strads/engine.h"

/* *out is NULL when the options name no file. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_run_trace_open(const strads_engine_options *options,
                              sti_trace **out);

/* Closes the trace of a run that ended with `err`; returns that, its sentence
 * kept, or else the trace's own error. */
strads_err sti_run_trace_close(sti_trace *trace, strads_err err);

#endif
