# ulpscope_built_in_files(SOURCE NAMESPACE FUNCTION FOLDER): sets SOURCE to a C++ file that is made of FOLDER/*.toml. In it
# NAMESPACE::FUNCTION() gives the files' texts, so that they come with the program.
function(ulpscope_built_in_files source namespace function folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.toml)
  list(SORT files)
  list(JOIN files "," joined)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_built_in_files.cmake)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DFILES=${joined} -DOUTPUT=${made} -DNAMESPACE=${namespace} -DFUNCTION=${function} -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  set(${source} ${made} PARENT_SCOPE)
endfunction()
