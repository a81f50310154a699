//! The file system with faults: its operations, and its faults.

use filermark_testbed::{Faulty, FaultyOptions, Kind, Mounts, available};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const EIO: i32 = 5;

struct Mounted {
    faulty: Faulty,
    /// The test's path of the file system.
    at: PathBuf,
    mounts: Arc<Mounts>,
}

fn mounted(options: FaultyOptions) -> Option<Mounted> {
    let mounts = available(Mounts::new())?;
    let faulty = available(Faulty::mount(&mounts, options))?;
    let at = faulty.scratch().host().to_owned();
    Some(Mounted { faulty, at, mounts })
}

impl Mounted {
    /// The number of requests of a kind that an action makes.
    fn requests(&self, kind: Kind, action: impl FnOnce()) -> u64 {
        let before = self.faulty.counts()[&kind];
        action();
        self.faulty.counts()[&kind] - before
    }
}

#[test]
fn it_works_as_a_file_system() {
    for direct_io in [false, true] {
        let options = FaultyOptions {
            direct_io,
            ..FaultyOptions::default()
        };
        let Some(Mounted {
            faulty,
            at,
            mounts: _mounts,
        }) = mounted(options)
        else {
            return;
        };
        let data: Vec<u8> = (0..3_000_001_u32).map(|i| ((i * 7) >> 3) as u8).collect();
        std::fs::create_dir_all(at.join("a/b")).expect("mkdir");
        std::fs::write(at.join("a/b/f"), &data).expect("write");
        assert!(std::fs::read(at.join("a/b/f")).expect("read") == data);
        assert!(std::fs::read(faulty.backing().join("a/b/f")).expect("read") == data);
        std::fs::rename(at.join("a"), at.join("z")).expect("rename");
        let meta = std::fs::metadata(at.join("z/b/f")).expect("stat");
        assert_eq!(meta.len(), data.len() as u64);
        let file = std::fs::OpenOptions::new();
        let file = file
            .clone()
            .write(true)
            .open(at.join("z/b/f"))
            .expect("open");
        file.set_len(10).expect("truncate");
        file.sync_all().expect("fsync");
        file.set_permissions(std::fs::Permissions::from_mode(0o640))
            .expect("chmod");
        let meta = std::fs::metadata(at.join("z/b/f")).expect("stat");
        assert_eq!((meta.len(), meta.mode() & 0o7777), (10, 0o640));
        // Unlinked, but still open.
        std::fs::remove_file(at.join("z/b/f")).expect("unlink");
        file.set_len(20).expect("truncate an unlinked file");
        assert_eq!(file.metadata().expect("fstat").len(), 20);
        drop(file);
        for i in 0..300 {
            std::fs::write(at.join(format!("z/b/{i}")), "").expect("create");
        }
        let listed = std::fs::read_dir(at.join("z/b")).expect("opendir").count();
        assert_eq!(listed, 300);
        let refused = std::fs::remove_dir(at.join("z/b")).expect_err("not empty");
        assert_eq!(refused.kind(), std::io::ErrorKind::DirectoryNotEmpty);
        std::fs::remove_dir_all(at.join("z")).expect("remove all");
        assert_eq!(
            std::fs::read_dir(faulty.backing()).expect("list").count(),
            0
        );
        let missing = std::fs::metadata(at.join("z")).expect_err("removed");
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    }
}

#[test]
fn locks_and_mappings_work_through_it() {
    for direct_io in [false, true] {
        let options = FaultyOptions {
            direct_io,
            ..FaultyOptions::default()
        };
        let Some(Mounted { at, mounts, faulty }) = mounted(options) else {
            return;
        };
        // python3 is also needed by ci/check-docs.
        let script = "import fcntl, mmap, os, sys\n\
            fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n\
            os.ftruncate(fd, 8192)\n\
            fcntl.lockf(fd, fcntl.LOCK_EX, 100, 50)\n\
            fcntl.lockf(fd, fcntl.LOCK_UN, 100, 50)\n\
            m = mmap.mmap(fd, 8192)\n\
            m[4096:4099] = b'abc'\n\
            m.flush()\n\
            print(os.pread(fd, 3, 4096), os.statvfs(sys.argv[1]).f_bavail > 0, os.access(sys.argv[1], os.W_OK))\n";
        let output = mounts
            .command("python3")
            .args(["-c", script])
            .arg(faulty.scratch().path().join("f"))
            .output()
            .expect("start python3");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(stdout, "b'abc' True True\n", "{errors}");
        assert_eq!(
            std::fs::read(at.join("f")).expect("read")[4096..4099],
            *b"abc"
        );
    }
}

