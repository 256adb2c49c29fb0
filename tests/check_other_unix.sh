# The fallbacks of docs/platforms.md: files that use the system compile without
# the headers and flags of Linux, and call none of its functions.
set -eu
cd "$STRADS_SOURCE"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

linux='accept4|pipe2|dup3|eventfd|epoll_[a-z_]*|signalfd|timerfd_[a-z]*|splice|sendfile
|getrandom|prctl|mremap|memfd_create|fallocate|sched_[gs]etaffinity|renameat2
|pthread_condattr_setclock|copy_file_range|sync_file_range|inotify_[a-z0-9_]*'
linux=$(printf '%s' "$linux" | tr -d '\n')
flags=$(pkg-config --cflags jansson libutf8proc libzstd libxxhash libcrypto)

# hide HEADER NAME...: a header of the system without these names.
hide()
{
    header=$objects/include/$1
    mkdir -p "$(dirname "$header")"
    printf '#include_next <%s>\n' "$1" >"$header"
    shift
    printf '#undef %s\n' "$@" >>"$header"
}

hide fcntl.h O_TMPFILE O_DIRECT
hide sys/mman.h MADV_HUGEPAGE MADV_POPULATE_WRITE MREMAP_MAYMOVE
hide sys/socket.h MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK
# glibc's own headers include this one.
hide endian.h htole16 htole32 htole64 le16toh le32toh le64toh
for header in eventfd epoll prctl signalfd timerfd; do
    echo '#error "only Linux has this header"' \
        >"$objects/include/sys/$header.h"
done

# compile_hidden FILE OBJECT: without what only Linux has.
compile_hidden()
{
    # shellcheck disable=SC2086 # a list of flags
    "$STRADS_CC" -std=gnu17 -U__linux__ -U__linux -Ulinux -D_GNU_SOURCE \
        -I"$objects/include" -Iinclude -I. $flags -Wall -Wextra -Werror \
        -c "$1" -o "$2"
}

n=0
# command_launch.c uses argz.h, which only glibc has.
for file in $(grep -rlE \
    '<(fcntl|poll|sched|sys/(mman|random|socket|stat))\.h>|base/(system|byte_order)\.h|condattr' \
    --include='*.c' engine apps | grep -v command_launch); do
    compile_hidden "$file" "$objects/$n.o"
    if nm -u "$objects/$n.o" | grep -E " U ($linux)\$"; then
        echo "$file calls this, which only Linux has: add a fallback, for" \
            "example in engine/base/system.c"
        exit 1
    fi
    n=$((n + 1))
done
[ $n -ge 20 ]

# The hiding works.
printf '#include <sys/eventfd.h>\n' >"$objects/bad.c"
if compile_hidden "$objects/bad.c" "$objects/bad.o" 2>/dev/null; then
    echo "a header of Linux was not hidden"
    exit 1
fi
printf '#include <unistd.h>\nint f(int *p);\nint f(int *p)\n{\n    return pipe2(p, 0);\n}\n' >"$objects/bad.c"
compile_hidden "$objects/bad.c" "$objects/bad.o"
nm -u "$objects/bad.o" | grep -qE " U ($linux)\$"
echo "$n files compile without Linux"
