# Read by benchmarks with `.`: finds data below STRADS_DATA, packed or not.
# shellcheck shell=sh

scratch=$(mktemp -d)
json=$scratch/json
trap 'rm -rf "$scratch"' EXIT

# unpack NAME: prints the path of NAME.svm, unpacked; nothing if it does not exist.
unpack()
{
    for folder in "$STRADS_DATA" "$STRADS_DATA/linear"; do
        if [ -f "$folder/$1.svm" ]; then
            printf '%s\n' "$folder/$1.svm"
            return
        elif [ -f "$folder/$1.svm.gz" ]; then
            gzip -dc "$folder/$1.svm.gz" >"$scratch/$1.svm"
            printf '%s\n' "$scratch/$1.svm"
            return
        fi
    done
}

# median: of the numbers on its lines.
median()
{
    sort -g | awk '{ x[NR] = $1 } END { if (NR) print x[int((NR + 1) / 2)] }'
}

load()
{
    awk '{ print $1 }' /proc/loadavg
}

# last_of KEY LOG: the value of a key in the last line of a log.
last_of()
{
    tail -n 1 "$2" | sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"
}

# record BENCH KEY VALUE ...: a line of JSON in $json; quotes values that are not numbers.
record()
{
    line="{\"bench\": \"$1\""
    shift
    while [ $# -gt 1 ]; do
        case $2 in
        null) line="$line, \"$1\": null" ;;
        '' | *[!0-9.eE+-]*) line="$line, \"$1\": \"$2\"" ;;
        *) line="$line, \"$1\": $2" ;;
        esac
        shift 2
    done
    printf '%s, "load": %s}\n' "$line" "$(load)" >>"$json"
}
