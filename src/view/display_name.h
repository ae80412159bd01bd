/* SPDX-License-Identifier: MIT */
/* Names of functions as people want to read them. Machines get them whole elsewhere. */
#ifndef HP_VIEW_DISPLAY_NAME_H
#define HP_VIEW_DISPLAY_NAME_H

#include "base/text.h"

/* C++: std::string for std::__cxx11::basic_string<char, ...>, and no template arguments that are the standard library's
 * defaults (allocators, char_traits, default_delete; less, hash and equal_to in front of an allocator). */
void text_add_display_name(struct text *out, const char *name);

#endif
