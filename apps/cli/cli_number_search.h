/* cli_number_search.h - chooses a number of topics or of roles: fits of growing
 * numbers, each judged by data that it was not fitted to. */
#ifndef CLI_NUMBER_SEARCH_H
#define CLI_NUMBER_SEARCH_H

#include "cli_log.h"
#include "strads/lda.h"
#include "strads/strads.h"

enum { CLI_TRIALS = 32, CLI_TRIAL_MEASURES = 2 };

typedef struct cli_trial {
    uint32_t number;
    double score;                       /* the larger, the better */
    double measure[CLI_TRIAL_MEASURES]; /* for the log */
    double seconds;
} cli_trial;

/* The caller sets the first group of members. */
typedef struct cli_number_search {
    const strads_program *program;
    const char *unit;                        /* "topics", in the log */
    const char *measure[CLI_TRIAL_MEASURES]; /* names in the log, or NULL */
    uint32_t first, last;                    /* numbers to try */
    double growth;                           /* from one number to the next */
    double gain; /* a larger number is better if it raises the score by this */
    strads_lda_options options; /* of each fit */
    const strads_data *data;
    const strads_engine_options *engine; /* of the run that follows */
    /* Sets score and measures. */
    strads_err (*judge)(void *state, const strads_lda_model *model,
                        cli_trial *trial);
    void *state;

    cli_trial trial[CLI_TRIALS];
    uint32_t trials, best;
    uint32_t chosen; /* the number of the run that follows */
    bool stopped;    /* the user has stopped the search */
} cli_number_search;

/* Fits and judges one number. A fit that the user has stopped is not kept.
 * Errors of strads_run and of `judge`. */
strads_err cli_number_try(cli_number_search *search, uint32_t number);

/* Tries numbers from the first on, until two in a row are no better than the
 * best one before, and sets `best` and `chosen`. If the search was stopped,
 * `chosen` is the best so far, or the first number. */
strads_err cli_number_choose(cli_number_search *search);

/* Writes a line "trial" for each trial. */
void cli_number_log(const cli_number_search *search, cli_log *log);

#endif
