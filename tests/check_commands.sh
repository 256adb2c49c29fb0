#!/bin/sh
# Every command line in the README, docs/ and the examples' pages, and every
# `strads ...` in their text, names an existing command and existing options.
# Programs in shared objects have separate tests.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The texts of wire-format.md are messages between processes.
for page in README.md CONTRIBUTING.md docs/*.md examples/*/README.md; do
    [ "$page" != docs/wire-format.md ] || continue
    # Lines of code, without the prompt, joined at backslashes.
    awk -v page="$page" '
        /^```/ { code = !code; next }
        !code && !/^    / { next }
        {
            line = $0
            sub(/^ *(\$ )?/, "", line)
            if (held != "") { line = held " " line; held = "" }
            if (line !~ /^strads /) next
            if (sub(/\\$/, "", line)) { held = line; next }
            sub(/   .*/, "", line) # without the descriptions in a list of commands
            print page "\t" line
        }' "$page"
    # In the text, across line ends.
    tr '\n' ' ' <"$page" | grep -oE '`strads [a-z][^`]*`' | tr -d '`' |
        sed "s|^|$page	|" || :
done | sed 's/ [|>&#;].*//; s/ 2>.*//; s/[[]//g; s/]//g; s/\.\.\.//g' |
    sort -u >"$scratch/lines"

[ "$(wc -l <"$scratch/lines")" -ge 100 ] || {
    echo "only $(wc -l <"$scratch/lines") command lines were found"
    exit 1
}
# One line for pages that repeat each other: its words without values.
tab=$(printf '\t')
awk -F "$tab" -v OFS="$tab" '
    {
        line = $2
        if (at = index(line, " -- ")) line = "strads " substr(line, at + 4)
        if (line ~ /\.so|\.py|PROGRAM|NAME|COMMAND|^strads launch/) next
        # `strads svm --loss hinge` in a text means `strads svm train`.
        if (match(line, /^strads [a-z-]+ --/))
            line = substr(line, 1, RLENGTH - 2) "train " substr(line, RLENGTH - 1)
        words = substr(line, 8)
        gsub(/=[^ ]*|["\047]/, "", words)
        if (!asked[words]++) print $1, line, words
    }' "$scratch/lines" >"$scratch/asked"
[ "$(wc -l <"$scratch/asked")" -ge 100 ] || {
    echo "only $(wc -l <"$scratch/asked") command lines are asked for"
    exit 1
}
wrong=0
while IFS=$tab read -r page line words; do
    # shellcheck disable=SC2086 # words
    "$STRADS_BIN" $words --help >"$scratch/out" 2>"$scratch/err" </dev/null || {
        echo "$page: $line: $(head -n 1 "$scratch/err")"
        wrong=1
    }
done <"$scratch/asked"
exit $wrong
