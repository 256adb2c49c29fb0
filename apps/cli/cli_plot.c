#include "cli_plot.h"

#include <math.h>

enum { WIDE = 380, HIGH = 260, LEFT = 80, TOP = 60, APART = 540, LEVELS = 4 };

static const char *const shades[] = {"#1f6feb", "#d1242f", "#1a7f37",
                                     "#8250df", "#bf8700", "#0a7d8c",
                                     "#bf3989", "#57606a"};

static const char *colour(unsigned shade)
{
    return shades[shade % (sizeof shades / sizeof *shades)];
}

static double left_of(const cli_plot *p)
{
    return LEFT + (double)p->place * APART;
}

static double across(const cli_plot *p, double x)
{
    double all = p->x_last - p->x_first;
    return left_of(p) + (all != 0 ? WIDE * (x - p->x_first) / all : WIDE / 2.0);
}

static double down(const cli_plot *p, double y)
{
    return TOP + HIGH * (p->high - y) / (p->high - p->low);
}

/* Text of users may hold what XML means something by. */
static void put_text(FILE *out, const char *words)
{
    for (const char *c = words; *c; c++) {
        switch (*c) {
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '&':
            (void)fputs("&amp;", out);
            break;
        default:
            (void)fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
        }
    }
}

static void text(const cli_plot *p, double x, double y, const char *anchor,
                 const char *words)
{
    (void)fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x,
                  y, anchor);
    put_text(p->out, words);
    (void)fputs("</text>\n", p->out);
}

void cli_plot_begin(FILE *out, unsigned diagrams)
{
    (void)fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %d\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        LEFT + diagrams * APART, TOP + HIGH + 60);
}

void cli_plot_end(FILE *out)
{
    (void)fputs("</svg>\n", out);
}

void cli_plot_frame(cli_plot *p)
{
    char label[32];
    if (!(p->high > p->low)) {
        p->low -= 0.5;
        p->high += 0.5;
    }
    text(p, left_of(p), TOP - 24, "start", p->title);
    for (int k = 0; k <= LEVELS; k++) {
        double y = p->low + (p->high - p->low) * k / LEVELS;
        double x = p->x_first + (p->x_last - p->x_first) * k / LEVELS;
        (void)fprintf(p->out,
                      "<path fill=\"none\" stroke=\"#ddd\" "
                      "d=\"M%.1f %.1fh%d\"/>\n",
                      left_of(p), down(p, y), WIDE);
        (void)snprintf(label, sizeof label, "%.3g", y);
        text(p, left_of(p) - 8, down(p, y) + 4, "end", label);
        (void)snprintf(label, sizeof label, "%.3g", pow(10, x));
        text(p, across(p, x), TOP + HIGH + 18, "middle", label);
    }
    (void)fprintf(p->out,
                  "<path fill=\"none\" stroke=\"#333\" "
                  "d=\"M%.1f %dv%dh%d\"/>\n",
                  left_of(p), TOP, HIGH, WIDE);
    text(p, left_of(p) + WIDE / 2.0, TOP + HIGH + 38, "middle", p->across);
}

void cli_plot_line(const cli_plot *p, size_t n, const double *x,
                   const double *y, unsigned shade)
{
    for (size_t k = 0; k < n; k++) {
        (void)fprintf(p->out, "%s%.1f %.1f", k ? " L" : "<path d=\"M",
                      across(p, x[k]), down(p, y[k]));
    }
    if (n > 0) {
        (void)fprintf(p->out,
                      "\" fill=\"none\" stroke=\"%s\" "
                      "stroke-width=\"1.5\"/>\n",
                      colour(shade));
    }
}

void cli_plot_bar(const cli_plot *p, double x, double y, double low,
                  double high)
{
    (void)fprintf(p->out,
                  "<path fill=\"none\" stroke=\"#999\" "
                  "d=\"M%.1f %.1fV%.1f\"/>\n"
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n",
                  across(p, x), down(p, low), down(p, high), across(p, x),
                  down(p, y), colour(0));
}

void cli_plot_mark(const cli_plot *p, double x, const char *words)
{
    (void)fprintf(p->out,
                  "<path fill=\"none\" stroke=\"#888\" "
                  "stroke-dasharray=\"5 4\" d=\"M%.1f %dv%d\"/>\n",
                  across(p, x), TOP, HIGH);
    text(p, across(p, x), TOP - 6, "middle", words);
}

void cli_plot_note(const cli_plot *p, double y, const char *words,
                   unsigned shade)
{
    (void)fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">",
                  left_of(p) + WIDE + 6, down(p, y) + 4, colour(shade));
    put_text(p->out, words);
    (void)fputs("</text>\n", p->out);
}
