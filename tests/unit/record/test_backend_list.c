/* SPDX-License-Identifier: MIT */
/* What backends put into the target's environment: lists grow, single values of the user stay, nothing comes without a library. */
#include "session_fixture.h"

#include "base/log.h"
#include "record/backend_list.h"

#include <errno.h>

extern char **environ;

static char libraries[64];

static void put_library(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/libhprofiler_%s.so", libraries, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void library_path(const char *name, char out[128])
{
    snprintf(out, 128, "%s/libhprofiler_%s.so", libraries, name);
}

static void keep_line(void *context, enum log_level level, const char *line)
{
    if (level == LOG_WARNING)
        snprintf(context, 512, "%s", line);
}

static const char *value_of(char **environment, const char *name)
{
    size_t length = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; environment && environment[i]; i++) {
        if (strncmp(environment[i], name, length) != 0 || environment[i][length] != '=')
            continue;
        assert_null(found); /* never twice */
        found = environment[i] + length + 1;
    }
    return found;
}

static char **make(struct fixture *fixture, const char *backends, bool timers, char warning[512])
{
    struct log log = {keep_line, warning};
    struct record_options options = {.backends = backends, .runtime_directory = libraries, .log = &log};
    char **environment = NULL;
    struct error err = ERROR_INIT;
    warning[0] = '\0';
    assert_int_equal(backend_environment(fixture->session, &options, "/proc/self/exe", timers, &environment, &err), 0);
    return environment;
}

static void test_cpu_alone_needs_nothing_and_timers_the_runtime(void **state)
{
    char warning[512], runtime[128];
    library_path("runtime", runtime);
    assert_null(make(*state, "cpu", false, warning));
    char **environment = make(*state, "cpu", true, warning);
    assert_string_equal(value_of(environment, "LD_PRELOAD"), runtime);
    assert_null(value_of(environment, "OMP_TOOL_LIBRARIES"));
    session_environment_free(environment);
}

static void test_auto_takes_what_is_there_with_the_runtime_first(void **state)
{
    char warning[512], runtime[128], tool[128], layer[128], expected[512];
    library_path("runtime", runtime);
    library_path("ompt", tool);
    library_path("opencl", layer);
    char **environment = make(*state, "auto", false, warning);
    snprintf(expected, sizeof expected, "%s:%s:%s", runtime, tool, layer);
    assert_string_equal(value_of(environment, "LD_PRELOAD"), expected);
    assert_string_equal(value_of(environment, "OMP_TOOL_LIBRARIES"), tool);
    assert_string_equal(value_of(environment, "OPENCL_LAYERS"), layer);
    assert_null(value_of(environment, "NCCL_PROFILER_PLUGIN")); /* its library is not there */
    assert_non_null(value_of(environment, "HPROFILER_SESSION"));
    assert_string_equal(warning, "");
    session_environment_free(environment);
}

static void test_lists_of_the_user_are_appended_to(void **state)
{
    char warning[512], tool[128], expected[512];
    library_path("ompt", tool);
    setenv("OMP_TOOL_LIBRARIES", "/users/tool.so", 1);
    char **environment = make(*state, "omp", false, warning);
    unsetenv("OMP_TOOL_LIBRARIES");
    snprintf(expected, sizeof expected, "/users/tool.so:%s", tool);
    assert_string_equal(value_of(environment, "OMP_TOOL_LIBRARIES"), expected);
    assert_null(value_of(environment, "OPENCL_LAYERS")); /* not asked for */
    session_environment_free(environment);
}

static void test_a_single_value_of_the_user_stays_and_is_told(void **state)
{
    char warning[512], cuda[128];
    library_path("cuda", cuda);
    setenv("CUDA_INJECTION64_PATH", "/users/injection.so", 1);
    char **environment = make(*state, "cuda", false, warning);
    unsetenv("CUDA_INJECTION64_PATH");
    assert_string_equal(value_of(environment, "CUDA_INJECTION64_PATH"), "/users/injection.so");
    assert_string_equal(value_of(environment, "NVTX_INJECTION64_PATH"), cuda);
    assert_non_null(strstr(warning, "CUDA_INJECTION64_PATH"));
    session_environment_free(environment);
}

static void test_a_backend_that_was_named_must_have_its_library(void **state)
{
    struct fixture *fixture = *state;
    struct record_options options = {.backends = "nccl", .runtime_directory = libraries};
    char **environment = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(backend_environment(fixture->session, &options, "true", false, &environment, &err), -ENOENT);
    assert_non_null(strstr(err.text, "libhprofiler_nccl.so"));
}

/* An ELF header of another machine, all that is looked at. */
static void test_a_program_of_another_machine_is_left_alone(void **state)
{
    char warning[512], path[128];
    struct log log = {keep_line, warning};
    const struct record_options options = {.backends = "auto", .runtime_directory = libraries, .log = &log};
    unsigned char header[64] = {0x7f, 'E', 'L', 'F', 1 /* 32 bits */, 1, 1};
    struct fixture *fixture = *state;
    char **environment = NULL;
    snprintf(path, sizeof path, "%s/other", fixture->parent);
    int fd = open(path, O_CREAT | O_WRONLY, 0700);
    assert_int_equal(write_all(fd, header, sizeof header), 0);
    close(fd);
    warning[0] = '\0';
    assert_int_equal(backend_environment(fixture->session, &options, path, false, &environment, NULL), 0);
    assert_null(environment);
    assert_non_null(strstr(warning, "another kind of machine"));
}

static void test_names_aliases_and_auto(void **state)
{
    assert_true(backend_list_has(NULL, "cpu"));
    assert_true(backend_list_has("mpi,auto", "cpu"));
    assert_true(backend_list_has("mpi,perf", "cpu"));
    assert_true(backend_list_has("cl", "opencl"));
    assert_false(backend_list_has("clx,openmpi", "opencl"));
    assert_false(backend_list_has("openmpi", "mpi"));
}

int main(void)
{
    strcpy(libraries, "/tmp/test-libraries-XXXXXX");
    if (!mkdtemp(libraries))
        return 99;
    static const char *const names[] = {"runtime", "ompt", "opencl", "cuda"};
    static const char *const foreign[] = {"LD_PRELOAD",           "OMP_TOOL_LIBRARIES",    "OPENCL_LAYERS",
                                          "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        unsetenv(foreign[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        put_library(names[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cpu_alone_needs_nothing_and_timers_the_runtime, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_auto_takes_what_is_there_with_the_runtime_first, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_lists_of_the_user_are_appended_to, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_single_value_of_the_user_stays_and_is_told, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_backend_that_was_named_must_have_its_library, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_program_of_another_machine_is_left_alone, fixture_setup, fixture_teardown),
        cmocka_unit_test(test_names_aliases_and_auto),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        library_path(names[i], path);
        unlink(path);
    }
    rmdir(libraries);
    return failed;
}
