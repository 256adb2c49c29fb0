/* engine/run/nodes_terms.h - the terms of a run that a joining node receives,
 * as the JSON object in WELCOME. */
#ifndef STI_NODES_TERMS_H
#define STI_NODES_TERMS_H

#include "engine/run/run_options.h"
#include "strads/engine.h"
#include "strads/plan.h"
#include "strads/program.h"

enum { STI_SHARDS_MAX = 1024 };

typedef struct sti_run_terms {
    const strads_program *program;
    void *config; /* program->config_size bytes */
    /* Only the options that hold for all nodes (`told` in nodes_terms.c) are
     * sent, and the plan. */
    strads_engine_options *options;
    uint32_t nodes;
    uint32_t *workers; /* [nodes] */
    uint32_t
        *hosted; /* [all workers] partitions of each; NULL: an even spread */
    strads_plan *plan_read; /* options->plan_given, if the terms own it */
} sti_run_terms;

/* The caller frees the text. NULL: no memory. */
char *sti_run_terms_write(const sti_run_terms *terms);

/* Reads a text into *terms. The caller sets program, options and nodes; config
 * starts from the program's defaults; strings live in *strings.
 * sti_run_terms_free frees the rest, also after an error. STRADS_EMISMATCH,
 * STRADS_EINVAL, STRADS_EFORMAT: this version does not write such terms. */
strads_err sti_run_terms_read(const char *text, sti_config_strings *strings,
                              sti_run_terms *terms);
void sti_run_terms_free(sti_run_terms *terms);

#endif
