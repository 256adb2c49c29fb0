/* cli_plot.h - diagrams side by side in one SVG file. Only lines, points and
 * text with attributes: simple viewers do not read style sheets. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An axis in data units. first: left or bottom; last: right or top, which may
 * be smaller than first. */
typedef struct cli_axis {
    const char *name;
    double first, last;
    bool logarithmic;     /* first and last must be above 0 */
    bool seconds;         /* print ticks with ms, us, ... */
    const uint32_t *tick; /* [n_ticks] positions of ticks; NULL: round
                           * numbers */
    uint32_t n_ticks;
} cli_axis;

enum { CLI_PLOT_NOTES = 8, CLI_PLOT_NOTE_SIZE = 24 };

typedef struct cli_plot {
    FILE *out;
    unsigned place; /* 0: leftmost */
    const char *title;
    cli_axis x, y;
    struct cli_plot_note {
        double at; /* pixels from the top */
        char text[CLI_PLOT_NOTE_SIZE];
        unsigned shade;
    } note[CLI_PLOT_NOTES]; /* waiting for cli_plot_finish */
    unsigned n_notes, n_marks;
    double last_mark;
} cli_plot;

void cli_plot_begin(FILE *out, unsigned diagrams, const char *title);
/* The same for one diagram without notes at its right. */
void cli_plot_begin_bare(FILE *out, const char *title);
void cli_plot_end(FILE *out);

/* Draws axes with names, ticks at round numbers (1, 2 or 5 times a power of
 * ten) and the title. Widens the y axis to its outer ticks. */
void cli_plot_frame(cli_plot *plot);
/* Writes the notes beside the diagram and moves overlapping ones apart. */
void cli_plot_finish(cli_plot *plot);

enum { CLI_PLOT_DOTS = 1, CLI_PLOT_DASHED = 2 };
/* A line through n points; `shade` selects one of eight colours, modulo 8. */
void cli_plot_line(const cli_plot *plot, size_t n, const double *x,
                   const double *y, unsigned shade, unsigned style);
/* A point with a bar from low to high. */
void cli_plot_bar(const cli_plot *plot, double x, double y, double low,
                  double high);
/* A dashed vertical line with a label. */
void cli_plot_mark(cli_plot *plot, double x, const char *word);
/* A note right of the diagram, at the height of y, in the colour of a line. */
void cli_plot_note(cli_plot *plot, double y, const char *words, unsigned shade);

#endif
