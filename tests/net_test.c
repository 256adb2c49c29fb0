/* The network against an independent oracle: a forward pass in plain loops,
 * and its differences as the gradient; and against itself on other grids. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/net.h"
#include "strads/strads.h"
#include "tests/expect.h"

enum { ROWS = 60, COLS = 9, CLASSES = 3, WIDTH = 6, UPPER = 1 + 4 + 1 + 3 + 1 };
enum { PARAMETERS = COLS + UPPER, NUMBERS = PARAMETERS * WIDTH };

/* Layers of 6 and 4 units: rows of the table as strads/net.h defines them. */
enum {
    BIAS_1 = COLS,
    UNITS_2,
    BIAS_2 = UNITS_2 + 4,
    UNITS_3,
    BIAS_3 = UNITS_3 + 3
};

typedef struct sample {
    double x[ROWS][COLS], label[ROWS];
} sample;

static double draw(uint64_t what, uint64_t k)
{
    return strads_random_unit(3, 99, what, k);
}

static void make_sample(sample *s, double density)
{
    static const double name[] = {-2, 5, 7.5};
    for (uint32_t i = 0; i < ROWS; i++) {
        double most = -INFINITY;
        for (uint32_t j = 0; j < COLS; j++)
            s->x[i][j] = draw(0, i * COLS + j) < density
                             ? 2 * draw(1, i * COLS + j) - 1
                             : 0;
        for (uint32_t k = 0; k < CLASSES; k++) {
            const double score =
                s->x[i][k] * 3 + s->x[i][k + 3] + .2 * draw(2, i * 3 + k);
            s->label[i] = score > most ? name[k] : s->label[i];
            most = fmax(most, score);
        }
    }
}

static strads_data *data_of(const sample *s, const strads_net_options *o,
                            uint32_t partitions, strads_scalar type)
{
    uint64_t start[ROWS + 1] = {0};
    uint32_t index[ROWS * COLS];
    double value[ROWS * COLS];
    for (uint32_t i = 0; i < ROWS; i++) {
        start[i + 1] = start[i];
        for (uint32_t j = 0; j < COLS; j++)
            if (s->x[i][j] != 0) {
                index[start[i + 1]] = j;
                value[start[i + 1]++] = s->x[i][j];
            }
    }
    const strads_rows rows = {ROWS, COLS, start, index, value, s->label};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .partitions = partitions};
    strads_data_options options = {.size = sizeof options, .values = type};
    strads_data *data;
    cr_assert_eq(strads_run_cut(&strads_program_net, o, &engine, &options),
                 STRADS_OK);
    expect_ok(strads_data_from_rows(&rows, &options, &data));
    return data;
}

/* ---- the oracle -------------------------------------------------------- */

static double squash(bool tanh_, double z)
{
    return tanh_ ? tanh(z) : z > 0 ? z : 0;
}

/* The average of -log of the probability of each row's label. */
static double loss(const sample *s, const double *w, bool tanh_, double *p)
{
    static const double name[] = {-2, 5, 7.5};
    double sum = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        double a[WIDTH], b[4], z[CLASSES], all = 0;
        for (uint32_t u = 0; u < WIDTH; u++) {
            a[u] = w[BIAS_1 * WIDTH + u];
            for (uint32_t j = 0; j < COLS; j++)
                a[u] += s->x[i][j] * w[j * WIDTH + u];
            a[u] = squash(tanh_, a[u]);
        }
        for (uint32_t u = 0; u < 4; u++) {
            b[u] = w[BIAS_2 * WIDTH + u];
            for (uint32_t v = 0; v < WIDTH; v++)
                b[u] += a[v] * w[(UNITS_2 + u) * WIDTH + v];
            b[u] = squash(tanh_, b[u]);
        }
        for (uint32_t k = 0; k < CLASSES; k++) {
            z[k] = w[BIAS_3 * WIDTH + k];
            for (uint32_t v = 0; v < 4; v++)
                z[k] += b[v] * w[(UNITS_3 + k) * WIDTH + v];
            all += exp(z[k]);
        }
        for (uint32_t k = 0; k < CLASSES; k++) {
            if (p)
                p[i * CLASSES + k] = exp(z[k]) / all;
            sum -= s->label[i] == name[k] ? z[k] - log(all) : 0;
        }
    }
    return sum / ROWS;
}

