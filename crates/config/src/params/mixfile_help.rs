//! The help of MIXFILE: text with the names of the operations from their table.

use filermark_model::Op;

/// The help.
pub(super) const MIXFILE_HELP: &str = match std::str::from_utf8(&BYTES) {
    Ok(text) => text,
    Err(_) => panic!("the names of operations are UTF-8"),
};

const LEN: usize = write(&mut []);
const BYTES: [u8; LEN] = {
    let mut bytes = [0; LEN];
    write(&mut bytes);
    bytes
};

/// Writes as much as there is space for, and returns the length of the whole text.
const fn write(out: &mut [u8]) -> usize {
    let at = text(
        out,
        0,
        "Looked for in WORK_DIR, then next to the rc file. The first line is exactly \
         'SFS MIXFILE VERSION 2'. Every other line is a comment with # in the first column, or \
         an operation's name and its share: 'getattr 26%' or 'link 0.004%', 100 in total. What \
         `nfsstat -s` and similar tools print may be given instead \
         (docs/src/reference/mix-files.md). Names:",
    );
    let at = names(out, at, Op::NFS3, " ", Choice::All);
    let at = text(out, at, ". NFS version 2 does not have");
    let at = names(out, at, Op::NFS3, ", ", Choice::NotInVersion2);
    let at = text(
        out,
        at,
        "; its root and wrcache may have 0% only. NFS_VERSION=4.0, 4.1 and 4.2 also have",
    );
    let at = names(out, at, Op::NFS42, " ", Choice::Version41);
    let at = text(out, at, ", NFS_VERSION=4.2 also");
    let at = names(out, at, Op::NFS42, " ", Choice::Version42);
    let at = text(out, at, ". With SMB:");
    let at = names(out, at, Op::SMB, " ", Choice::All);
    text(
        out,
        at,
        "; open and close have the same share, and the sequence of operations is solved for the \
         new mix (docs/src/reference/smb-workload.md).",
    )
}

/// Writes a text at a position, and returns the position after it.
const fn text(out: &mut [u8], mut at: usize, text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut next = 0;
    while next < bytes.len() {
        if at < out.len() {
            out[at] = bytes[next];
        }
        at += 1;
        next += 1;
    }
    at
}

/// Which operations of a list are named.
#[derive(Clone, Copy)]
enum Choice {
    All,
    /// Those that NFS version 2 does not have.
    NotInVersion2,
    /// Those that version 4.1 has and version 3 does not.
    Version41,
    /// Those that version 4.2 alone has.
    Version42,
}

impl Choice {
    const fn has(self, op: Op) -> bool {
        match self {
            Self::All => true,
            Self::NotInVersion2 => op.nfs2_number().is_none(),
            Self::Version41 => op.nfs4_number().is_some() && !op.needs_nfs42(),
            Self::Version42 => op.needs_nfs42(),
        }
    }
}

/// Writes the names of operations after a space, with a separator.
const fn names(
    out: &mut [u8],
    mut at: usize,
    ops: &[Op],
    separator: &str,
    choice: Choice,
) -> usize {
    let (mut next, mut before) = (0, " ");
    while next < ops.len() {
        if choice.has(ops[next]) {
            at = text(out, at, before);
            at = text(out, at, ops[next].name());
            before = separator;
        }
        next += 1;
    }
    at
}
