/* cli_signal.h - Ctrl-C: the first ends the run at its next commit, the second
 * ends the process. */
#ifndef CLI_SIGNAL_H
#define CLI_SIGNAL_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM set the flag that is returned, to be given to
 * an engine as its `stop`. */
const volatile bool *cli_signal_catch(void);

#endif
