/* cli_plot.h - diagrams side by side in one SVG file. Only lines, points and
 * text with attributes of their own: no style sheet, which simple viewers do
 * not read. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stddef.h>
#include <stdio.h>

/* One diagram: where it goes, and what its edges mean. x is log10 of what the
 * labels say; of y there are five levels. */
typedef struct cli_plot {
    FILE *out;
    unsigned place; /* 0: leftmost */
    const char *title, *across;
    double x_first, x_last; /* left and right edge, x_first may be larger */
    double low, high;       /* of y */
} cli_plot;

void cli_plot_begin(FILE *out, unsigned diagrams);
void cli_plot_end(FILE *out);

/* Axes, title and labels. Widens low and high where they are one. */
void cli_plot_frame(cli_plot *plot);
/* A line through n points; `shade` is a colour from a round of eight. */
void cli_plot_line(const cli_plot *plot, size_t n, const double *x,
                   const double *y, unsigned shade);
/* A point with a bar from low to high. */
void cli_plot_bar(const cli_plot *plot, double x, double y, double low,
                  double high);
/* A dashed line from top to bottom, with words on it. */
void cli_plot_mark(const cli_plot *plot, double x, const char *words);
/* Words right of the diagram, at y. */
void cli_plot_note(const cli_plot *plot, double y, const char *words,
                   unsigned shade);

#endif
