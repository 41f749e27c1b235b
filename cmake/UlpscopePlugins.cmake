# What holds for the program and for the shared objects that it opens (gpu/plugin.hpp).

# CMake ends the RUNPATH of what it installs with a separator, to replace the path at installation, and the loader takes the empty
# element behind it for the current folder: a library that lies there would be loaded. So nothing is replaced: what is built has the
# path that is installed, which is that of the libraries it was linked with.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# ulpscope_plugin_source(FILE...): files of the current folder that know which build they belong to.
function(ulpscope_plugin_source)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS ULPSCOPE_PLUGIN_VERSION="${PROJECT_VERSION}")
endfunction()
