#include "cli_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_output.h"

/* Pixels: size of a diagram's frame, and margins for ticks and names. */
enum { WIDE = 400, HIGH = 280, LEFT = 90, TOP = 78, BELOW = 62, RIGHT = 170 };
enum { APART = LEFT + WIDE + RIGHT, LETTER = 7, LINE = 14 };

static const char *const shades[] = {"#1f6feb", "#d1242f", "#1a7f37",
                                     "#8250df", "#bf8700", "#0a7d8c",
                                     "#bf3989", "#57606a"};

static const char *colour(unsigned shade)
{
    return shades[shade % (sizeof shades / sizeof *shades)];
}

/* Position of a value along its axis, 0 to 1. */
static double position_along(const cli_axis *a, double value)
{
    const bool log = a->logarithmic;
    const double first = log ? log10(a->first) : a->first;
    const double last = log ? log10(a->last) : a->last;
    const double v = log ? log10(fmax(value, 1e-300)) : value;
    return last != first ? (v - first) / (last - first) : 0.5;
}

static double left_of(const cli_plot *p)
{
    return LEFT + (double)p->place * APART;
}

static double across(const cli_plot *p, double x)
{
    return left_of(p) + WIDE * position_along(&p->x, x);
}

static double down(const cli_plot *p, double y)
{
    return TOP + HIGH * (1 - position_along(&p->y, y));
}

static void text(const cli_plot *p, double x, double y, const char *attributes,
                 const char *words)
{
    (void)fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    cli_xml_text(p->out, words);
    (void)fputs("</text>\n", p->out);
}

static void begin_picture(FILE *out, unsigned width, const char *title)
{
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
                  "height=\"%d\" viewBox=\"0 0 %u %d\" "
                  "role=\"img\" font-family=\"sans-serif\" font-size=\"12\" "
                  "fill=\"#333\">\n<title>",
                  width, TOP + HIGH + BELOW, width, TOP + HIGH + BELOW);
    cli_xml_text(out, title);
    (void)fputs("</title>\n"
                "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
                "<text x=\"12\" y=\"24\" font-size=\"15\" "
                "font-weight=\"bold\">",
                out);
    cli_xml_text(out, title);
    (void)fputs("</text>\n", out);
}

void cli_plot_begin(FILE *out, unsigned diagrams, const char *title)
{
    begin_picture(out, diagrams * APART, title);
}

void cli_plot_begin_bare(FILE *out, const char *title)
{
    begin_picture(out, LEFT + WIDE + 20, title);
}

void cli_plot_end(FILE *out)
{
    (void)fputs("</svg>\n", out);
}

/* ---- ticks --------------------------------------------------------------- */

enum { TICKS = 32 };

/* 1, 2 or 5 times a power of ten, for at most six steps in `span`. */
static double round_step(double span)
{
    const double power = pow(10, floor(log10(span / 6)));
    const double rest = span / 6 / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

/* Rounds v down (or up) to 1, 2 or 5 times a power of ten. */
static double round_to(double v, bool up)
{
    static const double digit[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(v) + 1e-9));
    size_t d = up ? 0 : 3;
    while (up ? digit[d] * power < v * (1 - 1e-9)
              : digit[d] * power > v * (1 + 1e-9))
        d = up ? d + 1 : d - 1;
    return digit[d] * power;
}

static unsigned linear_ticks(const cli_axis *a, double *out)
{
    const double low = fmin(a->first, a->last), high = fmax(a->first, a->last);
    const double step = round_step(high - low);
    unsigned n = 0;
    for (double k = ceil(low / step - 1e-9);
         n < TICKS && k * step <= high + 1e-9 * step; k++)
        out[n++] = k * step;
    return n;
}

/* Powers of ten; if there are few, also 2 and 5 times them. */
static unsigned log_ticks(const cli_axis *a, double *out)
{
    static const double digit[] = {1, 2, 5};
    const double low = fmin(a->first, a->last), high = fmax(a->first, a->last);
    const double decades = log10(high / low);
    const double step = ceil(decades / 8);
    const size_t digits = decades < 3 ? 3 : 1;
    unsigned n = 0;
    for (double k = floor(log10(low)); k <= log10(high) + 1e-9;
         k += fmax(step, 1)) {
        for (size_t d = 0; d < digits && n < TICKS; d++) {
            const double v = digit[d] * pow(10, k);
            if (v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9))
                out[n++] = v;
        }
    }
    return n;
}

