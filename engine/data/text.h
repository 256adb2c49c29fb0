/* engine/data/text.h - the bytes of a file, text in pieces, and one pass of
 * a parser over a whole text: batches of entries, and errors. */
#ifndef STI_DATA_TEXT_H
#define STI_DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "strads/error.h"

typedef enum sti_codec {
    STI_CODEC_NONE = 0,
    STI_CODEC_GZIP = 1,
    STI_CODEC_ZSTD = 2
} sti_codec;

/* A file's bytes in memory: mapped, or, for a pipe, read to its end. They
 * are followed by STI_TEXT_SLACK readable bytes; after the last byte these are
 * 0. */
typedef struct sti_text {
    const char *path;
    const char *bytes;
    size_t size;
    size_t reserved; /* bytes of address space behind `bytes` */
    sti_codec codec;
    bool regular;
    bool lines;       /* opened as text: CR line ends become newlines */
    bool edited;      /* its pages differ from the file */
    struct stat seen; /* state of a regular file when it was opened */
} sti_text;

/* A run of text. Without compression the whole file is one piece. */
typedef struct sti_piece {
    const char *begin;
    const char *end;
    uint64_t line; /* line of `begin`, from 1 */
} sti_piece;

/* Opens `path`, which must outlive *text. Other files than regular ones are
 * read into memory, at most `limit` bytes. STRADS_EIO: missing, a directory,
 * unreadable. STRADS_EFORMAT: empty, or known not to be text. STRADS_ENOMEM. */
strads_err sti_text_open(sti_text *text, const char *path, uint64_t limit);

/* Opens a file that may not be text: its bytes are not changed. */
strads_err sti_text_open_any(sti_text *text, const char *path, uint64_t limit);
void sti_text_close(sti_text *text);

/* STRADS_EFORMAT if the bytes begin like a known binary format. The message
 * names the format and a remedy. */
strads_err sti_text_refuse(const char *path, const char *begin,
                           const char *end);

/* STRADS_EFORMAT if the text begins like a web page. */
strads_err sti_text_refuse_page(const char *path, const char *begin,
                                const char *end);

/* STRADS_EIO if the file was written to after it was opened. */
strads_err sti_text_unchanged(const sti_text *text);

const char *sti_codec_name(sti_codec codec);

/* Decompressed text, piece by piece. A separate thread decompresses a few
 * pieces ahead of the caller. */
typedef struct sti_stream sti_stream;

/* Pieces end after a byte `cut` ('\n') or, for cut == ' ', after any blank.
 * A piece without one in its last 4 KB may end anywhere. */
strads_err sti_stream_open(const sti_text *text, char cut, sti_stream **out);

/* Returns the next piece, valid until the next call; begin == NULL after the
 * last one. STRADS_EFORMAT: the compressed stream is truncated or damaged. */
strads_err sti_stream_next(sti_stream *stream, sti_piece *piece);

void sti_stream_close(sti_stream *stream);

/* Newlines in [begin, end). */
uint64_t sti_text_count_lines(const char *begin, const char *end);

/* A whole text, followed by STI_TEXT_SLACK readable bytes. */
typedef struct sti_text_bytes {
    const char *begin, *end;
    char *unpacked;  /* NULL: `begin` points into the sti_text, and lives as
                      * long */
    size_t capacity; /* allocated bytes of `unpacked` */
} sti_text_bytes;

/* Unpacks compressed text of at most `limit` bytes. STRADS_ENOMEM.
 * STRADS_EFORMAT: truncated, damaged, or not text. Call sti_text_bytes_free
 * even after an error. */
strads_err sti_text_whole(const sti_text *text, uint64_t limit,
                          sti_text_bytes *out);
void sti_text_bytes_free(sti_text_bytes *bytes);

/* How parsed entries travel from a parser to a sink.
 *
 * A pass runs over a text once. The text is cut into chunks with one feed each.
 * A parser turns a feed's text into batches of entries, and a sink takes them.
 * Feeds share only the sink, and the sink guards its shared state itself. */

enum { STI_BATCH = 512, STI_LABELS_MET = 64 };

/* Bytes of the longest word, and of a phrase of two. */
enum { STI_WORD_SIZE = 128, STI_PHRASE_SIZE = 2 * STI_WORD_SIZE + 1 };

/* The largest count of a corpus: f32 is exact up to it. */
#define STI_MOST_COUNT (UINT64_C(1) << 24)

/* Entries, counted from 0. `value` is undefined in a pass without values. */
typedef struct sti_batch {
    size_t n;
    uint32_t row[STI_BATCH];
    uint32_t col[STI_BATCH];
    double value[STI_BATCH];
} sti_batch;

