//! Copying to and from memory that may not be there: a page of a mapped file that its
//! disk or server cannot give. The system then raises an exception (EXCEPTION_IN_PAGE_ERROR),
//! which ends a program that does not handle it.
//!
//! All such accesses are one instruction of one function. A handler for exceptions looks
//! whether one was raised there and, if so, lets the function return a failure. Exceptions
//! elsewhere go on to the handlers after it.
#![allow(unsafe_code)] // A handler for exceptions and the instruction that it is for.

/// Whether there is such a function for this processor.
pub(super) const IS_AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// Copies bytes; false: some of them could not be read or written, and any number of
/// them has been.
///
/// # Safety
/// Both ranges are mapped, whether or not the system can give their pages; they do not
/// overlap, and no reference into the one that is written exists.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) -> bool {
    use std::sync::Once;
    static INSTALL: Once = Once::new();
    INSTALL.call_once(x86_64::install);
    // SAFETY: as the caller promises; the function follows the convention of C.
    unsafe { x86_64::filermark_posix_copy(to, from, len) == 0 }
}

/// Nothing is copied.
///
/// # Safety
/// It can always be called.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy(_: *mut u8, _: *const u8, _: usize) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use windows_sys::Win32::Foundation::{EXCEPTION_ACCESS_VIOLATION, EXCEPTION_IN_PAGE_ERROR};
    use windows_sys::Win32::System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, EXCEPTION_POINTERS,
    };

    /// What a handler answers: the instruction is to be continued, or is not its own.
    const CONTINUE: i32 = -1;
    const NOT_OURS: i32 = 0;

    // Arguments are in rcx, rdx and r8; rdi and rsi belong to the caller. `rep movsb` is
    // interrupted between two bytes, and its address is then that of the exception.
    std::arch::global_asm!(
        ".globl filermark_posix_copy",
        ".globl filermark_posix_copy_access",
        ".globl filermark_posix_copy_failed",
        "filermark_posix_copy:",
        "push rdi",
        "push rsi",
        "mov rdi, rcx",
        "mov rsi, rdx",
        "mov rcx, r8",
        "filermark_posix_copy_access:",
        "rep movsb",
        "xor eax, eax",
        "pop rsi",
        "pop rdi",
        "ret",
        "filermark_posix_copy_failed:",
        "mov eax, 1",
        "pop rsi",
        "pop rdi",
        "ret",
    );

    unsafe extern "C" {
        /// 0: all was copied.
        pub(super) fn filermark_posix_copy(to: *mut u8, from: *const u8, len: usize) -> u32;
        static filermark_posix_copy_access: u8;
        static filermark_posix_copy_failed: u8;
    }

    pub(super) fn install() {
        // SAFETY: the handler has the signature that is asked for, and stays.
        unsafe { AddVectoredExceptionHandler(1, Some(handle)) };
    }

    unsafe extern "system" fn handle(pointers: *mut EXCEPTION_POINTERS) -> i32 {
        // SAFETY: the system hands over both structures for the time of the call; of the
        // symbols only the addresses are taken.
        unsafe {
            let code = (*(*pointers).ExceptionRecord).ExceptionCode;
            let context = (*pointers).ContextRecord;
            let access = (&raw const filermark_posix_copy_access).addr() as u64;
            let is_access = (*context).Rip == access;
            if is_access && [EXCEPTION_IN_PAGE_ERROR, EXCEPTION_ACCESS_VIOLATION].contains(&code) {
                (*context).Rip = (&raw const filermark_posix_copy_failed).addr() as u64;
                return CONTINUE;
            }
        }
        NOT_OURS
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::copy;
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc,
        VirtualFree, VirtualProtect,
    };

    const PAGE: usize = 4096;

    #[test]
    fn memory_that_is_there_is_copied() {
        let from: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let mut to = vec![0; 10_000];
        // SAFETY: both are our own.
        assert!(unsafe { copy(to.as_mut_ptr(), from.as_ptr(), 9_999) });
        assert_eq!(to[..9_999], from[..9_999]);
        assert_eq!(to[9_999], 0);
    }

    #[test]
    fn a_page_that_cannot_be_had_is_a_failure_and_the_program_goes_on() {
        for _ in 0..3 {
            // SAFETY: the system chooses the place of two pages, of which the second is
            // forbidden; they are given back once.
            unsafe {
                let kind = MEM_COMMIT | MEM_RESERVE;
                let pages = VirtualAlloc(std::ptr::null(), 2 * PAGE, kind, PAGE_READWRITE);
                assert!(!pages.is_null());
                let second = pages.cast::<u8>().add(PAGE);
                let mut was = 0;
                VirtualProtect(second.cast(), PAGE, PAGE_NOACCESS, &raw mut was);
                let mut bytes = [7; 100];
                let first = pages.cast::<u8>();
                assert!(copy(first, bytes.as_ptr(), 100));
                assert!(!copy(second.sub(50), bytes.as_ptr(), 100));
                assert_eq!(second.sub(1).read(), 7, "as far as it went");
                assert!(!copy(bytes.as_mut_ptr(), second, 1));
                VirtualFree(pages, 0, MEM_RELEASE);
            }
        }
    }

    /// In a process of its own, which ends of it.
    #[test]
    fn a_fault_elsewhere_still_ends_the_process() {
        const MARK: &str = "FILERMARK_TEST_FAULT";
        if std::env::var_os(MARK).is_some() {
            filermark_engine::sys::forbid_core_dumps();
            let mut byte = 0;
            // SAFETY: the first copy installs the handler; the fault after it is wanted.
            unsafe {
                assert!(copy(&raw mut byte, [1].as_ptr(), 1));
                let kind = MEM_COMMIT | MEM_RESERVE;
                let page = VirtualAlloc(std::ptr::null(), PAGE, kind, PAGE_NOACCESS);
                byte = page.cast::<u8>().read_volatile();
            }
            println!("survived with {byte}");
            return;
        }
        let name = "sys::windows::fault::tests::a_fault_elsewhere_still_ends_the_process";
        let output = std::process::Command::new(std::env::current_exe().expect("exe"))
            .args(["--exact", name, "--nocapture"])
            .env(MARK, "1")
            .output()
            .expect("run");
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!text.contains("survived"), "{text}");
    }
}
