#include "engine/run/self_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/cores.h"
#include "engine/base/instruction_set.h"
#include "engine/base/monotonic_clock.h"
#include "engine/data/memory.h"
#include "engine/net/socket.h"
#ifdef STRADS_NNG
#include "engine/net/nng_library.h"
#endif
#include "strads/strads.h"

#define PRINTF_ARGS(text, first) __attribute__((format(printf, text, first)))

static void put(char out[STI_FINDING_SIZE], const char *format, ...)
    PRINTF_ARGS(2, 3);

static void put(char out[STI_FINDING_SIZE], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out, STI_FINDING_SIZE, format, args);
    va_end(args);
}

/* ---- the build and the processor ----------------------------------------- */

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void check_build(sti_finding *f)
{
    put(f->text, "strads %s, %s, %s", strads_version(), COMPILER,
        OpenSSL_version(OPENSSL_VERSION));
}

static void check_kernels(sti_finding *f)
{
    const char *set = sti_instruction_set_name((uint32_t)strads_kernels());
    if (sti_instruction_set_check()) {
        f->verdict = STI_FAULT;
        put(f->text, "%s", set);
        put(f->advice, "%s", strads_error_text());
        return;
    }
    put(f->text, "%s%s", set,
        getenv("STRADS_KERNELS") ? ", by STRADS_KERNELS" : "");
    if (strads_kernels() == STRADS_KERNELS_PORTABLE) {
        f->verdict = STI_NOTE;
        put(f->advice, "kernels without vector instructions are slower; "
                       "processors with AVX2 have faster ones");
    }
}

/* Cores' worth of time that the control group grants (version 2); 0: it has no
 * limit, or none that this process can read. */
static double granted_cores(void)
{
    double quota = 0, period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!file)
        return 0;
    const int n = fscanf(file, "%lf %lf", &quota, &period);
    (void)fclose(file);
    return n == 2 && period > 0 ? quota / period : 0;
}

static void check_cores(sti_finding *f)
{
    const uint32_t usable = sti_cores();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const double granted = granted_cores();
    put(f->text, "%" PRIu32 " of %ld", usable, online);
    if (granted > 0 && granted < usable) {
        f->verdict = STI_NOTE;
        put(f->advice,
            "the control group grants the time of %.3g cores; use --workers "
            "%.0f",
            granted, granted < 1 ? 1 : granted);
    }
}

/* ---- limits -------------------------------------------------------------- */

static void check_free_memory(sti_finding *f)
{
    const double gigabyte = 1073741824;
    const uint64_t free_bytes = sti_memory_available();
    const double installed = (double)sysconf(_SC_PHYS_PAGES) *
                             (double)sysconf(_SC_PAGESIZE) / gigabyte;
    if (free_bytes == UINT64_MAX) {
        f->verdict = STI_NOTE;
        put(f->text, "%.1f GB installed, free memory unknown", installed);
        put(f->advice, "runs cannot see the limit; give them --memory SIZE");
        return;
    }
    put(f->text, "%.1f of %.1f GB free", (double)free_bytes / gigabyte,
        installed);
    if ((double)free_bytes < gigabyte / 4) {
        f->verdict = STI_NOTE;
        put(f->advice, "less than 256 MB are left for data");
    }
}

/* A run of a few processes with a page, a log and checkpoints needs some 50. */
enum { FEW_DESCRIPTORS = 256 };

static void check_descriptors(sti_finding *f)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        put(f->text, "unlimited");
        return;
    }
    put(f->text, "at most %ju open files", (uintmax_t)limit.rlim_cur);
    if (limit.rlim_cur < FEW_DESCRIPTORS) {
        f->verdict = STI_NOTE;
        put(f->advice, "runs of many processes need more: ulimit -n 1024");
    }
}

static void read_clock_source(char out[32])
{
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/"
                       "current_clocksource",
                       "re");
    out[0] = '\0';
    if (!file)
        return;
    if (fgets(out, 32, file))
        out[strcspn(out, "\n")] = '\0';
    (void)fclose(file);
}

/* Schedulers read the clock at each job: reads that are calls of the kernel
 * cost more than small jobs. */
static void check_clock(sti_finding *f)
{
    enum { READS = 10000, SLOW_NS = 300 };
    char source[32];
    const uint64_t start = sti_monotonic_now();
    for (int k = 0; k < READS; k++)
        (void)sti_monotonic_now();
    const uint64_t ns = (sti_monotonic_now() - start) / READS;
    read_clock_source(source);
    put(f->text, "%s%s%" PRIu64 " ns a read", source, *source ? ", " : "", ns);
    if (ns > SLOW_NS) {
        f->verdict = STI_NOTE;
        put(f->advice,
            "reads above %d ns slow down small rounds; prefer the "
            "clock source tsc or kvm-clock",
            SLOW_NS);
    }
}

