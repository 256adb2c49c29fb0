/* sgd-logistic at several staleness, for ThreadSanitizer. */
#include <stdio.h>
#include <stdlib.h>

#include "strads/sgd_logistic.h"
#include "strads/strads.h"

enum { ROWS = 200, COLS = 1500, PARTITIONS = 4 };

/* Row i has entries in a few columns, here and there. */
static strads_data *make_data(void)
{
    static uint64_t start[COLS + 1];
    static uint32_t index[COLS];
    static double value[COLS], label[ROWS];
    for (uint32_t c = 0; c < COLS; c++) {
        start[c + 1] = c + 1;
        index[c] = (uint32_t)(strads_random_bits(1, 1, c, 0) % ROWS);
        value[c] = strads_random_unit(1, 2, c, 0) - 0.5;
    }
    for (uint32_t i = 0; i < ROWS; i++)
        label[i] = i % 2;
    const strads_columns columns = {ROWS, COLS, start, index, value, label};
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = PARTITIONS,
                                     .layout = STRADS_LAYOUT_ROWS};
    strads_data *data = NULL;
    return strads_data_from_columns(&columns, &cut, &data) ? NULL : data;
}

int main(void)
{
    static const char *const staleness[] = {"0", "2", "infinite", "hogwild"};
    strads_data *data = make_data();
    for (int k = 0; data && k < 4; k++) {
        const strads_sgd_logistic_options options = {.step = "decay",
                                                     .epochs = 10,
                                                     .batch = 8,
                                                     .intercept = true,
                                                     .staleness = staleness[k]};
        const strads_engine_options engine = {.size = sizeof engine,
                                              .partitions = PARTITIONS};
        strads_result *result = NULL;
        if (strads_run(&strads_program_sgd_logistic, &options, data, &engine,
                       &result)) {
            (void)fprintf(stderr, "%s\n", strads_error_text());
            return EXIT_FAILURE;
        }
        strads_result_free(result);
    }
    strads_data_free(data);
    return data ? EXIT_SUCCESS : EXIT_FAILURE;
}
