/* SPDX-License-Identifier: MIT */
/* The machine as its users know it. */
#include "host.h"
#include "proc_file.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void copy_text(char *target, size_t size, const char *text)
{
    size_t length = strlen(text);
    if (length >= size)
        length = size - 1;
    memcpy(target, text, length);
    target[length] = '\0';
}

/* What the vendor strings of the firmware, or Xen's own file, call the hypervisor. */
static const struct {
    const char *needle, *name;
} hypervisors[] = {
    {"QEMU", "KVM or QEMU"},
    {"KVM", "KVM"},
    {"VMware", "VMware"},
    {"VirtualBox", "VirtualBox"},
    {"innotek", "VirtualBox"},
    {"Xen", "Xen"},
    {"Microsoft", "Hyper-V"},
    {"Amazon EC2", "Amazon EC2"},
    {"Google", "Google Compute Engine"},
    {"Parallels", "Parallels"},
    {"Bochs", "Bochs"},
    {"OpenStack", "OpenStack"},
    {"Bhyve", "bhyve"},
};

static void read_hypervisor(const char *root, bool flag, struct host *host)
{
    static const char *const files[] = {"/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor",
                                        "/sys/hypervisor/type", "/proc/device-tree/hypervisor/compatible"};
    char text[128];
    /* A bare-metal machine of a cloud vendor has its name in the firmware, too: only the CPU's own flag proves a guest.
     */
    if (!flag && strcmp(host->architecture, "x86_64") == 0)
        return;
    for (size_t file = 0; file < sizeof files / sizeof *files; file++) {
        if (!proc_read_text(root, files[file], text, sizeof text))
            continue;
        for (size_t i = 0; i < sizeof hypervisors / sizeof *hypervisors; i++) {
            if (strcasestr(text, hypervisors[i].needle)) {
                copy_text(host->hypervisor, sizeof host->hypervisor, hypervisors[i].name);
                return;
            }
        }
    }
    if (flag)
        copy_text(host->hypervisor, sizeof host->hypervisor, "a hypervisor");
}

static void read_cpu(const char *root, struct host *host)
{
    char text[16384], flags[8192];
    if (!proc_read_text(root, "/proc/cpuinfo", text, sizeof text))
        return;
    if (!proc_find_value(text, "model name", host->cpu_model, sizeof host->cpu_model))
        proc_find_value(text, "Hardware", host->cpu_model, sizeof host->cpu_model);
    bool guest = false;
    if (proc_find_value(text, "flags", flags, sizeof flags)) {
        host->tsc_invariant = proc_has_word(flags, "constant_tsc") && proc_has_word(flags, "nonstop_tsc");
        guest = proc_has_word(flags, "hypervisor");
    }
    read_hypervisor(root, guest, host);
}

/* The first namespaces have fixed inode numbers. A process in them is in no container, whatever files lie about:
 * machine images are made from container images, too. */
static bool in_first_namespaces(const char *root)
{
    static const char *const first[][2] = {
        {"pid", "pid:[4026531836]"}, {"uts", "uts:[4026531838]"}, {"ipc", "ipc:[4026531839]"}};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        char path[4096], target[64];
        snprintf(path, sizeof path, "%s/proc/self/ns/%s", root, first[i][0]);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length <= 0)
            return false;
        target[length] = '\0';
        if (strcmp(target, first[i][1]) != 0)
            return false;
    }
    return true;
}

static void read_container(const char *root, struct host *host)
{
    char text[4096];
    if (proc_exists(root, "/.singularity.d")) { /* shares all namespaces but the mount namespace */
        copy_text(host->container, sizeof host->container, "apptainer");
        return;
    }
    if (in_first_namespaces(root))
        return;
    if (proc_read_text(root, "/run/systemd/container", host->container, sizeof host->container))
        return;
    if (proc_exists(root, "/.dockerenv")) {
        copy_text(host->container, sizeof host->container, "docker");
    } else if (proc_exists(root, "/run/.containerenv")) {
        copy_text(host->container, sizeof host->container, "podman");
    } else if (proc_read_text(root, "/proc/1/cgroup", text, sizeof text)) {
        static const char *const names[] = {"kubepods", "docker", "lxc", "libpod", "containerd"};
        for (size_t i = 0; i < sizeof names / sizeof *names && !host->container[0]; i++)
            if (strstr(text, names[i]))
                copy_text(host->container, sizeof host->container, names[i]);
    }
}

static unsigned usable_cpus(void)
{
    /* Machines with more CPUs than the fixed set need a bigger mask. */
    for (size_t cpus = 1024; cpus <= 65536; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        int count = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
    return 0;
}

void host_read(const char *root, struct host *ret_host)
{
    struct utsname names;
    char text[4096], value[64];
    memset(ret_host, 0, sizeof *ret_host);
    if (uname(&names) == 0) {
        copy_text(ret_host->name, sizeof ret_host->name, names.nodename);
        copy_text(ret_host->kernel, sizeof ret_host->kernel, names.release);
        copy_text(ret_host->architecture, sizeof ret_host->architecture, names.machine);
    }
    if (proc_read_text(root, "/etc/os-release", text, sizeof text) ||
        proc_read_text(root, "/usr/lib/os-release", text, sizeof text))
        proc_find_value(text, "PRETTY_NAME", ret_host->distribution, sizeof ret_host->distribution);
    read_cpu(root, ret_host);
    read_container(root, ret_host);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    ret_host->cpus_online = online > 0 ? (unsigned)online : 0;
    ret_host->cpus_usable = usable_cpus();
    if (proc_read_text(root, "/proc/meminfo", text, sizeof text) &&
        proc_find_value(text, "MemTotal", value, sizeof value))
        ret_host->memory_bytes = strtoull(value, NULL, 10) * 1024;
    proc_read_text(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource", ret_host->clocksource,
                   sizeof ret_host->clocksource);
}
