/* relay URL SEED MEAN TIMES: a stretch of network (relay.h) for scripts. Prints
 * its URL; at SIGUSR1 it cuts what goes through it, and from then on flips TIMES
 * bits, one every MEAN bytes or so; on SIGTERM it says how often it has done
 * harm. */
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
    (void)sigprocmask(SIG_BLOCK, &awaited, NULL); /* in its thread, too */
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
        relay_cut(r); /* what comes anew is damaged */
    }
    (void)printf("%u\n", relay_cuts(r));
    relay_close(r);
    return 0;
}
