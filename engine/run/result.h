/* engine/run/result.h - what is left of a run: values, numbers, state. */
#ifndef STI_RESULT_H
#define STI_RESULT_H

#include "engine/run/run_setup.h"

/* Copies the committed parameters and takes over the program's coordinator
 * state (sti_setup_free must then be told to keep it). STRADS_ENOMEM: the
 * state stays with the setup. */
strads_err sti_result_new(const sti_setup *setup,
                          const strads_progress *progress, strads_end end,
                          strads_result **out);

#endif