/* ---- runs -------------------------------------------------------------- */

static void start_at(double *w)
{
    for (uint32_t k = 0; k < NUMBERS; k++)
        w[k] = draw(7, k) - .5;
}

/* Numbers of a row that belong to no unit below keep their values. */
static strads_result *train(const sample *s, const strads_net_options *o,
                            uint32_t partitions, strads_scalar type,
                            const double *start)
{
    uint32_t param[PARAMETERS];
    for (uint32_t k = 0; k < PARAMETERS; k++)
        param[k] = k;
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .partitions = partitions,
                                          .seed = 4,
                                          .n_start = start ? PARAMETERS : 0,
                                          .start_param = param,
                                          .start_value = start};
    strads_data *data = data_of(s, o, partitions, type);
    strads_result *result;
    expect_ok(strads_run(&strads_program_net, o, data, &engine, &result));
    strads_data_free(data);
    return result;
}

static void model_of(const strads_result *result, double *out)
{
    uint64_t parameters;
    uint32_t width;
    const double *w = strads_result_values(result, &parameters, &width);
    cr_assert_eq(parameters, PARAMETERS);
    cr_assert_eq(width, WIDTH);
    memcpy(out, w, NUMBERS * sizeof *out);
}

static void expect_gradient(const char *activation, double density,
                            uint32_t partitions, uint32_t columns)
{
    static sample s;
    double start[NUMBERS], after[NUMBERS];
    const bool t = strcmp(activation, "tanh") == 0;
    const strads_net_options o = {.hidden = "6,4",
                                  .activation = activation,
                                  .epochs = 1,
                                  .batch = ROWS,
                                  .rate = 1,
                                  .columns = columns};
    make_sample(&s, density);
    start_at(start);
    strads_result *result = train(&s, &o, partitions, STRADS_F64, start);
    model_of(result, after);
    strads_result_free(result);
    for (uint32_t k = 0; k < NUMBERS; k++) {
        const double h = 1e-5, at = start[k];
        start[k] = at + h;
        const double up = loss(&s, start, t, NULL);
        start[k] = at - h;
        const double down = loss(&s, start, t, NULL);
        start[k] = at;
        cr_expect_float_eq(at - after[k], (up - down) / (2 * h), 1e-6,
                           "number %u on %u partitions, %u ranges of columns",
                           k, partitions, columns);
    }
}

Test(net, a_step_goes_down_the_gradient_of_the_loss)
{
    for (int dense = 0; dense < 2; dense++)
        for (int t = 0; t < 2; t++) {
            const char *activation = t ? "tanh" : "relu";
            expect_gradient(activation, dense ? .9 : .15, 1, 1);
            expect_gradient(activation, dense ? .9 : .15, 3, 1);
            expect_gradient(activation, dense ? .9 : .15, 3, 3);
            expect_gradient(activation, dense ? .9 : .15, 4, 2);
        }
}

Test(net, every_grid_gives_the_same_network_and_the_same_bits_again)
{
    static const uint32_t grid[][2] = {{1, 1}, {2, 1}, {2, 2}, {4, 4},
                                       {4, 2}, {6, 3}, {5, 1}};
    static sample s;
    double first[NUMBERS], other[NUMBERS], again[NUMBERS];
    double objective = NAN;
    make_sample(&s, .5);
    for (size_t g = 0; g < sizeof grid / sizeof *grid; g++) {
        const strads_net_options o = {.hidden = "6,4",
                                      .activation = "tanh",
                                      .epochs = 7,
                                      .batch = 16,
                                      .rate = .3,
                                      .decay = .1,
                                      .columns = grid[g][1]};
        for (int turn = 0; turn < 2; turn++) {
            strads_result *r = train(&s, &o, grid[g][0], STRADS_F64, NULL);
            model_of(r, turn ? again : other);
            objective = strads_result_progress(r)->objective;
            strads_result_free(r);
        }
        cr_expect_arr_eq(other, again, sizeof other, "%u by %u", grid[g][0],
                         grid[g][1]);
        if (g == 0)
            memcpy(first, other, sizeof first);
        for (uint32_t k = 0; k < NUMBERS; k++)
            cr_expect_float_eq(first[k], other[k], 1e-11);
        cr_expect_float_eq(objective, loss(&s, other, true, NULL), 1e-11);
    }
    cr_expect_lt(objective, .9, "nothing was learnt");
}

