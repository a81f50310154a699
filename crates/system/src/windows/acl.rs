//! Who may use a file: security descriptors, which are reached by calls that no crate wraps.
#![allow(unsafe_code)] // Nothing else is in here.

use crate::access_list::{AccessEntry, AccessList};
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{
    ERROR_SUCCESS, GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE, LocalFree,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW,
    ConvertStringSidToSidW, GetSecurityInfo, SDDL_REVISION_1, SE_FILE_OBJECT, SE_KERNEL_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, GetTokenInformation,
    INHERIT_ONLY_ACE, LookupAccountSidW, OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
    SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, FILE_ATTRIBUTE_NORMAL, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Entry that allows (ACCESS_ALLOWED_ACE_TYPE).
const ALLOWS: u8 = 0;
/// Entry that denies (ACCESS_DENIED_ACE_TYPE).
const DENIES: u8 = 1;
/// Longest name of an account or a domain, in UTF-16 units.
const NAME_LEN: usize = 257;

/// What Windows has allocated, until it is dropped.
pub(super) struct Allocated(*mut core::ffi::c_void);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: the pointer is from a call that asks for LocalFree, and is freed once.
        unsafe { LocalFree(self.0) };
    }
}

/// The identifier of the user that this process runs as: `S-1-5-21-...`.
///
/// # Errors
/// The system's.
pub fn own_user() -> io::Result<String> {
    let mut raw: HANDLE = null_mut();
    // SAFETY: the handle of this process needs no closing, and `raw` lives through the call.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut raw) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has opened it, and nothing else closes it.
    let token = unsafe { OwnedHandle::from_raw_handle(raw) };
    // Of 64-bit words, since the structure begins with a pointer. The longest SID has 68 bytes.
    let mut buffer = [0_u64; 32];
    let mut len = 0;
    // SAFETY: the buffer has the stated length and lives through the call.
    let known = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            buffer.as_mut_ptr().cast(),
            size_of_val(&buffer) as u32,
            &mut len,
        )
    };
    if known == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled in the structure, whose pointer points into the buffer.
    let user = unsafe { &*buffer.as_ptr().cast::<TOKEN_USER>() };
    sid_text(user.User.Sid)
}

/// The text of a SID.
fn sid_text(sid: PSID) -> io::Result<String> {
    let mut text = null_mut();
    // SAFETY: the callers pass valid SIDs, and `text` lives through the call.
    if unsafe { ConvertSidToStringSidW(sid, &mut text) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let _freed = Allocated(text.cast());
    // SAFETY: the text ends with a zero.
    let len = (0..)
        .take_while(|at| unsafe { *text.add(*at) } != 0)
        .count();
    // SAFETY: it has that many units before the zero.
    Ok(String::from_utf16_lossy(unsafe {
        std::slice::from_raw_parts(text, len)
    }))
}

/// The name of an account, `DOMAIN\NAME`; `None`: the system does not know it.
pub fn account_name(sid: &str) -> Option<String> {
    let wide: Vec<u16> = sid.encode_utf16().chain([0]).collect();
    let mut raw: PSID = null_mut();
    // SAFETY: the text ends with a zero, and `raw` lives through the call.
    if unsafe { ConvertStringSidToSidW(wide.as_ptr(), &mut raw) } == 0 {
        return None;
    }
    let _freed = Allocated(raw);
    let (mut name, mut domain) = ([0_u16; NAME_LEN], [0_u16; NAME_LEN]);
    let (mut name_len, mut domain_len) = (NAME_LEN as u32, NAME_LEN as u32);
    let mut kind = 0;
    // SAFETY: the buffers have the stated lengths and live through the call.
    let known = unsafe {
        LookupAccountSidW(
            null(),
            raw,
            name.as_mut_ptr(),
            &mut name_len,
            domain.as_mut_ptr(),
            &mut domain_len,
            &mut kind,
        )
    };
    let text = |units: &[u16], len: u32| {
        String::from_utf16_lossy(units.get(..len as usize).unwrap_or_default())
    };
    let (name, domain) = (text(&name, name_len), text(&domain, domain_len));
    match (known, domain.is_empty()) {
        (0, _) => None,
        (_, true) => Some(name),
        (_, false) => Some(format!("{domain}\\{name}")),
    }
}

/// A security descriptor from its text (SDDL).
pub(super) fn descriptor(text: &str) -> io::Result<Allocated> {
    let wide: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let mut made: PSECURITY_DESCRIPTOR = null_mut();
    // SAFETY: the text ends with a zero, `made` lives through the call, and the length is not
    // wanted.
    let known = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            wide.as_ptr(),
            SDDL_REVISION_1,
            &mut made,
            null_mut(),
        )
    };
    match known {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(Allocated(made)),
    }
}

