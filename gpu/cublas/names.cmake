# cmake -DHEADER=cublasLt.h -DOUTPUT=cublaslt_names.inc -P names.cmake: the header's enumerators of tiles, stages, shapes and
# reductions as initialisers {"MATMUL_TILE_8x8", CUBLASLT_MATMUL_TILE_8x8}.
cmake_minimum_required(VERSION 3.25)
set(kinds "MATMUL_TILE|MATMUL_STAGES|MATMUL_INNER_SHAPE|CLUSTER_SHAPE|REDUCTION_SCHEME")
file(STRINGS ${HEADER} lines REGEX "^ *CUBLASLT_(${kinds})_[A-Za-z0-9_]+ *= *[0-9]+,")
set(text "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^ *CUBLASLT_([A-Za-z0-9_]+) *=.*" "\\1" name "${line}")
  string(APPEND text "{\"${name}\", CUBLASLT_${name}},\n")
endforeach()
if(text STREQUAL "")
  message(FATAL_ERROR "${HEADER} names no tiles")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
