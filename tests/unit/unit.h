/* SPDX-License-Identifier: MIT */
/* What cmocka.h needs in front of it, once. */
#ifndef HP_TESTS_UNIT_H
#define HP_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
