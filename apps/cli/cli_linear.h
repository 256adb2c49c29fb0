/* cli_linear.h - using models with coefficients by column: predict, evaluate
 * and show of lasso, logistic, sgd-logistic and svm. */
#ifndef CLI_LINEAR_H
#define CLI_LINEAR_H

/* `program` is whose models are taken, `name` the command's ("lasso predict").
 * Each reads the command line, the model and the data, and writes; an exit
 * code. */
int cli_linear_predict(const char *program, const char *name, int argc,
                       char **argv);
int cli_linear_evaluate(const char *program, const char *name, int argc,
                        char **argv);
int cli_linear_show(const char *program, const char *name, int argc,
                    char **argv);

#endif
