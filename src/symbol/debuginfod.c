/* SPDX-License-Identifier: MIT */
/*
 * debuginfod: debug files by build id from the servers in DEBUGINFOD_URLS. libdebuginfod is loaded only when it is needed: it
 * brings libcurl and a TLS library along. It keeps its own cache in the user's home.
 */
#include "debug_files.h"

#include "base/clock.h"
#include "base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define TIMEOUT_MS 5000
#define FILES_AT_MOST 6 /* so many times the limit of one file may go by in all */

struct debuginfod_client; /* libdebuginfod's own */

struct debuginfod_api {
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *client);
    int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *build_id, int size, char **path);
    void (*set_progress)(struct debuginfod_client *client, int (*progress)(struct debuginfod_client *client, long done, long all));
    void (*set_user_data)(struct debuginfod_client *client, void *data);
    void *(*get_user_data)(struct debuginfod_client *client);
};

static bool api_load(void *library, struct debuginfod_api *api)
{
    const struct {
        const char *name;
        void *target;
    } functions[] = {
        {"debuginfod_begin", &api->begin},
        {"debuginfod_end", &api->end},
        {"debuginfod_find_debuginfo", &api->find_debuginfo},
        {"debuginfod_set_progressfn", &api->set_progress},
        {"debuginfod_set_user_data", &api->set_user_data},
        {"debuginfod_get_user_data", &api->get_user_data},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            return false;
        memcpy(functions[i].target, &symbol, sizeof symbol);
    }
    return true;
}

struct time_limit {
    const struct debuginfod_api *api;
    int64_t end_ns;
};

static _Thread_local const struct debuginfod_api *progress_api; /* the callback gets only the client */

static int give_up_late(struct debuginfod_client *client, long done, long all)
{
    const struct time_limit *limit = progress_api ? progress_api->get_user_data(client) : NULL;
    return limit && clock_monotonic_ns() > limit->end_ns;
}

static int fetch(const struct debuginfod_api *api, const uint8_t *build_id, size_t size, int64_t limit_ns)
{
    struct debuginfod_client *client = api->begin();
    if (!client)
        return -ENOMEM;
    struct time_limit limit = {.api = api, .end_ns = clock_monotonic_ns() + limit_ns};
    progress_api = api;
    api->set_user_data(client, &limit);
    api->set_progress(client, give_up_late);
    int fd = api->find_debuginfo(client, build_id, (int)size, NULL);
    api->end(client);
    progress_api = NULL;
    return fd;
}

static int load_and_fetch(const struct debug_server *server, const uint8_t *build_id, size_t size, int64_t limit_ns)
{
    /* Never unloaded: libcurl's TLS library registers exit handlers. */
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    struct debuginfod_api api;
    if (!library || !api_load(library, &api)) {
        log_warning(server->log, "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed: no debug info from servers");
        return -EOPNOTSUPP;
    }
    return fetch(&api, build_id, size, limit_ns);
}

int debug_server_fetch(struct debug_server *server, const uint8_t *build_id, size_t size)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!urls || urls[0] == '\0' || size == 0 || server->given_up)
        return -ENOENT;
    int64_t limit_ns = (int64_t)(server->timeout_ms ? server->timeout_ms : TIMEOUT_MS) * 1000000;
    int64_t begin_ns = clock_monotonic_ns();
    int fd = load_and_fetch(server, build_id, size, limit_ns);
    int64_t took_ns = clock_monotonic_ns() - begin_ns;
    server->spent_ns += took_ns;
    server->given_up = fd == -EOPNOTSUPP;
    if (fd < 0 && (took_ns >= limit_ns || server->spent_ns >= FILES_AT_MOST * limit_ns)) {
        server->given_up = true;
        log_warning(server->log, "the debuginfod servers are too slow (%.1f s so far): they are not asked any more",
                    (double)server->spent_ns / 1e9);
    }
    return fd;
}
