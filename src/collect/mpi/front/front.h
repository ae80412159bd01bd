/* SPDX-License-Identifier: MIT */
/*
 * The front stands before whichever MPI a process has loaded. An exported name is one jump through its slot; a slot leads
 * to the search for the MPI until that is found, then to the implementation's wrapper or to the real function.
 *
 * Each function is exported under both of its names: bindings of other languages (all of Open MPI's Fortran, parts of MPICH's) call
 * PMPI_Send, with all that is Fortran's converted. What a wrapper calls itself is never one of these, but the MPI's own.
 */
#ifndef HP_MPI_FRONT_H
#define HP_MPI_FRONT_H

extern const char *const front_names[] __attribute__((visibility("hidden"))); /* PMPI_Send, ... */
extern const void *front_slots[] __attribute__((visibility("hidden")));       /* of MPI_Send, ..., then of PMPI_Send, ... */
extern const unsigned front_count __attribute__((visibility("hidden")));

/* Called from the assembly by a function whose slot is not filled: where to go on. */
const void *front_resolve(unsigned index) __attribute__((visibility("hidden"), used));

#if defined(__x86_64__)
#define FRONT_TRAMPOLINE(name, number)                                                                                 \
    ".globl " name "\n.type " name ",@function\n" name ": jmpq *front_slots+8*" number "(%rip)\n.size " name ",.-" name "\n" \
    ".globl front_first_" number "\n.hidden front_first_" number "\nfront_first_" number ": movl $" number ",%eax\n    jmp front_first\n"
#define FRONT_BEGIN                                                                                                    \
    ".text\nfront_first:\n"                                                                                            \
    "    pushq %rdi\n    pushq %rsi\n    pushq %rdx\n    pushq %rcx\n    pushq %r8\n    pushq %r9\n    subq $8, %rsp\n" \
    "    movl %eax, %edi\n    callq front_resolve\n"                                                                   \
    "    addq $8, %rsp\n    popq %r9\n    popq %r8\n    popq %rcx\n    popq %rdx\n    popq %rsi\n    popq %rdi\n"      \
    "    jmpq *%rax\n"
#elif defined(__aarch64__)
#define FRONT_TRAMPOLINE(name, number)                                                                                 \
    ".globl " name "\n.type " name ",%function\n" name ":\n    adrp x16, front_slots+8*" number "\n"                   \
    "    ldr x16, [x16, #:lo12:front_slots+8*" number "]\n    br x16\n.size " name ",.-" name "\n"                     \
    ".globl front_first_" number "\n.hidden front_first_" number "\nfront_first_" number ":\n    mov w16, #" number "\n    b front_first\n"
#define FRONT_BEGIN                                                                                                    \
    ".text\n.balign 4\nfront_first:\n"                                                                                 \
    "    stp x29, x30, [sp, #-80]!\n    mov x29, sp\n    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n"           \
    "    stp x4, x5, [sp, #48]\n    stp x6, x7, [sp, #64]\n    mov w0, w16\n    bl front_resolve\n    mov x16, x0\n"   \
    "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n    ldp x6, x7, [sp, #64]\n"     \
    "    ldp x29, x30, [sp], #80\n    br x16\n"
#endif
#define FRONT_END ""

#endif
