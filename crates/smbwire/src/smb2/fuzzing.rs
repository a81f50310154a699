//! Entry points for the fuzzer (`fuzz/`) and for the tests with cut and corrupted messages.
//! Each takes any bytes and panics where a promise is broken.

use super::contexts::Choices;
use super::directory::DirectoryClass;
use super::file::FileFacts;
use super::ioctl::ValidateResponse;
use super::negotiate::NegotiateResponse;
use super::notify::Changes;
use super::oplock::LeaseBreakResponse;
use super::query::{self, AllInfo, AttributeInfo, BasicInfo, FsSizeInfo, StandardInfo, VolumeInfo};
use super::security::Descriptor;
use super::session::{Protection, Share};
use super::setup::{SessionSetupResponse, TreeConnectResponse};
use super::*;
use crate::codec::Answer;
use crate::codec::fuzzing::read_all;
use crate::crypto::{Cipher, Opener, Sealer, Signer, SigningAlgorithm};
use crate::settings::TransferLimits;
use crate::smb1::Transaction;
use filermark_model::smb::Dialect;

pub use super::handshake::fuzzing::{sessions, smb2_handshake};

/// A message, or a compound, in every way it can be read. The first byte chooses how the
/// session is protected that it comes to.
pub fn smb2(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else {
        return;
    };
    let mut messages = 0;
    for (header, message) in Messages::new(data).map_while(Result::ok) {
        messages += 1;
        let again = Header::decode(&header.to_bytes());
        assert_eq!(again, Ok(header));
        of_setup(message);
        of_files(message);
        let answer = Answer {
            message,
            transaction: Transaction::default(),
        };
        read_all::<Session>(header.command as u16, &answer);
    }
    assert!(messages <= data.len() / header::LEN, "messages overlap");
    outputs(data);
    let signing = usize::from(choice) % (SigningAlgorithm::ALL.len() + 1);
    let cipher = usize::from(choice >> 4) % (Cipher::ALL.len() + 1);
    let signing = SigningAlgorithm::ALL.get(signing).copied();
    let mut session = session(signing, Cipher::ALL.get(cipher).copied());
    let mut bytes = data.to_vec();
    if let Ok(plain) = session.unprotect(&mut bytes) {
        let _ = Messages::new(plain).count();
    }
}

fn of_setup(message: &[u8]) {
    let _ = NegotiateResponse::decode(message);
    let _ = SessionSetupResponse::decode(message);
    let _ = TreeConnectResponse::decode(message);
    let _ = EmptyResponse::decode(message);
    let _ = ValidateResponse::decode(message);
    let _ = Choices::decode(message, u16::MAX);
    if let Ok(error) = ErrorResponse::decode(message) {
        let _ = error.needed();
        assert!(error.contexts().count() <= message.len());
    }
}

fn of_files(message: &[u8]) {
    if let Ok(created) = CreateResponse::decode(message) {
        let _ = (created.lease(), created.maximal_access());
    }
    let _ = CloseResponse::decode(message);
    let _ = WriteResponse::decode(message);
    let _ = SetInfoResponse::decode(message);
    let _ = OplockBreak::decode(message);
    let _ = LeaseBreakResponse::decode(message);
    let within = |part: &[u8]| assert!(part.len() <= message.len());
    let _ = ReadResponse::decode(message).map(|read| within(read.data));
    let _ = IoctlResponse::decode(message).map(|ioctl| within(ioctl.output));
    if let Ok(answer) = OutputResponse::decode(message) {
        within(answer.output);
        outputs(answer.output);
    }
}

/// What answers carry, as every class of it.
fn outputs(bytes: &[u8]) {
    for class in DirectoryClass::ALL {
        let entries = Entries::new(bytes, class).map_while(Result::ok);
        assert!(entries.count() <= bytes.len() / 68 + 1, "entries overlap");
    }
    let changes = Changes::new(bytes).map_while(Result::ok);
    assert!(changes.count() <= bytes.len() / 12 + 1, "changes overlap");
    if let Ok(descriptor) = Descriptor::decode(bytes) {
        let _ = descriptor.owner.map(|owner| owner.to_string());
        let aces = descriptor.dacl.map(|dacl| dacl.entries().count());
        assert!(aces.unwrap_or(0) <= usize::from(u16::MAX));
    }
    let _ = (BasicInfo::decode(bytes), StandardInfo::decode(bytes));
    let _ = (AllInfo::decode(bytes), query::internal(bytes));
    let _: Result<FileFacts, _> = query::network_open(bytes);
    for class in [FsClass::Size, FsClass::FullSize, FsClass::Volume] {
        let _ = FsSizeInfo::decode(bytes, class);
    }
    let _ = (AttributeInfo::decode(bytes), VolumeInfo::decode(bytes));
}

/// A session that can open what it protects. For tests and benchmarks.
pub fn session(signing: Option<SigningAlgorithm>, cipher: Option<Cipher>) -> Session {
    let key = [7; 32];
    Session {
        marks: session::Marks::default(),
        dialect: Dialect::V311,
        session_id: 0x0102_0304_0506_0708,
        tree_id: 9,
        limits: TransferLimits {
            read_max: 8 << 20,
            write_max: 8 << 20,
            transact_max: 8 << 20,
        },
        credits: Credits::NEW,
        server_guid: [1; 16],
        capabilities: negotiate::capability::LARGE_MTU | negotiate::capability::LEASING,
        share: Share {
            flags: 0,
            capabilities: 0,
            maximal_access: 0,
        },
        user: User::Known,
        protection: Protection {
            signer: signing.map(|algorithm| Signer::new(algorithm, &[8; 16])),
            sign: signing.is_some(),
            seal: cipher.map(|c| (Sealer::new(c, &key), Opener::new(c, &key))),
        },
        token: Box::default(),
    }
}
