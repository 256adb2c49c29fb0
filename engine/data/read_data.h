/* engine/data/read_data.h - a file that is being read. */
#ifndef STI_DATA_READ_DATA_H
#define STI_DATA_READ_DATA_H

#include "engine/data/data_build.h"
#include "engine/data/labels.h"
#include "engine/data/naming.h"
#include "engine/data/readers.h"

typedef struct sti_reading {
    strads_data_options options;
    sti_text text;
    sti_format format;
    sti_pass pass;
    sti_survey survey;
    sti_naming naming;
    sti_label_names label_names;
} sti_reading;

/* Opens, finds the format, reads a header, cuts chunks. */
strads_err sti_reading_open(sti_reading *reading, const char *path,
                            const strads_data_options *options);

/* Labels from options.labels_path, all rows of them; NULL there: NULL. */
strads_err sti_reading_labels(sti_reading *reading, double **out);

/* Before the first pass: the sizes, and the names, of a text that does not tell
 * its sizes and does not go row by row, or that has names; a pass of its own.
 * Nothing for others. */
strads_err sti_reading_measure(sti_reading *reading);

/* Whether the columns are as many as their names. */
strads_err sti_reading_check_names(const sti_reading *reading);

/* Names become the data set's, and how many entries had others. */
void sti_reading_give_names(sti_reading *reading, strads_data *data);

/* The first pass: fills `survey`. */
strads_err sti_reading_survey(sti_reading *reading);
void sti_reading_close(sti_reading *reading);

#endif
