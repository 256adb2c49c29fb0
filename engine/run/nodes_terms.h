/* engine/run/nodes_terms.h - what a node is told when it joins: the terms of a
 * run, as the JSON object that rides in WELCOME. */
#ifndef STI_NODES_TERMS_H
#define STI_NODES_TERMS_H

#include "engine/net/mesh.h"
#include "engine/round/run_context.h"
#include "engine/run/run_options.h"
#include "strads/plan.h"
#include "strads/program.h"

enum { STI_SHARDS_MAX = 1024 };

typedef struct sti_run_terms {
    const strads_program *program;
    void *config; /* of program->config_size bytes */
    uint32_t partitions, depth;
    uint64_t max_rounds; /* of a data-parallel program; 0: no bound */
    uint32_t shards;
    sti_tuning tuning;       /* of a data-parallel program */
    uint32_t blocks, pools;  /* as the options */
    double reconnect;        /* seconds */
    const strads_plan *plan; /* or NULL */
    strads_plan *plan_read;  /* the one that was told, to be freed */
    /* What the policies of schedulers on other nodes are opened with. */
    uint32_t schedulers;
    double threshold;
    char *policy; /* NULL: the default */
    uint32_t nodes;
    uint32_t *workers; /* [nodes] */
    uint32_t
        *hosted;     /* [all workers] partitions of each; NULL: spread evenly */
    char *data_path; /* NULL: not told */
} sti_run_terms;

/* The caller frees the text; NULL: no memory. */
char *sti_run_terms_write(const sti_run_terms *terms);

/* The name of the program that a text is about, to be freed; NULL when it is
 * not such a text. */
char *sti_run_terms_program(const char *text);

/* Reads everything but the program, which is given and whose config starts
 * from its defaults; strings of the config live in *strings. What it has made
 * is freed by sti_run_terms_free, also when it fails. STRADS_EMISMATCH: not
 * what this version writes. */
strads_err sti_run_terms_read(const char *text, const strads_program *program,
                              uint32_t nodes, sti_config_strings *strings,
                              sti_run_terms *out);
void sti_run_terms_free(sti_run_terms *terms);

#endif
