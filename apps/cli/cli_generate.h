/* cli_generate.h - man pages, and what shells complete words to, made of the
 * commands' option tables. */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

/* `strads --generate man FOLDER`; an exit code. */
int cli_generate(int argc, char **argv);

/* `strads --complete WORD...`, for the scripts of packaging/: what the
 * last word, which may be empty, can become, one a line, with what it does
 * behind a tab. Nothing: the name of a file. An exit code. */
int cli_complete(int argc, char **argv);

#endif
