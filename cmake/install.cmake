# What `cmake --install` puts where: both libraries, the headers, the command,
# and what pkg-config and find_package need to find them.

include(CMakePackageConfigHelpers)
set(STRADS_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/strads)

# Two sets of targets: a user of the shared library needs no further packages.
install(TARGETS strads EXPORT strads-shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS strads-static EXPORT strads-static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET strads-command)
  install(TARGETS strads-command DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${STRADS_MAN}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES packaging/strads.bash RENAME strads
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES packaging/strads.zsh RENAME _strads
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES packaging/strads.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY include/strads DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT strads-shared NAMESPACE strads::
  FILE stradsSharedTargets.cmake DESTINATION ${STRADS_CMAKE_DIR})
install(EXPORT strads-static NAMESPACE strads::
  FILE stradsStaticTargets.cmake DESTINATION ${STRADS_CMAKE_DIR})

configure_package_config_file(cmake/stradsConfig.cmake.in stradsConfig.cmake
  INSTALL_DESTINATION ${STRADS_CMAKE_DIR})
write_basic_package_version_file(stradsConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/stradsConfig.cmake
  ${PROJECT_BINARY_DIR}/stradsConfigVersion.cmake
  DESTINATION ${STRADS_CMAKE_DIR})

# The prefix is written relative to the file: the tree may be moved.
set(STRADS_PC_DIR ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH STRADS_PC_PREFIX ${STRADS_PC_DIR} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" STRADS_PC_PREFIX "${STRADS_PC_PREFIX}")
list(JOIN STRADS_PC_REQUIRES " " STRADS_PC_REQUIRES)
string(REPLACE ">=" " >= " STRADS_PC_REQUIRES "${STRADS_PC_REQUIRES}")
configure_file(cmake/strads.pc.in strads.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/strads.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
