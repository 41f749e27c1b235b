# What makes a fault in our own code end the program instead of giving its memory away: protected stacks, checked library calls, tables of
# addresses that are read-only once the program runs, indirect jumps that land only where one may, and checked subscripts of the
# standard library outside the loops that do the arithmetic. The test `hardening` reads what was built.
option(ULPSCOPE_HARDEN "Harden release builds: stack protector, FORTIFY, RELRO, control flow, checked subscripts outside hot loops" ON)
if(NOT ULPSCOPE_HARDEN OR ULPSCOPE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL Debug)
  return()  # sanitizers see more; FORTIFY needs optimisation
endif()
set(fortify 3)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  set(fortify 2)
endif()
set(control_flow -fcf-protection=full)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(control_flow -mbranch-protection=standard)
endif()
set(hardened $<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:ULPSCOPE_UNHARDENED>>>>)
foreach(option -fstack-protector-strong ${control_flow} -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify})
  target_compile_options(ulpscope_flags INTERFACE $<${hardened}:${option}>)
endforeach()
target_compile_definitions(ulpscope_flags INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:ULPSCOPE_HOT>>>>:_GLIBCXX_ASSERTIONS>)
target_link_options(ulpscope_flags INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
