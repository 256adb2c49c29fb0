/* cli_cluster.h - the place of this process among those that srun, mpirun or a
 * Kubernetes Job has started with the same command line: which it is, how many
 * there are, and how they come to know where the first one listens. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/engine.h"

typedef struct cli_cluster {
    uint32_t rank, size; /* size 1: nobody started others */
    const char *by;      /* "srun", "mpirun", ...: static */
    bool one_host;       /* all of them are on this machine */
    const char *scheme;  /* of `url`: "tcp" or "tls+tcp" */
    bool exchange;       /* PMIx carries the URL; otherwise it is agreed on */
    char url[512];       /* rank 0: where to listen. Others: whom to join, once
                            cli_cluster_hear has returned */
} cli_cluster;

/* Reads the environment (and asks PMIx where the command was built with it and
 * the launcher has it). STRADS_EINVAL: variables that contradict each other, or
 * no place to meet; the sentence says what to set. */
strads_err cli_cluster_find(bool tls, cli_cluster *out);

/* Rank 0, once it listens at `url`: tells the others, with the token of the
 * run. */
strads_err cli_cluster_tell(cli_cluster *cluster, const char *url);

/* The others: waits for that, fills in cluster->url and STRADS_TOKEN. */
strads_err cli_cluster_hear(cli_cluster *cluster);

/* Rank 0 has failed before it could tell: ends those that wait to hear. */
void cli_cluster_abort(cli_cluster *cluster, int code);

/* Makes STRADS_TOKEN of this process and its children a new secret, unless they
 * have one. STRADS_EIO. */
strads_err cli_token_make(void);

/* Behind STRADS_EREGROUP: says what has happened, and reads from `path` what
 * this process keeps in the next generation. What a run has spent of its data is
 * gone, so all of it is read. */
strads_err cli_regroup(strads_engine *engine, bool quiet, const char *path,
                       strads_data_options *how, strads_data **data);

#endif