/* The least and the largest of some values; and whether f32 rounds any. */
typedef struct sti_value_range {
    double low, high;
    bool any, rounded;
} sti_value_range;

void sti_value_range_add(sti_value_range *range, double value);

/* True if f32 would round away the differences between the values: they are
 * far from 0 and close to each other, such as 1e9 + u. */
bool sti_value_range_needs_f64(const sti_value_range *range);

/* An error in a text, and its place. err == STRADS_OK: no error. */
typedef struct sti_trouble {
    strads_err err;
    const char *at;  /* the first offending byte; NULL: no place */
    const char *end; /* end of the text in memory */
    bool empty;      /* a field without text was found */
    uint64_t line;
    char expected[256];
} sti_trouble;

typedef struct sti_feed sti_feed;

/* Takes the entries of a pass; a slot may be NULL. */
typedef struct sti_sink {
    /* Takes the feed's batch; the caller empties it. */
    void (*entries)(sti_feed *feed, const sti_batch *batch);
    /* LIBSVM: row `row` has this label. LIBSVM and ldac: the row ends, with
     * `nnz` entries. */
    void (*label)(sti_feed *feed, uint64_t row, double label);
    void (*row_end)(sti_feed *feed, uint64_t row, uint64_t nnz);
    /* The feed's text ended without an error. */
    void (*end)(sti_feed *feed);
} sti_sink;

struct sti_feed {
    /* The caller that starts the pass sets these. */
    const struct sti_parser *parser;
    const sti_sink *sink;
    void *context; /* the sink's */
    size_t chunk;
    bool values;        /* read values and check everything */
    double value_limit; /* the largest magnitude that fits */
    uint64_t row;       /* LIBSVM, ldac: the first row of the text */
    uint64_t row_limit; /* larger rows and columns are errors */
    uint64_t col_limit;
    uint64_t keep_cols; /* at most col_limit: entries of this column and
                         * above are read but not put into the batch */
    uint64_t id_limit;  /* corpus: columns are ids up to this one, which
                         * `naming` numbers; 0: columns are numbers */
    const struct sti_market *market;     /* MatrixMarket, bag: its header */
    const struct sti_ratings *ratings;   /* ratings: layout of the lines */
    struct sti_naming *naming;           /* ratings, plain text */
    struct sti_label_names *label_names; /* LIBSVM; NULL: labels are numbers */
    const char *label_form; /* LIBSVM: form of a label, for messages */
    bool line_by_line;      /* empty the batch after each entry */

    /* State of the parser between two pieces of text. */
    bool in_row; /* a label or a part of a line was read */
    bool in_comment;
    uint64_t last; /* LIBSVM: the last index of this row, 0 for none; ldac:
                    * the number of entries that this row announced */
    uint64_t row_nnz;
    uint64_t read;   /* MatrixMarket: entries (array: numbers) read so far */
    sti_piece piece; /* the current one */
    const char *at;  /* the entry read last, if entries come in any order */
    sti_trouble trouble;

    uint64_t met[STI_LABELS_MET]; /* see sti_label_names_number */

    char pending[STI_WORD_SIZE]; /* text with phrases: a word that may start
                                  * one */
    size_t pending_size;

    sti_value_range range; /* of the values, if the sink tracks it */
    uint64_t entry_sum;    /* a sink's running sums for this feed */
    uint64_t label_sum;
    sti_batch batch;
};

/* A format's parser. `take` reads text that begins at a token; `finish` (may
 * be NULL) ends the last line. Both stop at the first error and record it in
 * the feed. */
typedef struct sti_parser {
    const char *name;
    const char *row, *col; /* words for rows and columns in messages */
    const char *row_form;  /* formats without a header: form of a row */
    uint64_t base;         /* the first row and column have this number */
    bool every_line;       /* a blank line is also a row */
    char cut;              /* where a stream may be cut, see sti_stream_open */
    void (*take)(sti_feed *feed, const char *begin, const char *end);
    void (*finish)(sti_feed *feed);
} sti_parser;

extern const sti_parser sti_libsvm_parser;
extern const sti_parser sti_ldac_parser;
extern const sti_parser sti_words_parser;
extern const sti_parser sti_ratings_parser;
extern const sti_parser sti_graph_parser;
extern const sti_parser sti_market_parser;
extern const sti_parser sti_bag_parser;

