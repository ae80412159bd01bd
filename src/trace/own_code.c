/* SPDX-License-Identifier: MIT */
/* The profiler's own code in the stacks of the programs that it was loaded into. */
#include "own_code.h"

#include <string.h>

bool path_is_own_code(const char *module_path)
{
    static const char prefix[] = "libhprofiler_";
    const char *slash = strrchr(module_path, '/');
    return strncmp(slash ? slash + 1 : module_path, prefix, sizeof(prefix) - 1) == 0;
}

bool trace_module_is_own(const struct trace *trace, module_id module)
{
    uint32_t count;
    const struct trace_module *modules = trace_modules(trace, &count);
    return module.index < count && path_is_own_code(trace_text(trace, modules[module.index].path));
}

bool trace_frame_is_own(const struct trace *trace, frame_id frame)
{
    uint32_t count;
    const struct trace_frame *frames = trace_frames(trace, &count);
    return frame.index < count && trace_module_is_own(trace, frames[frame.index].module);
}
