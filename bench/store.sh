#!/bin/sh
# The parameter store: a commit beside an array; pushes and pulls over loopback
# tcp beside a raw stream that also adds or copies; what a session's calls cost.
set -eu
"$STRADS_BUILD/bench/bench_store"
"$STRADS_BUILD/bench/with_store_net"
