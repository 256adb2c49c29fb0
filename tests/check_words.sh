#!/bin/sh
# Comments, docs, messages and names of tests are plain technical English, and
# functions have names that identify them in a backtrace. Counts words that the
# project's private dialect used, per 10,000 words of a folder, and function
# names that are not unique. Prints the folder, row, rate, limit and places on
# failure.
#
# Without arguments: the folders of `folders` below. With arguments: the
# folders that they name ("all": every folder), listed or not.
set -eu
export LC_ALL=C.UTF-8
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

# Folders that were rewritten. Add a folder when it passes; never remove one.
folders="
.
R
R/R
R/man
R/src
R/tests
apps
apps/cli
apps/glm
apps/glm_dual
numeric
apps/lda
apps/linear
apps/mf
apps/net
apps/sgd_logistic
bench
cmake
data
debian
debian/tests
docs
docs/gallery
docs/site
engine
engine/base
engine/data
engine/exec
engine/net
engine/round
engine/run
engine/sim
engine/store
engine/watch
examples
examples/kmeans
examples/lasso_paper
examples/loop_lda
examples/loop_mf
examples/mlp
examples/nnls
examples/peer_svm
examples/ridge
examples/ssp_lasso
examples/triangles
include/strads
packaging
python
python/strads
python/tests
schedulers
tests
tests/criterion
tests/fuzz
tests/swarm
"

# shellcheck disable=SC2086 # a list of names
[ $# -gt 0 ] || set -- $folders
PYTHONDONTWRITEBYTECODE=1 exec "${STRADS_PYTHON:-/usr/bin/python3}" - "$@" <<'END'
import ast
import collections
import io
import os
import re
import sys
import tokenize

# Row, limit per 10,000 words, pattern. Each limit is the highest rate that
# nng, libuv, zstd, scs and osqp have, with some room.
ROWS = [
    ("'what is' as a noun", 4,
     r"\bwhat (is|has|are|was|comes?|goes|they|it|a|an|the|he|others?|no|one)\b"),
    ("'who' for a thread or node", 2, r"\b[Ww]ho(ever|se|m)?\b"),
    ("tell and say", 5, r"\b(tells?|told|telling|says?|said)\b"),
    ("nobody, everybody, somebody", 2,
     r"\b([Nn]obody|[Ee]verybody|[Ss]omebody|[Ee]veryone|[Ss]omeone)\b"),
    ("anew, at rest, rouse, goes on", 2,
     r"\b(anew|at rest|rouse[ds]?|goes on|go on|gone down|"
     r"comes? to nothing|for (him|her)self)\b"),
    ("but for, nothing but, no other", 2,
     r"\b(but for|nothing but|no other|none but|nothing else)\b"),
    ("verb before its subject", 2,
     r"(^|[.;] )(Of|Behind|There|Where|To) [^.,;]{3,40} "
     r"(is|are|has|have|goes|stands?|comes?) (the|a|an|what|who|all)\b"),
]
ROWS = [(name, limit, re.compile(text)) for name, limit, text in ROWS]
# Pages of figures, and the history of releases.
EXEMPT = re.compile(r"(FIGURES|LICENSE|CHANGELOG)")
CODE = re.compile(r"(include|engine|schedulers|apps)/")
C_TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)
TEST = re.compile(r"^Test\(\w+,\s*(\w+)", re.M)
FUNCTION = re.compile(
    r"^[A-Za-z_][\w \t*]*?[ *\n](\w+)\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)"
    r"\s*\{", re.M)


def c_prose(path, text):
    """Comments, names of tests, and in the library and the command messages."""
    for match in TEST.finditer(text):
        yield (text.count("\n", 0, match.start(1)) + 1,
               match.group(1).replace("_", " "))
    blank = []
    for match in C_TOKEN.finditer(text):
        token, line = match.group(), text.count("\n", 0, match.start()) + 1
        if token[0] == "/":
            yield line, token
        elif token[0] == '"' and CODE.match(path) and " " in token:
            yield line, re.sub(r"\\.", " ", token[1:-1])


def markdown_prose(text):
    text = re.sub(r"```.*?```", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.S)
    return enumerate(text.split("\n"), 1)