/* ---- the network --------------------------------------------------------- */

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* Listens at `url` and connects to it. Returns an error of socket.h. */
static int try_address(const char *url)
{
    enum { DIAL_MS = 2000 };
    sti_url parsed;
    int listener = -1, end = -1;
    if (sti_url_parse(url, &parsed))
        return EINVAL;
    int error = sti_socket_listen(&parsed, &listener);
    if (error == 0) {
        error = sti_socket_dial(&parsed, DIAL_MS, &end);
        (void)close(listener);
    }
    if (error == 0)
        (void)close(end);
    if (!parsed.tcp)
        (void)unlink(parsed.host);
    return error;
}

static void report_address(sti_finding *f, const char *url, const char *needed)
{
    const int error = try_address(url);
    if (error == 0) {
        put(f->text, "listens and connects");
        return;
    }
    f->verdict = STI_FAULT;
    put(f->text, "%s", sti_socket_text(error));
    put(f->advice, "%s", needed);
}

static void check_loopback(sti_finding *f)
{
    report_address(f, "tcp://127.0.0.1:0",
                   "runs of several processes and --watch need TCP on the "
                   "loopback address; look at the firewall");
}

static void check_ipc(sti_finding *f)
{
    char url[STI_URL_MAX + 1];
    const int length =
        snprintf(url, sizeof url, "ipc://%s/strads-doctor-%ld.sock",
                 temporary_folder(), (long)getpid());
    if (length < 0 || (size_t)length >= sizeof url) {
        f->verdict = STI_FAULT;
        put(f->text, "the path of the temporary folder is too long");
        put(f->advice, "set TMPDIR to a shorter path");
        return;
    }
    report_address(f, url,
                   "ipc:// addresses need a folder with sockets: set TMPDIR "
                   "to one on a local disk");
}

static void check_host_name(sti_finding *f)
{
    char host[256] = "";
    struct addrinfo *found = NULL;
    (void)gethostname(host, sizeof host - 1);
    const int error = getaddrinfo(host, NULL, NULL, &found);
    if (error == 0) {
        put(f->text, "%.200s resolves", host);
        freeaddrinfo(found);
        return;
    }
    f->verdict = STI_NOTE;
    put(f->text, "%.128s does not resolve: %s", host, gai_strerror(error));
    put(f->advice, "--listen with a host name needs it; addresses work");
}

static void check_nng(sti_finding *f)
{
#ifdef STRADS_NNG
    const sti_nng *nng;
    if (sti_nng_load(&nng) == STRADS_OK) {
        put(f->text, "libnng.so.1, version %s", nng->nng_version());
        return;
    }
    put(f->text, "%s", strads_error_text());
    put(f->advice, "dialling ws:// and wss:// and --publish need it");
#else
    put(f->text, "this build does not use it");
    put(f->advice,
        "dialling ws:// and wss:// and --publish need a build with its headers "
        "(Debian: libnng-dev) and -DSTRADS_NNG=ON");
#endif
    f->verdict = STI_NOTE;
}

/* ---- the disk ------------------------------------------------------------ */

/* Whether the folder's files can be read past the page cache. */
static bool reads_directly(const char *path)
{
#ifdef O_DIRECT
    const int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
#else
    (void)path;
    return false;
#endif
}

static void check_disk(sti_finding *f)
{
    char path[512];
    struct statvfs disk;
    const char *folder = temporary_folder();
    (void)snprintf(path, sizeof path, "%s/strads-doctor-XXXXXX", folder);
    const int fd = mkstemp(path);
    if (fd < 0 || statvfs(folder, &disk) != 0) {
        f->verdict = STI_FAULT;
        put(f->text, "%.100s: %s", folder, strerror(errno));
        put(f->advice, "set TMPDIR to a folder that can be written");
    } else {
        const double room = (double)disk.f_bavail * (double)disk.f_frsize / 1e9;
        const bool direct = reads_directly(path);
        put(f->text, "%.100s: %.1f GB free%s", folder, room,
            direct ? ", read directly" : "");
        f->verdict = room < 1 || !direct ? STI_NOTE : STI_FINE;
        if (room < 1)
            put(f->advice, "less than 1 GB is left for temporary files");
        else if (!direct)
            put(f->advice, "packs here are read through the page cache");
    }
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
}

/* ---- all ----------------------------------------------------------------- */

static const struct check {
    const char *name;
    void (*run)(sti_finding *finding);
} checks[] = {
    {"build", check_build},         {"kernels", check_kernels},
    {"cores", check_cores},         {"memory", check_free_memory},
    {"files", check_descriptors},   {"clock", check_clock},
    {"tcp", check_loopback},        {"ipc", check_ipc},
    {"host name", check_host_name}, {"nng", check_nng},
    {"disk", check_disk},
};

void sti_self_check(void (*take)(void *arg, const sti_finding *finding),
                    void *arg)
{
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
        sti_finding finding = {.name = checks[k].name};
        checks[k].run(&finding);
        take(arg, &finding);
    }
}
