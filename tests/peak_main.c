/* peak FILE COMMAND...: runs the command, writes the most memory in KB that it
 * had in RAM at once to FILE, and ends with its exit code. The figure is the
 * kernel's for the child alone: a shell's own memory does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fprintf(stderr, "usage: peak FILE COMMAND...\n");
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 1;
    FILE *file = fopen(argv[1], "w");
    if (!file || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 || fclose(file))
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