def python_prose(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if ast.get_docstring(node, clean=False):
                yield node.body[0].lineno, node.body[0].value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def hash_prose(text):
    for line, body in enumerate(text.split("\n"), 1):
        match = re.search(r"(^|\s)#(?!!)['\s](.*)", body)
        if match:
            yield line, match.group(2)


def prose(path, text):
    """(line, text) of what people read in a file."""
    name = os.path.basename(path)
    if path.endswith((".c", ".h")):
        return c_prose(path, text)
    if path.endswith(".md"):
        return markdown_prose(text)
    if path.endswith(".py"):
        return python_prose(text)
    if (path.endswith((".sh", ".R", ".r", ".cmake"))
            or name == "CMakeLists.txt" or re.match(r"#!.*\bsh\b", text)):
        return hash_prose(text)
    return ()


def tree():
    """Texts by path, of every source and page."""
    for top, folders, files in os.walk("."):
        folders[:] = sorted(f for f in folders if not re.match(
            r"\.|build(-|$)|__pycache__|seeds$", f))
        for name in sorted(files):
            path = os.path.join(top, name)[2:]
            if EXEMPT.search(name) or os.path.islink(path):
                continue
            with open(path, "rb") as file:
                data = file.read()
            if b"\0" not in data:
                yield path, data.decode("utf-8", "replace")


def functions(text):
    """(name, line) of each function that a C text defines."""
    bare = C_TOKEN.sub(
        lambda m: '""' if m.group()[0] in "\"'"
        else " " + "\n" * m.group().count("\n"), text)
    for match in FUNCTION.finditer(bare):
        if match.group(1) not in ("if", "for", "while", "switch"):
            yield match.group(1), bare.count("\n", 0, match.start(1)) + 1


texts = collections.defaultdict(list)
definitions = collections.defaultdict(list)
for path, text in tree():
    folder = os.path.dirname(path) or "."
    texts[folder].append((path, list(prose(path, text))))
    # A file like cli_without_gsl.c replaces others in a build.
    if (path.endswith((".c", ".h")) and CODE.match(path)
            and "_without_" not in path):
        for name, line in functions(text):
            definitions[name].append((path, line))

wanted = sys.argv[1:]
if wanted == ["all"]:
    wanted = sorted(texts)
failed = False
total_words, total_hits = 0, collections.Counter()


def report(folder, row, hits, rate, limit):
    global failed
    failed = True
    print(f"{folder}: {row}: {rate:.1f} per 10,000 words, the limit is {limit}")
    for hit in hits:
        print("    %s:%d: %s" % hit)


for folder in wanted:
    folder = folder.rstrip("/")
    if folder not in texts:
        sys.exit(f"{folder}: no such folder")
    pieces = [(path, line, text) for path, found in texts[folder]
              for line, text in found]
    words = sum(len(re.findall(r"[A-Za-z']+", text)) for _, _, text in pieces)
    total_words += words
    for row, limit, pattern in ROWS:
        hits = [(path, line + text.count("\n", 0, match.start()), match.group())
                for path, line, text in pieces
                for match in pattern.finditer(text)]
        total_hits[row] += len(hits)
        # One is allowed in a folder that is too short to be counted.
        if len(hits) > max(1, limit * words / 1e4):
            report(folder, row, hits, 1e4 * len(hits) / words, limit)
    for name, places in sorted(definitions.items()):
        here = [p for p in places if (os.path.dirname(p[0]) or ".") == folder]
        if not here or name == "main":
            continue
        if len(here) > 1 and len({p for p, _ in here}) > 1:
            fault = "is defined more than once in its folder"
        elif "_" not in name and len(places) > 1:
            fault = "is one word, and defined in several files"
        else:
            continue
        failed = True
        print(f"{folder}: function {name}() {fault}")
        for path, line in places:
            print(f"    {path}:{line}")

for row, limit, _ in ROWS:
    rate = 1e4 * total_hits[row] / max(total_words, 1)
    if len(wanted) > 1 and rate > limit:
        report("all of these folders", row, [], rate, limit)
sys.exit(failed)
END
