//! An SFTP server in memory for tests: files by their paths, and failures that a server of
//! OpenSSH cannot be made to have.

use super::{CHUNK_LEN, Field, Fields, Sftp, append_field};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::rc::Rc;

#[derive(Default)]
struct State {
    files: BTreeMap<String, Vec<u8>>,
    no_posix_rename: bool,
    damages: bool,
    refused_renames: Vec<String>,
    /// What the client has not read yet.
    answers: VecDeque<u8>,
    /// The most bytes that it had for the client at one time.
    answers_len_max: usize,
    /// A request that has not arrived completely.
    request: Vec<u8>,
}

/// The server; its copies are the same one.
#[derive(Clone, Default)]
pub(in crate::admin) struct FakeServer(Rc<RefCell<State>>);

impl FakeServer {
    /// A client of it.
    pub fn connect(&self) -> Sftp<Self, Self> {
        Sftp::connect(self.clone(), self.clone()).unwrap()
    }

    pub fn put(&self, path: &str, bytes: &[u8]) {
        let mut state = self.0.borrow_mut();
        state.files.insert(path.into(), bytes.to_vec());
    }

    pub fn remove(&self, path: &str) {
        self.0.borrow_mut().files.remove(path);
    }

    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.0.borrow().files.clone();
        files.into_iter().collect()
    }

    /// Whether it has the extension posix-rename@openssh.com.
    pub fn set_posix_rename(&self, has_it: bool) {
        self.0.borrow_mut().no_posix_rename = !has_it;
    }

    /// Each write stores another first byte.
    pub fn damage_writes(&self) {
        self.0.borrow_mut().damages = true;
    }

    /// The most bytes of answers that were on their way at one time.
    pub fn answers_len_max(&self) -> usize {
        self.0.borrow().answers_len_max
    }

    pub fn refuse_rename_of(&self, path: &str) {
        self.0.borrow_mut().refused_renames.push(path.into());
    }
}

impl Read for FakeServer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().answers.read(buffer)
    }
}

impl Write for FakeServer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.borrow_mut();
        state.request.extend_from_slice(bytes);
        while let Some(len) = state.request.first_chunk::<4>() {
            let end = 4 + u32::from_be_bytes(*len) as usize;
            if state.request.len() < end {
                break;
            }
            let packet: Vec<u8> = state.request.drain(..end).skip(4).collect();
            state.serve(packet[0], &packet[1..]).expect("a request");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl State {
    fn serve(&mut self, kind: u8, body: &[u8]) -> Result<(), String> {
        let mut fields = Fields(body);
        let id = fields.number()?;
        if kind == 1 {
            self.answer(2, &[Field::Number(3)]);
            return Ok(());
        }
        let name = fields.text()?;
        // Handles are paths.
        match kind {
            3 => {
                let flags = fields.number()?;
                if flags == super::OPEN_NEW {
                    self.files.insert(name.clone(), Vec::new());
                }
                match self.files.contains_key(&name) {
                    true => self.answer(102, &[Field::Number(id), Field::Text(&name)]),
                    false => self.status(id, 2),
                }
            }
            4 => self.status(id, 0),
            5 => {
                let (at, len) = (fields.long()? as usize, fields.number()? as usize);
                let all = self.files.get(&name).cloned().unwrap_or_default();
                let rest = all.get(at..).unwrap_or_default();
                let piece = &rest[..rest.len().min(len).min(CHUNK_LEN)];
                match piece.is_empty() {
                    true => self.status(id, 1),
                    false => self.answer(103, &[Field::Number(id), Field::Bytes(piece)]),
                }
            }
            6 => {
                let (at, mut bytes) = (fields.long()? as usize, fields.bytes()?.to_vec());
                if self.damages {
                    bytes[0] ^= 1;
                }
                let file = self.files.entry(name).or_default();
                file.resize(file.len().max(at + bytes.len()), 0);
                file[at..at + bytes.len()].copy_from_slice(&bytes);
                self.status(id, 0);
            }
            13 => {
                let status = if self.files.remove(&name).is_some() {
                    0
                } else {
                    2
                };
                self.status(id, status);
            }
            17 => match self.files.get(&name).map(Vec::len) {
                Some(len) => {
                    let fields = [Field::Number(id), Field::Number(1), Field::Long(len as u64)];
                    self.answer(105, &fields);
                }
                None => self.status(id, 2),
            },
            18 => {
                let to = fields.text()?;
                let status = self.rename(&name, to, false);
                self.status(id, status);
            }
            200 if self.no_posix_rename => self.status(id, 8),
            200 => {
                let (from, to) = (fields.text()?, fields.text()?);
                let status = self.rename(&from, to, true);
                self.status(id, status);
            }
            _ => self.status(id, 8),
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: String, replaces: bool) -> u32 {
        if self.refused_renames.iter().any(|refused| refused == from) {
            return 4;
        }
        if !replaces && self.files.contains_key(&to) {
            return 4;
        }
        let Some(bytes) = self.files.remove(from) else {
            return 2;
        };
        self.files.insert(to, bytes);
        0
    }

    fn status(&mut self, id: u32, code: u32) {
        let fields = [
            Field::Number(id),
            Field::Number(code),
            Field::Text("made up"),
        ];
        self.answer(101, &fields);
    }

    fn answer(&mut self, kind: u8, fields: &[Field<'_>]) {
        let mut body = vec![kind];
        for field in fields {
            append_field(&mut body, field);
        }
        self.answers.extend((body.len() as u32).to_be_bytes());
        self.answers.extend(body);
        self.answers_len_max = self.answers_len_max.max(self.answers.len());
    }
}
