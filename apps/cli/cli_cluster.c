/* Owns the connection to a PMIx server, from cli_cluster_find until all
 * processes have the URL. */
#include "cli_cluster.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef STRADS_PMIX
#include <pmix.h>
#endif

#include "cli.h"
#include "engine/base/system.h"

/* ---- the environment ----------------------------------------------------- */

/* Reads a variable that, if set, must be a whole number. */
static strads_err number_in(const char *name, uint32_t *out, bool *found)
{
    const char *text = getenv(name);
    char *end;
    *found = text != NULL;
    if (!text)
        return STRADS_OK;
    const unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || value > UINT32_MAX - 1) {
        return strads_fail(STRADS_EINVAL,
                           "%s is \"%.40s\"; expected a whole number", name,
                           text);
    }
    *out = (uint32_t)value;
    return STRADS_OK;
}

/* The variables of each launcher. Only srun sets SLURM_STEP_ID; a batch script,
 * which starts one process, has the other variables, too. */
static const struct launcher {
    const char *by, *rank, *size, *hosts, *only_with;
} launchers[] = {
    {"STRADS_RANK", "STRADS_RANK", "STRADS_SIZE", NULL, NULL},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES",
     "SLURM_STEP_ID"},
    {"a Kubernetes Job", "JOB_COMPLETION_INDEX", "STRADS_SIZE", NULL, NULL},
};

static strads_err find_launcher(cli_cluster *c)
{
    for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++) {
        const struct launcher *l = &launchers[k];
        bool has_rank, has_size, has_hosts = false;
        uint32_t hosts = 0;
        CLI_TRY(number_in(l->rank, &c->rank, &has_rank));
        CLI_TRY(number_in(l->size, &c->size, &has_size));
        if (l->hosts)
            CLI_TRY(number_in(l->hosts, &hosts, &has_hosts));
        if (!has_rank || !has_size || (l->only_with && !getenv(l->only_with)))
            continue;
        uint32_t local = 0;
        bool has_local;
        CLI_TRY(number_in("OMPI_COMM_WORLD_LOCAL_SIZE", &local, &has_local));
        c->by = l->by;
        c->one_host = hosts == 1 || (has_local && local == c->size);
        if (c->rank >= c->size) {
            return strads_fail(
                STRADS_EINVAL,
                "%s is %u and %s %u; a rank must be below the size", l->rank,
                c->rank, l->size, c->size);
        }
        return STRADS_OK;
    }
    c->size = 1;
    return STRADS_OK;
}

/* The first host of one of Slurm's lists: node03-ib of
 * "node[03-07,9]-ib,other". */
static void first_host(const char *list, char *out, size_t size)
{
    size_t n = 0;
    bool inside = false, past = false;
    for (; *list && n + 1 < size; list++)
        if (*list == '[')
            inside = true;
        else if (*list == ']')
            inside = past = false;
        else if (inside && (*list == '-' || *list == ','))
            past = true;
        else if (!inside && *list == ',')
            break;
        else if (!past)
            out[n++] = *list;
    out[n] = '\0';
}

/* A port derived from job and step, so that all ranks agree on it. It lies
 * below the ephemeral ports, which the kernel could give to another rank. */
static unsigned port_of(void)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    const unsigned long mixed = 31 * (job ? strtoul(job, NULL, 10) : 0) +
                                (step ? strtoul(step, NULL, 10) : 0);
    return 20000 + (unsigned)(mixed % 12000);
}

/* Without PMIx: derives the URL from the environment. */
static strads_err derive_url(cli_cluster *c)
{
    const char *place = getenv("STRADS_COORDINATOR");
    const char *nodes = getenv("SLURM_STEP_NODELIST");
    char host[256] = "127.0.0.1";
    if (place) {
        const char *port = strrchr(place, ':');
        if (!port || port == place || strlen(place) > sizeof host) {
            return strads_fail(STRADS_EINVAL,
                               "STRADS_COORDINATOR is \"%.80s\"; expected "
                               "HOST:PORT, where rank 0 is to listen",
                               place);
        }
        (void)snprintf(c->url, sizeof c->url, "%s://%s", c->scheme, place);
        c->one_host = c->one_host || strncmp(place, "127.", 4) == 0 ||
                      strncmp(place, "localhost:", 10) == 0;
        if (c->rank == 0 &&
            !c->one_host) { /* the name may belong to a service, not to this
                             * host */
            (void)snprintf(c->url, sizeof c->url, "%s://0.0.0.0%s", c->scheme,
                           port);
        }
        return STRADS_OK;
    }
    if (!nodes && !c->one_host) {
        return strads_fail(STRADS_EINVAL,
                           "%s started %u processes, which have no address "
                           "to join; set STRADS_COORDINATOR=HOST:PORT, rank "
                           "0's host%s",
                           c->by, c->size,
                           "; or build strads with libpmix-dev");
    }
    if (!c->one_host && c->rank == 0)
        (void)snprintf(host, sizeof host, "0.0.0.0");
    else if (!c->one_host)
        first_host(nodes, host, sizeof host);
    (void)snprintf(c->url, sizeof c->url, "%s://%s:%u", c->scheme, host,
                   port_of());
    return STRADS_OK;
}

/* ---- PMIx ---------------------------------------------------------------- */

#ifdef STRADS_PMIX
static pmix_proc_t self;

static strads_err refuse_variable(const char *what, pmix_status_t status)
{
    return strads_fail(STRADS_EIO, "PMIx: %s: %s", what,
                       PMIx_Error_string(status));
}

static bool connect_to_pmix(void)
{
    return getenv("PMIX_RANK") && PMIx_Init(&self, NULL, 0) == PMIX_SUCCESS;
}

