# ulpscope_precompile(TARGET header...): the target's files are compiled with the headers of the standard library that most of them
# include, and with these, read once. It is for time alone: every file includes what it uses, and builds the same without
# (CMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as the preset `debug` does). A compiler cache gains more, and most take no such headers
# without settings of their own: with one as the launcher they are left out.
function(ulpscope_precompile target)
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <utility> <vector> ${ARGN})
  ulpscope_precompiled_warnings(${target})
endfunction()

# ulpscope_precompile_as(TARGET OTHER): the headers that OTHER, compiled with the same options, has read.
function(ulpscope_precompile_as target other)
  get_target_property(headers ${other} PRECOMPILE_HEADERS)
  if(headers)
    target_precompile_headers(${target} REUSE_FROM ${other})
    ulpscope_precompiled_warnings(${target})
  endif()
endfunction()

function(ulpscope_precompiled_warnings target)
  # GCC 12 reports std::string concatenation (bug 105651) by these names then.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
endfunction()

# ulpscope_alone(FILE...): files that are compiled each by itself where others are compiled several together (CMAKE_UNITY_BUILD, as the
# presets `program` and `release` ask, which takes a third less time): kernels, which are compiled once for every vector target, and
# files whose own names would meet those of another file of their room. The other presets compile every file by itself.
function(ulpscope_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# ulpscope_optimise_less(TARGET [EXCEPT FILE...]): for code that waits for people, files and processes, or that calls what is to be
# fast: without the slower passes it takes a third less time to compile in release builds. Not so the files named, which are compiled
# each by itself.
function(ulpscope_optimise_less target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCEPT")
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  if(arg_EXCEPT)
    set_source_files_properties(${arg_EXCEPT} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
