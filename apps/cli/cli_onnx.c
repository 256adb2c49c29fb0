#include "cli_onnx.h"

#include <stdlib.h>
#include <string.h>

#include "strads/version.h"

/* ---- protobuf ------------------------------------------------------------ */

/* How a field's value is stored: the low bits of its tag. */
enum { VARINT = 0, LENGTH = 2 };

/* The limit of a protobuf message. */
enum { MOST_BYTES = INT32_MAX };

static void append(cli_onnx_bytes *out, const void *bytes, size_t n)
{
    if (out->n + n > out->room && !out->failed) {
        const size_t room = 2 * (out->n + n);
        unsigned char *grown = realloc(out->at, room);
        out->failed = grown == NULL;
        out->at = grown ? grown : out->at;
        out->room = grown ? room : out->room;
    }
    if (out->failed || n == 0)
        return;
    memcpy(out->at + out->n, bytes, n);
    out->n += n;
}

static void append_varint(cli_onnx_bytes *out, uint64_t value)
{
    unsigned char byte[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        byte[n++] = (unsigned char)((value & 0x7f) | 0x80);
    byte[n++] = (unsigned char)value;
    append(out, byte, n);
}

static void append_integer(cli_onnx_bytes *out, uint32_t field, uint64_t value)
{
    append_varint(out, field << 3 | VARINT);
    append_varint(out, value);
}

static void append_field(cli_onnx_bytes *out, uint32_t field, const void *bytes,
                         size_t n)
{
    append_varint(out, field << 3 | LENGTH);
    append_varint(out, n);
    append(out, bytes, n);
}

static void append_string(cli_onnx_bytes *out, uint32_t field, const char *text)
{
    append_field(out, field, text, strlen(text));
}

/* Appends a message to another, and frees it. */
static void append_message(cli_onnx_bytes *out, uint32_t field,
                           cli_onnx_bytes *message)
{
    append_field(out, field, message->at, message->n);
    out->failed = out->failed || message->failed;
    free(message->at);
    *message = (cli_onnx_bytes){0};
}

/* ---- the graph ----------------------------------------------------------- */

/* GraphProto */
enum { NODE = 1, NAME = 2, INITIALIZER = 5, INPUT = 11, OUTPUT = 12 };

/* TensorShapeProto.Dimension: a name, or a value if the name is NULL. */
static void append_dimension(cli_onnx_bytes *shape, const char *name,
                             uint64_t value)
{
    enum { DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
    cli_onnx_bytes dimension = {0};
    if (name)
        append_string(&dimension, DIM_PARAM, name);
    else
        append_integer(&dimension, DIM_VALUE, value);
    append_message(shape, DIM, &dimension);
}

static void add_value(cli_onnx *onnx, uint32_t field, const char *name,
                      cli_onnx_type type, uint64_t cols)
{
    enum { TENSOR_TYPE = 1, ELEM_TYPE = 1, SHAPE = 2 };
    enum { VALUE_NAME = 1, VALUE_TYPE = 2 };
    cli_onnx_bytes shape = {0}, tensor = {0}, of_type = {0}, value = {0};
    append_dimension(&shape, "rows", 0);
    if (cols > 0)
        append_dimension(&shape, NULL, cols);
    append_integer(&tensor, ELEM_TYPE, type);
    append_message(&tensor, SHAPE, &shape);
    append_message(&of_type, TENSOR_TYPE, &tensor);
    append_string(&value, VALUE_NAME, name);
    append_message(&value, VALUE_TYPE, &of_type);
    append_message(&onnx->graph, field, &value);
}

void cli_onnx_input(cli_onnx *onnx, const char *name, cli_onnx_type type,
                    uint64_t cols)
{
    add_value(onnx, INPUT, name, type, cols);
}

void cli_onnx_output(cli_onnx *onnx, const char *name, cli_onnx_type type,
                     uint64_t cols)
{
    add_value(onnx, OUTPUT, name, type, cols);
}

void cli_onnx_node(cli_onnx *onnx, const char *operator_name,
                   const char *inputs, const char *output,
                   const cli_onnx_attribute attribute[2])
{
    enum { NODE_INPUT = 1, NODE_OUTPUT = 2, OP_TYPE = 4, ATTRIBUTE = 5 };
    enum { ATTRIBUTE_NAME = 1, INTEGER = 3, TYPE = 20, TYPE_INT = 2 };
    cli_onnx_bytes node = {0};
    while (*inputs) {
        const size_t length = strcspn(inputs, " ");
        append_field(&node, NODE_INPUT, inputs, length);
        inputs += length + (inputs[length] == ' ');
    }
    append_string(&node, NODE_OUTPUT, output);
    append_string(&node, OP_TYPE, operator_name);
    for (size_t k = 0; attribute && k < 2 && attribute[k].name; k++) {
        cli_onnx_bytes one = {0};
        append_string(&one, ATTRIBUTE_NAME, attribute[k].name);
        append_integer(&one, INTEGER, (uint64_t)attribute[k].value);
        append_integer(&one, TYPE, TYPE_INT);
        append_message(&node, ATTRIBUTE, &one);
    }
    append_message(&onnx->graph, NODE, &node);
}

/* ---- constants ----------------------------------------------------------- */

/* TensorProto */
enum { DIMS = 1, DATA_TYPE = 2, STRING_DATA = 6, TENSOR_NAME = 8, RAW = 9 };

static cli_onnx_bytes begin_tensor(const char *name, cli_onnx_type type,
                                   uint64_t rows, uint64_t cols)
{
    cli_onnx_bytes tensor = {0};
    append_integer(&tensor, DIMS, rows);
    if (cols > 0)
        append_integer(&tensor, DIMS, cols);
    append_integer(&tensor, DATA_TYPE, type);
    append_string(&tensor, TENSOR_NAME, name);
    return tensor;
}

/* Appends the bytes of a number, lowest first. */
static void append_raw(cli_onnx_bytes *out, cli_onnx_type type, double value)
{
    const float rounded = (float)value;
    const size_t size = type == CLI_ONNX_F32 ? 4 : 8;
    unsigned char raw[8];
    uint64_t bits = 0;
    if (type == CLI_ONNX_I64) {
        bits = (uint64_t)(int64_t)value;
    } else if (type == CLI_ONNX_F32) {
        uint32_t bits_of_4;
        memcpy(&bits_of_4, &rounded, sizeof bits_of_4);
        bits = bits_of_4;
    } else {
        memcpy(&bits, &value, sizeof bits);
    }
    for (size_t k = 0; k < size; k++)
        raw[k] = (unsigned char)(bits >> 8 * k);
    append(out, raw, size);
}

void cli_onnx_numbers(cli_onnx *onnx, const char *name, cli_onnx_type type,
                      uint64_t rows, uint64_t cols, const double *value)
{
    cli_onnx_bytes tensor = begin_tensor(name, type, rows, cols), raw = {0};
    const uint64_t n = rows * (cols > 0 ? cols : 1);
    for (uint64_t k = 0; k < n; k++)
        append_raw(&raw, type, value[k]);
    append_message(&tensor, RAW, &raw);
    append_message(&onnx->graph, INITIALIZER, &tensor);
}

void cli_onnx_texts(cli_onnx *onnx, const char *name, uint64_t n,
                    const char *(*text)(const void *arg, uint64_t k),
                    const void *arg)
{
    cli_onnx_bytes tensor = begin_tensor(name, CLI_ONNX_STRING, n, 0);
    for (uint64_t k = 0; k < n; k++)
        append_string(&tensor, STRING_DATA, text(arg, k));
    append_message(&onnx->graph, INITIALIZER, &tensor);
}

/* ---- the file ------------------------------------------------------------ */

void cli_onnx_about(cli_onnx *onnx, const char *key, const char *value)
{
    enum { METADATA = 14, KEY = 1, VALUE = 2 };
    cli_onnx_bytes pair = {0};
    append_string(&pair, KEY, key);
    append_string(&pair, VALUE, value);
    append_message(&onnx->metadata, METADATA, &pair);
}

strads_err cli_onnx_end(cli_onnx *onnx, FILE *out)
{
    enum { IR_VERSION = 1, PRODUCER = 2, PRODUCER_VERSION = 3, GRAPH = 7 };
    enum { OPSET_IMPORT = 8, OPSET_VERSION = 2, IR_7 = 7, OPSET_13 = 13 };
    cli_onnx_bytes file = {0}, opset = {0};
    append_string(&onnx->graph, NAME, "linear_model");
    append_integer(&file, IR_VERSION, IR_7);
    append_string(&file, PRODUCER, "strads");
    append_string(&file, PRODUCER_VERSION, strads_version());
    append_integer(&opset, OPSET_VERSION, OPSET_13);
    append_message(&file, OPSET_IMPORT, &opset);
    append(&file, onnx->metadata.at, onnx->metadata.n);
    file.failed = file.failed || onnx->metadata.failed;
    free(onnx->metadata.at);
    append_message(&file, GRAPH, &onnx->graph);
    const bool failed = file.failed, large = file.n > MOST_BYTES;
    if (!failed && !large)
        (void)fwrite(file.at, 1, file.n, out);
    free(file.at);
    return failed  ? strads_fail(STRADS_ENOMEM, "no memory left for the file")
           : large ? strads_fail(STRADS_EINVAL,
                                 "the model takes more than 2 GB, the limit "
                                 "of an ONNX file")
                   : STRADS_OK;
}
