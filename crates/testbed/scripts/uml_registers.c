/* For hosts with larger extended registers (AMX) than User Mode Linux 6.1 knows: its
 * PTRACE_SETREGSET has only the first part of them, which the host refuses. The rest is taken from
 * the process. Loaded into linux.uml by LD_PRELOAD; src/uml.rs says when. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define STATE_LEN_MAX (64 * 1024)

typedef long (*ptrace_call)(int, ...);

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_call own;
    static char state[STATE_LEN_MAX] __attribute__((aligned(64)));
    va_list arguments;
    va_start(arguments, request);
    int pid = va_arg(arguments, int);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    if (own == NULL)
        own = (ptrace_call)dlsym(RTLD_NEXT, "ptrace");
    if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE)
        return own(request, pid, address, data);

    const struct iovec *given = data;
    struct iovec all = {state, sizeof state};
    if (own(PTRACE_GETREGSET, pid, address, &all) != 0 || given->iov_len >= all.iov_len)
        return own(request, pid, address, data);
    memcpy(state, given->iov_base, given->iov_len);
    return own(request, pid, address, &all);
}
