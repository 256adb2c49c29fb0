/* cli_generate.h - man pages and shell completion, from the commands' option
 * tables. */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

/* `strads --generate man FOLDER`; returns an exit code. */
int cli_generate(int argc, char **argv);

/* `strads --complete WORD...`, for the scripts of packaging/: prints the
 * completions of the last word, which may be empty, one on each line with its
 * description after a tab. No output means a file name. Returns an exit
 * code. */
int cli_complete(int argc, char **argv);

#endif
