//! The GSS-API library alone: it encrypts the arguments of a WRITE, and decrypts the results of a READ that
//! a server has encrypted, again and again, in a context of its own with that server (RFC 2203).

use filermark_gss::{Context, ContextUse, Credentials, Library};
use filermark_model::Nanos;
use filermark_model::Secret;
use filermark_model::plan::NfsVersion;
use filermark_nfs::client::{MountClient, Nfs3Client, RpcOptions};
use filermark_nfs::security::KerberosOptions;
use filermark_onc::nfs3::{PROGRAM, Procedure, ReadArgs, VERSION};
use filermark_onc::record::{OpenRecord, RecordReader};
use filermark_onc::rpc::{
    AuthFlavor, AuthSys, CallHeader, GSS_VERSION, GssCred, GssInitArgs, GssInitRes, GssPrivData,
    GssProc, GssService, OpaqueAuth, ReplyHeader,
};
use filermark_onc::xdr::{self, Decode, Decoder};
use filermark_testbed::Kdc;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const RECORD_MAX: usize = 1 << 20;
/// Bytes of the transfer.
const TRANSFER: usize = 64 << 10;
/// What the arguments of a WRITE have beside the data, in bytes: a number, a handle, offset, lengths.
const ARGUMENTS: usize = 64;

/// A server, and a file of one transfer on it.
pub(super) struct AloneServer<'a> {
    pub(super) ports: (u16, u16),
    pub(super) path: &'a str,
    pub(super) file: &'a str,
}

/// An established context, and what is encrypted and decrypted in it.
pub(super) struct Alone {
    context: Context,
    /// The results of a READ, encrypted.
    wrapped: Vec<u8>,
    plain: Vec<u8>,
}

impl Alone {
    /// Establishes the context and reads the file once.
    ///
    /// # Errors
    /// What failed.
    pub(super) fn new(server: &AloneServer<'_>) -> Result<Self, String> {
        let file = find(server)?;
        let mut wire = Wire::connect(server.ports.0)?;
        let library = Library::open().map_err(|e| e.to_string())?;
        let credentials = Credentials::obtain("", "", &Secret::NONE);
        let credentials = credentials.map_err(|e| format!("tickets: {e:?}"))?;
        let target = library.service(&format!("nfs@{}", Kdc::NFS_HOST));
        let target = target.map_err(|e| e.to_string())?;
        let mut context = library.context(ContextUse::Rpc);
        let first = context.step(credentials.credential(), &target, &[]);
        let (gss_token, _) = first.map_err(|e| e.to_string())?;
        let mut args = Vec::new();
        xdr::append(
            &mut args,
            &GssInitArgs {
                gss_token: &gss_token,
            },
        );
        let reply = wire.call((GssProc::Init, 0, &[]), None, 0, &args)?;
        let results: GssInitRes<'_> = results(&reply)?;
        let proved = context.step(credentials.credential(), &target, results.gss_token);
        let (_, is_proved) = proved.map_err(|e| e.to_string())?;
        if !is_proved {
            return Err("the server did not accept the context".to_owned());
        }
        let mut body = 1u32.to_be_bytes().to_vec();
        let count = TRANSFER as u32;
        let offset = 0;
        let file = file.handle();
        xdr::append(
            &mut body,
            &ReadArgs {
                file,
                offset,
                count,
            },
        );
        let wrapped = context.wrap(&body).map_err(|e| e.to_string())?;
        let mut args = Vec::new();
        let databody_priv = wrapped.bytes();
        xdr::append(&mut args, &GssPrivData { databody_priv });
        let of = (GssProc::Data, 1, results.handle);
        let reply = wire.call(of, Some(&mut context), Procedure::Read.to_u32(), &args)?;
        let data: GssPrivData<'_> = self::results(&reply)?;
        let wrapped = data.databody_priv.to_vec();
        if wrapped.len() < TRANSFER {
            return Err("the server did not return the file".to_owned());
        }
        Ok(Self {
            context,
            wrapped,
            plain: vec![7; TRANSFER + ARGUMENTS],
        })
    }

