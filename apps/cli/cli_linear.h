/* cli_linear.h - using models with coefficients by column: predict, evaluate
 * and show of lasso, logistic, sgd-logistic and svm. */
#ifndef CLI_LINEAR_H
#define CLI_LINEAR_H

#include "cli_options.h"

/* Whose models the verbs take: `of` of a command's row. */
typedef struct cli_linear_kind {
    const char *program;
    bool classifies;    /* a model's options name its labels, "classes" */
    bool by_loss;       /* but only where "loss" is a hinge */
    bool probabilities; /* its sums are log odds */
    bool net;           /* they come from a network */
} cli_linear_kind;

/* Of numbers, of classes with probabilities, of classes without. */
extern const cli_verb cli_predict_numbers, cli_predict_probabilities,
    cli_predict_labels;
extern const cli_verb cli_linear_evaluate, cli_linear_show;

/* Rows of a table of commands: what is done with models of a kind. */
/* The kind of a model: that of the command, or of one for any program that of
 * the program that has trained it. A program of the user's is linear: a row's
 * prediction is the sum of coefficient times entry. STRADS_EINVAL: a built-in
 * program that is none of these. */
strads_err cli_linear_kind_find(const cli_linear_kind *of_command,
                                const char *path, const strads_model *model,
                                const cli_linear_kind **out);

#define CLI_LINEAR_USE(word, kind, predict_verb, summary_, about_)           \
    {.name = word " predict",                                                \
     .args = "MODEL DATA",                                                   \
     .summary = summary_,                                                    \
     .about = about_ " Columns that the model does not know count nothing.", \
     .verb = &predict_verb,                                                  \
     .of = kind},                                                            \
        {.name = word " evaluate",                                           \
         .args = "MODEL DATA",                                               \
         .summary = "how good its predictions are",                          \
         .about = "Tells how good a model's predictions are on rows with "   \
                  "labels.",                                                 \
         .verb = &cli_linear_evaluate,                                       \
         .of = kind},                                                        \
    {                                                                        \
        .name = word " show", .args = "MODEL",                               \
        .summary = "its largest weights, by name",                           \
        .about = "Shows the intercept and the largest weights of a model.",  \
        .verb = &cli_linear_show, .of = kind                                 \
    }

#endif
