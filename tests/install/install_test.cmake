include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
# The numbers alone need none of what the components need.
configure(${CONSUMER} ${WORK}/build -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
prints("${output}" "float8_e4m3fn 464 -> 448")
run(${WORK}/prefix/bin/ulpscope --version)
foreach(file bash-completion/completions/ulpscope zsh/site-functions/_ulpscope fish/vendor_completions.d/ulpscope.fish
    man/man1/ulpscope.1 man/man1/ulpscope-verify-matmul.1)
  if(NOT EXISTS ${WORK}/prefix/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()
file(READ ${WORK}/prefix/share/doc/ulpscope/LICENSE licence)
prints("${licence}" "Apache License")
foreach(name LGPL-3 GPL-3 LGPL-2.1 Apache-2.0)
  if(EXISTS /usr/share/common-licenses/${name} AND NOT EXISTS ${WORK}/prefix/share/doc/ulpscope/licences/${name}.txt)
    message(FATAL_ERROR "the text of ${name} is not installed")
  endif()
endforeach()
