# How everything in the tree is compiled.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
if(NOT CMAKE_C_STANDARD)
  set(CMAKE_C_STANDARD 17)
endif()
set(CMAKE_C_STANDARD_REQUIRED ON)
if(NOT DEFINED CMAKE_C_EXTENSIONS)
  set(CMAKE_C_EXTENSIONS ON)
endif()
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
# Constants of code are enumerators here, also in sums with real numbers.
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wno-enum-float-conversion)
endif()
add_compile_definitions(_GNU_SOURCE)
# Other processors than x86-64 fuse a * b + c by default. Without it, their results
# have the bits of x86-64 with STRADS_KERNELS=portable.
set(STRADS_X86 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(STRADS_X86 TRUE)
else()
  add_compile_options(-ffp-contract=off)
endif()
if(STRADS_WERROR)
  add_compile_options(-Werror)
endif()

# Optimised builds abort at a buffer overflow instead of continuing with damaged
# memory. Sanitizers have their own checks. Debug has no optimisation, which
# _FORTIFY_SOURCE needs.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported()
if(STRADS_HARDEN AND NOT STRADS_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(fortify 2)
  if((CMAKE_C_COMPILER_ID STREQUAL "GNU" AND
      CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
     CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(fortify 3)
  endif()
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE
                      -D_FORTIFY_SOURCE=${fortify})
  check_c_compiler_flag(-fstack-clash-protection STRADS_STACK_CLASH)
  if(STRADS_STACK_CLASH)
    add_compile_options(-fstack-clash-protection)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now)
endif()

# A shared library under a sanitizer leaves the sanitizer's symbols open.
set(STRADS_SHARED_OPTIONS -Wl,--no-undefined)
if(STRADS_SANITIZE)
  add_compile_options(-fsanitize=${STRADS_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STRADS_SANITIZE})
  set(STRADS_SHARED_OPTIONS "")
endif()

# The kernels for one kind of processor are compiled for it, file by file, and
# chosen when the program starts: only they may use these instructions.
function(strads_mark_kernels)
  foreach(source IN LISTS ARGN)
    # Checks in loops that are unrolled eightfold take gcc a minute for a file.
    if(STRADS_SANITIZE AND source MATCHES "(lda|mf)_kernels")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-Og")
    endif()
    if(source MATCHES "_neon\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
        "-ffp-contract=fast")
    endif()
    if(NOT STRADS_X86)
      continue()
    endif()
    if(source MATCHES "_avx512\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
        "-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mfma;-mavx2")
    elseif(source MATCHES "_avx2\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
        "-mavx2;-mfma")
    endif()
    # clang takes minutes for intrinsics under sanitizers, and no fuzz target
    # reaches them.
    if(STRADS_FUZZ AND source MATCHES "_avx[0-9]+\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY
        COMPILE_OPTIONS "-fno-sanitize=all")
    endif()
    # Kernels that draw samples must round as the portable loops do: no fusing.
    if(source MATCHES "lda_kernels_avx[0-9]+\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY
        COMPILE_OPTIONS "-ffp-contract=off")
    endif()
  endforeach()
endfunction()
