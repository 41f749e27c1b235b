# SPDX-License-Identifier: Apache-2.0
# Included by project(): what files.txt names is compiled each by itself where others are compiled several together, for `compile` to see.
cmake_language(DEFER CALL ulpscope_count_alone)

function(ulpscope_count_alone)
  file(STRINGS ${PROJECT_SOURCE_DIR}/tests/coverage/files.txt names REGEX "^[^#]")
  foreach(name IN LISTS names)
    string(REGEX MATCH "^[^/]+" room ${name})
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${name} DIRECTORY ${room} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()
