# run(command...): it must succeed; `output` is what it prints. fails(RESULT pattern MATCHES pattern COMMAND command...): its exit
# code and what it prints must match.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(fails)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "RESULT;MATCHES" "COMMAND")
  execute_process(COMMAND ${arg_COMMAND} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result MATCHES "^(${arg_RESULT})$")
    message(FATAL_ERROR "${arg_COMMAND}: ${result} does not match ${arg_RESULT}\n${output}")
  endif()
  prints("${output}" "${arg_MATCHES}")
endfunction()

function(prints text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "nothing matches ${pattern} in:\n${text}")
  endif()
endfunction()

# configure(source build options...): a project that finds what is installed, for the machine that this build is for.
load_cache(${BUILD} READ_WITH_PREFIX built_ CMAKE_TOOLCHAIN_FILE ULPSCOPE_ARM_ROOT ULPSCOPE_EMULATED)
set(machine "")
if(built_CMAKE_TOOLCHAIN_FILE)
  set(machine -DCMAKE_TOOLCHAIN_FILE=${built_CMAKE_TOOLCHAIN_FILE} -DULPSCOPE_ARM_ROOT=${built_ULPSCOPE_ARM_ROOT}
    -DULPSCOPE_EMULATED=${built_ULPSCOPE_EMULATED} -DCMAKE_FIND_ROOT_PATH=${WORK}/prefix)
endif()
function(configure source build)
  set(flags "")
  if(FLAGS)
    set(flags "-fsanitize=${FLAGS}")
  endif()
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_FLAGS=${flags} ${machine} ${ARGN})
  set(output "${output}" PARENT_SCOPE)
endfunction()