static unsigned find_ticks(const cli_axis *a, double *out)
{
    unsigned n = 0;
    for (; n < a->n_ticks && n < TICKS; n++)
        out[n] = a->tick[n];
    return a->tick          ? n
           : a->logarithmic ? log_ticks(a, out)
                            : linear_ticks(a, out);
}

static void tick_text(const cli_axis *a, double v, char out[CLI_TIME_SIZE])
{
    if (a->seconds)
        (void)cli_time(v, out);
    else
        (void)snprintf(out, CLI_TIME_SIZE, "%.6g", fabs(v) < 1e-300 ? 0 : v);
}

/* Widens an empty range. */
static void widen_axis(cli_axis *a)
{
    if (!(fabs(a->last - a->first) > 0)) {
        const double by = a->logarithmic ? 2 : fmax(fabs(a->first) / 2, 0.5);
        a->first = a->logarithmic ? a->first / by : a->first - by;
        a->last = a->logarithmic ? a->last * by : a->last + by;
    }
}

static void put_x_ticks(const cli_plot *p)
{
    double tick[TICKS], taken = -1e9;
    char label[CLI_TIME_SIZE];
    const unsigned n = find_ticks(&p->x, tick);
    const bool falls = p->x.first > p->x.last;
    for (unsigned k = 0; k < n; k++) {
        const double v = tick[falls ? n - 1 - k : k], x = across(p, v);
        tick_text(&p->x, v, label);
        const double half = LETTER * (double)strlen(label) / 2;
        (void)fprintf(p->out,
                      "<path fill=\"none\" stroke=\"#333\" "
                      "d=\"M%.1f %dv5\"/>\n",
                      x, TOP + HIGH);
        if (x - half > taken + 6) {
            text(p, x, TOP + HIGH + 19, "text-anchor=\"middle\"", label);
            taken = x + half;
        }
    }
}

static void put_y_ticks(const cli_plot *p)
{
    double tick[TICKS], taken = 1e9;
    char label[CLI_TIME_SIZE];
    const unsigned n = find_ticks(&p->y, tick);
    for (unsigned k = 0; k < n; k++) {
        const double y = down(p, tick[k]);
        (void)fprintf(p->out,
                      "<path fill=\"none\" stroke=\"#ddd\" "
                      "d=\"M%.1f %.1fh%d\"/>\n",
                      left_of(p), y, WIDE);
        if (y < taken - LINE) {
            tick_text(&p->y, tick[k], label);
            text(p, left_of(p) - 8, y + 4, "text-anchor=\"end\"", label);
            taken = y;
        }
    }
}

void cli_plot_frame(cli_plot *p)
{
    widen_axis(&p->x);
    widen_axis(&p->y);
    if (!p->y.logarithmic) {
        const double step = round_step(fabs(p->y.last - p->y.first));
        p->y.first = floor(p->y.first / step + 1e-9) * step;
        p->y.last = ceil(p->y.last / step - 1e-9) * step;
    } else {
        p->y.first = round_to(p->y.first, false);
        p->y.last = round_to(p->y.last, true);
    }
    text(p, left_of(p), TOP - 28, "font-size=\"13\"", p->title);
    put_y_ticks(p);
    put_x_ticks(p);
    (void)fprintf(p->out,
                  "<path fill=\"none\" stroke=\"#333\" "
                  "d=\"M%.1f %dv%dh%d\"/>\n",
                  left_of(p), TOP, HIGH, WIDE);
    text(p, left_of(p) + WIDE / 2.0, TOP + HIGH + 42, "text-anchor=\"middle\"",
         p->x.name);
    (void)fprintf(p->out,
                  "<text transform=\"translate(%.1f %.1f) rotate(-90)\" "
                  "text-anchor=\"middle\">",
                  left_of(p) - LEFT + 18, TOP + HIGH / 2.0);
    cli_xml_text(p->out, p->y.name);
    (void)fputs("</text>\n", p->out);
}

/* ---- drawing ------------------------------------------------------------- */

