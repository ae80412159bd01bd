# SPDX-License-Identifier: MIT
# All warning flags in one place. HP_WERROR makes them fatal (CI and the presets for developers set it).
option(HP_WERROR "Treat warnings as errors" OFF)
add_library(hp_warnings INTERFACE)
target_compile_options(hp_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wwrite-strings -Wundef -Wformat=2 -Wvla -Wcast-qual -Wno-unused-parameter -Wno-missing-field-initializers
  -Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion
  -Werror=return-type -Werror=format -fno-strict-aliasing -fno-common
  $<$<BOOL:${HP_WERROR}>:-Werror>)