static inline void sti_feed_flush(sti_feed *feed)
{
    if (feed->batch.n > 0 && feed->sink->entries != NULL)
        feed->sink->entries(feed, &feed->batch);
    feed->batch.n = 0;
}

static inline bool sti_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Adds an entry to the batch, unless its column is skipped. */
static inline void sti_feed_put(sti_feed *feed, uint64_t row, uint64_t col,
                                double value)
{
    const size_t n = feed->batch.n;
    if (col >= feed->keep_cols)
        return;
    feed->batch.row[n] = (uint32_t)row;
    feed->batch.col[n] = (uint32_t)col;
    feed->batch.value[n] = value;
    feed->batch.n = n + 1;
    feed->row_nnz++;
    if (n + 1 == STI_BATCH || feed->line_by_line)
        sti_feed_flush(feed);
}

/* Reads the whole number at p; returns most + 1 for any larger one. *after
 * is behind the digits that were read, or p if there are none. */
static inline uint64_t sti_whole_read(const char *p, uint64_t most,
                                      const char **after)
{
    uint64_t value = 0;
    while (*p >= '0' && *p <= '9' && value <= most)
        value = value * 10 + (uint64_t)(*p++ - '0');
    *after = p;
    return value <= most ? value : most + 1;
}

/* Reads the value at p, which must end at a blank or `mark`; `what` names it
 * in messages. Returns its end, or NULL after an error. */
const char *sti_feed_value(sti_feed *feed, const char *p, const char *end,
                           char mark, const char *what, double *value);

/* Returns the end of the comment at p: its newline, or `end`. In the latter
 * case in_comment is set, because the next piece continues it. */
const char *sti_feed_skip_comment(sti_feed *feed, const char *p,
                                  const char *end);

/* Records an error; `expected` completes the message "found X, expected
 * ...". */
void sti_feed_trouble(sti_feed *feed, strads_err err, const char *at,
                      const char *end, const char *expected, ...)
    STRADS_PRINTF(5, 6);

/* Records the reason why the text at `at` is not a number. */
void sti_feed_not_a_number(sti_feed *feed, int status, const char *at,
                           const char *end, const char *what);

/* Turns a trouble into the thread's error message. */
strads_err sti_trouble_fail(const char *path, const sti_trouble *trouble);

/* Length of the UTF-8 byte order mark that Excel and some editors write
 * before a text: 3, or 0 if there is none. */
size_t sti_text_mark(const char *begin, const char *end);

/* Quotes the text at `at`, up to a blank: printable and shortened. */
void sti_text_quote(const char *at, const char *end, char *out,
                    size_t capacity);

/* A part of a plain text that starts and ends with a line. Compressed text
 * is one chunk without begin and end. */
typedef struct sti_chunk {
    const char *begin;
    const char *end;
    uint64_t first_row; /* by row: its first row */
    /* results of the pass */
    uint64_t rows; /* by row: number of its rows */
    uint64_t read; /* with a header: number of entries read */
    sti_trouble trouble;
} sti_chunk;

typedef struct sti_pass {
    const sti_text *text;
    const sti_parser *parser;
    const struct sti_market *market; /* or NULL, like the next three */
    const struct sti_ratings *ratings;
    struct sti_naming *naming;
    struct sti_label_names *label_names;
    const char *label_form; /* NULL: a number */
    size_t skip;            /* bytes before the first entry */
    uint32_t threads;
    const sti_sink *sink;
    void *context;
    bool values;
    bool line_by_line;
    double value_limit;
    uint64_t row_limit;
    uint64_t col_limit;
    uint64_t keep_cols; /* columns from this one on are skipped; 0: none */
    uint64_t id_limit;  /* as sti_feed */
    sti_chunk *chunks;
    size_t count;        /* of chunks; 1 when the text is compressed */
    uint64_t text_bytes; /* result: bytes of decompressed text */
    /* Called after each piece with its bytes, from any thread; false ends the
     * pass with STRADS_ECANCELED. NULL: none. */
    bool (*passed)(void *arg, uint64_t bytes);
    void *passed_arg;
} sti_pass;

/* Runs another pass over the same text, in one chunk and in order. */
strads_err sti_pass_whole(const sti_pass *like, const sti_sink *sink,
                          void *context, bool values, bool line_by_line);

/* Runs the pass. If several chunks have errors, the message is that of the
 * first chunk, whichever thread was faster. */
strads_err sti_pass_run(sti_pass *pass);

/* Cuts [begin, end) into `count` chunks of whole lines; some may be empty. */
void sti_pass_cut(const char *begin, const char *end, sti_chunk *chunks,
                  size_t count);

#endif
