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
  # GCC 12 reports std::string concatenation (bug 105651) by these names then.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
endfunction()
