//! The C side: structures of RFC 2744 as the library lays them out, and its functions.

use std::ffi::c_void;
use std::ptr::null_mut;

/// gss_name_t, gss_cred_id_t, gss_ctx_id_t.
pub type Handle = *mut c_void;

/// gss_buffer_desc.
#[repr(C)]
pub struct Buffer {
    length: usize,
    value: *mut c_void,
}

impl Buffer {
    /// Nothing in it.
    pub const EMPTY: Self = Self {
        length: 0,
        value: null_mut(),
    };

    /// For the library to read; must not outlive `bytes`.
    pub const fn of(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len(),
            value: bytes.as_ptr().cast_mut().cast(),
        }
    }

    /// What is in it.
    ///
    /// # Safety
    /// It is empty, or its pointer and length are right for as long as the slice lives.
    pub const unsafe fn bytes(&self) -> &[u8] {
        if self.value.is_null() || self.length == 0 {
            return &[];
        }
        // SAFETY: the caller says so.
        unsafe { std::slice::from_raw_parts(self.value.cast_const().cast(), self.length) }
    }
}

/// gss_buffer_set_desc.
#[repr(C)]
pub struct BufferSet {
    count: usize,
    elements: *mut Buffer,
}

impl BufferSet {
    /// What is in its first buffer.
    ///
    /// # Safety
    /// The library made it, and it has not been released.
    pub const unsafe fn first(&self) -> Option<&[u8]> {
        if self.count == 0 || self.elements.is_null() {
            return None;
        }
        // SAFETY: there is one at least.
        Some(unsafe { (*self.elements).bytes() })
    }
}

/// gss_OID_desc.
#[repr(C)]
pub struct Oid {
    length: u32,
    elements: *mut c_void,
}

impl Oid {
    /// With these elements, which the library only reads.
    pub const fn of(elements: &'static [u8]) -> Self {
        Self {
            length: elements.len() as u32,
            elements: elements.as_ptr().cast_mut().cast(),
        }
    }
}

/// gss_OID_set_desc.
#[repr(C)]
pub struct OidSet {
    count: usize,
    elements: *mut Oid,
}

impl OidSet {
    /// Of one; must not outlive it.
    pub const fn of(one: &mut Oid) -> Self {
        Self {
            count: 1,
            elements: one,
        }
    }
}

macro_rules! functions {
    ($($symbol:literal $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// The functions that are used, of a library that is never closed.
        #[derive(Clone, Copy, Debug)]
        pub struct Functions {
            $($name: unsafe extern "C" fn($($ty),*) -> u32,)*
        }

        impl Functions {
            /// Opens a library, which stays open as long as the program runs.
            pub fn load(name: &str) -> Result<Self, libloading::Error> {
                // SAFETY: what the system's library does when it is opened is what it
                // does in every program that is linked with it.
                let library = unsafe { libloading::Library::new(name)? };
                // SAFETY: the types are those of RFC 2744 and of gssapi_ext.h.
                let functions = unsafe { Self { $($name: *library.get($symbol)?,)* } };
                std::mem::forget(library);
                Ok(functions)
            }

            $(
                #[doc = concat!("`gss_", stringify!($name), "`.")]
                ///
                /// # Safety
                /// Handles are null or of this library and not released; pointers are
                /// null where the function allows it, or point to what lives beyond
                /// the call.
                #[allow(clippy::too_many_arguments, reason = "as many as the C function has")]
                pub unsafe fn $name(&self, $($arg: $ty),*) -> u32 {
                    // SAFETY: the caller says so.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }
    };
}

functions! {
    b"gss_import_name\0" import_name(
        minor: *mut u32, text: *const Buffer, kind: *const Oid, name: *mut Handle
    );
    b"gss_release_name\0" release_name(minor: *mut u32, name: *mut Handle);
    b"gss_acquire_cred\0" acquire_cred(
        minor: *mut u32, user: Handle, time: u32, mechanisms: *const OidSet, usage: i32,
        credential: *mut Handle, actual: *mut *mut OidSet, lifetime: *mut u32
    );
    b"gss_acquire_cred_with_password\0" acquire_cred_with_password(
        minor: *mut u32, user: Handle, password: *const Buffer, time: u32,
        mechanisms: *const OidSet, usage: i32, credential: *mut Handle,
        actual: *mut *mut OidSet, lifetime: *mut u32
    );
    b"gss_inquire_cred\0" inquire_cred(
        minor: *mut u32, credential: Handle, name: *mut Handle, lifetime: *mut u32,
        usage: *mut i32, mechanisms: *mut *mut OidSet
    );
    b"gss_release_cred\0" release_cred(minor: *mut u32, credential: *mut Handle);
    b"gss_init_sec_context\0" init_sec_context(
        minor: *mut u32, credential: Handle, context: *mut Handle, target: Handle,
        mechanism: *const Oid, flags: u32, time: u32, bindings: *const c_void,
        theirs: *const Buffer, actual: *mut *mut Oid, ours: *mut Buffer,
        got_flags: *mut u32, lifetime: *mut u32
    );
    b"gss_delete_sec_context\0" delete_sec_context(
        minor: *mut u32, context: *mut Handle, token: *mut Buffer
    );
    b"gss_inquire_sec_context_by_oid\0" inquire_sec_context_by_oid(
        minor: *mut u32, context: Handle, asked: *const Oid, set: *mut *mut BufferSet
    );
    b"gss_release_buffer_set\0" release_buffer_set(minor: *mut u32, set: *mut *mut BufferSet);
    b"gss_release_buffer\0" release_buffer(minor: *mut u32, buffer: *mut Buffer);
    b"gss_get_mic\0" get_mic(
        minor: *mut u32, context: Handle, quality: u32, data: *const Buffer, mic: *mut Buffer
    );
    b"gss_verify_mic\0" verify_mic(
        minor: *mut u32, context: Handle, data: *const Buffer, mic: *const Buffer,
        quality: *mut u32
    );
    b"gss_wrap\0" wrap(
        minor: *mut u32, context: Handle, confidential: i32, quality: u32, data: *const Buffer,
        is_confidential: *mut i32, wrapped: *mut Buffer
    );
    b"gss_unwrap\0" unwrap(
        minor: *mut u32, context: Handle, wrapped: *const Buffer, data: *mut Buffer,
        is_confidential: *mut i32, quality: *mut u32
    );
    b"gss_display_status\0" display_status(
        minor: *mut u32, status: u32, kind: i32, mechanism: *const Oid, more: *mut u32,
        words: *mut Buffer
    );
}
