/* SPDX-License-Identifier: MIT */
/* C++ names lose what the library fills in by itself, and nothing else. */
#include "view/display_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static const struct {
    const char *name, *shown;
} cases[] = {
    {"main", "main"},
    {"", ""},
    {STRING "::append(char const*)", "std::string::append(char const*)"},
    {"std::vector<" STRING ", std::allocator<" STRING " > >::push_back(" STRING " const&)",
     "std::vector<std::string>::push_back(std::string const&)"},
    {"std::map<int, foo<int>, std::less<int>, std::allocator<std::pair<int const, foo<int> > > >::find(int const&)",
     "std::map<int, foo<int> >::find(int const&)"},
    {"std::unique_ptr<a, std::default_delete<a> >::~unique_ptr()", "std::unique_ptr<a>::~unique_ptr()"},
    {"std::ostream& std::operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
     "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)"},
    /* not filled in: a comparison on its own, an allocator of one's own, arguments of a function */
    {"std::sort<int*, std::less<int> >(int*, int*)", "std::sort<int*, std::less<int> >(int*, int*)"},
    {"std::vector<int, mine<int> >::size()", "std::vector<int, mine<int> >::size()"},
    {"f(int, std::allocator<char>)", "f(int, std::allocator<char>)"},
    {"f(int, std::allocator<char> const&, g<int, std::allocator<int> >)", "f(int, std::allocator<char> const&, g<int>)"},
    {"std::allocator<int>::allocate(unsigned long)", "std::allocator<int>::allocate(unsigned long)"},
    /* cut names and nonsense end where they end */
    {"std::vector<int, std::allocator<int", "std::vector<int, std::allocator<int"},
    {"std::x<a, std::allocator<", "std::x<a, std::allocator<"},
    {"std::>>>)))", "std::>>>)))"},
};

static void test_names_lose_the_defaults_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text out = TEXT_INIT;
        text_add_display_name(&out, cases[i].name);
        assert_string_equal(out.data ? out.data : "", cases[i].shown);
        text_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names_lose_the_defaults_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
