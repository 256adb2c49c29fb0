#!/bin/sh
# The first line of each --help describes the command with a verb, and each
# --help has an example that runs in a folder with data/ and examples/ of the
# source tree. Examples run in the order of `strads help`, so that one may read
# the files that another wrote.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# What examples read and no example writes
awk 'BEGIN { srand(4); for (u = 0; u < 60; u++) for (v = u + 1; v < 60; v++)
    if (rand() < (int(u / 10) == int(v / 10) ? 0.5 : 0.02))
        print "p" u, "p" v }' >links.txt
awk 'BEGIN { for (u = 0; u < 60; u++) print "p" u "\tg" int(u / 10) }' \
    >groups.txt
awk 'BEGIN { srand(4); print "user,item,rating,timestamp"
    for (k = 0; k < 50; k++) print k % 7 "," k % 9 "," k % 5 "," rand() }' \
    >ratings.csv
awk 'BEGIN { for (d = 0; d < 1360; d++) print d < 680 ? "early" : "late" }' \
    >labels.txt
gives 0 lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" --topics 20 \
    --sweeps 5 --labels labels.txt --model labelled.json
ln -s "$STRADS_SOURCE/data" "$STRADS_SOURCE/examples" .

# Commands that the examples call
mkdir bin
ln -s "$STRADS_BIN" bin/strads
ln -s "$(command -v "$STRADS_CC")" bin/cc
printf '#!/bin/sh\necho "-I%s"\n' "$STRADS_SOURCE/include" >bin/pkg-config
chmod +x bin/pkg-config
PATH=$PWD/bin:$PATH
export PATH

all_commands >commands
for program in glm glm-path lasso lasso-path logistic logistic-dual \
    logistic-path sgd-logistic svm svm-l1 lda roles mf net; do
    echo "simulate $program" >>commands
done
[ "$(wc -l <commands)" -ge 65 ] || fail "commands: $(cat commands)"

while read -r command; do
    # shellcheck disable=SC2086 # words
    strads $command --help >help
    sed -n 2p help | grep -qE '^[A-Z][a-z]+s ' ||
        fail "$command: no verb begins \"$(sed -n 2p help)\""
    sed -n '/^Example:/,$ s/^  //p' help >example
    grep -qF "strads $command" example ||
        grep -q "^strads $command\|strads run " example ||
        { fail "$command has no example: $(cat example)"; continue; }
    echo wait >>example
    sh -e example >out 2>err </dev/null ||
        fail "the example of $command: $(cat example; tail -n 3 err)"
done <commands
for made in lasso.json run.jsonl party.json topics.json plan.json years.pack \
    c.svg run.html ridge.json; do
    [ -s "$made" ] || fail "no example wrote $made"
done
finish
