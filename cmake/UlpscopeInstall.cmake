# Headers below include/ulpscope/, the library, the program, and a package for find_package(ulpscope).
include(CMakePackageConfigHelpers)

install(TARGETS ulpscope_numerics ulpscope_emu EXPORT ulpscope ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY emu/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ulpscope/emu FILES_MATCHING PATTERN "*.hpp"
  PATTERN "*-inl.hpp" EXCLUDE)
install(EXPORT ulpscope NAMESPACE ulpscope:: FILE ulpscopeTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)
configure_package_config_file(cmake/ulpscopeConfig.cmake.in ulpscopeConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)
write_basic_package_version_file(ulpscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ulpscopeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ulpscopeConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)
if(TARGET ulpscope)
  install(TARGETS ulpscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
