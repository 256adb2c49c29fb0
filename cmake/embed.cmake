# strads_embed(OUT FILE NAME): the variable OUT gets a C file of the build tree
# that holds FILE as the array NAME, with its length as NAME_size.
function(strads_embed out file name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))"
         "\\1\n" bytes "${bytes}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.c CONTENT
"#include <stddef.h>
extern const char ${name}[];
extern const size_t ${name}_size;
const char ${name}[] = {${bytes}0};
const size_t ${name}_size = sizeof ${name} - 1;
")
  set(${out} ${PROJECT_BINARY_DIR}/${name}.c PARENT_SCOPE)
endfunction()
