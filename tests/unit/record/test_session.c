/* SPDX-License-Identifier: MIT */
/* Session directories: how they are made, found again and removed; the target's environment; draining chunks. */
#include "session_fixture.h"

#include "record/target_files.h"

#include <errno.h>
#include <sys/wait.h>

static void test_directory_is_private(void **state)
{
    struct fixture *fixture = *state;
    struct stat info;
    assert_int_equal(stat(fixture->directory, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(fstatat(session_directory_fd(fixture->session), "session", &info, 0), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

static const char *value_of(char **environment, const char *name)
{
    size_t length = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; environment[i]; i++) {
        if (strncmp(environment[i], name, length) != 0 || environment[i][length] != '=')
            continue;
        assert_null(found); /* never twice */
        found = environment[i] + length + 1;
    }
    return found;
}

static void test_environment_appends_and_keeps(void **state)
{
    struct fixture *fixture = *state;
    char preload[] = "LD_PRELOAD=/users/own.so", other[] = "HOME=/root", old[] = "HPROFILER_SESSION=/old";
    char *const before[] = {preload, other, old, NULL};
    char **environment;
    assert_int_equal(session_environment(fixture->session, before, "/a/one.so:/a/two.so", &environment, NULL), 0);
    assert_string_equal(value_of(environment, "LD_PRELOAD"), "/users/own.so:/a/one.so:/a/two.so");
    assert_string_equal(value_of(environment, "HOME"), "/root");
    assert_string_equal(value_of(environment, "HPROFILER_SESSION"), fixture->directory);
    session_environment_free(environment);
    assert_int_equal(session_environment(fixture->session, before, NULL, &environment, NULL), 0);
    assert_string_equal(value_of(environment, "LD_PRELOAD"), "/users/own.so");
    session_environment_free(environment);
    char *const empty[] = {NULL};
    assert_int_equal(session_environment(fixture->session, empty, "/a/one.so", &environment, NULL), 0);
    assert_string_equal(value_of(environment, "LD_PRELOAD"), "/a/one.so");
    session_environment_free(environment);
}

static void test_preload_paths_that_cannot_be_given_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char *const empty[] = {NULL};
    static const char *const bad[] = {"relative.so", "/with blank/x.so", "/a.so::/b.so", ":/a.so"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char **environment;
        struct error err = ERROR_INIT;
        assert_int_equal(session_environment(fixture->session, empty, bad[i], &environment, &err), -EINVAL);
        assert_non_null(strstr(err.text, "LD_PRELOAD"));
    }
}

static void test_sessions_are_listed_and_removed(void **state)
{
    struct fixture *fixture = *state;
    struct session_info *sessions;
    size_t count;
    assert_int_equal(session_list(fixture->parent, &sessions, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_string_equal(sessions[0].path, fixture->directory);
    assert_string_equal(sessions[0].command, "made");
    assert_true(sessions[0].live); /* we are its recorder */
    assert_true(sessions[0].size_bytes > 0);
    free(sessions);
    struct error err = ERROR_INIT;
    assert_int_equal(session_remove(fixture->parent, &err), -EINVAL); /* not a session: left alone */
    assert_int_equal(session_remove(fixture->directory, &err), 0);
    assert_int_equal(session_list(fixture->parent, &sessions, &count, NULL), 0);
    assert_int_equal(count, 0);
    free(sessions);
    assert_int_equal(session_list("/nonexistent", &sessions, &count, NULL), 0);
    free(sessions);
}

static void announce(struct fixture *fixture)
{
    int fd = openat(session_directory_fd(fixture->session), "session", O_RDWR);
    uint32_t announced;
    off_t at = offsetof(struct wire_session, announced);
    assert_int_equal(pread(fd, &announced, sizeof announced, at), sizeof announced);
    announced++;
    assert_int_equal(pwrite(fd, &announced, sizeof announced, at), sizeof announced);
    close(fd);
}

static void read_chunk(struct fixture *fixture, const char *name, struct wire_chunk *chunk)
{
    int fd = openat(session_directory_fd(fixture->session), name, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, chunk, sizeof *chunk), sizeof *chunk);
    close(fd);
}

static void test_full_chunks_are_packed_and_given_back(void **state)
{
    struct fixture *fixture = *state;
    static const char *const none[] = {NULL};
    struct wire_span spans[100] = {0};
    for (int i = 0; i < 100; i++)
        spans[i].header = (struct wire_header){WIRE_SPAN, sizeof spans[0] / 8, 0};
    int32_t pid = (int32_t)getpid(); /* a process that lives */
    fixture_process(fixture, pid, FIXTURE_KEY, 0, 1, none, NULL);
    fixture_chunk(fixture, pid, FIXTURE_KEY, 0, WIRE_CHUNK_FULL, spans, sizeof spans);
    fixture_chunk(fixture, pid, FIXTURE_KEY, 1, WIRE_CHUNK_ACTIVE, spans, sizeof spans);
    announce(fixture);
    assert_int_equal(session_drain_once(fixture->session, false), sizeof spans);
    char name[80];
    struct wire_chunk chunk;
    snprintf(name, sizeof name, "chunk-%d-%016llx-0", pid, FIXTURE_KEY);
    read_chunk(fixture, name, &chunk);
    assert_int_equal(chunk.state, WIRE_CHUNK_FREE);
    snprintf(name, sizeof name, "chunk-%d-%016llx-1", pid, FIXTURE_KEY);
    read_chunk(fixture, name, &chunk);
    assert_int_equal(chunk.state, WIRE_CHUNK_ACTIVE);
    assert_int_equal(session_drain_once(fixture->session, true), sizeof spans); /* the open one, too */
    read_chunk(fixture, name, &chunk);
    assert_int_equal(chunk.packed, sizeof spans);
    assert_int_equal(session_drain_once(fixture->session, true), 0);
}

static void test_files_of_the_dead_are_removed(void **state)
{
    struct fixture *fixture = *state;
    static const char *const none[] = {NULL};
    struct wire_span span = {.header = {WIRE_SPAN, sizeof span / 8, 0}};
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    fixture_process(fixture, pid, FIXTURE_KEY, 0, 1, none, NULL);
    fixture_chunk(fixture, pid, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, &span, sizeof span);
    announce(fixture);
    assert_int_equal(session_drain_once(fixture->session, true), sizeof span);
    char name[80];
    snprintf(name, sizeof name, "chunk-%d-%016llx-0", (int)pid, FIXTURE_KEY);
    assert_int_equal(faccessat(session_directory_fd(fixture->session), name, F_OK, 0), -1);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 1);
}

static void test_file_names(void **state)
{
    static const struct {
        const char *name;
        enum target_file kind;
        uint32_t number;
    } cases[] = {
        {"process-12-00000000000000ff", TARGET_FILE_PROCESS, 0}, {"chunk-12-00000000000000ff-7", TARGET_FILE_CHUNK, 7},
        {"note-1-f", TARGET_FILE_NOTE, 0}, {"chunk-12-ff", TARGET_FILE_NONE, 0}, {"chunk-12-ff-99999999999", TARGET_FILE_NONE, 0},
        {"process--1-ff", TARGET_FILE_NONE, 0}, {"process-99999999999-ff", TARGET_FILE_NONE, 0}, {"process-1-ff.old", TARGET_FILE_NONE, 0},
        {"session", TARGET_FILE_NONE, 0}, {"", TARGET_FILE_NONE, 0}, {"process-1-+f", TARGET_FILE_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct target_name parsed = target_name_parse(cases[i].name);
        assert_int_equal(parsed.kind, cases[i].kind);
        assert_int_equal(parsed.number, cases[i].number);
    }
}

static void test_start_ticks_tell_the_living(void **state)
{
    assert_true(process_start_ticks(getpid()) > 0);
    assert_int_equal(process_start_ticks(0x7ffffff0), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    assert_int_equal(process_start_ticks(pid), 0); /* a zombie writes no more */
    waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_directory_is_private, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_environment_appends_and_keeps, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_preload_paths_that_cannot_be_given_are_refused, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_sessions_are_listed_and_removed, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_full_chunks_are_packed_and_given_back, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_files_of_the_dead_are_removed, fixture_setup, fixture_teardown),
        cmocka_unit_test(test_file_names),
        cmocka_unit_test(test_start_ticks_tell_the_living),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
