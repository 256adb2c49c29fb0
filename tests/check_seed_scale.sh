#!/bin/sh
# A hundredth of the Lasso of bench/seed-scale.sh: made, trained from the disk,
# certified, and with the columns that its labels were made of. Then topics of a
# corpus larger than the memory that they may use.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sh "$STRADS_SOURCE/bench/seed-scale.sh" --scale .01 --scratch "$scratch"
sh "$STRADS_SOURCE/bench/seed-scale.sh" --topics --scratch "$scratch"