/// For a call that creates something; valid as long as the descriptor lives.
pub(super) const fn attributes(descriptor: &Allocated) -> SECURITY_ATTRIBUTES {
    SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor.0,
        bInheritHandle: 0,
    }
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

/// Creates a file with a security descriptor, open for reading and writing.
///
/// # Errors
/// It exists already, or the system's.
pub fn create_file(path: &Path, sddl: &str) -> io::Result<File> {
    let descriptor = descriptor(sddl)?;
    let name = wide(path);
    // SAFETY: the name ends with a zero; name, attributes and descriptor live through the call.
    let raw = unsafe {
        CreateFileW(
            name.as_ptr(),
            GENERIC_READ | GENERIC_WRITE,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            &attributes(&descriptor),
            CREATE_NEW,
            FILE_ATTRIBUTE_NORMAL,
            null_mut(),
        )
    };
    if raw == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has opened it, and nothing else closes it.
    Ok(unsafe { OwnedHandle::from_raw_handle(raw) }.into())
}

/// Creates a directory with a security descriptor.
///
/// # Errors
/// It exists already, or the system's.
pub fn create_dir(path: &Path, sddl: &str) -> io::Result<()> {
    let descriptor = descriptor(sddl)?;
    let name = wide(path);
    // SAFETY: the name ends with a zero; name, attributes and descriptor live through the call.
    match unsafe { CreateDirectoryW(name.as_ptr(), &attributes(&descriptor)) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The owner of an object of the kernel that is no file. The handle has READ_CONTROL.
///
/// # Errors
/// The system's.
pub(super) fn owner(object: &OwnedHandle) -> io::Result<String> {
    let mut owner: PSID = null_mut();
    let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
    // SAFETY: the handle is open while it is borrowed, the variables live through the call, and
    // null pointers are for what is not wanted.
    let error = unsafe {
        GetSecurityInfo(
            object.as_raw_handle(),
            SE_KERNEL_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &mut owner,
            null_mut(),
            null_mut(),
            null_mut(),
            &mut descriptor,
        )
    };
    if error != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(error as i32));
    }
    // The owner points into it.
    let _freed = Allocated(descriptor);
    sid_text(owner)
}

/// The owner of an open file, and who may use it.
///
/// # Errors
/// The system's.
pub fn access_list(file: &File) -> io::Result<AccessList> {
    let (mut owner, mut acl): (PSID, *mut ACL) = (null_mut(), null_mut());
    let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
    // SAFETY: the handle is open while the file is borrowed, the variables live through the
    // call, and null pointers are for what is not wanted.
    let error = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
            &mut owner,
            null_mut(),
            &mut acl,
            null_mut(),
            &mut descriptor,
        )
    };
    if error != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(error as i32));
    }
    // Owner and list point into it.
    let _freed = Allocated(descriptor);
    let owner = sid_text(owner)?;
    if acl.is_null() {
        // Without a list all users have all rights.
        return Ok(AccessList {
            owner,
            entries: vec![AccessEntry::NotKnown],
        });
    }
    // SAFETY: the list is valid until the descriptor is freed.
    let count = u32::from(unsafe { (*acl).AceCount });
    let mut entries = Vec::new();
    for at in 0..count {
        let mut entry = null_mut();
        // SAFETY: `at` is below the number of entries, and `entry` lives through the call.
        if unsafe { GetAce(acl, at, &mut entry) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: every entry begins with this header.
        let header = unsafe { &*entry.cast::<ACE_HEADER>() };
        if u32::from(header.AceFlags) & INHERIT_ONLY_ACE != 0 || header.AceType == DENIES {
            continue;
        }
        if header.AceType != ALLOWS {
            entries.push(AccessEntry::NotKnown);
            continue;
        }
        // SAFETY: an entry of this type has this structure, at the end of which its SID begins.
        let allowed = unsafe { &*entry.cast::<ACCESS_ALLOWED_ACE>() };
        let sid = (&raw const allowed.SidStart).cast_mut().cast();
        entries.push(AccessEntry::Allows {
            user: sid_text(sid)?,
            rights: allowed.Mask,
        });
    }
    Ok(AccessList { owner, entries })
}
