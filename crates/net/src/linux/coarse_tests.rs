//! The tests of every system's module without epoll_pwait2, and in a sandbox that refuses it.
#![allow(unsafe_code)] // Filters of system calls have no safe wrapper.

use super::*;

fn new_reactor() -> io::Result<Reactor> {
    Ok(Reactor {
        fine_waits: false,
        ..Reactor::new()?
    })
}

#[allow(
    clippy::duplicate_mod,
    reason = "one set of tests for both ways to wait"
)]
#[path = "../system_tests.rs"]
mod tests;

/// Makes epoll_pwait2 fail with `error` in this thread until it ends. Without filters (emulators
/// have none), the system must lack the call itself, or the checks of its caller fail.
fn refuse_fine_waits(error: i32) {
    const fn step(code: u32, k: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
        libc::sock_filter {
            code: code as u16,
            jt: if_true,
            jf: if_false,
            k,
        }
    }
    let call = libc::SYS_epoll_pwait2 as u32;
    let mut steps = [
        // The number of the system call is the first word of what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call, 0, 1),
        step(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | error as u32,
            0,
            0,
        ),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: both calls only change what this thread may do; the filter and its steps outlive
    // the call, which copies them.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter);
    }
}

/// What a wait brings in a thread where epoll_pwait2 fails with `error`.
fn wait_where_refused(error: i32) {
    let (near, mut far) = tests::pair();
    let mut reactor = Reactor::new().expect("files are left");
    refuse_fine_waits(error);
    reactor.add(&near, 5).expect("added");
    let mut ready = Vec::new();
    let long = Some(Duration::from_secs(10));
    reactor.wait(long, &mut ready).expect("it waits");
    assert!(!reactor.fine_waits, "the call exists and was not refused");
    assert!(ready.iter().any(|r| r.key == 5 && r.writable), "{ready:?}");
    std::io::Write::write_all(&mut far, b"bytes").expect("sent");
    reactor.wait(long, &mut ready).expect("it waits");
    assert!(ready.iter().any(|r| r.key == 5 && r.readable), "{ready:?}");
    let short = Some(Duration::from_millis(1));
    reactor.wait(short, &mut ready).expect("it waits");
    assert!(ready.is_empty(), "an edge is reported once: {ready:?}");
}

#[test]
fn a_refused_epoll_pwait2_is_replaced() {
    // A kernel before 5.11 says ENOSYS, some sandboxes EPERM. Filters belong to a thread.
    for error in [libc::ENOSYS, libc::EPERM] {
        let thread = std::thread::spawn(move || wait_where_refused(error));
        thread.join().expect("its checks hold");
    }
}
