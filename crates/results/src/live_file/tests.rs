use super::*;

#[test]
fn a_late_entry_is_inserted_at_its_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("log");
    std::fs::write(&path, "old\n").expect("written");
    let mut file = LiveFile::new(path.clone(), 2);
    let text = || std::fs::read_to_string(&path).expect("the file");
    file.empty().expect("emptied");
    file.add(1, "a\n".into());
    file.write().expect("written");
    let open = std::fs::File::open(&path).expect("the file");
    file.add(3, "c\n".into());
    file.write().expect("written");
    file.add(2, "b\n".into());
    file.write().expect("written");
    assert_eq!(text(), "a\nb\nc\n");
    file.remove(&3);
    file.write().expect("written");
    assert_eq!(text(), "a\nb\n");
    // Only the last two are kept: earlier entries stay where they are.
    file.add(4, "d\n".into());
    file.write().expect("written");
    file.add(0, "z\n".into());
    file.write().expect("written");
    assert_eq!(text(), "a\nz\nb\nd\n");
    let length = open.metadata().expect("there").len();
    assert_eq!(length, 8, "the same file");
}

#[test]
fn a_file_continues_after_the_rendered_part() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("log");
    let text = || std::fs::read_to_string(&path).expect("the file");
    let mut file = LiveFile::new(path.clone(), 8);
    file.add(1, "a\n".into());
    file.write().expect("written");
    file.pass_on();
    complete(&path, "a\nresult\n").expect("written");
    file.add(2, "between\n".into());
    file.go_on();
    file.add(3, "b\n".into());
    file.write().expect("written");
    assert_eq!(text(), "a\nresult\nbetween\nb\n");
    complete(&path, "z\n").expect("written");
    assert_eq!(text(), "z\n");
    complete(&dir.path().join("new"), "y\n").expect("written");
}

#[test]
fn write_errors_are_reported_once() {
    let dir = tempfile::tempdir().expect("a directory");
    for place in [dir.path().join("none/log"), "/dev/full".into()] {
        let mut file = LiveFile::new(place.clone(), 0);
        file.add((), "a\n".into());
        let message = file.write().expect_err("no folder").to_string();
        assert!(message.contains(&place.display().to_string()), "{message}");
        file.add((), "b\n".into());
        file.write().expect("reported once");
    }
    if cfg!(not(unix)) {
        return;
    }
    let mut file = LiveFile::new("/dev/null".into(), 0);
    file.add((), "a\n".into());
    file.write().expect("taken");
    complete(Path::new("/dev/full"), "a\n").expect("left alone");
}

/// A reader of a pipe that starts late gets all lines, once.
#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    use rustix::fs::OFlags;
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("pipe");
    let (fifo, mode) = (
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
    );
    rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).expect("a pipe");
    let mut file = LiveFile::new(path.clone(), 0);
    file.add((), "a\n".into());
    file.write().expect("no reader");
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32);
    let mut reader = options.open(&path).expect("a reader");
    file.add((), "b\n".into());
    file.write().expect("written");
    file.pass_on();
    complete(&path, "a\nb\nc\n").expect("left alone");
    file.finish("end\n").expect("all is read");
    drop(file);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("read");
    assert_eq!(text, "a\nb\nend\n");
    // Without a reader: what does not fit is counted.
    drop(reader);
    let mut file = LiveFile::new(path, 0);
    (0..5).for_each(|_| file.add((), "x".repeat(1 << 20)));
    file.write().expect("no reader");
    let message = file.finish("end\n").expect_err("not read").to_string();
    assert!(message.contains("5242884 bytes were not read"), "{message}");
}
