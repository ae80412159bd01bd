/* SPDX-License-Identifier: MIT */
/* Compares our own declarations with the installed headers of OpenCL: numbers, the loader's table, and every function's
 * type. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#define OCL_HAS_HEADERS 1
#include "opencl.h"

#define OCL(name, number) _Static_assert((number) == CL_##name, "opencl.h has another CL_" #name);
OCL_NUMBERS
#undef OCL

#define CHECK(index, returns, name, params)                                                                            \
    _Static_assert(offsetof(struct _cl_icd_dispatch, name) == (index) * sizeof(void *), #name " stands elsewhere");    \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), returns(*) params), #name " has another type");
#define WRAP(index, returns, name, missing, params, args) CHECK(index, returns, name, params)
#define WRAP_NOTHING(index, name, params, args) CHECK(index, void, name, params)
#define CALL(index, returns, name, params) CHECK(index, returns, name, params)
#include "wrappers.def"
