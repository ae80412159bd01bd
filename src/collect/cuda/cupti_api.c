/* SPDX-License-Identifier: MIT */
/*
 * Where CUPTI may be: named by HPROFILER_CUPTI; in the process already; where the loader looks; beside the CUDA runtime that
 * the process loaded (toolkit, wheel, module tree); in the usual places of a toolkit.
 */
#include "cupti_api.h"

#include "../loader.h"

#include <link.h>
#include <string.h>

extern char *getenv(const char *name);

#define PATH_BYTES 1024
enum { OLDEST_VERSION = 18 }; /* of CUDA 11.8; from 13.0 on the numbers are 130000 and more */

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};
/* From the folder of a library of the CUDA runtime. */
static const char *const neighbours[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/", "../../cu13/lib/", "../../extras/CUPTI/lib64/"};
static const char *const usual[] = {"/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/", "/opt/cuda/extras/CUPTI/lib64/",
                                    "/usr/lib/x86_64-linux-gnu/"};

static void *open_in(const char *folder, size_t folder_bytes, const char *below)
{
    char path[PATH_BYTES];
    size_t below_bytes = strlen(below);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t name_bytes = strlen(names[i]) + 1;
        if (folder_bytes + below_bytes + name_bytes > sizeof path)
            continue;
        memcpy(path, folder, folder_bytes);
        memcpy(path + folder_bytes, below, below_bytes + 1);
        memcpy(path + folder_bytes + below_bytes, names[i], name_bytes);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return 0;
}

struct object_search {
    char folders[8][PATH_BYTES]; /* of the process' libraries of CUDA's runtime */
    unsigned count;
};

/* dl_iterate_phdr holds the loader's lock: only notes where to look. */
static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct object_search *search = context;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : 0;
    if (!slash || (strncmp(slash, "/libcudart.so", 13) != 0 && strncmp(slash, "/libcublas", 10) != 0 &&
                   strncmp(slash, "/libnvrtc", 9) != 0 && strncmp(slash, "/libtorch_cuda", 14) != 0))
        return 0;
    size_t bytes = (size_t)(slash - info->dlpi_name) + 1;
    if (bytes >= PATH_BYTES)
        return 0;
    memcpy(search->folders[search->count], info->dlpi_name, bytes);
    search->folders[search->count++][bytes] = 0;
    return search->count == sizeof search->folders / sizeof search->folders[0];
}

static void *open_beside_runtime(void)
{
    static struct object_search search;
    search.count = 0;
    dl_iterate_phdr(note_object, &search);
    for (unsigned i = 0; i < search.count; i++)
        for (unsigned j = 0; j < sizeof neighbours / sizeof neighbours[0]; j++) {
            void *library = open_in(search.folders[i], strlen(search.folders[i]), neighbours[j]);
            if (library)
                return library;
        }
    return 0;
}

static void *open_library(void)
{
    const char *named = getenv("HPROFILER_CUPTI");
    void *library = named && *named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : 0;
    for (unsigned i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        library = open_beside_runtime();
    for (unsigned i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    const char *home = getenv("CUDA_HOME");
    if (!library && home)
        library = open_in(home, strlen(home), "/extras/CUPTI/lib64/");
    if (!library && home)
        library = open_in(home, strlen(home), "/lib64/");
    for (unsigned i = 0; !library && i < sizeof usual / sizeof usual[0]; i++)
        library = open_in(usual[i], strlen(usual[i]), "");
    return library;
}

static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found;
}

bool cupti_open(struct cupti_api *ret_api, const char **ret_problem)
{
    struct cupti_api api = {0};
    void *library = open_library();
    *ret_problem = "no libcupti was found: install the CUDA toolkit's CUPTI, or name the library in HPROFILER_CUPTI";
    if (!library)
        return false;
    *ret_problem = "this libcupti lacks functions that are needed";
#define CUPTI_FIND(name, symbol, arguments)                                                                            \
    if (!find(library, symbol, &api.name))                                                                             \
        return false;
    CUPTI_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
    api.samples = true;
#define CUPTI_FIND_SAMPLING(name, symbol, arguments) api.samples &= find(library, symbol, &api.name);
    CUPTI_SAMPLING_FUNCTIONS(CUPTI_FIND_SAMPLING)
#undef CUPTI_FIND_SAMPLING
#define CUPTI_FIND_OPTIONAL(name, symbol, arguments) find(library, symbol, &api.name);
    CUPTI_OPTIONAL_FUNCTIONS(CUPTI_FIND_OPTIONAL)
#undef CUPTI_FIND_OPTIONAL
    *ret_problem = "this libcupti is older than 11.8";
    if (api.get_version(&api.version) != CUPTI_OK || api.version < OLDEST_VERSION)
        return false;
    *ret_api = api;
    return true;
}
