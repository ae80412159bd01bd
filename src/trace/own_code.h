/* SPDX-License-Identifier: MIT */
/* Whether code is the profiler's own, loaded into the program: call trees leave it out between the program's frames. */
#ifndef HP_TRACE_OWN_CODE_H
#define HP_TRACE_OWN_CODE_H

#include "trace.h"

bool path_is_own_code(const char *module_path);
bool trace_module_is_own(const struct trace *trace, module_id module);
bool trace_frame_is_own(const struct trace *trace, frame_id frame);

#endif
