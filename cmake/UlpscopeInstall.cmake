# Headers below include/ulpscope/, the libraries, the program, the licence, and a package for find_package(ulpscope): the numbers
# without any dependency but Highway, and as components what needs more: `verify`, the libraries that judge kernels, and `program`.
include(CMakePackageConfigHelpers)
set(ulpscope_package ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)

# ulpscope_install(COMPONENT targets... [HEADERS rooms...]): into ulpscopeCOMPONENTTargets.cmake of the package. The global property
# ulpscope_installed_rooms has every room whose headers are installed.
set(ulpscope_private_headers "*-inl.hpp" gpu/cuda gpu/cublas)  # files and folders that are not
list(TRANSFORM ulpscope_private_headers REPLACE "(.+)" "PATTERN;\\1;EXCLUDE" OUTPUT_VARIABLE private_headers)
function(ulpscope_install component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS")
  install(TARGETS ${arg_UNPARSED_ARGUMENTS} EXPORT ulpscope${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_property(GLOBAL APPEND PROPERTY ulpscope_installed_rooms ${arg_HEADERS})
  foreach(room ${arg_HEADERS})
    install(DIRECTORY ${room}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ulpscope/${room} FILES_MATCHING PATTERN "*.hpp"
      ${private_headers})
  endforeach()
  install(EXPORT ulpscope${component} NAMESPACE ulpscope:: FILE ulpscope${component}Targets.cmake DESTINATION ${ulpscope_package})
endfunction()

ulpscope_install("" ulpscope_numerics ulpscope_emu HEADERS emu)
if(TARGET ulpscope)
  ulpscope_install(Verify ulpscope_files ulpscope_gpu ulpscope_reports ulpscope_tensors ulpscope_requests ulpscope_products ulpscope_studies ulpscope_verify
    HEADERS files gpu reports tensors requests products studies verify)
  ulpscope_install(Program ulpscope)
  if(ulpscope_manual)
    install(FILES ${ulpscope_manual}/completion/ulpscope DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${ulpscope_manual}/completion/_ulpscope DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${ulpscope_manual}/completion/ulpscope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    install(DIRECTORY ${ulpscope_manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  endif()
  foreach(plugin ulpscope_cuda ulpscope_cublas)  # where gpu/plugin.hpp looks for them: ../lib/ulpscope
    if(TARGET ${plugin})
      install(TARGETS ${plugin} LIBRARY DESTINATION lib/ulpscope)
    endif()
  endforeach()
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
configure_package_config_file(cmake/ulpscopeConfig.cmake.in ulpscopeConfig.cmake INSTALL_DESTINATION ${ulpscope_package})
write_basic_package_version_file(ulpscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ulpscopeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ulpscopeConfigVersion.cmake
  cmake/UlpscopeVerify.cmake cmake/UlpscopeProduce.cmake DESTINATION ${ulpscope_package})
