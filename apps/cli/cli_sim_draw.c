/* The curve as SVG: on the left the time to the objective over workers, both by
 * powers of two, with the line that halves; on the right who was busy. Only
 * lines, points and text with attributes of their own: no style sheet, which
 * simple viewers do not read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_sim.h"
#include "cli.h"
#include "engine/base/atomic_file.h"

#define GRID "fill=\"none\" stroke=\"#ddd\""
#define AXIS "fill=\"none\" stroke=\"#333\""
#define IDEAL "fill=\"none\" stroke=\"#888\" stroke-dasharray=\"5 4\""
#define CURVE "fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"2\""

enum { WIDE = 380, HIGH = 260, LEFT = 80, TOP = 60, APART = 480 };

/* One diagram: where it stands, and what its edges mean. */
typedef struct panel {
    FILE *out;
    double x, low, high;  /* of y; log2 of it on the left */
    uint32_t first, last; /* workers */
} panel;

static double across(const panel *p, double workers)
{
    double all = log2((double)p->last / p->first);
    return p->x +
           (all > 0 ? WIDE * log2(workers / p->first) / all : WIDE / 2.0);
}

static double down(const panel *p, double y)
{
    return TOP + HIGH * (p->high - y) / (p->high - p->low);
}

static void text(const panel *p, double x, double y, const char *anchor,
                 const char *words)
{
    (void)fprintf(p->out,
                  "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                  x, y, anchor, words);
}

static void level(const panel *p, double y, const char *label)
{
    (void)fprintf(p->out, "<path " GRID " d=\"M%.1f %.1fh%d\"/>\n", p->x,
                  down(p, y), WIDE);
    text(p, p->x - 8, down(p, y) + 4, "end", label);
}

static void frame(const panel *p, const cli_sim *sim, const char *title)
{
    text(p, p->x, TOP - 16, "start", title);
    (void)fprintf(p->out, "<path " AXIS " d=\"M%.1f %dv%dh%d\"/>\n", p->x, TOP,
                  HIGH, WIDE);
    for (uint32_t k = 0; k < sim->n_points; k++) {
        char label[16];
        (void)snprintf(label, sizeof label, "%" PRIu32, sim->workers[k]);
        text(p, across(p, sim->workers[k]), TOP + HIGH + 18, "middle", label);
    }
    text(p, p->x + WIDE / 2.0, TOP + HIGH + 38, "middle", "workers");
}

typedef double (*value)(const cli_sim_point *point);

static void curve(const panel *p, const cli_sim *sim, value of)
{
    for (uint32_t k = 0; k < sim->n_points; k++) {
        (void)fprintf(p->out, "%s%.1f %.1f", k ? " L" : "<path " CURVE " d=\"M",
                      across(p, sim->workers[k]), down(p, of(&sim->point[k])));
    }
    (void)fputs("\"/>\n", p->out);
    for (uint32_t k = 0; k < sim->n_points; k++) {
        (void)fprintf(p->out,
                      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" "
                      "fill=\"#1f6feb\"/>\n",
                      across(p, sim->workers[k]), down(p, of(&sim->point[k])));
    }
}

static double log_seconds(const cli_sim_point *point)
{
    return log2(fmax(point->seconds, 1e-9));
}

static double busy_percent(const cli_sim_point *point)
{
    return 100 * cli_sim_busy(point);
}

static void draw_seconds(panel p, const cli_sim *sim)
{
    double first = log_seconds(&sim->point[0]), least = first, most = first;
    for (uint32_t k = 1; k < sim->n_points; k++) {
        least = fmin(least, log_seconds(&sim->point[k]));
        most = fmax(most, log_seconds(&sim->point[k]));
    }
    p.low = floor(least - 0.5);
    p.high = ceil(most + 0.5);
    frame(&p, sim, "time to the objective; dashed: half for twice the workers");
    double each = ceil((p.high - p.low) / 8);
    for (double y = p.low; y <= p.high; y += each) {
        char label[CLI_TIME_SIZE];
        level(&p, y, cli_time(exp2(y), label));
    }
    double end = fmin(log2((double)p.last / p.first), first - p.low);
    (void)fprintf(p.out, "<path " IDEAL " d=\"M%.1f %.1fL%.1f %.1f\"/>\n", p.x,
                  down(&p, first), across(&p, p.first * exp2(end)),
                  down(&p, first - end));
    curve(&p, sim, log_seconds);
}

static void draw_busy(panel p, const cli_sim *sim)
{
    p.x += APART;
    p.low = 0;
    p.high = 100;
    frame(&p, sim, "workers busy");
    for (int y = 0; y <= 100; y += 25) {
        char label[16];
        (void)snprintf(label, sizeof label, "%d %%", y);
        level(&p, y, label);
    }
    curve(&p, sim, busy_percent);
}

strads_err cli_sim_draw(const cli_sim *sim)
{
    sti_atomic_file target = {0};
    strads_err err = sti_atomic_file_open(sim->words.svg, &target);
    if (err) {
        return err;
    }
    (void)fprintf(
        target.stream,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        LEFT + APART + WIDE + 40, TOP + HIGH + 60);
    panel p = {.out = target.stream,
               .x = LEFT,
               .first = sim->workers[0],
               .last = sim->workers[sim->n_points - 1]};
    draw_seconds(p, sim);
    draw_busy(p, sim);
    (void)fputs("</svg>\n", target.stream);
    return sti_atomic_file_commit(&target);
}
