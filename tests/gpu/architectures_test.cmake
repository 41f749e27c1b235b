# cmake -DMODULES=FOLDER -P architectures_test.cmake: no way to name sm_90 loses wgmma, no way to name
# sm_100 tcgen05, and what is lost is said.
cmake_policy(SET CMP0057 NEW)
list(APPEND CMAKE_MODULE_PATH ${MODULES})
include(UlpscopeCudaArchitectures)

# A machine with a GPU of compute capability 9.0 and one of 8.6.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi "#!/bin/sh\necho 9.0\necho 8.6\necho 9.0\n")
file(CHMOD ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(ULPSCOPE_NVIDIA_SMI ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi CACHE FILEPATH "")

function(expect asked expected)
  ulpscope_architectures_with_wgmma(architectures ${asked})
  if(NOT architectures STREQUAL "${expected}")
    message(SEND_ERROR "${asked} becomes ${architectures}, not ${expected}")
  endif()
endfunction()

expect("90" "90a-real;90-virtual")
expect("90-real" "90a-real")
expect("80-real;90;90a" "80-real;90a-real;90-virtual;90a")
expect("90a-real" "90a-real")
expect("75-real;86" "75-real;86")
expect("100-real" "100a-real;103a-real")
expect("100" "100a-real;103a-real;100-virtual")
expect("103-real;110" "103a-real;110a-real;110-virtual")
expect("100a-real" "100a-real")
expect("native" "90a-real;86-real")
expect("all" "75-real;80-real;86-real;89-real;90a-real;100a-real;103a-real;120-real")
expect("all-major" "75-real;80-real;86-real;89-real;90a-real;100a-real;103a-real;120-real")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi "#!/bin/sh\necho 10.0\necho 10.3\n")
file(CHMOD ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
expect("native" "100a-real;103a-real")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi "#!/bin/sh\nexit 1\n")
expect("native" "90a-real")
expect("90-virtual" "90-virtual")  # with a warning
