# Toolchain for 64 bit Arm, crossed from another Debian or Ubuntu; `./bootstrap arm` installs what it names. ULPSCOPE_ARM_ROOT is the
# folder below which the packages of arm64 are unpacked; what is built runs under qemu's user mode emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ULPSCOPE_ARM_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root CACHE PATH "Where the packages of arm64 are unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ULPSCOPE_ARM_ROOT)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${ULPSCOPE_ARM_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ULPSCOPE_ARM_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${ULPSCOPE_ARM_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ULPSCOPE_ARM_ROOT}/usr/share/pkgconfig)

# Every instruction that qemu knows: more than any one processor has. Return addresses are signed by a hash of qemu's own: Arm's cipher
# costs what is built with branch protection up to half of its time.
set(ulpscope_emulator qemu-aarch64 -cpu max,pauth-impdef=on -L ${ULPSCOPE_ARM_ROOT})
option(ULPSCOPE_EMULATED "Leave scripts that start the programs in the emulator where the programs would lie" OFF)
if(ULPSCOPE_EMULATED)  # whoever starts a program, tests and the program itself among them, need not know
  list(JOIN ulpscope_emulator " " ulpscope_emulator)
  set(CMAKE_CXX_LINK_EXECUTABLE
    "<CMAKE_CXX_COMPILER> <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>"
    "${CMAKE_CURRENT_LIST_DIR}/start-in-emulator <TARGET> ${ulpscope_emulator}")
  set(CMAKE_CROSSCOMPILING_EMULATOR env)  # without any CMake starts nothing that it built
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ulpscope_emulator})
endif()
