/* Owns nothing: a trace belongs to the run between open and close. */
#include "engine/run/run_trace.h"

#include <stdio.h>

strads_err sti_run_trace_open(const strads_engine_options *options,
                              sti_trace **out)
{
    *out = NULL;
    return options->trace ? sti_trace_open(options->trace, out) : STRADS_OK;
}

strads_err sti_run_trace_close(sti_trace *trace, strads_err err)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    strads_err closed = sti_trace_close(trace);
    return err ? strads_fail(err, "%s", text) : closed;
}
