/* cli_classes.h - `predict` of programs that tell classes apart. */
#ifndef CLI_CLASSES_H
#define CLI_CLASSES_H

/* Predicts by models of `program`, whose options name the labels; an exit code.
 * `name` is the command's. */
int cli_classes_predict(const char *program, const char *name, int argc,
                        char **argv);
/* `evaluate` of the same. */
int cli_classes_evaluate(const char *program, const char *name, int argc,
                         char **argv);

#endif
