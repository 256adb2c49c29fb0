/* cli_refit.h - fits in two steps, for `lasso` and `glm train`, and for paths
 * and cross-validations: penalties weighed by a first fit (--adaptive), and
 * mixtures with fits without a penalty (--relax). */
#ifndef CLI_REFIT_H
#define CLI_REFIT_H

#include "cli_train.h"
#include "strads/glm.h"

typedef struct cli_refit {
    double adaptive;       /* power of the weights; 0: not adaptive */
    const char *first_fit; /* a model; NULL: a ridge fit */
    double relax;          /* share of the penalised coefficients; 1: all */
    /* The run's last point, mixed; NULL: it is the model as it is. */
    const strads_path_point *mixed;
} cli_refit;

#define CLI_REFIT_DEFAULTS \
    {                      \
        .relax = 1         \
    }

/* Of a command's state; a cross-validation has another --relax. */
#define CLI_ADAPTIVE_OPTIONS(type, member)                                  \
    STRADS_OPTION(F64, type, member.adaptive, "adaptive", "GAMMA",          \
                  "divide each penalty by |first coefficient|^GAMMA "       \
                  "(default: 0)",                                           \
                  .rare = true, .max = 100),                                \
        STRADS_OPTION(STRING, type, member.first_fit, "first-fit", "MODEL", \
                      "adaptive: the first fit (default: ridge)",           \
                      .rare = true)
#define CLI_RELAX_OPTION(type, member)                                     \
    STRADS_OPTION(F64, type, member.relax, "relax", "S",                   \
                  "of penalised coefficients, 0: refit without a penalty " \
                  "(default: 1)",                                          \
                  .rare = true, .max = 1)

/* Checks the options before data is read. */
strads_err cli_refit_check(const cli_refit *refit);

/* Sets the penalty factors of `fit`, of all rows in `data`. */
strads_err cli_refit_weigh(const cli_refit *refit, strads_glm_options *fit,
                           const strads_data *data,
                           const strads_engine_options *engine, bool quiet);

/* Mixes n points with their relaxed fits, to `out`, which lives as long as the
 * process. */
strads_err cli_refit_mix(double share, const cli_trained *trained,
                         const strads_path_point *points, uint32_t n,
                         const strads_path_point **out);

/* Whether relaxed fits suit data and options, before the run. */
strads_err cli_refit_look(double share, const strads_glm_options *fit,
                          const strads_data *data);

/* Replaces a model's coefficients by those of refit->mixed. */
void cli_refit_apply(const cli_refit *refit, strads_model *model);

#endif