static strads_err put_pmix(const char *key, const char *text)
{
    pmix_value_t value;
    char *copy = strdup(text);
    if (!copy)
        return strads_fail(STRADS_ENOMEM, "no memory left for PMIx");
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_STRING;
    value.data.string = copy;
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    free(copy);
    return status == PMIX_SUCCESS ? STRADS_OK
                                  : refuse_variable("putting", status);
}

static strads_err fence(void)
{
    pmix_info_t info;
    bool collect = true;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    pmix_status_t status = PMIx_Commit();
    if (status == PMIX_SUCCESS)
        status = PMIx_Fence(NULL, 0, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status == PMIX_SUCCESS ? STRADS_OK
                                  : refuse_variable("the fence", status);
}

static strads_err get_pmix(const char *key, char *out, size_t size)
{
    pmix_proc_t first;
    pmix_value_t *value = NULL;
    PMIX_PROC_LOAD(&first, self.nspace, 0);
    const pmix_status_t status = PMIx_Get(&first, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS || value->type != PMIX_STRING)
        return refuse_variable("rank 0 sent no address", status);
    (void)snprintf(out, size, "%s", value->data.string);
    PMIX_VALUE_RELEASE(value);
    return STRADS_OK;
}
#endif

/* ---- the interface ------------------------------------------------------- */

strads_err cli_token_make(void)
{
    unsigned char bytes[16];
    char text[2 * sizeof bytes + 1];
    if (getenv("STRADS_TOKEN"))
        return STRADS_OK;
    if (!sti_random_bytes(bytes, sizeof bytes)) {
        return strads_fail(STRADS_EIO, "no random bytes for a token: %s",
                           strerror(errno));
    }
    for (size_t k = 0; k < sizeof bytes; k++)
        (void)snprintf(text + 2 * k, 3, "%02x", bytes[k]);
    (void)setenv("STRADS_TOKEN", text, 1);
    return STRADS_OK;
}

/* Processes on several machines need a token to authenticate each other. */
static strads_err find_token(const cli_cluster *c)
{
    if (c->one_host || getenv("STRADS_TOKEN"))
        return STRADS_OK;
    return c->exchange
               ? cli_token_make()
               : strads_fail(
                     STRADS_EINVAL,
                     "%s started processes on several machines; they "
                     "need a token: set STRADS_TOKEN to the same secret "
                     "for all of them",
                     c->by);
}

strads_err cli_cluster_find(bool tls, cli_cluster *out)
{
    *out = (cli_cluster){.scheme = tls ? "tls+tcp" : "tcp"};
    CLI_TRY(find_launcher(out));
    if (out->size < 2)
        return STRADS_OK;
#ifdef STRADS_PMIX
    out->exchange = !getenv("STRADS_COORDINATOR") && connect_to_pmix();
#endif
    if (!out->exchange) {
        CLI_TRY(derive_url(out));
    } else {
        (void)snprintf(out->url, sizeof out->url, "%s://%s:0", out->scheme,
                       out->one_host ? "127.0.0.1" : "0.0.0.0");
    }
    return out->rank == 0 ? find_token(out) : STRADS_OK;
}

strads_err cli_cluster_tell(cli_cluster *cluster, const char *url)
{
    if (!cluster->exchange)
        return STRADS_OK;
#ifdef STRADS_PMIX
    char told[sizeof cluster->url], host[256];
    const char *token = getenv("STRADS_TOKEN");
    const char *port = strrchr(url, ':');
    (void)snprintf(told, sizeof told, "%s", url);
    if (!cluster->one_host && port && gethostname(host, sizeof host) == 0) {
        host[sizeof host - 1] = '\0';
        (void)snprintf(told, sizeof told, "%s://%s%s", cluster->scheme, host,
                       port);
    }
    CLI_TRY(put_pmix("strads.url", told));
    CLI_TRY(put_pmix("strads.token", token ? token : ""));
    CLI_TRY(fence());
    cluster->exchange = false;
    (void)PMIx_Finalize(NULL, 0);
#else
    (void)url;
#endif
    return STRADS_OK;
}

strads_err cli_cluster_hear(cli_cluster *cluster)
{
    if (!cluster->exchange)
        return STRADS_OK;
#ifdef STRADS_PMIX
    char token[512];
    CLI_TRY(fence());
    CLI_TRY(get_pmix("strads.url", cluster->url, sizeof cluster->url));
    CLI_TRY(get_pmix("strads.token", token, sizeof token));
    if (token[0])
        (void)setenv("STRADS_TOKEN", token, 1);
    cluster->exchange = false;
    (void)PMIx_Finalize(NULL, 0);
#endif
    return STRADS_OK;
}

void cli_cluster_abort(cli_cluster *cluster, int code)
{
    if (!cluster->exchange)
        return;
#ifdef STRADS_PMIX
    (void)PMIx_Abort(code, "rank 0 has failed before the run", NULL, 0);
    (void)PMIx_Finalize(NULL, 0);
#else
    (void)code;
#endif
}

strads_err cli_source_read(const cli_source *source,
                           const strads_data_options *how, strads_data **out)
{
    return source->make ? source->make(source->state, source->path, how, out)
                        : strads_data_read(source->path, how, out);
}

strads_err cli_regroup(strads_engine *engine, bool quiet,
                       const cli_source *source, strads_data_options *how,
                       strads_data **data)
{
    char held[CLI_BYTES_SIZE];
    cli_say(quiet, "%s; the run continues from its last checkpoint",
            strads_error_text());
    strads_data_free(*data);
    *data = NULL;
    CLI_TRY(strads_engine_keep(engine, how));
    CLI_TRY(cli_source_read(source, how, data));
    strads_data_spend(*data);
    cli_say(quiet, "now keeps %s of the data in memory",
            cli_bytes(strads_data_bytes(*data), held));
    return STRADS_OK;
}
