/* engine/run/nodes_terms.h - what a node is told when it joins: the terms of a
 * run, as the JSON object that rides in WELCOME. */
#ifndef STI_NODES_TERMS_H
#define STI_NODES_TERMS_H

#include "engine/run/run_options.h"
#include "strads/engine.h"
#include "strads/plan.h"
#include "strads/program.h"

enum { STI_SHARDS_MAX = 1024 };

typedef struct sti_run_terms {
    const strads_program *program;
    void *config; /* of program->config_size bytes */
    /* Of which those are told that hold for all nodes (`told` in nodes_terms.c),
     * and the plan. */
    strads_engine_options *options;
    uint32_t nodes;
    uint32_t *workers; /* [nodes] */
    uint32_t
        *hosted; /* [all workers] partitions of each; NULL: spread evenly */
    strads_plan *plan_read; /* options->plan_given, where that is to be freed */
} sti_run_terms;

/* The caller frees the text; NULL: no memory. */
char *sti_run_terms_write(const sti_run_terms *terms);

/* Reads a text into *terms, whose program, options and nodes are given and whose
 * config starts from the program's defaults; strings live in *strings. What it
 * has made is freed by sti_run_terms_free, also when it fails. STRADS_EMISMATCH,
 * STRADS_EINVAL, STRADS_EFORMAT: not what this version writes. */
strads_err sti_run_terms_read(const char *text, sti_config_strings *strings,
                              sti_run_terms *terms);
void sti_run_terms_free(sti_run_terms *terms);

#endif
