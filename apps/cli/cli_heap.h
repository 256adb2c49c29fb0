/* The command's heap on huge pages. */
#ifndef CLI_HEAP_H
#define CLI_HEAP_H

/* Asks for huge pages where the next arrays of the heap will be, and touches
 * none. To be called first of all. Advice only, which may come to nothing. */
void cli_heap_widen(void);

#endif
