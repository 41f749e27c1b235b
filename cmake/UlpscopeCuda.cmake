# CUDA: the plugins are built where a toolkit is found, and left out elsewhere.
#   ULPSCOPE_CUDA                 AUTO (default): with a toolkit of a version that they were built with; ON: with any that has what they
#                                 use, fail without one; OFF
#   CMAKE_CUDA_ARCHITECTURES      default, as `native`: the GPUs of this machine; where none answers, sm_90a alone, for the sake of the time that
#                                 it takes. All with tensor cores: 75-real;80-real;86-real;89-real;90a-real;100a-real;103a-real;120a-real;121a-real
set(ULPSCOPE_CUDA AUTO CACHE STRING "Build the CUDA plugins: AUTO, ON, OFF")
set_property(CACHE ULPSCOPE_CUDA PROPERTY STRINGS AUTO ON OFF)
# The headers and the ptxas of 12.9 take all of it (its nvcc was not tried: nvcc 13.0 stood in), those of 12.8 have neither `.block32` of
# tcgen05.mma nor cuBLASLt's scale modes of vectors and blocks of float32.
set(ulpscope_cuda_least_toolkit 12.9)
set(ulpscope_cuda_built_with 13.0)

include(UlpscopeCudaArchitectures)

set(ULPSCOPE_HAS_CUDA OFF)
if(NOT ULPSCOPE_CUDA STREQUAL OFF)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(ulpscope_nvcc nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(ulpscope_nvcc)
      set(ENV{CUDACXX} ${ulpscope_nvcc})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES native)
    endif()
    ulpscope_architectures_with_all_instructions(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc takes C++20 when its host compiler was not asked.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    find_package(CUDAToolkit)
    set(ulpscope_cuda_wanted ${ulpscope_cuda_built_with})
    if(ULPSCOPE_CUDA STREQUAL ON)
      set(ulpscope_cuda_wanted ${ulpscope_cuda_least_toolkit})
    endif()
    if(CUDAToolkit_FOUND AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL ulpscope_cuda_wanted)
      set(ULPSCOPE_HAS_CUDA ON)
    endif()
  endif()
  if(ULPSCOPE_HAS_CUDA)
    message(STATUS "ulpscope: CUDA plugins with toolkit ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(ULPSCOPE_CUDA STREQUAL ON)
    message(FATAL_ERROR "ULPSCOPE_CUDA is ON, but no CUDA toolkit ${ulpscope_cuda_least_toolkit} or newer was found")
  else()
    message(STATUS "ulpscope: no CUDA toolkit ${ulpscope_cuda_built_with} or newer, the CUDA plugins are left out (ULPSCOPE_CUDA=ON tries ${ulpscope_cuda_least_toolkit})")
  endif()
endif()

# What device code is compiled with: the emulator needs its own roundings kept apart, and its constexpr functions on the device.
add_library(ulpscope_cuda_flags INTERFACE)
target_compile_features(ulpscope_cuda_flags INTERFACE cxx_std_20)
target_compile_options(ulpscope_cuda_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off>)
