"""A network on Fashion-MNIST by strads and by PyTorch, one thread each, in turn.

    python3 bench/with_net.py STRADS [DIR] [--rounds N] [--epochs N]

DIR has the four files as Debian's dataset-fashion-mnist installs them. 784-128-10,
relu, batches of 128, SGD with a step of 0.1, f32. Prints samples a second of an
epoch, reading left out, the accuracy on the test images, and the ratio's median.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy
import torch

HIDDEN, BATCH, RATE = 128, 128, 0.1


def read_idx(path):
    with gzip.open(path, "rb") as file:
        head = file.read(4)
        shape = [int.from_bytes(file.read(4), "big") for _ in range(head[3])]
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(shape)


def by_torch(folder, epochs):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    parts = {}
    for part in ("train", "t10k"):
        x = read_idx(f"{folder}/{part}-images-idx3-ubyte.gz").reshape(-1, 784)
        y = read_idx(f"{folder}/{part}-labels-idx1-ubyte.gz")
        parts[part] = (torch.from_numpy(x.astype(numpy.float32) / 255),
                       torch.from_numpy(y.astype(numpy.int64)))
    x, y = parts["train"]
    net = torch.nn.Sequential(torch.nn.Linear(784, HIDDEN), torch.nn.ReLU(),
                              torch.nn.Linear(HIDDEN, 10))
    steps = torch.optim.SGD(net.parameters(), lr=RATE)
    loss_of = torch.nn.CrossEntropyLoss()
    begun = time.perf_counter()
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for at in range(0, len(x), BATCH):
            batch = order[at:at + BATCH]
            steps.zero_grad(set_to_none=True)
            loss_of(net(x[batch]), y[batch]).backward()
            steps.step()
    seconds = time.perf_counter() - begun
    x_test, y_test = parts["t10k"]
    with torch.no_grad():
        right = (net(x_test).argmax(1) == y_test).double().mean().item()
    return epochs * len(x) / seconds, right


def by_strads(strads, folder, epochs):
    with tempfile.TemporaryDirectory() as scratch:
        model, log = f"{scratch}/model", f"{scratch}/log"
        subprocess.run(
            [strads, "net", "train", f"{folder}/train-images-idx3-ubyte.gz",
             "--labels", f"{folder}/train-labels-idx1-ubyte.gz", "--hidden",
             str(HIDDEN), "--batch", str(BATCH), "--rate", str(RATE), "--epochs",
             str(epochs), "--workers", "1", "--f32", "--quiet", "--model", model,
             "--log", log], check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        last = json.loads(open(log).read().splitlines()[-1])
        text = subprocess.run(
            [strads, "net", "evaluate", model, f"{folder}/t10k-images-idx3-ubyte.gz",
             "--labels", f"{folder}/t10k-labels-idx1-ubyte.gz", "--format", "json"],
            check=True, capture_output=True, text=True).stdout
        right = json.loads(text.splitlines()[0])["accuracy"][0]
        return last["epoch"] * 60000 / last["seconds"], right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("strads")
    parser.add_argument("folder", nargs="?",
                        default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    a = parser.parse_args()
    ratios = []
    for _ in range(a.rounds):
        ours, right = by_strads(os.path.abspath(a.strads), a.folder, a.epochs)
        theirs, their_right = by_torch(a.folder, a.epochs)
        ratios.append(ours / theirs)
        print(f"strads {ours:8.0f} samples/s, {100 * right:.2f} %; "
              f"torch {theirs:8.0f}, {100 * their_right:.2f} %; "
              f"{ratios[-1]:.2f} x", flush=True)
    print(f"median {statistics.median(ratios):.2f} x torch {torch.__version__}")


if __name__ == "__main__":
    main()
