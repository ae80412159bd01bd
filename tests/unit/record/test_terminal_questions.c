/* SPDX-License-Identifier: MIT */
/* Output that is shown again: questions to the terminal go, everything else stays, wherever the pieces are cut. */
#include "record/terminal_questions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *left)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        struct terminal_questions questions = {0};
        char out[2048];
        size_t length = 0;
        for (size_t at = 0; at < strlen(text); at += piece)
            length += terminal_questions_remove(&questions, text + at, at + piece < strlen(text) ? piece : strlen(text) - at, out + length);
        length += terminal_questions_rest(&questions, out + length);
        assert_int_equal(length, strlen(left));
        assert_memory_equal(out, left, length);
    }
}

static void test_questions_go(void **state)
{
    static const char *const all[] = {
        "\033[c", "\033[>c", "\033[=0c", "\033[5n", "\033[6n", "\033[?6n", "\033[?2026$p", "\033[>q", "\033[>0q", "\033[?u", "\033[?4m",
        "\033[18t", "\033[14;2t", "\033[?1;1S", "\033[x", "\033[1$w", "\033Z", "\005", "\033]11;?\007", "\033]4;1;?\033\\", "\033]52;c;?\007",
        "\033P+q544e\033\\", "\033P$qm\033\\", "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[128];
        snprintf(text, sizeof text, "before%sbehind", all[i]);
        expect(text, "beforebehind");
    }
}

static void test_the_rest_stays(void **state)
{
    static const char *const all[] = {
        "plain\r\n\ttext", "\xc3\xa9\xe2\x94\x80", "\033[1;31mred\033[0m", "\033[2 q", "\033[>4;2m", "\033[>1n", "\033[u", "\033[>1u", "\033[!p", "\033[22;0t",
        "\033[8;50;132t", "\033[3S", "\033]0;a title?\007", "\033]8;;http://x/?a;b\033\\link\033]8;;\033\\", "\033]52;c;Y29weQ==\007", "\033Pq#0;2;0;0;0#0~~\033\\",
        "\033_Ga=T,f=100;AAAA\033\\", "\033(B\033)0", "\033\033[1m", "\033[\033[1m", "\0337\0338", "\033[1;2\030x", "\033", "\033[1;2", "\033]0;never ends", "\033P+q54"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect(all[i], all[i]);
}

static void test_long_ones(void **state)
{
    char text[1024] = "\033]52;c;", question[1024] = "a\033P+q";
    (void)state;
    memset(text + 7, 'x', 700);
    strcpy(text + 707, "\007end");
    expect(text, text);
    memset(question + 5, '5', 700);
    strcpy(question + 705, "\033\\end");
    expect(question, "aend");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions_go),
        cmocka_unit_test(test_the_rest_stays),
        cmocka_unit_test(test_long_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
