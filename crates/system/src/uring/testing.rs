//! For tests: a thread without io_uring.
#![allow(unsafe_code)] // seccomp(2) has no safe wrapper.

/// From now on io_uring_setup fails with this error on the calling thread, as in a container whose
/// seccomp profile forbids it (seccomp(2)). `false`: the kernel does not do that.
pub fn forbid(errno: u32) -> bool {
    let code = |code, jump_false, k| libc::sock_filter {
        code,
        jt: 0,
        jf: jump_false,
        k,
    };
    let mut filter = [
        // The number of the call, the first field of seccomp_data.
        code((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0),
        code(
            (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            1,
            libc::SYS_io_uring_setup as u32,
        ),
        code(libc::BPF_RET as u16, 0, libc::SECCOMP_RET_ERRNO | errno),
        code(libc::BPF_RET as u16, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: plain numbers, and a program that lives through the call, which copies it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    }
}
