"""liblinear as a peer: with_liblinear.py DIR KIND.

DIR is the folder that with_yardstick.py wrote, KIND one of its kinds. Prints "ready"
when the data is there; then each line "WEIGHT SETTING OUT" is a fit, and is answered
with the seconds of train() alone, called in liblinear's own library. OUT gets a
line "COLUMN VALUE" a nonzero. WEIGHT is lambda or C as in with_sklearn.py;
SETTING is SOLVER/EPS, SOLVER as in liblinear-train -s."""
import ctypes
import sys
import time

import numpy as np
import scipy.sparse

NODE = np.dtype([("index", np.int32), ("value", np.float64)], align=True)


class Problem(ctypes.Structure):
    _fields_ = [("l", ctypes.c_int), ("n", ctypes.c_int),
                ("y", ctypes.c_void_p), ("x", ctypes.c_void_p),
                ("bias", ctypes.c_double)]


class Parameter(ctypes.Structure):
    _fields_ = [("solver_type", ctypes.c_int), ("eps", ctypes.c_double),
                ("C", ctypes.c_double), ("nr_weight", ctypes.c_int),
                ("weight_label", ctypes.c_void_p), ("weight", ctypes.c_void_p),
                ("p", ctypes.c_double), ("rest", ctypes.c_void_p * 8)]


library = ctypes.CDLL("liblinear.so.4")
library.train.restype = ctypes.c_void_p
library.get_decfun_coef.restype = ctypes.c_double
library.get_decfun_coef.argtypes = [ctypes.c_void_p, ctypes.c_int,
                                    ctypes.c_int]
library.get_labels.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
library.free_and_destroy_model.argtypes = [ctypes.c_void_p]
SILENT = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
library.set_print_string_function(SILENT)


def read(folder):
    """The rows as liblinear wants them, each ended by an index of -1."""
    start = np.fromfile(folder + "/start.i4", dtype=np.int32)
    index = np.fromfile(folder + "/index.i4", dtype=np.int32)
    value = np.fromfile(folder + "/value.f8")
    y = np.fromfile(folder + "/label.f8")
    x = scipy.sparse.csc_matrix((value, index, start),
                                shape=(len(y), len(start) - 1)).tocsr()
    x.sort_indices()
    n = len(y)
    nodes = np.zeros(x.nnz + n, dtype=NODE)
    row = np.repeat(np.arange(n), np.diff(x.indptr))
    place = np.arange(x.nnz) + row
    nodes["index"][place] = x.indices + 1
    nodes["value"][place] = x.data
    ends = x.indptr[1:] + np.arange(n)
    nodes["index"][ends] = -1
    first = nodes.ctypes.data + NODE.itemsize * (x.indptr[:-1] + np.arange(n))
    return x.shape, y, nodes, first.astype(np.uintp)


def weights(model, columns):
    label = (ctypes.c_int * 2)(1)
    if "epsilon" not in kind:
        library.get_labels(model, label)
    # With +1 first the decision is that of +1; otherwise of the other label.
    sign = 1 if label[0] > 0 else -1
    for j in range(1, columns + 1):
        w = library.get_decfun_coef(model, j, 0)
        if w != 0:
            yield j, sign * w


folder, kind = sys.argv[1:]
(rows, columns), y, nodes, first = read(folder)
problem = Problem(rows, columns, y.ctypes.data, first.ctypes.data, -1)
print("ready", flush=True)
for line in sys.stdin:
    weight, setting, out = line.split()
    solver, eps = setting.split("/")
    c = float(weight)
    if kind == "l1-logistic":
        c = 1 / (rows * c)
    parameter = Parameter(int(solver), float(eps), c, 0, None, None, 0.1)
    begun = time.perf_counter()
    model = library.train(ctypes.byref(problem), ctypes.byref(parameter))
    seconds = time.perf_counter() - begun
    with open(out, "w") as lines:
        for j, w in weights(model, columns):
            lines.write("%d %.17g\n" % (j, w))
    library.free_and_destroy_model(ctypes.byref(ctypes.c_void_p(model)))
    print("%.6f" % seconds, flush=True)