static bool is_held(uint32_t row, double share)
{
    return strads_random_unit(4, 3, row, 0) < share;
}

/* The rows that are held out, or the others. */
static void take_part(const sample *s, bool held, double share, sample *out,
                      double *rows)
{
    *rows = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < ROWS; i++)
        if (is_held(i, share) == held) {
            memcpy(out->x[i], s->x[i], sizeof s->x[i]);
            out->label[i] = s->label[i];
            *rows += 1;
        }
}

/* The mean loss and the share of right rows among one part; rows of the other
 * one have the label 0, which is no class. */
static double part_loss(const sample *s, const double *w, bool held,
                        double share, double *right)
{
    static const double name[] = {-2, 5, 7.5};
    static sample part;
    double rows, p[ROWS * CLASSES];
    take_part(s, held, share, &part, &rows);
    const double mean = loss(&part, w, true, p) * ROWS / rows;
    *right = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < CLASSES; k++)
            best = p[i * CLASSES + k] > p[i * CLASSES + best] ? k : best;
        *right += part.label[i] == name[best];
    }
    *right /= rows;
    return mean;
}

Test(net, the_best_epoch_on_held_out_rows_is_kept)
{
    enum { EPOCHS = 60, MEASURE_HELD = 2, PATIENCE = 4 };
    static const uint32_t grid[][2] = {{1, 1}, {3, 3}, {2, 1}, {4, 2}, {5, 1}};
    static const char *const optimizer[] = {"adam", "sgd"};
    static sample s;
    static double first[NUMBERS], w[NUMBERS], again[NUMBERS];
    make_sample(&s, .9);
    for (int adam = 0; adam < 2; adam++)
        for (size_t g = 0; g < sizeof grid / sizeof *grid; g++) {
            strads_net_options o = {.hidden = "6,4",
                                    .activation = "tanh",
                                    .epochs = EPOCHS,
                                    .batch = 8,
                                    .rate = adam ? .05 : .8,
                                    .optimizer = optimizer[!adam],
                                    .columns = grid[g][1],
                                    .holdout = .3,
                                    .patience = PATIENCE};
            double right, other;
            if (adam && grid[g][0] != grid[g][1])
                continue;
            strads_result *r = train(&s, &o, grid[g][0], STRADS_F64, NULL);
            const strads_progress *p = strads_result_progress(r);
            const uint32_t best = (uint32_t)p->measure[0];
            model_of(r, w);
            cr_expect_float_eq(p->measure[MEASURE_HELD],
                               part_loss(&s, w, true, .3, &right), 1e-11);
            cr_expect_float_eq(p->measure[MEASURE_HELD + 1], right, 1e-11);
            cr_expect_float_eq(p->objective,
                               part_loss(&s, w, false, .3, &other), 1e-11);
            cr_expect_float_eq(p->measure[1], other, 1e-11);
            cr_expect(best > 1 && best < EPOCHS - PATIENCE,
                      "the run has not ended early: best epoch %u", best);
            const double least = p->measure[MEASURE_HELD];
            strads_result_free(r);
            if (g == 0)
                memcpy(first, w, sizeof first);
            for (uint32_t k = 0; k < NUMBERS; k++)
                cr_expect_float_eq(w[k], first[k], 1e-9, "grid %zu", g);

            /* The same bits without patience, if the run ends where patience
             * does; a better one before it would be kept instead. */
            o.patience = 0;
            o.epochs = best;
            r = train(&s, &o, grid[g][0], STRADS_F64, NULL);
            model_of(r, again);
            cr_expect_arr_eq(w, again, sizeof w);
            strads_result_free(r);
            o.epochs = best - 1;
            r = train(&s, &o, grid[g][0], STRADS_F64, NULL);
            cr_expect_gt(strads_result_progress(r)->measure[MEASURE_HELD],
                         least);
            strads_result_free(r);
        }
}

