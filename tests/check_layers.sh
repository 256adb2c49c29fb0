#!/bin/sh
# The include order of docs/architecture.md holds, and file names are unique in
# the tree. Prints each violation; fails if there is one.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

found=$(mktemp)
trap 'rm -f "$found"' EXIT

find include engine schedulers numeric apps tests bench examples -name '*.[ch]' |
    sort | xargs awk '
    BEGIN {
        # A layer may include itself and earlier layers.
        split("base data store round exec net watch sim run", layer)
        for (i in layer)
            rank["engine/" layer[i]] = i
    }

    # The owner of an included path: a layer, a folder, or "system".
    function owner(path, part) {
        split(path, part, "/")
        if (part[1] == "engine" || part[1] == "apps")
            return part[1] "/" part[2]
        if (part[1] ~ /^(strads|schedulers|numeric|tests|bench|examples)$/)
            return part[1]
        return "system"
    }

    function may_include(from, to) {
        if (to == "strads" || to == from)
            return 1
        if (from ~ /^(tests|bench)$/)
            return to !~ /^(tests|bench|examples)$/
        if (from ~ /^engine\//)
            return (to in rank) && rank[to] + 0 <= rank[from] + 0
        if (from == "numeric")
            return 0
        if (from ~ /^apps\// && (to == "numeric" || to == "apps/linear"))
            return 1
        return from == "apps/cli" && to ~ /^engine\/(base|watch|run)$/
    }

    FNR == 1 {
        from = FILENAME
        sub(/^include\//, "", from)
        from = owner(from)
        if (from ~ /^engine\// && !(from in rank))
            print FILENAME ": " from " is no layer of the engine"
    }

    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        quoted = $0 ~ /"/
        path = $0
        sub(/^[^"<]*["<]/, "", path)
        sub(/[">].*/, "", path)
        to = owner(path)
        if (to == "system" && quoted) {
            # A bare name is a file of the same folder; the engine writes full
            # paths.
            if (from ~ /^engine\//)
                print FILENAME ":" FNR ": write \"" from "/" path "\""
            else if (path ~ /\//)
                print FILENAME ":" FNR ": \"" path "\" is in no layer"
        } else if (from == "numeric" && to == "strads" &&
                   path !~ /^strads\/(data|error|version)\.h$/)
            print FILENAME ":" FNR ": numeric/ knows no engine, and may not " \
                  "include \"" path "\""
        else if (to != "system" && !may_include(from, to))
            print FILENAME ":" FNR ": " from " may not include \"" path "\""
    }' >"$found"

# (Debian prescribes the names in debian/.)
find . \( -name .git -o -name build -o -name 'build-*' -o -path ./debian \) \
    -prune -o \
    -type f ! -name README.md ! -name CMakeLists.txt -print |
    awk -F/ '
        $NF in seen { print $0 ": bears the name of " seen[$NF] }
        { seen[$NF] = $0 }' >>"$found"

cat "$found"
[ ! -s "$found" ]
