# Writes OUTPUT, a C++ file that holds the study files FILES (separated by commas) as strings.
string(REPLACE "," ";" FILES "${FILES}")
set(entries "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made of studies/*.toml by cmake/write_built_in_studies.cmake.
#include \"study_files/built_in.hpp\"

namespace ulpscope::study_files {

const std::vector<BuiltIn>& built_in_studies() {
  static const std::vector<BuiltIn> all{
${entries}  };
  return all;
}

}  // namespace ulpscope::study_files
")
