#!/bin/sh
# Debian's packages: they build, lintian reports no error or warning, and in a
# minimal Debian 12 they install and train by the command, from C and from
# Python.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# quiet LOG COMMAND...: shows the output only if the command fails.
quiet()
{
    log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null || {
        tail -n 60 "$log"
        exit 1
    }
}

mkdir tree
(cd "$STRADS_SOURCE" && tar -cf - --exclude=./build --exclude='./build-*' \
    --exclude=./.git .) | tar -xf - -C tree
cd tree
quiet ../build.log env DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -us -uc -b -d
cd ..
quiet lintian.log lintian --fail-on error,warning --allow-root ./*.changes

# Use this machine's archives.
find /etc/apt/sources.list.d -name '*.sources' -exec cat {} + >archives
[ -s archives ] || find /etc/apt -maxdepth 2 -name '*.list' -exec cat {} + \
    >archives
mmdebstrap --variant=apt --dpkgopt=force-unsafe-io bookworm "$scratch/bare" - \
    <archives >bare.log 2>&1 || {
    tail -n 40 bare.log
    exit 1
}
mkdir bare/packages
cp ./*.deb bare/packages
cp "$STRADS_SOURCE/debian/tests/trains" bare/packages
quiet install.log chroot bare sh -c 'apt-get -q update &&
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends /packages/*.deb gcc libc6-dev pkg-config'
chroot bare sh /packages/trains
chroot bare sh -c 'test -f /usr/share/man/man1/strads.1.gz &&
    test -f /usr/share/bash-completion/completions/strads'
