# cmake -DMODULES=FOLDER -P architectures_test.cmake: no way to name sm_90 loses wgmma, none to name sm_120 the mma.sync of narrow
# operands, and what is lost is said.
cmake_minimum_required(VERSION 3.22)
list(APPEND CMAKE_MODULE_PATH ${MODULES})
include(UlpscopeCudaArchitectures)

# What nvidia-smi does from now on.
set(ULPSCOPE_NVIDIA_SMI ${CMAKE_CURRENT_BINARY_DIR}/nvidia-smi)
function(nvidia_smi script)
  file(WRITE ${ULPSCOPE_NVIDIA_SMI} "#!/bin/sh\n${script}\n")
  file(CHMOD ${ULPSCOPE_NVIDIA_SMI} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

function(expect asked expected)
  ulpscope_architectures_with_all_instructions(architectures ${asked})
  if(NOT architectures STREQUAL "${expected}")
    message(SEND_ERROR "${asked} becomes ${architectures}, not ${expected}")
  endif()
endfunction()

expect("90" "90a-real;90-virtual")
expect("90-real" "90a-real")
expect("80-real;90;90a" "80-real;90a-real;90-virtual;90a")
expect("90a-real" "90a-real")
expect("75-real;86" "75-real;86")
expect("120-real" "120a-real;121a-real")
expect("121-real;120" "121a-real;120a-real;120-virtual")
expect("120a-real" "120a-real")
expect("120-virtual" "120-virtual")
nvidia_smi("echo 9.0\necho 8.6\necho 9.0")
expect("native" "90a-real;86-real")
expect("all" "75-real;80-real;86-real;89-real;90a-real;100-real;120a-real;121a-real")
expect("all-major" "75-real;80-real;86-real;89-real;90a-real;100-real;120a-real;121a-real")
nvidia_smi("echo 12.1")
expect("native" "121a-real")
nvidia_smi("exit 1")
expect("native" "90a-real")
expect("90-virtual" "90-virtual")  # with a warning
