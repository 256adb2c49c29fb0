#!/bin/sh
# The parameter store: a commit beside an array; pushes and pulls over loopback
# tcp beside a raw stream that also adds or copies; the cost of a session's calls.
set -eu
"$STRADS_BUILD/bench/bench_store"
"$STRADS_BUILD/bench/with_store_net"
