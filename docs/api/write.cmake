# Copies the headers and runs Doxygen in the folder of its Doxyfile; its warnings are errors.
# cmake -DDOXYGEN=program -DPYTHON=program -DROOT=folder -DHEADERS=folder -DPAGES=folder "-DROOMS=room;..." -P write.cmake
if(NOT DOXYGEN)
  message("skipped: doxygen is not installed, so the API reference is not written (Debian and Ubuntu: apt-get install doxygen)")
  return()
endif()
file(MAKE_DIRECTORY ${PAGES})
execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/headers.py ${ROOT} ${HEADERS} ${ROOMS} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${DOXYGEN} Doxyfile ERROR_VARIABLE complaints RESULT_VARIABLE result)
string(REPLACE "${HEADERS}/" "" complaints "${complaints}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${complaints}doxygen ends with ${result}")
endif()
message("API reference: ${PAGES}/html/index.html")
