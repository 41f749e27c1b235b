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

# The same for a target of ulpscope_optimise_less(), with headers that are read once for all of them: once for those that are hot
# (ulpscope_hot) and once for the others, because the options of both have to agree.
function(ulpscope_share_headers target)
  get_target_property(hot ${target} ULPSCOPE_HOT)
  set(headers ulpscope_headers)
  if(hot)
    set(headers ulpscope_hot_headers)
  endif()
  set(format "")
  if(NOT ULPSCOPE_DEVICES_ONLY)
    find_package(fmt REQUIRED)
    set(format <fmt/format.h>)
    # A compiler takes headers only where macros that they read are the same.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  endif()
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${headers}.cpp CONTENT "// Made by cmake/UlpscopePrecompile.cmake: headers alone.\n")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cpp)
    target_link_libraries(${headers} PRIVATE ulpscope_flags)
    if(format)
      target_link_libraries(${headers} PRIVATE fmt::fmt)
    endif()
    set_target_properties(${headers} PROPERTIES ULPSCOPE_HOT "${hot}")
    ulpscope_optimise_less(${headers} OWN_HEADERS)
    ulpscope_precompile(${headers} ${format})
  endif()
  ulpscope_precompile_as(${target} ${headers})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE -fPIC)  # as the libraries, and not -fPIE
  endif()
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

# ulpscope_alone(FILE...): files that are compiled each by itself where others are compiled several together (CMAKE_UNITY_BUILD, as
# all presets but `debug` ask, which takes a third less time): kernels, which are compiled once for every vector target, and files
# whose own names would meet those of another file of their room.
function(ulpscope_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# ulpscope_optimise_less(TARGET [OWN_HEADERS] [EXCEPT FILE...]): for code that waits for people, files and processes, or that calls what
# is to be fast: without the slower passes, and with headers that are read once, it takes half of the time to compile in release builds.
# Not so the files named, which are compiled each by itself. With OWN_HEADERS the headers are the target's own affair.
function(ulpscope_optimise_less target)
  cmake_parse_arguments(PARSE_ARGV 1 arg OWN_HEADERS "" "EXCEPT")
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  if(arg_EXCEPT)
    set_source_files_properties(${arg_EXCEPT} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(NOT arg_OWN_HEADERS)
    ulpscope_share_headers(${target})
  endif()
endfunction()
