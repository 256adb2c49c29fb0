"""Checks an ONNX file and runs it on LIBSVM rows: onnx_run.py MODEL DATA OUTPUT

Prints one line for each row of the graph's output OUTPUT. Operators are
evaluated by numpy, because onnx 1.12 has no evaluator.
"""
import sys

import numpy
import onnx
from onnx import numpy_helper


def sigmoid(x):
    with numpy.errstate(over="ignore"):
        return 1 / (1 + numpy.exp(-x))


def softmax(x, axis):
    power = numpy.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


OPERATORS = {
    "Gather": lambda x, index, axis=0: numpy.take(x, index, axis),
    "Gemm": lambda x, w, b: x @ w + b,
    "Identity": lambda x: x,
    "Exp": numpy.exp,
    "Neg": lambda x: -x,
    "Sigmoid": sigmoid,
    "Softmax": softmax,
    "Greater": numpy.greater,
    "Cast": lambda x, to: x.astype(onnx.helper.TENSOR_TYPE_TO_NP_TYPE[to]
                                   if hasattr(onnx.helper, "TENSOR_TYPE_TO_NP_TYPE")
                                   else onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[to]),
    "Squeeze": lambda x, axis: numpy.squeeze(x, tuple(axis)),
    "ArgMax": lambda x, axis, keepdims: x.argmax(axis),
    "Concat": lambda *x, axis: numpy.concatenate(x, axis),
    "ReduceSum": lambda x, axis: x.sum(tuple(axis), keepdims=True),
    "Div": numpy.divide,
}


def read_rows(path, cols, dtype):
    rows = []
    for line in open(path):
        row = numpy.zeros(cols, dtype)
        for word in line.split("#")[0].split()[1:]:
            index, value = word.split(":")
            if int(index) <= cols:
                row[int(index) - 1] = float(value)
        rows.append(row)
    return numpy.array(rows)


def run(model, x):
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values[model.graph.input[0].name] = x
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a)
                      for a in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](
            *(values[name] for name in node.input), **attributes)
    return values


def main():
    model = onnx.load(sys.argv[1])
    onnx.checker.check_model(model, full_check=True)
    kind = model.graph.input[0].type.tensor_type
    cols = kind.shape.dim[1].dim_value
    dtype = {onnx.TensorProto.FLOAT: "f4", onnx.TensorProto.DOUBLE: "f8"}
    values = run(model, read_rows(sys.argv[2], cols, dtype[kind.elem_type]))
    declared = {o.name: o for o in model.graph.output}
    found = values[declared[sys.argv[3]].name]
    if len(declared[sys.argv[3]].type.tensor_type.shape.dim) != found.ndim:
        sys.exit("the output has another shape than the graph declares")
    for row in found.reshape(len(found), -1):
        print(*(w.decode() if isinstance(w, bytes) else w for w in row))


main()
