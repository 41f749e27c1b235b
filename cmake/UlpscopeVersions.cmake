# Which versions the tests have been run with: those of Debian 12 and Debian 13. A version that lies between two of them, as Ubuntu
# 24.04's do, is supported, but untried; of others nothing is known, and configuring says so.
set(ulpscope_tried_Highway 1.0.3 1.2.0)
set(ulpscope_tried_fmt 9.1.0 10.1.0)  # what 10.1.1 calls itself
set(ulpscope_tried_Boost 1.81.0 1.83.0)
set(ulpscope_tried_CLI11 2.1.2 2.4.1)
set(ulpscope_tried_Catch2 3.7.1 3.7.1)
set(ulpscope_tried_GCC 12 14)
set(ulpscope_tried_Clang 19 19)

# ulpscope_check_version(NAME VERSION): says what is known of it where that is not "tried". A compiler is known by its major version.
function(ulpscope_check_version name version)
  list(GET ulpscope_tried_${name} 0 first)
  list(GET ulpscope_tried_${name} -1 last)
  if(first MATCHES "^[0-9]+$")
    string(REGEX MATCH "^[0-9]+" version "${version}")
  endif()
  if(version VERSION_EQUAL first OR version VERSION_EQUAL last)
    return()
  endif()
  get_property(said GLOBAL PROPERTY ulpscope_said_${name})
  set_property(GLOBAL PROPERTY ulpscope_said_${name} TRUE)
  if(said)
    return()
  endif()
  if(version VERSION_GREATER first AND version VERSION_LESS last)
    message(STATUS "ulpscope: ${name} ${version} lies between versions that the tests are run with (${first}, ${last})")
  else()
    message(WARNING "ulpscope: ${name} ${version} is not known to be right: the tests are run with ${first} to ${last}. "
      "`ctest -L emu` says whether results are the same.")
  endif()
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  ulpscope_check_version(GCC ${CMAKE_CXX_COMPILER_VERSION})
elseif(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  ulpscope_check_version(Clang ${CMAKE_CXX_COMPILER_VERSION})
else()
  message(WARNING "ulpscope: ${CMAKE_CXX_COMPILER_ID} is not known to be right: the tests are run with GCC and Clang. "
    "`ctest -L emu` says whether results are the same.")
endif()
