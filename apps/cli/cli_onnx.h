/* cli_onnx.h - builds an ONNX file: a graph of operators (operator set 13) as a
 * protobuf message (onnx.proto, ModelProto of IR version 7). Field numbers and
 * operators: https://github.com/onnx/onnx. */
#ifndef CLI_ONNX_H
#define CLI_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "strads/error.h"

/* Values of TensorProto.DataType. */
typedef enum cli_onnx_type {
    CLI_ONNX_F32 = 1,
    CLI_ONNX_I64 = 7,
    CLI_ONNX_STRING = 8,
    CLI_ONNX_F64 = 11
} cli_onnx_type;

/* Bytes of a message. */
typedef struct cli_onnx_bytes {
    unsigned char *at;
    size_t n, room;
    bool failed; /* no memory was left */
} cli_onnx_bytes;

/* A graph that grows by calls. It starts as {0}. cli_onnx_end returns errors of
 * all calls. */
typedef struct cli_onnx {
    cli_onnx_bytes graph;    /* a GraphProto */
    cli_onnx_bytes metadata; /* fields of the ModelProto */
} cli_onnx;

/* An input or an output of the graph: a matrix with a free number of rows and
 * `cols` columns or, if cols is 0, a vector of that many rows. */
void cli_onnx_input(cli_onnx *onnx, const char *name, cli_onnx_type type,
                    uint64_t cols);
void cli_onnx_output(cli_onnx *onnx, const char *name, cli_onnx_type type,
                     uint64_t cols);

/* An operator: the names of its inputs, separated by blanks, and its output;
 * and up to two integer attributes, NULL if there are fewer. */
typedef struct cli_onnx_attribute {
    const char *name;
    int64_t value;
} cli_onnx_attribute;
void cli_onnx_node(cli_onnx *onnx, const char *operator_name,
                   const char *inputs, const char *output,
                   const cli_onnx_attribute attribute[2]);

/* A constant [rows x cols], or [rows] if cols is 0. For F32, numbers are
 * rounded; for I64 they are whole numbers. */
void cli_onnx_numbers(cli_onnx *onnx, const char *name, cli_onnx_type type,
                      uint64_t rows, uint64_t cols, const double *value);
/* A constant [n] of texts; text(arg, k) returns text k, which may change with
 * the next call. */
void cli_onnx_texts(cli_onnx *onnx, const char *name, uint64_t n,
                    const char *(*text)(const void *arg, uint64_t k),
                    const void *arg);

/* A pair of texts about the model. */
void cli_onnx_about(cli_onnx *onnx, const char *key, const char *value);

/* Writes the file and frees the graph. STRADS_ENOMEM; STRADS_EINVAL: it is
 * beyond 2 GB, the limit of the format. Write errors are left to the caller
 * (ferror). */
strads_err cli_onnx_end(cli_onnx *onnx, FILE *out);

#endif
