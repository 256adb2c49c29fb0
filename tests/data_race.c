/* For ThreadSanitizer: several threads read files, each on several threads,
 * in every split, and share one data set. Exits 1 if a result is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "strads/data.h"

enum { ROWS = 12000, READERS = 3 };

static char folder[] = "/tmp/strads-data-race-XXXXXX";
static char svm[64], mtx[64], gz[64], named[64];
static const strads_data *shared;
static uint64_t checksum, named_checksum;

static void write_files(void)
{
    (void)snprintf(svm, sizeof svm, "%s/a.svm", folder);
    (void)snprintf(mtx, sizeof mtx, "%s/a.mtx", folder);
    (void)snprintf(gz, sizeof gz, "%s/a.svm.gz", folder);
    (void)snprintf(named, sizeof named, "%s/named.svm", folder);
    FILE *a = fopen(svm, "w");
    FILE *b = fopen(mtx, "w");
    gzFile c = gzopen(gz, "wb1");
    FILE *d = fopen(named, "w");
    if (a == NULL || b == NULL || c == NULL || d == NULL)
        abort();
    (void)fprintf(b,
                  "%%%%MatrixMarket matrix coordinate real general\n"
                  "%d 97 %d\n",
                  ROWS, 2 * ROWS);
    for (int i = 0; i < ROWS; i++) {
        int first = 1 + i * 31 % 48;
        int second = 49 + i * 17 % 49;
        char line[100];
        (void)snprintf(line, sizeof line, "%d %d:%d.25 %d:0.%d\n", i % 2, first,
                       i, second, i + 1);
        (void)fputs(line, a);
        (void)gzputs(c, line);
        (void)fprintf(d, "label%d %s", i * 7 % 31, strchr(line, ' ') + 1);
        (void)fprintf(b, "%d %d 0.%d\n%d %d %d.25\n", ROWS - i, second, i + 1,
                      ROWS - i, first, i);
    }
    (void)fclose(a);
    (void)fclose(b);
    (void)gzclose(c);
    (void)fclose(d);
}

static int read_one(const char *path, strads_data_options o, uint64_t expected)
{
    strads_data *data;
    o.size = sizeof o;
    if (strads_data_read(path, &o, &data) != STRADS_OK) {
        (void)fprintf(stderr, "%s\n", strads_error_text());
        return 1;
    }
    int wrong = strads_data_nnz(data) != 2 * ROWS ||
                (expected != 0 && strads_data_checksum(data) != expected);
    strads_data_free(data);
    return wrong;
}

static void *reader(void *arg)
{
    intptr_t wrong = 0;
    unsigned seed = (unsigned)(intptr_t)arg;
    for (unsigned i = 0; i < 9; i++) {
        strads_data_options o = {.threads = 1 + (seed + i) % 4,
                                 .partitions = 1 + (seed + i) % 5,
                                 .split = (strads_split)(i % 3),
                                 .layout = STRADS_LAYOUT_BOTH};
        wrong |= read_one(svm, o, checksum);
        wrong |= read_one(gz, o, checksum);
        wrong |= read_one(mtx, o, 0);
        o.named_labels = true;
        wrong |= read_one(named, o, named_checksum);
        strads_data_summary s;
        wrong |= strads_data_summarize(svm, NULL, &s) != STRADS_OK ||
                 s.checksum != checksum;
    }
    const strads_share *share = strads_data_share(shared, 0);
    double sum = 0;
    for (uint64_t k = 0; k < share->by_col.nnz; k++)
        sum += share->by_col.f64[k];
    wrong |= !(sum > 0);
    return (void *)wrong;
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        abort();
    write_files();
    strads_data *data;
    const strads_data_options names = {.size = sizeof names,
                                       .named_labels = true};
    if (strads_data_read(named, &names, &data) != STRADS_OK)
        abort();
    named_checksum = strads_data_checksum(data);
    strads_data_free(data);
    if (strads_data_read(svm, NULL, &data) != STRADS_OK)
        abort();
    shared = data;
    checksum = strads_data_checksum(data);
    pthread_t thread[READERS];
    intptr_t wrong = 0;
    for (intptr_t i = 0; i < READERS; i++)
        if (pthread_create(&thread[i], NULL, reader, (void *)i) != 0)
            abort();
    for (int i = 0; i < READERS; i++) {
        void *result;
        (void)pthread_join(thread[i], &result);
        wrong |= (intptr_t)result;
    }
    strads_data_free(data);
    (void)remove(svm);
    (void)remove(mtx);
    (void)remove(gz);
    (void)remove(named);
    (void)rmdir(folder);
    return wrong != 0;
}
