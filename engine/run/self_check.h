/* engine/run/self_check.h - checks of the machine that a run needs: what
 * `strads doctor` prints. */
#ifndef STI_SELF_CHECK_H
#define STI_SELF_CHECK_H

typedef enum sti_verdict {
    STI_FINE, /* as a run needs it */
    STI_NOTE, /* runs work, but slower or only in part */
    STI_FAULT /* some run fails because of it */
} sti_verdict;

enum { STI_FINDING_SIZE = 256 };

typedef struct sti_finding {
    const char *name; /* static: "memory" */
    sti_verdict verdict;
    char text[STI_FINDING_SIZE];   /* what was found, with units */
    char advice[STI_FINDING_SIZE]; /* what to do; "" if fine */
} sti_finding;

/* Runs all checks and passes each finding to `take`, always in the same order.
 * Takes some milliseconds; opens and closes sockets on loopback and files in
 * $TMPDIR (/tmp if unset). One thread at a time. */
void sti_self_check(void (*take)(void *arg, const sti_finding *finding),
                    void *arg);

#endif
