# Man pages, made by the command of its option tables.
set(STRADS_MAN ${PROJECT_BINARY_DIR}/share/man/man1)

add_custom_command(
  OUTPUT ${STRADS_MAN}/strads.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${STRADS_MAN}
  COMMAND strads-command --generate man ${STRADS_MAN}
  DEPENDS strads-command
  COMMENT "Writing man pages")
add_custom_target(strads-manual ALL DEPENDS ${STRADS_MAN}/strads.1)
