# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT from TEMPLATE with VERSION and the commit of SOURCE, `-dirty` when tracked files differ, `unknown` without git.
set(COMMIT unknown)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND answer)
    set(COMMIT ${answer})
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
