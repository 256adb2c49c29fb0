/* cli_generate.h - man pages and completion for shells, made of the commands'
 * option tables. */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

/* `strads --generate man FOLDER`, `--generate bash`, `zsh`, `fish`; an exit
 * code. */
int cli_generate(int argc, char **argv);

#endif