    /// Encrypts (`is_write`) or decrypts transfers for this time; returns how many.
    ///
    /// # Errors
    /// What the library says.
    pub(super) fn keep_up(&mut self, is_write: bool, span: Nanos) -> Result<f64, String> {
        let (began, span) = (Instant::now(), Duration::from_nanos(span.0));
        let mut count = 0.0;
        while began.elapsed() < span {
            let done = match is_write {
                true => self.context.wrap(&self.plain),
                false => self.context.unwrap(&self.wrapped),
            };
            std::hint::black_box(done.map_err(|e| e.to_string())?.bytes());
            count += 1.0;
        }
        Ok(count)
    }
}

/// Results of a successful call, the last ones of a reply.
fn results<'r, T: Decode<'r>>(reply: &'r [u8]) -> Result<T, String> {
    let mut d = Decoder::new(reply);
    let header = ReplyHeader::decode(&mut d).map_err(|e| e.to_string())?;
    header.check().map_err(|e| e.to_string())?;
    xdr::finish(&mut d).map_err(|e| e.to_string())
}

/// The handle of the file.
fn find(server: &AloneServer<'_>) -> Result<filermark_onc::nfs3::Fh, String> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let user = || AuthSys::new(0, b"bench", 0, 0, &[]).to_body();
    let mut mount = MountClient::new(
        NfsVersion::V3,
        at(server.ports.1),
        user(),
        RpcOptions::default(),
    );
    let mounted = mount.mnt(server.path).map_err(|e| e.to_string())?;
    let root = mounted.map_err(|status| status.to_string())?.root;
    let options = RpcOptions {
        kerberos: Some(KerberosOptions {
            service: GssService::Privacy,
            username: String::new(),
            realm: String::new(),
            server: Kdc::NFS_HOST.to_owned(),
        }),
        ..RpcOptions::default()
    };
    let mut client = Nfs3Client::new(at(server.ports.0), user(), options);
    let found = client.lookup(&root, server.file.as_bytes());
    let found = found.map_err(|e| e.to_string())?;
    Ok(found.map_err(|failed| failed.status.to_string())?.object)
}

/// A connection for calls with RPCSEC_GSS, one at a time.
struct Wire {
    stream: TcpStream,
    xid: u32,
}

impl Wire {
    fn connect(port: u16) -> Result<Self, String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let stream = stream.map_err(|e| format!("connect: {e}"))?;
        Ok(Self { stream, xid: 1 })
    }

    /// Sends a call with this credential, signed in a context if there is one; returns the reply.
    fn call(
        &mut self,
        (gss_proc, seq_num, handle): (GssProc, u32, &[u8]),
        context: Option<&mut Context>,
        proc: u32,
        args: &[u8],
    ) -> Result<Vec<u8>, String> {
        self.xid += 1;
        let mut body = Vec::new();
        let cred = GssCred {
            version: GSS_VERSION,
            gss_proc,
            seq_num,
            service: GssService::Privacy,
            handle,
        };
        xdr::append(&mut body, &cred);
        let mut out = Vec::new();
        let record = OpenRecord::begin(&mut out);
        let header = CallHeader {
            xid: self.xid,
            prog: PROGRAM,
            vers: VERSION,
            proc,
            cred: OpaqueAuth {
                flavor: AuthFlavor::RpcsecGss,
                body: &body,
            },
            verf: OpaqueAuth::NONE,
        };
        xdr::append(&mut out, &header);
        if let Some(context) = context {
            // In place of the empty verifier, which is the last of the header.
            out.truncate(out.len() - 8);
            let mic = context.sign(&out[4..]).map_err(|e| e.to_string())?;
            xdr::append(&mut out, &OpaqueAuth::gss_verf(mic.bytes()));
        }
        out.extend_from_slice(args);
        record.finish(&mut out);
        self.exchange(&out).map_err(|e| format!("the server: {e}"))
    }

    fn exchange(&mut self, call: &[u8]) -> std::io::Result<Vec<u8>> {
        self.stream.write_all(call)?;
        let (mut reader, mut input) = (RecordReader::new(RECORD_MAX), vec![0; RECORD_MAX]);
        loop {
            let came = self.stream.read(&mut input)?;
            if came == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let mut rest = &input[..came];
            let record = reader.next_record(&mut rest);
            if let Some(record) = record.map_err(std::io::Error::other)? {
                return Ok(record.to_vec());
            }
        }
    }
}
