#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each source check of lint.py must be able to fail: small trees with one thing wrong."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().with_name("lint.py")
TOP = "/* SPDX-License-Identifier: MIT */\n/* Purpose. */\n"
TABLE = "| folder | may use |\n|---|---|\n| `base` | nothing |\n| `trace` | `base` |\n| `collect` | `base` |\n| `cli` | `base` `trace` |\n"


class LintTest(unittest.TestCase):
    def lint(self, check, path, content, rows=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "ARCHITECTURE.md").write_text(TABLE + rows)
            (root / path).parent.mkdir(parents=True)
            (root / path).write_text(content)
            done = subprocess.run([sys.executable, "-B", LINT, check], capture_output=True, text=True,
                                  env={**os.environ, "HP_LINT_ROOT": folder})
        return done.stdout.strip() if done.returncode else ""

    def test_clean_sources_pass(self):
        for check in ("includes", "sizes", "spdx", "words", "guests"):
            self.assertEqual(self.lint(check, "src/trace/a.c", TOP + '#include "base/x.h"\n\nint a(void)\n{\n    return 0;\n}\n'), "")

    def test_includes_against_the_law(self):
        self.assertEqual(self.lint("includes", "src/base/a.c", TOP + '#include "trace/x.h"\n'), "src/base/a.c:3: base may not use trace")
        self.assertEqual(self.lint("includes", "src/base/a.c", TOP + '#include "a.c"\n'), "")
        self.assertIn("base may not use other", self.lint("includes", "src/base/a.c", TOP + '#include "other/x.h"\n', "| `other` | nothing |\n"))
        self.assertIn("not in ARCHITECTURE.md", self.lint("includes", "src/new/a.c", TOP))
        self.assertIn("base may not use cli", self.lint("includes", "src/base/CMakeLists.txt", "hp_module(base USES cli LIBS m)\n"))

    def test_long_functions_and_files(self):
        body = "    call();\n" * 97
        self.assertEqual(self.lint("sizes", "src/base/a.c", TOP + "int a(int b,\n      int c)\n{\n" + body[:-12] + "}\n"), "")
        self.assertIn("a has 101 lines", self.lint("sizes", "src/base/a.c", TOP + "int a(int b,\n      int c)\n{\n" + body + "}\n"))
        self.assertIn("1001 lines", self.lint("sizes", "src/base/a.c", TOP + "\n" * 999))
        self.assertIn("f has 101 lines", self.lint("sizes", "tests/a.py", "def f():\n" + "    pass\n" * 100))

    def test_braces_in_comments_and_strings_are_no_functions(self):
        self.assertEqual(self.lint("sizes", "src/base/a.c", TOP + "/*\n{\n" + "\n" * 200 + "}\n*/\n"), "")

    def test_licence_and_purpose(self):
        self.assertIn("no line 'SPDX", self.lint("spdx", "src/base/a.h", "#ifndef A\n"))
        self.assertIn("what the file is for", self.lint("spdx", "src/base/a.h", "/* SPDX-License-Identifier: MIT */\n#ifndef A\n"))

    def test_unfinished_work(self):
        self.assertIn("src/base/a.c:3: TO" "DO", self.lint("words", "src/base/a.c", TOP + "/* TO" "DO later */\n"))

    def test_calls_a_guest_may_not_make(self):
        self.assertIn("malloc() is not for a guest", self.lint("guests", "src/collect/runtime/a.c", TOP + "void *p = malloc(3);\n"))
        self.assertEqual(self.lint("guests", "src/collect/runtime/a.c", TOP + "/* malloc(3) */ real_exit(1); x->free(2);\n"), "")
        self.assertEqual(self.lint("guests", "src/base/a.c", TOP + "void *p = malloc(3);\n"), "")


unittest.main()
