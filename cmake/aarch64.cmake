# SPDX-License-Identifier: MIT
# Cross build for AArch64 with Debian's gcc-aarch64-linux-gnu; tests run under qemu-user.
#
#   scripts/aarch64-sysroot build/aarch64-sysroot
#   cmake -S . -B build/aarch64 --toolchain cmake/aarch64.cmake -DHP_SYSROOT=$PWD/build/aarch64-sysroot
#
# The C library and its headers come with the cross compiler; HP_SYSROOT holds the other libraries, unpacked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HP_SYSROOT)
if(HP_SYSROOT)
  set(ENV{PKG_CONFIG_LIBDIR} "${HP_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig")
  set(ENV{PKG_CONFIG_SYSROOT_DIR} "${HP_SYSROOT}")
  set(hp_library_folders "${HP_SYSROOT}/usr/lib/aarch64-linux-gnu" "${HP_SYSROOT}/lib/aarch64-linux-gnu")
  # rpath-link: libdw needs further libraries of the sysroot that no command line names.
  list(JOIN hp_library_folders ":" hp_library_path)
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${hp_library_path}")
else()
  set(ENV{PKG_CONFIG_LIBDIR} "/nonexistent")
endif()
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu ${HP_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${hp_library_path})
