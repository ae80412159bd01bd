/* SPDX-License-Identifier: MIT */
/* Options: every form and kind, permutation, messages, help. */
#include "base/error.h"
#include "base/options.h"
#include "base/text.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct values {
    bool quiet, verbose;
    int ui;
    const char *output, *format;
    struct option_list backends;
    uint64_t frequency, limit_bytes, duration_ns;
    double factor;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec specs[] = {
    {'q', "quiet", OPTION_FLAG, FIELD(quiet), .help = "say nothing"},
    {'v', "verbose", OPTION_FLAG, FIELD(verbose), .help = "say more"},
    {0, "ui", OPTION_NEGATABLE, FIELD(ui), .help = "open the terminal UI afterwards, or don't [when stdout is a terminal]"},
    {'o', "output", OPTION_STRING, FIELD(output), "FILE", .hint = HINT_FILE, .help = "where the trace goes"},
    {'b', "backend", OPTION_LIST, FIELD(backends), "LIST", .help = "what to trace"},
    {0, "perf-freq", OPTION_U64, FIELD(frequency), "HZ", .help = "samples a second [999]", .minimum = 1, .maximum = 100000},
    {0, "buffer-limit", OPTION_SIZE, FIELD(limit_bytes), "SIZE", .help = "keep the newest SIZE", .minimum = 65536},
    {0, "duration", OPTION_DURATION, FIELD(duration_ns), "S", .help = "stop after this time"},
    {0, "factor", OPTION_DOUBLE, FIELD(factor), "X", .help = "scale"},
    {0, "format", OPTION_CHOICE, FIELD(format), .choices = "text|csv|json", .help = "what is printed [text]"},
    OPTION_END,
};

struct outcome {
    int result, operand, separator, argc;
    struct values values;
    struct error err;
    char *argv[16];
};

/* Splits at blanks; the words live as long as the outcome's storage does. */
static struct outcome parse(const char *line)
{
    static char storage[512];
    struct outcome outcome = {.values = {.ui = -1}, .operand = -7, .separator = -7};
    snprintf(storage, sizeof(storage), "prog %s", line);
    char *save = NULL;
    for (char *word = strtok_r(storage, " ", &save); word; word = strtok_r(NULL, " ", &save))
        outcome.argv[outcome.argc++] = word;
    outcome.result = options_parse(specs, &outcome.values, outcome.argc, outcome.argv, &outcome.operand,
                                   &outcome.separator, &outcome.err);
    return outcome;
}

static void test_all_forms_of_a_value(void **state)
{
    (void)state;
    static const char *const lines[] = {"-o f", "-of", "--output f", "--output=f", "-qo f", "-vqof"};
    for (size_t index = 0; index < sizeof(lines) / sizeof(lines[0]); index++) {
        struct outcome outcome = parse(lines[index]);
        assert_int_equal(outcome.result, 0);
        assert_string_equal(outcome.values.output, "f");
        assert_int_equal(outcome.operand, outcome.argc);
        assert_int_equal(outcome.separator, outcome.argc);
    }
    assert_string_equal(parse("--output=").values.output, "");
    assert_true(parse("-vqof").values.quiet);
}

static void test_kinds(void **state)
{
    (void)state;
    struct outcome outcome = parse("--ui -b cpu --backend=cuda,mpi --perf-freq 4999 --buffer-limit 1.5M --duration 250ms "
                                   "--factor -0.5 --format csv --quiet");
    assert_int_equal(outcome.result, 0);
    assert_int_equal(outcome.values.ui, 1);
    assert_int_equal(outcome.values.backends.count, 2);
    assert_string_equal(outcome.values.backends.items[1], "cuda,mpi");
    assert_int_equal(outcome.values.frequency, 4999);
    assert_int_equal(outcome.values.limit_bytes, 1536 << 10);
    assert_int_equal(outcome.values.duration_ns, 250000000);
    assert_true(outcome.values.factor == -0.5);
    assert_string_equal(outcome.values.format, "csv");
    assert_true(outcome.values.quiet);
    assert_int_equal(parse("--no-ui").values.ui, 0);
    assert_int_equal(parse("").values.ui, -1);
}

