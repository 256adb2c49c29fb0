#!/bin/sh
# The reader on msdocs-driver.train.svm where --data has it (packed or not),
# else on the largest sample: MB/s per thread, and the peak of memory.
set -eu

unpacked=$(mktemp)
trap 'rm -f "$unpacked"' EXIT
file=$STRADS_DATA/msdocs-driver.train.svm
for folder in "$STRADS_DATA" "$STRADS_DATA/linear"; do
    if [ -f "$folder/msdocs-driver.train.svm" ]; then
        file=$folder/msdocs-driver.train.svm
    elif [ -f "$folder/msdocs-driver.train.svm.gz" ]; then
        gzip -dc "$folder/msdocs-driver.train.svm.gz" >"$unpacked"
        file=$unpacked
    fi
done
if [ ! -f "$file" ]; then
    file=$STRADS_DATA/sotu-tiny-year.train.svm
fi
"$STRADS_BUILD/bench/bench_reader" "$file" --json
