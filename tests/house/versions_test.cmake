# What configuring says of versions. cmake -DROOT=folder -P versions_test.cmake
set(one_version [[
set(CMAKE_CXX_COMPILER_ID GNU)
set(CMAKE_CXX_COMPILER_VERSION 12.2.0)
include("${ROOT}/cmake/UlpscopeVersions.cmake")
ulpscope_check_version(${NAME} ${VERSION})
]])
set(script ${CMAKE_CURRENT_BINARY_DIR}/one_version.cmake)
file(WRITE ${script} "${one_version}")

function(expect name version words)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${ROOT} -DNAME=${name} -DVERSION=${version} -P ${script}
    OUTPUT_VARIABLE said ERROR_VARIABLE warned RESULT_VARIABLE result)
  string(REGEX REPLACE "[ \n]+" " " all "${said}${warned}")
  if(NOT result EQUAL 0 OR (words STREQUAL "" AND NOT all STREQUAL "") OR NOT all MATCHES "${words}")
    message(SEND_ERROR "${name} ${version}: expected '${words}', got '${all}'")
  endif()
endfunction()

expect(Highway 1.0.3 "")
expect(Highway 1.2.0 "")
expect(Highway 1.0.7 "Highway 1.0.7 lies between versions that the tests are run with \\(1.0.3, 1.2.0\\)")
expect(Highway 1.3.0 "Highway 1.3.0 is not known to be right: the tests are run with 1.0.3 to 1.2.0")
expect(Catch2 3.4.0 "Catch2 3.4.0 is not known to be right")
expect(GCC 14.2.0 "")
expect(GCC 15.1.0 "GCC 15 is not known to be right")
expect(GCC 13.3.0 "GCC 13 lies between versions that the tests are run with \\(12, 14\\)")
expect(Clang 19.1.7 "")
expect(Clang 17.0.6 "Clang 17 is not known to be right")
