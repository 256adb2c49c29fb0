"""Topics that separate labels, and a linear SVM on the same documents.

    python3 bench/with_labels.py STRADS BAG TRAIN.svm TEST.svm [--classes N] ...

BAG is a UCI bag of words. The rows of TRAIN and TEST, for example LIBSVM of tf-idf,
belong to its documents, which are matched by their words. --classes N makes N labels
of numbers, with about as many rows each.
"""

import argparse
import bisect
import collections
import gzip
import json
import os
import subprocess
import tempfile


def open_any(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def read_bag(path):
    documents = collections.defaultdict(list)
    with open_any(path) as file:
        sizes = [int(next(file)) for _ in range(3)]
        for line in file:
            document, word, count = line.split()
            documents[document].append((int(word), count))
    by_words = {}
    for found in documents.values():
        found.sort()
        by_words[tuple(word for word, _ in found)] = found
    return sizes[1], by_words


def read_rows(path):
    with open_any(path) as file:
        for line in file:
            label, *entries = line.split()
            yield label, tuple(int(e.split(":")[0]) for e in entries), entries


def write_part(folder, part, rows, bag, words, label_of):
    rows = [(label_of(label), bag[key], entries) for label, key, entries in rows]
    with open(f"{folder}/{part}.bag", "w") as out:
        out.write(f"{len(rows)}\n{words}\n{sum(len(r[1]) for r in rows)}\n")
        for number, (_, document, _) in enumerate(rows, 1):
            for word, count in document:
                out.write(f"{number} {word} {count}\n")
    with open(f"{folder}/{part}.labels", "w") as out:
        out.writelines(f"{label}\n" for label, _, _ in rows)
    with open(f"{folder}/{part}.svm", "w") as out:
        out.writelines(f"{y} {' '.join(e)}\n" for y, _, e in rows)


def measures(strads, *words):
    text = subprocess.run([strads, *words, "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    for name in ("strads", "bag", "train", "test"):
        parser.add_argument(name)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--topics", default="40")
    parser.add_argument("--sweeps", default="50")
    a = parser.parse_args()
    strads = os.path.abspath(a.strads)
    words, bag = read_bag(a.bag)
    rows = {part: list(read_rows(getattr(a, part))) for part in ("train", "test")}
    label_of = str
    if a.classes:
        values = sorted(float(row[0]) for row in rows["train"])
        cuts = [values[len(values) * k // a.classes] for k in range(1, a.classes)]
        label_of = lambda label: str(bisect.bisect_right(cuts, float(label)))
    with tempfile.TemporaryDirectory() as folder:
        for part in rows:
            write_part(folder, part, rows[part], bag, words, label_of)
        os.chdir(folder)
        train = ["train.bag", "--topics", a.topics, "--sweeps", a.sweeps,
                 "--evaluate", a.sweeps, "--workers", "1", "--quiet"]
        for name, more in (("without labels", []),
                           ("with labels", ["--labels", "train.labels"])):
            subprocess.run([strads, "lda", "train", *train, *more, "--log", "log",
                            "--model", "model"], check=True)
            last = [json.loads(x) for x in open("log") if '"round"' in x][-1]
            tokens = json.load(open("model"))["tokens"] * int(a.sweeps)
            print(f"{name}: {last['cpu_seconds']:.2f} CPU s, "
                  f"{tokens / last['cpu_seconds'] / 1e6:.2f} M tokens a CPU s")
        for line in measures(strads, "lda", "evaluate", "model", "test.bag",
                             "--labels", "test.labels"):
            if line.get("measure") == "labels":
                print(f"topics: accuracy {line['accuracy']:.4f}, "
                      f"macro F1 {line['macro_f1']:.4f}")
        subprocess.run([strads, "svm", "train", "--no-intercept", "train.svm", "--model", "svm",
                        "--workers", "1", "--quiet"], check=True)
        (line,) = measures(strads, "svm", "evaluate", "svm", "test.svm")
        print(f"svm on tf-idf: accuracy {line['accuracy'][0]:.4f}")


if __name__ == "__main__":
    main()
