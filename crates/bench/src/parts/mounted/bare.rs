//! The bare loops.

use super::{FILE_BYTES, LoopCalls};
use filermark_model::Rng;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, open, openat, statat, unlinkat};
use std::ffi::CString;
use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Calls between two looks at the clock.
const TURN: u32 = 64;
const MODE: Mode = Mode::from_raw_mode(0o700);
const BUCKETS: u32 = 24;

fn to_string(e: impl Display) -> String {
    format!("bare loop: {e}")
}

/// Calls per second on a tree as a proc has it.
pub fn metadata(
    dir: &Path,
    calls: LoopCalls,
    dirs: u32,
    files: u32,
    window: Duration,
) -> Result<f64, String> {
    let top = dir.join("bare");
    std::fs::create_dir_all(&top).map_err(to_string)?;
    let mut names = Vec::new();
    for d in 0..dirs {
        for b in 0..BUCKETS {
            std::fs::create_dir_all(top.join(format!("d{d:04}/b{b:02}"))).map_err(to_string)?;
            for f in 0..files {
                let name = format!("d{d:04}/b{b:02}/f{f:07}");
                if !matches!(calls, LoopCalls::CreateUnlink | LoopCalls::MkdirRmdir) {
                    std::fs::write(top.join(&name), b"x").map_err(to_string)?;
                }
                names.push(CString::new(name).map_err(to_string)?);
            }
        }
    }
    let fd = open(&top, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map_err(to_string)?;
    let rate = match calls {
        LoopCalls::Stat => looped(window, |rng| {
            let name = &names[rng.below(names.len() as u64) as usize];
            statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW).map(|_| 1)
        }),
        LoopCalls::Readdir => looped(window, |rng| {
            let d = rng.below(u64::from(dirs * BUCKETS)) as u32;
            let name = format!("d{:04}/b{:02}", d / BUCKETS, d % BUCKETS);
            let list = openat(&fd, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
            let mut count = 0;
            for entry in Dir::new(list)? {
                count += u32::from(entry.is_ok());
            }
            std::hint::black_box(count);
            Ok(1)
        }),
        LoopCalls::CreateUnlink => alternating(
            window,
            &names,
            &fd,
            |fd, name| {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                openat(fd, name, flags, MODE).map(drop)
            },
            AtFlags::empty(),
        ),
        LoopCalls::MkdirRmdir => alternating(
            window,
            &names,
            &fd,
            |fd, name| mkdirat(fd, name, MODE),
            AtFlags::REMOVEDIR,
        ),
    };
    std::fs::remove_dir_all(&top).map_err(to_string)?;
    rate
}

/// Makes names until half of them are there, then makes and removes in turns.
fn alternating(
    window: Duration,
    names: &[CString],
    fd: &OwnedFd,
    make: impl Fn(&OwnedFd, &CString) -> rustix::io::Result<()>,
    remove: AtFlags,
) -> Result<f64, String> {
    let mut at = 0;
    looped(window, |_| {
        let name = &names[at % names.len()];
        at += 1;
        make(fd, name)?;
        unlinkat(fd, name, remove).map(|()| 2)
    })
}

/// Reads or writes of 4 KiB at random places of one file, per second.
pub fn transfers(dir: &Path, write: bool, window: Duration) -> Result<f64, String> {
    let path = dir.join("bare.data");
    std::fs::write(&path, vec![7; FILE_BYTES as usize]).map_err(to_string)?;
    let fd = open(&path, OFlags::RDWR, Mode::empty()).map_err(to_string)?;
    let mut block = vec![1u8; 4096];
    let rate = looped(window, |rng| {
        let offset = rng.below(FILE_BYTES / 4096) * 4096;
        match write {
            true => rustix::io::pwrite(&fd, &block, offset).map(|_| 1),
            false => rustix::io::pread(&fd, &mut block, offset).map(|_| 1),
        }
    });
    std::fs::remove_file(&path).map_err(to_string)?;
    rate
}

fn looped(
    window: Duration,
    mut call: impl FnMut(&mut Rng) -> rustix::io::Result<u32>,
) -> Result<f64, String> {
    let mut rng = Rng::new(1, 1);
    let began = Instant::now();
    let mut count = 0u64;
    while began.elapsed() < window {
        for _ in 0..TURN {
            count += u64::from(call(&mut rng).map_err(to_string)?);
        }
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}
