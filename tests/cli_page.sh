#!/bin/sh
# The page of --http in a real browser: its charts have data, update and zoom, the
# content fits the window, axe reports no problem, the button stops the run,
# and a page of 100,000 events is there in two seconds. Pictures are kept in
# page/ of the build. Skipped without Chromium, node or npm's packages.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

[ -x "$STRADS_BUILD/tests/watch_feed" ] || {
    fail "$STRADS_BUILD/tests/watch_feed is missing: build all targets"
    finish
}
STRADS_CHROMIUM=$(command -v chromium || command -v chromium-browser) ||
    { echo "no Chromium"; exit 77; }
export STRADS_CHROMIUM
command -v node >/dev/null && command -v npm >/dev/null ||
    { echo "no node or npm"; exit 77; }
node=$STRADS_BUILD/node pictures=$STRADS_BUILD/page
mkdir -p "$node" "$pictures"
[ -d "$node/node_modules/axe-core" ] ||
    npm install --prefix "$node" --no-save --no-audit --no-fund --ignore-scripts \
        playwright-core@1.49 axe-core@4.10 >npm 2>&1 ||
    { echo "npm has no packages: $(tail -n 1 npm)"; exit 77; }

page_of() { # NAME
    until_there "watch this run at " "$1.err"
    sed -n 's/.*watch this run at //p' "$1.err"
}
browse() { # URL ENDS SECTION...
    (cd "$node" && timeout 200 node "$STRADS_SOURCE/tests/watch_page.mjs" \
        "$1" "$pictures" "$2" $(shift 2; echo "$@")) ||
        fail "the page of $2"
}

# asks WORDS: waits for a request of the browser that runs in the background.
# It waits as long as the browser lives, which `browse` bounds: on a busy
# machine, drawing alone takes longer than until_there waits.
asks() {
    until grep -qF "$1" "$node/lost" 2>/dev/null; do
        kill -0 "$browser" 2>/dev/null || {
            fail "the browser ended before it asked to \"$1\""
            return
        }
        sleep 0.05
    done
}

# A program of rounds that a policy chooses
"$STRADS_CC" -std=c17 -O2 -shared -fPIC -I"$STRADS_SOURCE/include" \
    "$STRADS_SOURCE/examples/lasso_paper/lasso_paper.c" -o lasso_paper.so -lm
start stop run ./lasso_paper.so "$year_train" --lambda 1e-9 --tolerance 1e-15 \
    --partitions 2 --depth 3 --http 127.0.0.1:0
run_of_stop=$child
browse "$(page_of stop)" stop objective gap workers priorities updates nodes
kill -TERM "$run_of_stop" 2>/dev/null || : # where the browser could not
ends stop "$run_of_stop" 130
says stop.err "as the page asks"

start end sgd-logistic train --no-intercept "$party" --partitions 2 --epochs 1000000 \
    --time-limit 15 --http 127.0.0.1:0
run_of_end=$child
browse "$(page_of end)" end objective workers clocks nodes
ends end "$run_of_end" 0

# A node becomes silent and returns; topics are shown while they form and of the model.
rm -f "$node/lost"
start leads lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" --topics 8 \
    --vocab "$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt" --sweeps 1000000 \
    --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 --reconnect 60s \
    --model topics.model --http 127.0.0.1:0
run_of_lost=$child
start joins join "$(url_of leads)" --workers 1
joined=$child
browse "$(page_of leads)" lost objective hosts nodes links topics &
browser=$!
asks "stop it"
kill -STOP "$joined"
asks "go on"
kill -CONT "$joined"
asks "end it"
kill -TERM "$run_of_lost"
wait "$browser" || fail "the page of a run that lost a node for a while"
ends leads "$run_of_lost" 130
wait "$joined" || :

mkdir logs
for parts in 1 2; do
    gives 0 lasso train --no-intercept "$year_train" --partitions $parts \
        --log logs/$parts.jsonl
done
start folder watch logs
until_there "http://" folder.err
browse "$(sed 's/.*\(http[^ ]*\).*/\1/' folder.err)" runs runs by-time by-round gaps gaps-by-round

mkfifo hold
"$STRADS_BUILD/tests/watch_feed" "$STRADS_SOURCE/apps/cli/page.html" 100000 \
    <hold >feed 2>feed.err &
exec 3>hold
until_there "http://" feed
browse "$(cat feed)" big objective gap workers flight priorities links nodes
exec 3>&-
finish