Test(net, held_out_rows_do_not_move_the_weights)
{
    static sample s;
    double w[NUMBERS], other[NUMBERS];
    const strads_net_options o = {.hidden = "6,4",
                                  .epochs = 1,
                                  .batch = 16,
                                  .holdout = .3};
    make_sample(&s, .9);
    strads_result *r = train(&s, &o, 2, STRADS_F64, NULL);
    model_of(r, w);
    strads_result_free(r);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; is_held(i, .3) && j < COLS; j++)
            s.x[i][j] = -3 * s.x[i][j];
    r = train(&s, &o, 2, STRADS_F64, NULL);
    model_of(r, other);
    cr_expect_arr_eq(w, other, sizeof w);
    strads_result_free(r);
}

/* With one batch an epoch, the rates of three epochs are 3/3, 2/3 and 1/3. */
Test(net, a_linear_schedule_ends_at_nothing)
{
    static sample s;
    double w[NUMBERS], want[NUMBERS];
    make_sample(&s, .5);
    start_at(want);
    strads_net_options o = {.hidden = "6,4",
                            .epochs = 3,
                            .batch = ROWS,
                            .rate = .9,
                            .schedule = "linear"};
    strads_result *r = train(&s, &o, 2, STRADS_F64, want);
    model_of(r, w);
    strads_result_free(r);
    o.schedule = NULL;
    o.epochs = 1;
    for (int e = 0; e < 3; e++, o.rate -= .3) {
        r = train(&s, &o, 2, STRADS_F64, want);
        model_of(r, want);
        strads_result_free(r);
    }
    for (uint32_t k = 0; k < NUMBERS; k++)
        cr_expect_float_eq(w[k], want[k], 1e-10);
}

/* Two steps of Adam's algorithm 1 over all rows, from differences. */
static void walk_by_adam(const sample *s, double rate, double decay, double *w)
{
    static double m[NUMBERS], v[NUMBERS], g[NUMBERS];
    memset(m, 0, sizeof m);
    memset(v, 0, sizeof v);
    for (int t = 1; t <= 2; t++) {
        for (uint32_t k = 0; k < NUMBERS; k++) {
            const double h = 1e-5, at = w[k];
            w[k] = at + h;
            const double up = loss(s, w, true, NULL);
            w[k] = at - h;
            g[k] = (up - loss(s, w, true, NULL)) / (2 * h);
            w[k] = at;
        }
        for (uint32_t k = 0; k < NUMBERS; k++) {
            m[k] = .9 * m[k] + .1 * g[k];
            v[k] = .999 * v[k] + .001 * g[k] * g[k];
            w[k] -= rate * decay * w[k] +
                    rate * (m[k] / (1 - pow(.9, t))) /
                        (sqrt(v[k] / (1 - pow(.999, t))) + 1e-8);
        }
    }
}

Test(net, adam_takes_the_steps_of_its_paper)
{
    static const uint32_t columns[] = {1, 3};
    static sample s;
    double start[NUMBERS], after[NUMBERS], want[NUMBERS];
    for (int dense = 0; dense < 2; dense++) {
        make_sample(&s, dense ? .9 : .15);
        start_at(start);
        memcpy(want, start, sizeof want);
        walk_by_adam(&s, .01, .5, want);
        for (int c = 0; c < 2; c++) {
            const strads_net_options o = {.hidden = "6,4",
                                          .activation = "tanh",
                                          .epochs = 2,
                                          .batch = ROWS,
                                          .rate = .01,
                                          .columns = columns[c],
                                          .optimizer = "adam",
                                          .weight_decay = .5};
            strads_result *r = train(&s, &o, columns[c], STRADS_F64, start);
            model_of(r, after);
            strads_result_free(r);
            for (uint32_t k = 0; k < NUMBERS; k++)
                cr_expect_float_eq(after[k], want[k], 1e-5, "number %u", k);
        }
    }
}