static void test_operands_move_behind_options_and_stop_at_the_separator(void **state)
{
    (void)state;
    struct outcome outcome = parse("one -o f two --quiet - -- prog -v --weird");
    assert_int_equal(outcome.result, 0);
    assert_false(outcome.values.verbose);
    assert_int_equal(outcome.operand, 4);
    assert_int_equal(outcome.separator, 7);
    static const char *const order[] = {"prog", "-o", "f", "--quiet", "one", "two", "-", "--", "prog", "-v", "--weird"};
    for (int index = 0; index < outcome.argc; index++)
        assert_string_equal(outcome.argv[index], order[index]);
    outcome = parse("-q -- prog");
    assert_int_equal(outcome.operand, 2);
    assert_int_equal(outcome.separator, 2);
}

static void test_messages_name_the_option_and_what_it_wants(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"--ouput f", "unknown option --ouput: did you mean --output?"},
        {"--no-iu", "unknown option --no-iu: did you mean --no-ui?"},
        {"--zzzzzz", "unknown option --zzzzzz: --help lists all"},
        {"-x", "unknown option -x: --help lists all"},
        {"-g", "unknown option -g: --help lists all"}, /* no --perf-callgraph here */
        {"-o", "option -o needs a value: FILE"},
        {"--output -- prog", "option --output needs a value: FILE"},
        {"--format xml", "option --format: 'xml' is none of text|csv|json"},
        {"--format tex", "option --format: 'tex' is none of text|csv|json"},
        {"--perf-freq 0", "option --perf-freq: '0' is too small: at least 1"},
        {"--perf-freq=100001", "option --perf-freq: '100001' is too large: at most 100000"},
        {"--perf-freq fast", "option --perf-freq needs a whole number, not 'fast'"},
        {"--buffer-limit 1K", "option --buffer-limit: '1K' is too small: at least 65536 bytes"},
        {"--duration 5y", "option --duration needs a time such as 10, 1.5, 250ms or 2m (seconds without a unit), not '5y'"},
        {"--quiet=yes", "option --quiet takes no value"},
        {"--no-quiet", "unknown option --no-quiet: --help lists all"},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct outcome outcome = parse(cases[index].line);
        assert_int_equal(outcome.result, -EINVAL);
        assert_string_equal(outcome.err.text, cases[index].text);
        assert_int_equal(outcome.operand, outcome.separator); /* no operand was seen before the mistake */
        assert_int_equal(outcome.separator, 1);
    }
}

static void test_a_list_has_an_end(void **state)
{
    (void)state;
    char *argv[70] = {(char[]){"prog"}};
    char option[] = "-bcpu";
    for (int index = 1; index < 70; index++)
        argv[index] = option;
    struct values values = {0};
    struct error err = ERROR_INIT;
    int operand, separator;
    assert_int_equal(options_parse(specs, &values, 65, argv, &operand, &separator, &err), 0);
    values.backends.count = 0;
    assert_int_equal(options_parse(specs, &values, 66, argv, &operand, &separator, &err), -EINVAL);
    assert_string_equal(err.text, "option -b is given too often: at most 64 times");
}

static void test_help_is_aligned_and_wrapped(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    options_help(specs, 60, &text);
    assert_non_null(strstr(text.data, "  -q, --quiet                 say nothing\n"));
    assert_non_null(strstr(text.data, "      --[no-]ui               open the terminal UI\n"
                                      "                              afterwards, or don't [when\n"
                                      "                              stdout is a terminal]\n"));
    assert_non_null(strstr(text.data, "      --format text|csv|json  what is printed [text]\n"));
    char *save = NULL;
    for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        assert_true(strlen(line) <= 60);
    text_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_forms_of_a_value),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_operands_move_behind_options_and_stop_at_the_separator),
        cmocka_unit_test(test_messages_name_the_option_and_what_it_wants),
        cmocka_unit_test(test_a_list_has_an_end),
        cmocka_unit_test(test_help_is_aligned_and_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
