# SPDX-License-Identifier: MIT
# HP_SANITIZE instruments everything of ours but the in-target libraries (hp_guest takes them out): they run in programs
# that were not built with a sanitizer, where its runtime cannot be loaded late. HP_FUZZ (clang) instruments for libFuzzer, with ASan and UBSan.
set(HP_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
option(HP_FUZZ "Build the fuzz targets of tests/fuzz for libFuzzer (needs clang)" OFF)
if(HP_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "HP_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
endif()
if(HP_FUZZ)
  set(hp_sanitizers "fuzzer-no-link,address,undefined")
else()
  set(hp_sanitizers "${HP_SANITIZE}")
endif()
if(hp_sanitizers)
  add_compile_options(-fsanitize=${hp_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${hp_sanitizers})
endif()
