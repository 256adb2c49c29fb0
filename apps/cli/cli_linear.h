/* cli_linear.h - applying models with one coefficient for each column: predict,
 * evaluate and show for lasso, logistic, sgd-logistic and svm. */
#ifndef CLI_LINEAR_H
#define CLI_LINEAR_H

#include "cli_labels.h"
#include "cli_options.h"

/* The kind of models that a verb accepts: `of` in a command's row. */
typedef struct cli_linear_kind {
    const char *program;
    bool classifies;    /* the model's option "classes" lists its labels */
    bool by_loss;       /* only if "loss" is a hinge */
    bool probabilities; /* its scores are log odds */
    bool net;           /* a network computes the scores */
    bool fm;            /* a factorisation machine does */
} cli_linear_kind;

/* Models of any program: the model determines its kind. */
extern const cli_linear_kind cli_linear_any;

/* For numbers, for classes with probabilities, for classes without. */
extern const cli_verb cli_predict_numbers, cli_predict_probabilities,
    cli_predict_labels;
/* As cli_predict_probabilities; also survival, of times until an event. */
extern const cli_verb cli_predict_glm;
extern const cli_verb cli_linear_evaluate, cli_linear_show;
/* Of a factorisation machine, also on ratings with tables. */
extern const cli_verb cli_fm_predict, cli_fm_evaluate;

/* The kind of a model: the command's or, for a command that takes any program,
 * that of the program that trained it. A user's program counts as linear: a
 * row's prediction is the sum of coefficient times entry. STRADS_EINVAL: a
 * built-in program of another kind. */
strads_err cli_linear_kind_find(const cli_linear_kind *of_command,
                                const char *path, const strads_model *model,
                                const cli_linear_kind **out);

/* What a model's scores mean. */
typedef struct cli_linear_outputs {
    const cli_linear_kind *kind;
    cli_labels of; /* its classes, negative one first; n is 0: numbers */
    bool probabilities, softmax;
    bool ordinal;     /* one score, and thresholds of ordered classes */
    const char *loss; /* loss of a glm model, which defines the outputs; NULL:
                       * not a glm */
    uint32_t width;   /* scores of a row */
    uint32_t context; /* fm, loss bpr: columns of the user; otherwise 0 */
} cli_linear_outputs;

/* Reads the meaning from the model's options. `kind` is that of the command;
 * `path` is for messages. *out starts as {0}. STRADS_EINVAL: as
 * cli_linear_kind_find. STRADS_EFORMAT: the options lack the loss or the
 * labels. */
strads_err cli_linear_outputs_read(const cli_linear_kind *kind,
                                   const char *path, const strads_model *model,
                                   cli_linear_outputs *out);

/* Rows of a table of commands for a kind of models. */
#define CLI_LINEAR_USE(word, kind, predict_verb, summary_, about_)          \
    {.name = word " predict",                                               \
     .args = "MODEL DATA",                                                  \
     .summary = summary_,                                                   \
     .about = about_ " Columns that the model does not have are ignored.",  \
     .verb = &predict_verb,                                                 \
     .of = kind},                                                           \
        {.name = word " evaluate",                                          \
         .args = "MODEL DATA",                                              \
         .summary = "measure its predictions",                              \
         .about = "Measures a model's predictions on rows with labels.",    \
         .verb = &cli_linear_evaluate,                                      \
         .of = kind},                                                       \
    {                                                                       \
        .name = word " show", .args = "MODEL",                              \
        .summary = "print its largest weights, by name",                    \
        .about = "Shows the intercept and the largest weights of a model.", \
        .verb = &cli_linear_show, .of = kind                                \
    }

#endif
