# ulpscope_own_files(SOURCE FILE...): sets SOURCE to a C++ file in which ulpscope::files::own_files() gives the bytes of the files, which
# are named from the root of the source tree. The assembler reads them, which takes no time; the text of a C++ file would.
function(ulpscope_own_files source)
  set(blocks "")
  set(names "")
  set(entries "")
  set(number 0)
  foreach(file ${ARGN})
    set(symbol "ulpscope_own_file_${number}")
    string(APPEND blocks "__asm__(\".pushsection .rodata\\n.balign 16\\n.hidden ${symbol}\\n.globl ${symbol}\\n${symbol}:\\n\"
        \".incbin \\\"${PROJECT_SOURCE_DIR}/${file}\\\"\\n.hidden ${symbol}_end\\n.globl ${symbol}_end\\n${symbol}_end:\\n.byte 0\\n.popsection\\n\");
")
    string(APPEND names "extern const char ${symbol}[] __attribute__((visibility(\"hidden\")));
extern const char ${symbol}_end[] __attribute__((visibility(\"hidden\")));
")
    string(APPEND entries "      {\"${file}\", {${symbol}, static_cast<std::size_t>(${symbol}_end - ${symbol})}},
")
    math(EXPR number "${number} + 1")
  endforeach()
  set(made ${CMAKE_CURRENT_BINARY_DIR}/own_files_table.cpp)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT "// Made by cmake/UlpscopeOwnFiles.cmake.
#include <cstddef>

#include \"files/own_files.hpp\"

${blocks}
extern \"C\" {
${names}}

namespace ulpscope::files {

const std::vector<OwnFile>& own_files() {
  static const std::vector<OwnFile> all{
${entries}  };
  return all;
}

}  // namespace ulpscope::files
")
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  set_source_files_properties(${made} PROPERTIES OBJECT_DEPENDS "${paths}" SKIP_UNITY_BUILD_INCLUSION ON)
  set(${source} ${made} PARENT_SCOPE)
endfunction()
