/* SPDX-License-Identifier: MIT */
/* What the files of NVTX share: how a program's NVTX lets its functions be replaced, and texts of both widths. */
#ifndef HP_CUDA_NVTX_H
#define HP_CUDA_NVTX_H

#include "../collector.h"

#include <wchar.h>

enum nvtx_module { NVTX_CORE = 1, NVTX_CUDA = 2, NVTX_CUDART = 4, NVTX_CORE2 = 5 };

typedef void (*table_function)(void);
struct callbacks {
    size_t size;
    int (*get_table)(int module, table_function ***ret_table, unsigned *ret_size);
};

struct filling {
    unsigned id;
    table_function function;
};
#define FILL(id, function) {id, (table_function)(function)}
void nvtx_fill(const struct callbacks *callbacks, int module, const struct filling *fillings, size_t count);

/* String ids; 0 for NULL. What is too long is cut. */
uint32_t nvtx_text(const char *text);
uint32_t nvtx_wide_text(const wchar_t *text);
/* As UTF-8 with its NUL; its length. */
enum { NVTX_TEXT_BYTES = 512 };
size_t nvtx_narrow(const wchar_t *text, char out[NVTX_TEXT_BYTES]);

/* nvtx_names.c: names that a program gives to threads, streams and devices. */
void nvtx_names_fill(const struct callbacks *callbacks);

#endif
