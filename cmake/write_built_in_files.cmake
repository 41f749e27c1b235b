# Writes OUTPUT, a C++ file in which NAMESPACE::FUNCTION() gives the texts of FILES (separated by commas) by their names.
string(REPLACE "," ";" FILES "${FILES}")
set(entries "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/write_built_in_files.cmake.
#include <vector>

#include \"requests/built_in_file.hpp\"

namespace ${NAMESPACE} {

const std::vector<ulpscope::requests::BuiltInFile>& ${FUNCTION}();
const std::vector<ulpscope::requests::BuiltInFile>& ${FUNCTION}() {
  static const std::vector<ulpscope::requests::BuiltInFile> all{
${entries}  };
  return all;
}

}  // namespace ${NAMESPACE}
")
