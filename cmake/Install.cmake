# SPDX-License-Identifier: MIT
# cmake --install to any prefix: the program finds its libraries in ../lib, wherever that prefix is. Man pages and completions
# are made by the program itself, from the same tables as its help.
if(NOT TARGET hprofiler)
  return()
endif()
install(TARGETS hprofiler RUNTIME DESTINATION bin)
foreach(family openmpi mpich)
  if(TARGET hprofiler_parallel-${family})
    install(TARGETS hprofiler_parallel-${family} RUNTIME DESTINATION libexec/hprofiler)
  endif()
endforeach()
foreach(library runtime ompt mpi mpi-openmpi mpi-mpich opencl_collector cuda_collector nccl_collector)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION lib)
  endif()
endforeach()
# As they lie here, so that links between them hold.
install(FILES LICENSE README.md ARCHITECTURE.md CONTRIBUTING.md DESTINATION share/doc/hprofiler)
install(DIRECTORY docs DESTINATION share/doc/hprofiler
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN man EXCLUDE)
if(CMAKE_CROSSCOMPILING)
  return() # nothing here can run the program to ask it for its pages
endif()

set(hp_pages ${CMAKE_BINARY_DIR}/share)
set(hp_pages_made ${hp_pages}/made)
add_custom_command(OUTPUT ${hp_pages_made}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${hp_pages}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${hp_pages}/man/man1 ${hp_pages}/bash-completion/completions
    ${hp_pages}/zsh/site-functions ${hp_pages}/fish/vendor_completions.d
  COMMAND hprofiler man ${hp_pages}/man/man1
  COMMAND sh -c "\"$0\" completion bash >\"$1/bash-completion/completions/hprofiler\"" $<TARGET_FILE:hprofiler> ${hp_pages}
  COMMAND sh -c "\"$0\" completion zsh >\"$1/zsh/site-functions/_hprofiler\"" $<TARGET_FILE:hprofiler> ${hp_pages}
  COMMAND sh -c "\"$0\" completion fish >\"$1/fish/vendor_completions.d/hprofiler.fish\"" $<TARGET_FILE:hprofiler> ${hp_pages}
  COMMAND ${CMAKE_COMMAND} -E touch ${hp_pages_made}
  DEPENDS hprofiler COMMENT "Making man pages and completions" VERBATIM)
add_custom_target(pages ALL DEPENDS ${hp_pages_made})
install(DIRECTORY ${hp_pages}/ DESTINATION share PATTERN made EXCLUDE)
