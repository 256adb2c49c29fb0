#!/bin/sh
# The installed files suffice to build against strads: in C and in C++17,
# shared and static, by pkg-config and by CMake's find_package, also after the
# prefix was moved.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cmake --install "$STRADS_BUILD" --prefix "$scratch/first" >install.log
mv first prefix
if [ -x "$STRADS_BIN" ]; then
    prefix/bin/strads --version
fi
[ -f prefix/share/doc/strads/examples/ridge/ridge.c ] || {
    echo "the examples are not installed"
    exit 1
}
libdir=$(dirname "$(find "$scratch/prefix" -name libstrads.a)")
export PKG_CONFIG_PATH="$libdir/pkgconfig"
export LD_LIBRARY_PATH="$libdir"

# Each header alone, then all of them together.
mkdir program
for header in prefix/include/strads/*.h; do
    name=${header#prefix/include/}
    echo "#include <$name>" >alone.c
    echo "#include <$name>" >>program/main.c
    for compiler in "$STRADS_CC -std=c11" "c++ -x c++ -std=c++17"; do
        $compiler -Wall -Wextra -Werror -Iprefix/include -fsyntax-only alone.c
    done
done
cat >>program/main.c <<'END'
#include <stdio.h>
#include <string.h>
int main(void)
{
    puts(strads_version());
    return strcmp(strads_version(), STRADS_VERSION) != 0;
}
END
cp program/main.c program/main.cc

flags=$(pkg-config --cflags --libs strads)
archive="$libdir/libstrads.a $(pkg-config --static --libs strads)"
# The archive's -lstrads would select the shared library.
archive=$(printf '%s' "$archive" | sed 's/-lstrads//')
for source in program/main.c program/main.cc; do
    compiler=$STRADS_CC
    case $source in *.cc) compiler="c++ -std=c++17" ;; esac
    # shellcheck disable=SC2046,SC2086 # lists of words
    {
        $compiler $source -o shared $flags
        $compiler $source -o static $(pkg-config --cflags strads) $archive
    }
    ./shared
    env -u LD_LIBRARY_PATH ./static
done

cat >program/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(strads 0.2 REQUIRED COMPONENTS static)
foreach(language c cc)
  add_executable(shared-${language} main.${language})
  target_link_libraries(shared-${language} PRIVATE strads::strads)
  add_executable(static-${language} main.${language})
  target_link_libraries(static-${language} PRIVATE strads::strads-static)
endforeach()
END
unset LD_LIBRARY_PATH
cmake -S program -B build -DCMAKE_PREFIX_PATH="$scratch/prefix" >cmake.log
cmake --build build >>cmake.log || {
    cat cmake.log
    exit 1
}
for program in shared-c shared-cc static-c static-cc; do
    build/$program
done
