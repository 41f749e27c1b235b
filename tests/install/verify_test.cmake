# The example of verified kernels, built against what is installed: the right kernel passes in every way of testing, the wrong one
# fails in every way, with the census.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# What is installed without the component says so.
file(REMOVE_RECURSE ${WORK}/without)
file(COPY ${WORK}/prefix DESTINATION ${WORK}/without)
file(GLOB_RECURSE component ${WORK}/without/*/ulpscopeVerifyTargets.cmake)
file(REMOVE ${component})
fails(RESULT 1 MATCHES "the component verify is not installed"
  COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/without/build -DCMAKE_PREFIX_PATH=${WORK}/without/prefix -DCMAKE_CXX_COMPILER=${COMPILER} ${machine}
  -DCMAKE_FIND_ROOT_PATH=${WORK}/without/prefix)

set(build ${WORK}/verify)
file(REMOVE_RECURSE ${build})
configure(${CONSUMER} ${build})
run(${CMAKE_COMMAND} --build ${build})
run(${CMAKE_CTEST_COMMAND} --test-dir ${build} --output-on-failure --no-tests=error)

set(census "FAIL: [0-9]+ of 1920 elements are wrong.*the last 16 of 80 products[ \n]+are left out.*errors in ulps of bfloat16.*#####.*the worst elements")
run(${build}/kernel_catch2)
fails(RESULT "[1-9][0-9]*" MATCHES "CHECK_THAT.*output of 1920 elements.*${census}" COMMAND ${build}/kernel_wrong_catch2)
if(EXISTS ${build}/kernel_googletest)
  run(${build}/kernel_googletest)
  prints("${output}" "PASSED *. 2 tests")
  fails(RESULT 1 MATCHES "Actual: false.*${census}.*FAILED *. MultiplesOf32AndNot/Matmul.IsRight/1" COMMAND ${build}/kernel_wrong_googletest)
endif()

# ctest says the same where nothing is told of a failure to come.
file(READ ${build}/CTestTestfile.cmake tests)
string(REGEX REPLACE "WILL_FAIL \"TRUE\"" "" tests "${tests}")
file(WRITE ${build}/CTestTestfile.cmake "${tests}")
fails(RESULT 8 MATCHES "${census}" COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} -V -R "^kernel_wrong.verify$")
file(READ ${build}/kernel_wrong.xml junit)
prints("${junit}" "failures=\"1\".*FAIL: [0-9]+ of 1920 elements are wrong")
file(READ ${build}/kernel.xml junit)
prints("${junit}" "failures=\"0\"")
