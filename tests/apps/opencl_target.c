/* SPDX-License-Identifier: MIT */
/* opencl_target SCENARIO [ARGUMENT...]: a program that uses OpenCL in a known way; its output is the same in every run.
 */
#include "opencl.h"

#include <string.h>

cl_platform_id platform;
cl_device_id device;
cl_context context;

static const char source[] =
    "__kernel void add(__global uint *data, uint number) { data[get_global_id(0)] += number; }\n"
    "__kernel void twice(__global uint *data, uint number) { data[get_global_id(0)] = data[get_global_id(0)] * 2 + "
    "number; }\n"
    "__kernel void spin(__global uint *data, uint number) {\n"
    "    uint value = data[get_global_id(0)];\n"
    "    for (uint i = 0; i < number; i++) value = value * 1664525u + 1013904223u;\n"
    "    data[get_global_id(0)] = value;\n"
    "}\n"
    "__kernel void flat(__global uint *data, uint number) {\n"
    "    data[get_global_id(1) * get_global_size(0) + get_global_id(0)] += number;\n"
    "}\n";

void open_device(void)
{
    cl_uint count = 0;
    if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS || count == 0) {
        puts("no OpenCL device");
        exit(77);
    }
    cl_int error;
    context = clCreateContext(0, 1, &device, 0, 0, &error);
    MUST(error);
}

cl_command_queue make_queue(cl_command_queue_properties properties)
{
    cl_int error;
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &error);
    MUST(error);
    return queue;
}

cl_program make_program(const char *options)
{
    cl_int error;
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, 0, &error);
    MUST(error);
    MUST(clBuildProgram(program, 1, &device, options, 0, 0));
    return program;
}

cl_kernel make_kernel(cl_program program, const char *name)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    MUST(error);
    return kernel;
}

cl_mem make_buffer(size_t bytes)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, 0, &error);
    MUST(error);
    return buffer;
}

void set_arguments(cl_kernel kernel, cl_mem buffer, cl_uint number)
{
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clSetKernelArg(kernel, 1, sizeof number, &number));
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    static const struct {
        const char *name;
        int (*run)(void);
    } scenarios[] = {
        {"each", scenario_each},     {"sees", scenario_sees},         {"unordered", scenario_unordered},
        {"builds", scenario_builds}, {"callback", scenario_callback}, {"fork", scenario_fork},
        {"child", scenario_child},   {"order", scenario_order},       {"names", scenario_names},
        {"parts", scenario_parts},   {"slow", scenario_slow},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(what, scenarios[i].name) == 0)
            return scenarios[i].run();
    if (strcmp(what, "threads") == 0 && count == 4)
        return scenario_threads(atoi(arguments[2]), atoi(arguments[3]));
    if (strcmp(what, "left") == 0 && count == 3)
        return scenario_left(arguments[2]);
    if (strcmp(what, "many") == 0 && count == 3)
        return scenario_many(atol(arguments[2]));
    fputs("usage: opencl_target each|sees|unordered|builds|callback|fork|child|order|names|parts|slow|threads T N|left "
          "HOW|many N\n",
          stderr);
    return 2;
}
