/* engine/run/nodes_terms.h - what a node is told when it joins, and what it
 * keeps to come back with: the terms of a run, as the JSON object that rides in
 * WELCOME; and the ticket of a node that hosts shards and no workers: of which
 * run it is which node. With it a process that was killed and started again
 * takes its place. */
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
    char *data_path;   /* NULL: not told */
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

/* Makes the directory, if it is not there, so that a place that cannot be
 * written to is found before anybody is told of the node. STRADS_EINVAL. */
strads_err sti_ticket_place(const char *directory);

/* *there: one was found. STRADS_EFORMAT: that is none. STRADS_EIO. */
strads_err sti_ticket_read(const char *directory, sti_mesh_ticket *out,
                           bool *there);

/* STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_ticket_write(const char *directory,
                            const sti_mesh_ticket *ticket);

/* When the run has ended well: the journals of its shards below `shards`, the
 * ticket, and the directory, unless there is more in it. */
void sti_ticket_remove(const char *directory, uint32_t shards);

#endif
