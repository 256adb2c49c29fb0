#!/bin/sh
# Plants six bugs, each into a copy of its file of engine/store, which is linked
# into a swarm before the library. The swarm must find each within 300 seeds, with
# the right message.
set -eu
export LC_ALL=C
cd "$STRADS_SOURCE"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# plant ANCHOR EDIT: builds $dir/swarm with a store that the sed command EDIT has
# changed, in the one file with a line that matches ANCHOR.
plant()
{
    file=$(grep -l "$1" engine/store/*.c) || file=
    if [ "$(echo "$file" | wc -w)" -ne 1 ]; then
        echo "no place for a bug: '$1' is in ${file:-no file of engine/store}"
        exit 1
    fi
    rm -rf "$dir/engine"
    mkdir -p "$dir/engine/store"
    sed "$2" "$file" >"$dir/$file"
    if cmp -s "$file" "$dir/$file"; then
        echo "no bug was planted into $file"
        exit 1
    fi
    sanitize=${STRADS_SANITIZE:+-fsanitize=$STRADS_SANITIZE}
    # shellcheck disable=SC2086 # lists of words
    $STRADS_CC -std=gnu17 -O1 -D_GNU_SOURCE $sanitize -w "-I$dir" -I. \
        -Iinclude -o "$dir/swarm" tests/swarm/swarm_main.c "$dir/$file" \
        "$STRADS_BUILD/tests/libtest-shared.a" "$STRADS_BUILD/libstrads.a" \
        $(pkg-config --libs jansson libutf8proc libzstd libxxhash zlib gsl) \
        -lpthread -lm -ldl
}

# expect WHAT PATTERN: the swarm finds the bug and prints PATTERN.
expect()
{
    code=0
    "$dir/swarm" 300 >"$dir/out" || code=$?
    said=$(sed -n 's/^seed \([0-9]*\) broke a promise: \(.*\)/\1 \2/p' \
        "$dir/out")
    echo "$1: found by seed ${said:-none}"
    if [ "$code" -ne 1 ] || ! echo "$said" | grep -q "$2"; then
        cat "$dir/out"
        exit 1
    fi
}

plant '^static void resend_pushes(' '/^static void resend_pushes(/,/^{/ {
    s/^{/{ (void)sti_stream_settle(\&client->streams[shard], client->streams[shard].pushed, now);/
}'
expect 'a lost acknowledgement is taken for success' \
    'P3 once\|came to no end'

plant '^static sti_cached_row \*sti_client_fresh(' '/^static sti_cached_row \*sti_client_fresh(/,/^{/ {
    s/^{/{ return sti_cache_find(\&client->cache, table, row);/
}'
expect 'a stale read' 'P1 staleness'

plant 'bool due = msg->round == c->accepted + 1;' \
    's/bool due = msg->round == c->accepted + 1;/&\
    due |= c->accepted \&\& msg->round == c->accepted;\
    c->accepted -= c->accepted \&\& msg->round == c->accepted;/'
expect 'a double commit' 'P3 once'

plant 'sti_recent_discard(&session->recent, table, row);' \
    's/sti_recent_discard(&session->recent, table, row);/;/'
expect 'an own increment is hidden by a row kept from before' 'P2 own'

plant 'sti_pending_discard(pending, leaves\[pending->table\], false);' \
    's/sti_pending_discard(pending, leaves\[pending->table\], false);/;/'
expect 'a push leaves early, and again' 'P3 once'

plant 'atomic_load(&pending->block->head.refs) > 1)' \
    's/atomic_load(&pending->block->head.refs) > 1)/false)/'
expect 'a push on its way is written on' \
    'P1 staleness\|P2 own\|P3 once'
