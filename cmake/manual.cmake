# Man pages and completion of shells, made by the command of its option tables.
set(STRADS_SHARE ${PROJECT_BINARY_DIR}/share)
set(STRADS_MAN ${STRADS_SHARE}/man/man1)
set(STRADS_BASH ${STRADS_SHARE}/bash-completion/completions)
set(STRADS_ZSH ${STRADS_SHARE}/zsh/site-functions)
set(STRADS_FISH ${STRADS_SHARE}/fish/vendor_completions.d)

add_custom_command(
  OUTPUT ${STRADS_MAN}/strads.1 ${STRADS_BASH}/strads ${STRADS_ZSH}/_strads
         ${STRADS_FISH}/strads.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory
          ${STRADS_MAN} ${STRADS_BASH} ${STRADS_ZSH} ${STRADS_FISH}
  COMMAND strads-command --generate man ${STRADS_MAN}
  COMMAND strads-command --generate bash >${STRADS_BASH}/strads
  COMMAND strads-command --generate zsh >${STRADS_ZSH}/_strads
  COMMAND strads-command --generate fish >${STRADS_FISH}/strads.fish
  DEPENDS strads-command
  COMMENT "Writing man pages and completion")
add_custom_target(strads-manual ALL DEPENDS ${STRADS_MAN}/strads.1)
