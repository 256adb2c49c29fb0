#!/bin/sh
# The ways of distributed learning side by side on one linear SVM; options are
# those of with_seven.py.
set -eu
. "$(dirname "$0")/with_data.sh"
name=msdocs-driver lambda=1e-5
train=$(unpack $name.train)
if [ -z "$train" ]; then
    name=sotu-tiny-party lambda=1e-3
    train=$(unpack $name.train)
fi
python3 "$(dirname "$0")/with_seven.py" "$train" "$(unpack $name.test)" \
    --lambda $lambda "$@"
