/* relay URL SEED MEAN TIMES: a relay (relay.h) for scripts. Prints its URL. On
 * SIGUSR1 it cuts all connections and then flips TIMES bits, about one in MEAN
 * bytes. On SIGTERM it prints the number of cuts and flips. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/relay.h"

int main(int argc, char **argv)
{
    sigset_t awaited;
    int number = 0;
    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, SIGUSR1);
    (void)sigaddset(&awaited, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &awaited, NULL); /* its thread inherits it */
    relay *r = argc == 5 ? relay_open(argv[1]) : NULL;
    if (!r) {
        (void)fprintf(stderr, "relay URL SEED MEAN TIMES\n");
        return 2;
    }
    (void)printf("%s\n", relay_url(r));
    (void)fflush(stdout);
    while (sigwait(&awaited, &number) == 0 && number == SIGUSR1) {
        relay_flip_often(r, strtoul(argv[2], NULL, 10),
                         strtoul(argv[3], NULL, 10),
                         (unsigned)strtoul(argv[4], NULL, 10));
        relay_cut(r); /* new connections are damaged */
    }
    (void)printf("%u\n", relay_cuts(r));
    relay_close(r);
    return 0;
}
