/* SPDX-License-Identifier: MIT */
/* What the kernel lets this process do. */
#include "privileges.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The inode of the first user namespace is fixed by the kernel. */
#define INITIAL_USER_NAMESPACE "user:[4026531837]"

bool privileges_has(const struct privileges *privileges, unsigned capability)
{
    return privileges->known && privileges->initial_user_namespace && (privileges->effective >> capability & 1);
}

static bool in_initial_user_namespace(const char *root)
{
    char path[4096], target[64];
    snprintf(path, sizeof path, "%s/proc/self/ns/user", root);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return true; /* a kernel without user namespaces */
    target[length] = '\0';
    return strcmp(target, INITIAL_USER_NAMESPACE) == 0;
}

void privileges_read(const char *root, struct privileges *ret_privileges)
{
    char text[8192], value[256];
    memset(ret_privileges, 0, sizeof *ret_privileges);
    ret_privileges->seccomp_mode = -1;
    ret_privileges->user = (uint32_t)geteuid();
    if (!proc_read_text(root, "/proc/self/status", text, sizeof text))
        return;
    if (proc_find_value(text, "CapEff", value, sizeof value)) {
        ret_privileges->known = true;
        ret_privileges->effective = strtoull(value, NULL, 16);
    }
    if (proc_find_value(text, "NoNewPrivs", value, sizeof value))
        ret_privileges->no_new_privileges = value[0] == '1';
    if (proc_find_value(text, "Seccomp", value, sizeof value))
        ret_privileges->seccomp_mode = atoi(value);
    if (proc_find_value(text, "NSpid", value, sizeof value)) {
        for (char *word = strtok(value, " \t"); word; word = strtok(NULL, " \t"))
            ret_privileges->pid_namespace_depth++;
    }
    ret_privileges->initial_user_namespace = in_initial_user_namespace(root);
}

/* /proc/kallsyms has an address of zeros on each line for those who may not see them. */
static bool kernel_symbols_readable(const char *root)
{
    char text[4096];
    if (!proc_read_text(root, "/proc/kallsyms", text, sizeof text))
        return false;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strtoull(line, NULL, 16) != 0)
            return true;
    return false;
}

static void read_lockdown(const char *root, struct kernel_settings *settings)
{
    char text[128];
    if (!proc_read_text(root, "/sys/kernel/security/lockdown", text, sizeof text))
        return;
    const char *open = strchr(text, '['); /* "none [integrity] confidentiality" */
    size_t length = open ? strcspn(open + 1, "]") : 0;
    if (open && length < sizeof settings->lockdown) {
        memcpy(settings->lockdown, open + 1, length);
        settings->lockdown[length] = '\0';
    }
}

void kernel_settings_read(const char *root, struct kernel_settings *ret_settings)
{
    memset(ret_settings, 0, sizeof *ret_settings);
    const struct {
        const char *path;
        struct setting *setting;
    } files[] = {
        {"/proc/sys/kernel/perf_event_paranoid", &ret_settings->paranoid},
        {"/proc/sys/kernel/perf_event_mlock_kb", &ret_settings->mlock_kb},
        {"/proc/sys/kernel/perf_event_max_sample_rate", &ret_settings->max_sample_rate},
        {"/proc/sys/kernel/perf_cpu_time_max_percent", &ret_settings->cpu_time_max_percent},
        {"/proc/sys/kernel/perf_event_max_stack", &ret_settings->max_stack},
        {"/proc/sys/kernel/kptr_restrict", &ret_settings->kptr_restrict},
        {"/proc/sys/kernel/nmi_watchdog", &ret_settings->nmi_watchdog},
        {"/proc/sys/kernel/yama/ptrace_scope", &ret_settings->ptrace_scope},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        *files[i].setting = proc_read_number(root, files[i].path);
    ret_settings->perf_events = ret_settings->paranoid.known;
    ret_settings->kernel_symbols_readable = kernel_symbols_readable(root);
    read_lockdown(root, ret_settings);
}
