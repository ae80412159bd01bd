/* SPDX-License-Identifier: MIT */
/* The machine as its users know it: names, processor, memory, what it runs in. Unknown text is "", never a guess. */
#ifndef HP_SYSTEM_HOST_H
#define HP_SYSTEM_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct host {
    char name[256];
    char distribution[128];
    char kernel[128];
    char architecture[32];
    char cpu_model[128];
    char hypervisor[64]; /* "KVM", "VMware" ...; "a hypervisor" when only its presence is known; "" on bare metal */
    char container[64];  /* "docker", "podman", "lxc" ...; "" outside */
    unsigned cpus_online, cpus_usable; /* usable: by this process' affinity; 0 = unknown */
    uint64_t memory_bytes;
    bool tsc_invariant; /* x86: the time-stamp counter runs at one rate, in idle states too */
    char clocksource[32];
};

/* root is "" but in tests. Fields that can't be read stay empty. */
void host_read(const char *root, struct host *ret_host);

#endif
