# SPDX-License-Identifier: Apache-2.0
# Included by project(): what files.txt names is compiled with counters and without optimisation, each by itself where others are
# compiled several together; all else as it is.
cmake_language(DEFER CALL ulpscope_count)

function(ulpscope_count)
  file(STRINGS ${PROJECT_SOURCE_DIR}/tests/coverage/files.txt names REGEX "^[^#]")
  foreach(name IN LISTS names)
    cmake_path(GET name PARENT_PATH folder)
    while(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)  # whose targets it is part of
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${name} DIRECTORY ${folder} tests/fuzz PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
      COMPILE_OPTIONS "-fprofile-instr-generate;-fcoverage-mapping;-mllvm;-runtime-counter-relocation;-O0;-U_FORTIFY_SOURCE")
  endforeach()
endfunction()
