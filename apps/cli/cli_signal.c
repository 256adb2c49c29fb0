/* SIGINT and SIGTERM. Owns the process's one stop flag. */
#include "cli_signal.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static volatile bool stop;

/* Only what a signal handler may call. */
static void on_signal(int number)
{
    static const char told[] =
        "\nstrads: stopping at the next commit; once more ends at once\n";
    (void)number;
    if (stop) {
        _exit(CLI_INTERRUPTED);
    }
    stop = true;
    ssize_t written = write(STDERR_FILENO, told, sizeof told - 1);
    (void)written;
}

const volatile bool *cli_signal_catch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    return &stop;
}
