# What every target is compiled with. `ulpscope_numerics` is part of the interface: without it results differ.
add_library(ulpscope_numerics INTERFACE)
add_library(ulpscope::numerics ALIAS ulpscope_numerics)
set_target_properties(ulpscope_numerics PROPERTIES EXPORT_NAME numerics)
target_compile_features(ulpscope_numerics INTERFACE cxx_std_20)
# The libraries are part of the program and of a Python module, which is shared.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Contraction of a*b+c is on by default in GCC and Clang wherever the target has FMA.
target_compile_options(ulpscope_numerics INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

add_library(ulpscope_flags INTERFACE)
target_link_libraries(ulpscope_flags INTERFACE ulpscope_numerics)
# Position-independent code of GCC is else compiled as if another library could replace each function.
target_compile_options(ulpscope_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)
target_compile_options(ulpscope_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow
  # GCC 12 reports std::string concatenation (bug 105651)
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # GCC 13 and 14 report Boost's cpp_int, copies of short vectors, and references into the table of engines that a temporary name
  # finds; GCC 12 and Clang look for arrays that are left
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-dangling-reference>"
  # libstdc++ 12 uses a function it deprecates
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# Clang compares a local name with those of all files that are compiled together; GCC, with those that it can mean.
if(CMAKE_UNITY_BUILD)
  target_compile_options(ulpscope_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
endif()
if(ULPSCOPE_WERROR)
  target_compile_options(ulpscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=>-Werror)
endif()
if(ULPSCOPE_SANITIZE)
  target_compile_options(ulpscope_flags INTERFACE -fsanitize=${ULPSCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ulpscope_flags INTERFACE -fsanitize=${ULPSCOPE_SANITIZE})
endif()
if(ULPSCOPE_FUZZ)
  target_compile_options(ulpscope_flags INTERFACE -fsanitize=fuzzer-no-link)  # coverage guides the fuzzer
endif()
# GCC collects garbage from 128 MiB on, an eighth of the time that files of this size take. Where each of as many compilers as there are
# cores may have 1.5 GiB it begins at 512 MiB; no code differs.
cmake_host_system_information(RESULT ulpscope_memory QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT ulpscope_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR ulpscope_memory_of_core "${ulpscope_memory} / ${ulpscope_cores}")  # in MiB
if(ulpscope_memory_of_core GREATER_EQUAL 1536)
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>")
endif()
# The same program from every folder: no path of the sources or of the build is in it.
foreach(folder ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(ulpscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${folder}/=>)
endforeach()

# ulpscope_hot(TARGET...): its loops do the arithmetic, so that subscripts of the standard library are not checked in it.
function(ulpscope_hot)
  set_target_properties(${ARGN} PROPERTIES ULPSCOPE_HOT ON)
endfunction()
