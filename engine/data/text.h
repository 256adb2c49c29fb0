/* engine/data/text.h - the bytes of a file, text in pieces, and one pass of
 * a parser over a whole text: batches of entries, and what is wrong. */
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

/* A file's bytes in memory: mapped, or (a pipe, say) read to its end. They are
 * followed by STI_TEXT_SLACK readable bytes; after the last one these are 0. */
typedef struct sti_text {
    const char *path;
    const char *bytes;
    size_t size;
    size_t reserved; /* bytes of address space behind `bytes` */
    sti_codec codec;
    bool regular;
    bool lines;       /* opened as text: CR line ends become newlines */
    bool edited;      /* its pages differ from the file's */
    struct stat seen; /* of a regular file, when it was opened */
} sti_text;

/* A run of text. Without compression the whole file is one piece. */
typedef struct sti_piece {
    const char *begin;
    const char *end;
    uint64_t line; /* the line in which `begin` stands, from 1 */
} sti_piece;

/* Opens `path`, which must outlive *text. What is not a regular file is read
 * into memory, at most `limit` bytes. STRADS_EIO: missing, a directory,
 * unreadable. STRADS_EFORMAT: empty, or what is known to be no text.
 * STRADS_ENOMEM. */
strads_err sti_text_open(sti_text *text, const char *path, uint64_t limit);

/* The same of a file that may be no text: its bytes stay as they are. */
strads_err sti_text_open_any(sti_text *text, const char *path, uint64_t limit);
void sti_text_close(sti_text *text);

/* STRADS_EFORMAT where the bytes begin as a known format does that is no text;
 * the sentence names it and says what to do. */
strads_err sti_text_refuse(const char *path, const char *begin,
                           const char *end);

/* STRADS_EFORMAT where the text begins as a web page does. */
strads_err sti_text_refuse_page(const char *path, const char *begin,
                                const char *end);

/* STRADS_EIO when the file was written to since it was opened. */
strads_err sti_text_unchanged(const sti_text *text);

const char *sti_codec_name(sti_codec codec);

/* Decompressed text, piece by piece, made by a thread of its own a few pieces
 * ahead of who asks. */
typedef struct sti_stream sti_stream;

/* Pieces end after a byte `cut` ('\n') or, for cut == ' ', after any blank;
 * one that has none within 4 KB of its end ends anywhere. */
strads_err sti_stream_open(const sti_text *text, char cut, sti_stream **out);

/* The next piece, valid until the next call; begin == NULL after the last one.
 * STRADS_EFORMAT: the compressed stream is cut short or damaged. */
strads_err sti_stream_next(sti_stream *stream, sti_piece *piece);

void sti_stream_close(sti_stream *stream);

/* Newlines in [begin, end). */
uint64_t sti_text_count_lines(const char *begin, const char *end);

/* All of a text at once, followed by STI_TEXT_SLACK readable bytes. */
typedef struct sti_text_bytes {
    const char *begin, *end;
    char *unpacked;  /* NULL: they are the text's own, and live as long */
    size_t capacity; /* bytes that `unpacked` takes */
} sti_text_bytes;

/* Unpacks what is packed into at most `limit` bytes. STRADS_ENOMEM.
 * STRADS_EFORMAT: cut short or damaged, or no text. sti_text_bytes_free frees
 * it, after an error too. */
strads_err sti_text_whole(const sti_text *text, uint64_t limit,
                          sti_text_bytes *out);
void sti_text_bytes_free(sti_text_bytes *bytes);

/* How parsed entries travel from a parser to a sink.
 *
 * A pass runs over a text once. The text is cut into chunks, one feed each; a
 * parser turns a feed's text into batches of entries, a sink takes them. Feeds
 * share nothing but the sink, and what a sink shares it guards itself. */

enum { STI_BATCH = 512, STI_LABELS_MET = 64 };

/* The largest count of a corpus: all up to it are exact in f32. */
#define STI_MOST_COUNT (UINT64_C(1) << 24)

/* Entries, counted from 0. `value` holds nothing in a pass without values. */
typedef struct sti_batch {
    size_t n;
    uint32_t row[STI_BATCH];
    uint32_t col[STI_BATCH];
    double value[STI_BATCH];
} sti_batch;

/* The least and the largest of some values, and whether f32 rounds any. */
typedef struct sti_value_range {
    double low, high;
    bool any, rounded;
} sti_value_range;

void sti_value_range_add(sti_value_range *range, double value);

/* Whether f32 would round away the differences between the values: they are
 * far from 0 and close to each other, such as 1e9 + u. */
bool sti_value_range_needs_f64(const sti_value_range *range);

/* What is wrong with a text, and where. err == STRADS_OK: nothing is. */
typedef struct sti_trouble {
    strads_err err;
    const char *at;  /* the first byte of what was found; NULL: no place */
    const char *end; /* where the text in memory ends */
    bool empty;      /* what was found is a field without text */
    uint64_t line;
    char expected[256];
} sti_trouble;

typedef struct sti_feed sti_feed;

/* Where a pass's entries go; a slot may be NULL. */
typedef struct sti_sink {
    /* Takes the feed's batch; the caller empties it. */
    void (*entries)(sti_feed *feed, const sti_batch *batch);
    /* LIBSVM: row `row` has this label; and then, ldac too: `nnz` entries. */
    void (*label)(sti_feed *feed, uint64_t row, double label);
    void (*row_end)(sti_feed *feed, uint64_t row, uint64_t nnz);
    /* The feed's text has ended without trouble. */
    void (*end)(sti_feed *feed);
} sti_sink;