#[test]
fn each_stat_arrives_and_with_direct_io_each_read() {
    let options = FaultyOptions {
        direct_io: true,
        ..FaultyOptions::default()
    };
    let Some(mounted) = mounted(options) else {
        return;
    };
    let file = mounted.at.join("f");
    std::fs::write(&file, [1; 8192]).expect("write");
    let stat = || {
        for _ in 0..50 {
            std::fs::metadata(&file).expect("stat");
        }
    };
    assert_eq!(mounted.requests(Kind::Getattr, stat), 50);
    assert_eq!(mounted.requests(Kind::Lookup, stat), 50);
    let open = std::fs::File::open(&file).expect("open");
    let read = || {
        use std::os::unix::fs::FileExt;
        for _ in 0..50 {
            open.read_exact_at(&mut [0; 512], 100).expect("read");
        }
    };
    assert_eq!(mounted.requests(Kind::Read, read), 50);
    let rename = || std::fs::rename(&file, mounted.at.join("g")).expect("rename");
    assert_eq!(mounted.requests(Kind::Rename, rename), 1);
}

#[test]
fn a_delay_lengthens_the_call_of_a_program() {
    let Some(Mounted {
        faulty,
        at,
        mounts: _mounts,
    }) = mounted(FaultyOptions::default())
    else {
        return;
    };
    std::fs::write(at.join("f"), "f").expect("write");
    // The shortest of several: on a busy machine some take longer.
    let time = |count: u32| {
        let each = (0..count).map(|_| {
            let begun = Instant::now();
            std::fs::metadata(at.join("f")).expect("stat");
            begun.elapsed()
        });
        each.min().expect("some")
    };
    let bare = time(50);
    faulty.delay(Kind::Getattr, Duration::from_millis(5));
    let delayed = time(20);
    assert!(delayed >= Duration::from_millis(5), "{delayed:?}");
    assert!(
        delayed < Duration::from_millis(6) + bare,
        "{delayed:?}, bare {bare:?}"
    );
    // Eight threads run concurrently: in sequence they would take 0.8 s.
    faulty.delay(Kind::Getattr, Duration::from_millis(50));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| time(2));
        }
    });
    let together = begun.elapsed();
    assert!(together < Duration::from_millis(400), "{together:?}");
    faulty.recover();
    assert!(time(20) < Duration::from_millis(4));
}

#[test]
fn errors_are_returned_as_configured_until_recover() {
    let Some(Mounted {
        faulty,
        at,
        mounts: _mounts,
    }) = mounted(FaultyOptions::default())
    else {
        return;
    };
    faulty.fail(Kind::Mkdir, 2, EIO);
    let results: Vec<Option<i32>> = (0..4)
        .map(|i| {
            std::fs::create_dir(at.join(i.to_string()))
                .err()?
                .raw_os_error()
        })
        .collect();
    assert_eq!(results, [None, Some(EIO), None, Some(EIO)]);
    assert_eq!(faulty.failures()[&Kind::Mkdir], 2);
    faulty.fail(Kind::Write, 1, EIO);
    let error = std::fs::write(at.join("f"), "f").expect_err("no write works");
    assert_eq!(error.raw_os_error(), Some(EIO));
    faulty.recover();
    std::fs::write(at.join("f"), "f").expect("writes work again");
}

#[test]
fn writes_fail_beyond_the_space_limit_and_statfs_shows_it() {
    let Some(Mounted {
        faulty,
        at,
        mounts: _mounts,
    }) = mounted(FaultyOptions::default())
    else {
        return;
    };
    faulty.limit_space(Some(100_000));
    std::fs::write(at.join("f"), [0; 60_000]).expect("there is space");
    let error = std::fs::write(at.join("g"), [0; 60_000]).expect_err("there is no space");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let of = rustix::fs::statvfs(&at).expect("statfs");
    let available = of.f_bavail * of.f_frsize;
    assert!(available <= 40_000, "{available}");
    faulty.recover();
    std::fs::write(at.join("g"), [0; 60_000]).expect("there is space again");
}

#[test]
fn a_waiting_call_ends_when_the_connection_is_cut() {
    let Some(Mounted {
        faulty,
        at,
        mounts: _mounts,
    }) = mounted(FaultyOptions::default())
    else {
        return;
    };
    std::fs::write(at.join("f"), "f").expect("write");
    let open = std::fs::File::open(at.join("f")).expect("open");
    faulty.delay(Kind::Getattr, Duration::from_secs(1000));
    let waiting = std::thread::spawn(move || open.metadata());
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    let begun = Instant::now();
    faulty.die().expect("cut the connection");
    let answer = waiting.join().expect("no panic");
    assert!(begun.elapsed() < Duration::from_secs(2), "{answer:?}");
    assert_eq!(
        std::fs::read_dir(&at).expect("an empty directory").count(),
        0
    );
    drop(faulty);
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[test]
fn alone_without_faults_it_serves_a_thousand_stats_per_second() {
    let Some(Mounted {
        faulty: _faulty,
        at,
        mounts: _mounts,
    }) = mounted(FaultyOptions::default())
    else {
        return;
    };
    std::fs::create_dir_all(at.join("a/b")).expect("mkdir");
    std::fs::write(at.join("a/b/f"), "f").expect("write");
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < Duration::from_millis(500) {
        std::fs::metadata(at.join("a/b/f")).expect("stat");
        count += 1;
    }
    let per_second = f64::from(count) / begun.elapsed().as_secs_f64();
    println!("{per_second:.0} stats/s, three directories deep");
    assert!(per_second > 1000.0, "{per_second}");
}
