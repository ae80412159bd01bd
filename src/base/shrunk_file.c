/* SPDX-License-Identifier: MIT */
/* mmap is no more than a system call: it may be made in a signal handler. */
#include "shrunk_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong pages;
static uintptr_t page_bytes;

bool shrunk_file_mend(const siginfo_t *info)
{
    if (info->si_code != BUS_ADRERR || !page_bytes)
        return false;
    int before = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes - 1);
    bool mended = mmap((void *)page, page_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    if (mended)
        atomic_fetch_add_explicit(&pages, 1, memory_order_relaxed);
    errno = before;
    return mended;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (shrunk_file_mend(info))
        return;
    signal(number, SIG_DFL);
    raise(number);
}

void shrunk_files_survive(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGBUS, &action, NULL);
}

void signals_of_others(sigset_t *ret_set)
{
    sigfillset(ret_set);
    sigdelset(ret_set, SIGBUS);
    sigdelset(ret_set, SIGSEGV);
    sigdelset(ret_set, SIGFPE);
    sigdelset(ret_set, SIGILL);
}

unsigned long shrunk_file_pages(void)
{
    return atomic_load_explicit(&pages, memory_order_relaxed);
}
