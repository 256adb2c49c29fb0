/* One example for each command. Files in data/ are in the source tree. An
 * example may read files that the examples above it wrote, or that the test
 * makes: links.txt, groups.txt and labelled.json. */
#include "cli_examples.h"

#include <stdio.h>
#include <string.h>

#define YEAR "data/sotu-tiny-year."
#define PARTY "data/sotu-tiny-party."
#define SPEECHES "data/docword.sotu-tiny.txt"
#define VOTES "data/unvotes-tiny.txt"

static const struct example {
    const char *command;
    const char *lines; /* of a shell, without a line end at the end */
} examples[] = {
    {"lasso train", "strads lasso train " YEAR "train.svm --model lasso.json "
                    "\\\n    --log run.jsonl"},
    {"lasso predict", "strads lasso predict lasso.json " YEAR "test.svm"},
    {"lasso evaluate", "strads lasso evaluate lasso.json " YEAR "test.svm"},
    {"lasso show", "strads lasso show lasso.json --top 5 "
                   "\\\n    --names data/sotu-tiny.vocab.txt"},
    {"lasso path", "strads lasso path " YEAR "train.svm --points 20"},
    {"lasso cv", "strads lasso cv " YEAR "train.svm --model best.json"},
    {"glm train", "strads glm train " YEAR "train.svm --loss huber "
                  "--model glm.json"},
    {"glm predict", "strads glm predict glm.json " YEAR "test.svm"},
    {"glm evaluate", "strads glm evaluate glm.json " YEAR "test.svm"},
    {"glm show", "strads glm show glm.json --top 5"},
    {"glm path", "strads glm path " YEAR "train.svm --penalty mcp --points 20"},
    {"glm cv", "strads glm cv " YEAR "train.svm --penalty mcp --points 20"},
    {"glm summary",
     "strads data synth lasso few.svm --rows 200 --columns 5 --support 3\n"
     "strads glm train few.svm --penalty none --model few.json\n"
     "strads glm summary few.json few.svm"},
    {"logistic train", "strads logistic train " PARTY "train.svm "
                       "--model party.json"},
    {"logistic predict",
     "strads logistic predict party.json " PARTY "test.svm"},
    {"logistic evaluate",
     "strads logistic evaluate party.json " PARTY "test.svm"},
    {"logistic show", "strads logistic show party.json --top 5"},
    {"logistic path", "strads logistic path " PARTY "train.svm --points 20"},
    {"logistic cv", "strads logistic cv " PARTY "train.svm --points 20"},
    {"sgd-logistic train", "strads sgd-logistic train " PARTY "train.svm "
                           "--model sgd.json"},
    {"sgd-logistic predict",
     "strads sgd-logistic predict sgd.json " PARTY "test.svm"},
    {"sgd-logistic evaluate",
     "strads sgd-logistic evaluate sgd.json " PARTY "test.svm"},
    {"sgd-logistic show", "strads sgd-logistic show sgd.json --top 5"},
    {"svm train", "strads svm train " PARTY "train.svm --model svm.json"},
    {"svm predict", "strads svm predict svm.json " PARTY "test.svm"},
    {"svm evaluate", "strads svm evaluate svm.json " PARTY "test.svm"},
    {"svm show", "strads svm show svm.json --top 5"},
    {"predict", "strads predict svm.json " PARTY "test.svm --write decision"},
    {"evaluate", "strads evaluate lasso.json " YEAR "test.svm"},
    {"show", "strads show lasso.json --top 5"},
    {"lda train", "strads lda train " SPEECHES " --topics 20 "
                  "--model topics.json"},
    {"lda topics", "strads lda topics topics.json "
                   "--vocab data/vocab.sotu-tiny-bow.txt"},
    {"lda merge", "strads lda merge topics.json --model fewer.json"},
    {"lda infer", "strads lda infer topics.json " SPEECHES},
    {"lda predict", "strads lda predict labelled.json " SPEECHES},
    {"lda show", "strads lda show labelled.json"},
    {"lda evaluate", "strads lda evaluate topics.json " SPEECHES},
    {"roles train", "strads roles train links.txt --roles 6 "
                    "--model roles.json"},
    {"roles evaluate", "strads roles evaluate roles.json links.txt "
                       "--communities groups.txt"},
    {"roles show", "strads roles show roles.json --top 5"},
    {"roles predict", "strads roles predict roles.json links.txt"},
    {"mf train", "strads mf train " VOTES " --rank 8 --model votes.json"},
    {"mf predict", "strads mf predict votes.json " VOTES},
    {"mf evaluate", "strads mf evaluate votes.json " VOTES},
    {"mf recommend", "strads mf recommend votes.json --user 0 --top 5"},
    {"mf similar", "strads mf similar votes.json --id 5 --top 3"},
    {"mf export", "strads mf export votes.json --ann vectors"},
    {"mf show", "strads mf show votes.json --of users"},
    {"fm train", "strads fm train " YEAR "train.svm --model fm.json"},
    {"fm predict", "strads fm predict fm.json " YEAR "test.svm"},
    {"fm evaluate", "strads fm evaluate fm.json " YEAR "test.svm"},
    {"fm show", "strads fm show fm.json"},
    {"net train", "strads net train " PARTY "train.svm --hidden 16 "
                  "--model net.json"},
    {"net predict", "strads net predict net.json " PARTY "test.svm"},
    {"net evaluate", "strads net evaluate net.json " PARTY "test.svm"},
    {"net show", "strads net show net.json"},
    {"run", "cc -shared -fPIC `pkg-config --cflags strads` "
            "examples/ridge/ridge.c \\\n    -o ridge.so\n"
            "strads run ridge.so " YEAR "train.svm --model ridge.json"},
    {"simulate", "strads simulate lasso " YEAR "train.svm --workers 16"},
    {"simulate lasso", "strads simulate lasso " YEAR "train.svm "
                       "--curve 1..8 --svg c.svg"},
    {"simulate lasso-path", "strads simulate lasso-path " YEAR "train.svm "
                            "--points 5"},
    {"simulate glm", "strads simulate glm " YEAR "train.svm --penalty mcp"},
    {"simulate glm-path", "strads simulate glm-path " YEAR "train.svm "
                          "--points 5"},
    {"simulate logistic", "strads simulate logistic " PARTY "train.svm"},
    {"simulate logistic-dual",
     "strads simulate logistic-dual " PARTY "train.svm"},
    {"simulate logistic-path",
     "strads simulate logistic-path " PARTY "train.svm --points 5"},
    {"simulate sgd-logistic",
     "strads simulate sgd-logistic " PARTY "train.svm --workers 2"},
    {"simulate svm", "strads simulate svm " PARTY "train.svm"},
    {"simulate svm-l1", "strads simulate svm-l1 " PARTY "train.svm"},
    {"simulate lda", "strads simulate lda " SPEECHES " --topics 20"},
    {"simulate roles", "strads simulate roles links.txt --roles 6"},
    {"simulate mf", "strads simulate mf " VOTES " --rank 8"},
    {"simulate fm", "strads simulate fm " YEAR "train.svm --sweeps 2"},
    {"simulate net", "strads simulate net " PARTY "train.svm --hidden 16"},
    {"join", "strads lasso train " YEAR "train.svm --nodes 2 "
             "\\\n    --listen ipc://$PWD/run.sock &\n"
             "strads join ipc://$PWD/run.sock"},
    {"launch", "strads launch --processes 2 -- lasso train " YEAR "train.svm"},
    {"plan make", "strads plan make plan.json --partitions 4 --blocks 8"},
    {"plan check", "strads plan check plan.json --partitions 4"},
    {"plan show", "strads plan show plan.json"},
    {"data info", "strads data info " YEAR "train.svm"},
    {"data pack", "strads data pack " YEAR "train.svm " YEAR "test.svm "
                  "\\\n    -o years.pack"},
    {"data split", "strads data split ratings.csv --last 2 \\\n    "
                   "--train early.csv --test late.csv"},
    {"data synth lasso", "strads data synth lasso made.svm --rows 500 "
                         "--columns 2000"},
    {"report", "strads report run.jsonl lasso.json -o run.html"},
    {"watch", "strads watch run.jsonl --time-limit 1"},
    {"doctor", "strads doctor"},
    {"export", "strads export lasso.json lasso.onnx"},
};

static const char *find_example(const char *command)
{
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++)
        if (strcmp(examples[k].command, command) == 0)
            return examples[k].lines;
    return "";
}

const char *cli_example_line(const char *command, size_t k,
                             char out[CLI_EXAMPLE_LINE])
{
    const char *line = find_example(command);
    for (; *line && k > 0; k--) {
        line += strcspn(line, "\n");
        line += *line != '\0';
    }
    (void)snprintf(out, CLI_EXAMPLE_LINE, "%.*s", (int)strcspn(line, "\n"),
                   line);
    return *line ? out : NULL;
}
