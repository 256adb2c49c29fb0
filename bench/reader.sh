#!/bin/sh
# The reader on msdocs-driver.train.svm where --data has it (packed or not),
# else on the largest sample: MB/s per thread, and the peak of memory.
set -eu
. "$(dirname "$0")/with_data.sh"

file=$(unpack msdocs-driver.train)
if [ -z "$file" ]; then
    file=$(unpack sotu-tiny-year.train)
fi
"$STRADS_BUILD/bench/bench_reader" "$file" --json
