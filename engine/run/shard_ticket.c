/* The file `node`, one line of text; beside it journals, `shard-S` each. */
#include "engine/run/shard_ticket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/aside.h"

enum { PATH_ROOM = 4096 };

static strads_err failed(const char *path, const char *what)
{
    return strads_fail(STRADS_EIO, "%s: cannot be %s: %s", path, what,
                       strerror(errno));
}

static strads_err path_of(const char *directory, char path[PATH_ROOM])
{
    int n = snprintf(path, PATH_ROOM, "%s/node", directory);
    return n < PATH_ROOM
               ? STRADS_OK
               : strads_fail(STRADS_EIO, "%s: too long a path", directory);
}

strads_err sti_ticket_place(const char *directory)
{
    struct stat about;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return strads_fail(STRADS_EINVAL, "journal %s: cannot be made: %s",
                           directory, strerror(errno));
    if (stat(directory, &about) == 0 && !S_ISDIR(about.st_mode))
        return strads_fail(STRADS_EINVAL, "journal %s: is no directory",
                           directory);
    return access(directory, R_OK | W_OK | X_OK) == 0
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "journal %s: cannot be written to: %s", directory,
                             strerror(errno));
}

strads_err sti_ticket_read(const char *directory, sti_mesh_ticket *out,
                           bool *there)
{
    char path[PATH_ROOM], end = 0;
    *there = false;
    strads_err err = path_of(directory, path);
    if (err)
        return err;
    FILE *file = fopen(path, "r");
    if (!file)
        return errno == ENOENT ? STRADS_OK : failed(path, "read");
    int n = fscanf(file, "strads run %" SCNx64 " node %" SCNu32 "%c", &out->run,
                   &out->node, &end);
    (void)fclose(file);
    if (n != 3 || end != '\n' || out->run == 0 || out->node == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: expected \"strads run R node N\": give "
                           "--journal another directory, or an empty one",
                           path);
    *there = true;
    return STRADS_OK;
}

strads_err sti_ticket_write(const char *directory,
                            const sti_mesh_ticket *ticket)
{
    char path[PATH_ROOM];
    sti_aside file = {0};
    strads_err err = path_of(directory, path);
    if (!err)
        err = sti_aside_open(path, &file);
    if (!err &&
        fprintf(file.file, "strads run %016" PRIx64 " node %" PRIu32 "\n",
                ticket->run, ticket->node) < 0)
        err = failed(path, "written");
    if (!err)
        err = sti_aside_commit(&file);
    sti_aside_abandon(&file);
    return err;
}

static void remove_journal(const char *directory, uint32_t shard)
{
    static const char *const file[] = {"/log", "/checkpoint", ""};
    char path[PATH_ROOM];
    for (int k = 0; k < 3; k++) {
        int n = snprintf(path, sizeof path, "%s/shard-%" PRIu32 "%s", directory,
                         shard, file[k]);
        if (n < PATH_ROOM)
            (void)remove(path);
    }
}

void sti_ticket_remove(const char *directory, uint32_t shards)
{
    char path[PATH_ROOM];
    for (uint32_t s = 0; s < shards; s++)
        remove_journal(directory, s);
    if (path_of(directory, path) == STRADS_OK)
        (void)unlink(path);
    (void)rmdir(directory);
}