struct sti_feed {
    /* Set by who starts the pass. */
    const struct sti_parser *parser;
    const sti_sink *sink;
    void *context; /* the sink's */
    size_t chunk;
    bool values;        /* read the values, check everything */
    double value_limit; /* the largest magnitude that fits */
    uint64_t row;       /* LIBSVM, ldac: the row that the text starts with */
    uint64_t row_limit; /* rows and columns beyond these do not fit */
    uint64_t col_limit;
    uint64_t keep_cols; /* up to col_limit: what stands in columns from this one
                           on is read, but never put into the batch */
    const struct sti_market *market;     /* MatrixMarket, bag: its header */
    const struct sti_ratings *ratings;   /* ratings: how lines look */
    struct sti_naming *naming;           /* ratings, plain text */
    struct sti_label_names *label_names; /* LIBSVM: NULL: labels are numbers */
    const char *label_form; /* LIBSVM: what a label is, for sentences */
    bool line_by_line;      /* empty the batch after each entry */

    /* The parser's state between two pieces of text. */
    bool in_row; /* a label or a part of a line was read */
    bool in_comment;
    uint64_t last; /* LIBSVM: the last index of this row, 0 for none; ldac: the
                      entries that this row says it has */
    uint64_t row_nnz;
    uint64_t read;   /* MatrixMarket: entries (array: numbers) read so far */
    sti_piece piece; /* that is being parsed */
    const char *at;  /* the entry read last, where they come in any order */
    sti_trouble trouble;

    uint64_t met[STI_LABELS_MET]; /* see sti_label_names_number */

    sti_value_range range; /* of the values, where the sink keeps it */
    uint64_t entry_sum;    /* a sink's running sums of this feed */
    uint64_t label_sum;
    sti_batch batch;
};

/* A format's parser. `take` reads text that begins at a token; `finish` (may be
 * NULL) ends the last line. Both stop at the first trouble and leave it in the
 * feed. */
typedef struct sti_parser {
    const char *name;
    const char *row, *col; /* what people call them */
    const char *row_form;  /* formats without a header: how a row looks */
    uint64_t base;         /* that rows and columns are counted from */
    bool every_line;       /* a blank line is a row, too */
    char cut; /* where a stream of text may be cut, see sti_stream_open */
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

/* Adds an entry to the batch, unless its column is to be passed over. */
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

/* The whole number whose digits begin at p, or most + 1 for any larger one;
 * *after is behind the digits that were looked at, p where there are none. */
static inline uint64_t sti_whole_read(const char *p, uint64_t most,
                                      const char **after)
{
    uint64_t value = 0;
    while (*p >= '0' && *p <= '9' && value <= most)
        value = value * 10 + (uint64_t)(*p++ - '0');
    *after = p;
    return value <= most ? value : most + 1;
}

/* Reads the value (`what`, for sentences) at p, behind which stands a blank or
 * `mark`; where it ends, or NULL after a trouble. */
const char *sti_feed_value(sti_feed *feed, const char *p, const char *end,
                           char mark, const char *what, double *value);

/* Where the comment at p ends: at its newline, or at `end` (in_comment then
 * says that the next piece goes on with it). */
const char *sti_feed_skip_comment(sti_feed *feed, const char *p,
                                  const char *end);

/* Records the trouble; `expected` ends the sentence "found X, expected ...". */
void sti_feed_trouble(sti_feed *feed, strads_err err, const char *at,
                      const char *end, const char *expected, ...)
    STRADS_PRINTF(5, 6);

/* Records why no number could be read at `at`. */
void sti_feed_not_a_number(sti_feed *feed, int status, const char *at,
                           const char *end, const char *what);

/* Turns a trouble into the thread's sentence. */
strads_err sti_trouble_fail(const char *path, const sti_trouble *trouble);

/* Bytes of the mark of UTF-8 that Excel and some editors write before a text:
 * 3, or 0 where there is none. */
size_t sti_text_mark(const char *begin, const char *end);

/* Puts what stands at `at`, up to a blank, in quotes: printable, shortened. */
void sti_text_quote(const char *at, const char *end, char *out,
                    size_t capacity);

/* A part of a plain text that starts and ends with a line; compressed text is
 * one chunk without begin and end. */
typedef struct sti_chunk {
    const char *begin;
    const char *end;
    uint64_t first_row; /* by row: the one that it starts with */
    /* results of the pass */
    uint64_t rows; /* by row: rows in it */
    uint64_t read; /* with a header: entries read */
    sti_trouble trouble;
} sti_chunk;

typedef struct sti_pass {
    const sti_text *text;
    const sti_parser *parser;
    const struct sti_market *market; /* or NULL, as the next three */
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
    uint64_t keep_cols; /* columns from this one on are passed
                           over; 0: none are */
    sti_chunk *chunks;
    size_t count;        /* of chunks; 1 when the text is compressed */
    uint64_t text_bytes; /* result: bytes of text, decompressed */
} sti_pass;

/* Runs a pass of its own over the same text, in one chunk and in order. */
strads_err sti_pass_whole(const sti_pass *like, const sti_sink *sink,
                          void *context, bool values, bool line_by_line);

/* Runs the pass. On a trouble the sentence is that of the first chunk that met
 * one, whichever thread was quicker. */
strads_err sti_pass_run(sti_pass *pass);

/* Cuts [begin, end) into `count` chunks of whole lines; some may be empty. */
void sti_pass_cut(const char *begin, const char *end, sti_chunk *chunks,
                  size_t count);

#endif