Test(net, narrow_numbers_come_near_the_wide_ones)
{
    static sample s;
    double wide[NUMBERS], narrow[NUMBERS];
    make_sample(&s, .9);
    for (uint32_t columns = 1; columns < 3; columns++) {
        const strads_net_options o = {.hidden = "6,4", .columns = columns};
        strads_result *r = train(&s, &o, 2, STRADS_F64, NULL);
        model_of(r, wide);
        strads_result_free(r);
        r = train(&s, &o, 2, STRADS_F32, NULL);
        model_of(r, narrow);
        strads_result_free(r);
        for (uint32_t k = 0; k < NUMBERS; k++)
            cr_expect_float_eq(wide[k], narrow[k], 1e-5);
    }
}

Test(net, a_model_predicts_as_the_oracle_does)
{
    static sample s;
    double w[NUMBERS], p[ROWS * CLASSES], wanted[ROWS * CLASSES];
    const strads_net_options o = {.hidden = "6,4"};
    uint32_t index[PARAMETERS];
    make_sample(&s, .5);
    start_at(w);
    for (uint32_t k = 0; k < PARAMETERS; k++)
        index[k] = k;
    strads_model model = {.program = "net",
                          .columns = PARAMETERS,
                          .width = WIDTH,
                          .n = PARAMETERS,
                          .index = index,
                          .value = w,
                          .options =
                              "{\"hidden\": \"6,4\", \"activation\": \"relu\", "
                              "\"classes\": \"-2,5,7.5\"}"};
    strads_net *net;
    expect_ok(strads_net_from_model(&model, &net));
    cr_expect_eq(strads_net_inputs(net), COLS);
    cr_expect_eq(strads_net_classes(net), CLASSES);
    cr_expect_str_eq(strads_net_labels(net), "-2,5,7.5");
    strads_data *data = data_of(&s, &o, 1, STRADS_F64);
    cr_assert_eq(strads_net_predict(net, &strads_data_share(data, 0)->by_row,
                                    p),
                 STRADS_OK);
    (void)loss(&s, w, false, wanted);
    for (uint32_t k = 0; k < ROWS * CLASSES; k++)
        cr_expect_float_eq(p[k], wanted[k], 1e-12);
    strads_data_free(data);
    strads_net_free(net);
    model.width = WIDTH - 1;
    cr_expect_eq(strads_net_from_model(&model, &net), STRADS_EFORMAT);
    model.options = "{}";
    cr_expect_eq(strads_net_from_model(&model, &net), STRADS_EFORMAT);
}

static void expect_refusal(const strads_net_options *o, uint32_t partitions,
                           const char *what)
{
    static sample s;
    const strads_engine_options engine = {.size = sizeof engine,
                                          .partitions = partitions};
    const strads_net_options fine = {.columns = 0};
    strads_result *result;
    make_sample(&s, .5);
    strads_data *data = data_of(&s, &fine, partitions, STRADS_F64);
    expect_error(strads_run(&strads_program_net, o, data, &engine, &result),
                 STRADS_EINVAL, what);
    strads_data_free(data);
}

Test(net, wrong_options_are_refused)
{
    expect_refusal(&(strads_net_options){.hidden = "6,,4"}, 1, "--hidden 6,,4");
    expect_refusal(&(strads_net_options){.hidden = "0"}, 1, "--hidden 0");
    expect_refusal(&(strads_net_options){.hidden = "6x"}, 1, "--hidden 6x");
    expect_refusal(&(strads_net_options){.activation = "step"}, 1,
                   "--activation step");
    expect_refusal(&(strads_net_options){.columns = 2}, 3, "--columns 2");
    expect_refusal(&(strads_net_options){.optimizer = "adam"}, 3,
                   "give --columns 3, or --partitions 1");
    expect_refusal(&(strads_net_options){.optimizer = "lion"}, 1,
                   "expected sgd or adam");
    expect_refusal(&(strads_net_options){.weight_decay = 1}, 1,
                   "add --optimizer adam");
    expect_refusal(&(strads_net_options){.classes = "-2,5"}, 1, "7.5");
    expect_refusal(&(strads_net_options){.schedule = "cosine"}, 1,
                   "expected inverse or linear");
    expect_refusal(&(strads_net_options){.schedule = "linear", .decay = 1}, 1,
                   "leave one of them out");
    expect_refusal(&(strads_net_options){.holdout = 1}, 1, "--holdout 1");
    expect_refusal(&(strads_net_options){.holdout = 1e-9}, 1,
                   "leaves out 0 of 60 rows");
}
