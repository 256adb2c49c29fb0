/* cli_cluster.h - processes that srun, mpirun or a Kubernetes Job has started
 * with the same command line: this process's rank, the number of processes, and
 * how they find the URL of rank 0. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/engine.h"

typedef struct cli_cluster {
    uint32_t rank, size; /* size 1: no launcher */
    const char *by;      /* "srun", "mpirun", ...: static */
    bool one_host;       /* all processes are on this machine */
    const char *scheme;  /* scheme of `url`: "tcp" or "tls+tcp" */
    bool exchange;       /* PMIx carries the URL; otherwise the environment
                          * determines it */
    char url[512];       /* rank 0: where to listen; other ranks: where to
                          * connect, after cli_cluster_hear has returned */
} cli_cluster;

/* Reads the environment, and asks PMIx if the command was built with it and the
 * launcher has it. STRADS_EINVAL: variables contradict each other, or do not
 * determine a URL; the message names the variable to set. */
strads_err cli_cluster_find(bool tls, cli_cluster *out);

/* Rank 0, once it listens at `url`: publishes the URL and the run's token. */
strads_err cli_cluster_tell(cli_cluster *cluster, const char *url);

/* Other ranks: wait for the URL; set cluster->url and STRADS_TOKEN. */
strads_err cli_cluster_hear(cli_cluster *cluster);

/* Rank 0 has failed before cli_cluster_tell: ends the ranks that wait. */
void cli_cluster_abort(cli_cluster *cluster, int code);

/* Sets STRADS_TOKEN to a new secret for this process and its children, unless
 * it is set. STRADS_EIO. */
strads_err cli_token_make(void);

/* How a process gets its data: from `path`, or by `make` from it and other
 * files. */
typedef struct cli_source {
    const char *path;
    strads_err (*make)(void *state, const char *path,
                       const strads_data_options *options, strads_data **out);
    void *state;
} cli_source;

strads_err cli_source_read(const cli_source *source,
                           const strads_data_options *how, strads_data **out);

/* After STRADS_EREGROUP: reports the reason and reads this process's data of
 * the next membership epoch. A run may have consumed its data, so all of it is
 * read again. */
strads_err cli_regroup(strads_engine *engine, bool quiet,
                       const cli_source *source, strads_data_options *how,
                       strads_data **data);

#endif