static void put_dot(const cli_plot *p, double x, double y, unsigned shade)
{
    (void)fprintf(p->out,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n",
                  across(p, x), down(p, y), colour(shade));
}

void cli_plot_line(const cli_plot *p, size_t n, const double *x,
                   const double *y, unsigned shade, unsigned style)
{
    for (size_t k = 0; k < n; k++) {
        (void)fprintf(p->out, "%s%.1f %.1f", k ? " L" : "<path d=\"M",
                      across(p, x[k]), down(p, y[k]));
    }
    if (n > 0) {
        (void)fprintf(p->out,
                      "\" fill=\"none\" stroke=\"%s\" "
                      "stroke-width=\"1.5\"%s/>\n",
                      colour(shade),
                      style & CLI_PLOT_DASHED ? " stroke-dasharray=\"5 4\""
                                              : "");
    }
    for (size_t k = 0; k < n && (style & CLI_PLOT_DOTS); k++)
        put_dot(p, x[k], y[k], shade);
}

void cli_plot_bar(const cli_plot *p, double x, double y, double low,
                  double high)
{
    (void)fprintf(p->out,
                  "<path fill=\"none\" stroke=\"#999\" "
                  "d=\"M%.1f %.1fV%.1f\"/>\n",
                  across(p, x), down(p, low), down(p, high));
    put_dot(p, x, y, 0);
}

void cli_plot_mark(cli_plot *p, double x, const char *word)
{
    const double at = across(p, x);
    const double space = LETTER * ((double)strlen(word) + 3);
    const bool collides = p->n_marks > 0 && fabs(at - p->last_mark) < space;
    (void)fprintf(p->out,
                  "<path fill=\"none\" stroke=\"#888\" "
                  "stroke-dasharray=\"5 4\" d=\"M%.1f %dv%d\"/>\n",
                  at, TOP, HIGH);
    const char *anchor = !collides           ? "text-anchor=\"middle\""
                         : at > p->last_mark ? "text-anchor=\"start\""
                                             : "text-anchor=\"end\"";
    text(p, at + (collides ? (at > p->last_mark ? 5 : -5) : 0),
         collides ? TOP + 12 : TOP - 6, anchor, word);
    p->last_mark = at;
    p->n_marks++;
}

void cli_plot_note(cli_plot *p, double y, const char *words, unsigned shade)
{
    if (p->n_notes == CLI_PLOT_NOTES)
        return;
    struct cli_plot_note *note = &p->note[p->n_notes++];
    size_t n = strlen(words);
    *note = (struct cli_plot_note){.at = down(p, y), .shade = shade};
    if (n >= sizeof note->text) {
        n = sizeof note->text - 4;
        while (n > 0 && ((unsigned char)words[n] & 0xc0) == 0x80)
            n--; /* do not split a UTF-8 character */
        (void)snprintf(note->text, sizeof note->text, "%.*s...", (int)n, words);
    } else {
        memcpy(note->text, words, n + 1);
    }
}

static int by_height(const void *a, const void *b)
{
    const struct cli_plot_note *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

void cli_plot_finish(cli_plot *p)
{
    double at[CLI_PLOT_NOTES];
    qsort(p->note, p->n_notes, sizeof *p->note, by_height);
    for (unsigned k = 0; k < p->n_notes; k++)
        at[k] = fmax(p->note[k].at, k ? at[k - 1] + LINE : TOP);
    /* Notes that were moved below the frame push the others up. */
    double most = TOP + HIGH;
    for (unsigned k = p->n_notes; k-- > 0; most -= LINE)
        at[k] = fmin(at[k], most);
    const double x = left_of(p) + WIDE;
    for (unsigned k = 0; k < p->n_notes; k++) {
        (void)fprintf(p->out,
                      "<path fill=\"none\" stroke=\"%s\" stroke-width=\"0.5\" "
                      "d=\"M%.1f %.1fL%.1f %.1f\"/>\n"
                      "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">",
                      colour(p->note[k].shade), x + 2, p->note[k].at, x + 14,
                      at[k], x + 17, at[k] + 4, colour(p->note[k].shade));
        cli_xml_text(p->out, p->note[k].text);
        (void)fputs("</text>\n", p->out);
    }
}
