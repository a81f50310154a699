//! A client that is as simple as can be: one call, one reply.

use filermark_onc::mount::{self, MntArgs};
use filermark_onc::nfs3::{self, *};
use filermark_onc::record::RecordReader;
use filermark_onc::rpc::{AuthBody, AuthSys, Call, ReplyHeader, RpcRefusal};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{self, Decode, Decoder};
use filermark_server::{RunningServer, Server, ServerOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Starts a server with the options that `edit` leaves.
pub fn server(edit: impl FnOnce(&mut ServerOptions)) -> RunningServer {
    let mut options = ServerOptions::default();
    edit(&mut options);
    Server::start(options).expect("start")
}

/// AUTH_SYS as this user.
pub fn auth(uid: u32, gid: u32, gids: &[u32]) -> AuthBody {
    AuthSys::new(0, b"test", uid, gid, gids).to_body()
}

/// A connection.
pub struct Client {
    pub stream: TcpStream,
    reader: RecordReader,
    input: Vec<u8>,
    nfs: CallTemplate,
    pub xid: u32,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_nodelay(true).expect("nodelay");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("time-out");
        let nfs = template(&auth(0, 0, &[]));
        Client {
            stream,
            reader: RecordReader::new(8 << 20),
            input: Vec::new(),
            nfs,
            xid: 100,
        }
    }

    /// A connection to the server's first address, and the handle of `/export`.
    pub fn mounted(server: &RunningServer) -> (Client, Fh) {
        let mut client = Client::connect(server.addrs()[0]);
        let root = client.mnt("/export").expect("mount");
        (client, root)
    }

    /// Calls as this user from now on.
    pub fn become_user(&mut self, auth: &AuthBody) {
        self.nfs = template(auth);
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("send");
    }

    /// The next record, or `None` when the server has closed the connection.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut rest = &self.input[..];
            let record = self
                .reader
                .next_record(&mut rest)
                .expect("record")
                .map(<[u8]>::to_vec);
            let used = self.input.len() - rest.len();
            self.input.drain(..used);
            if record.is_some() {
                return record;
            }
            let mut buffer = [0; 65536];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(n) => self.input.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("receive: {error}"),
            }
        }
    }

    /// The bytes of a call, with a new xid.
    pub fn bytes_of<A: Call>(&mut self, args: &A) -> Vec<u8> {
        self.xid += 1;
        let mut bytes = Vec::new();
        self.nfs.call(&mut bytes, self.xid, args);
        bytes
    }

    /// One NFS call; `look` sees the results.
    pub fn call<A: Call, R>(&mut self, args: &A, look: impl FnOnce(A::Res<'_>) -> R) -> R {
        let bytes = self.bytes_of(args);
        self.send(&bytes);
        let record = self.receive().expect("a reply");
        look(results(&record, self.xid).expect("accepted"))
    }

    /// One call of any program and version.
    pub fn call_program<A: Call, R>(
        &mut self,
        (prog, vers): (u32, u32),
        args: &A,
        look: impl FnOnce(A::Res<'_>) -> R,
    ) -> Result<R, RpcRefusal> {
        self.xid += 1;
        let cred = auth(0, 0, &[]);
        let mut bytes = Vec::new();
        CallTemplate::new(prog, vers, cred.as_auth()).call(&mut bytes, self.xid, args);
        self.send(&bytes);
        let record = self.receive().expect("a reply");
        results(&record, self.xid).map(look)
    }

    pub fn mnt(&mut self, path: &str) -> Result<Fh, mount::Mountstat3> {
        let args = MntArgs {
            dirpath: path.as_bytes(),
        };
        let program = (mount::PROGRAM, mount::VERSION);
        let res = self.call_program(program, &args, |res| {
            res.map(|ok| {
                assert!(ok.auth_flavors.allows_sys());
                ok.fhandle.to_fh()
            })
        });
        res.expect("accepted")
    }

    pub fn make(&mut self, dir: Fh, name: &str, how: Createhow3) -> Result<Fh, Nfsstat3> {
        let location = Diropargs3 {
            dir: dir.handle(),
            name: name.as_bytes(),
        };
        self.call(&CreateArgs { location, how }, made)
    }

    pub fn create(&mut self, dir: Fh, name: &str) -> Fh {
        self.make(dir, name, Createhow3::Guarded(Sattr3::mode(0o644)))
            .expect("create")
    }

    pub fn mkdir(&mut self, dir: Fh, name: &str) -> Result<Fh, Nfsstat3> {
        let location = Diropargs3 {
            dir: dir.handle(),
            name: name.as_bytes(),
        };
        self.call(
            &MkdirArgs {
                location,
                attributes: Sattr3::mode(0o755),
            },
            made,
        )
    }

    pub fn lookup(&mut self, dir: Fh, name: &str) -> Result<Fh, Nfsstat3> {
        let what = Diropargs3 {
            dir: dir.handle(),
            name: name.as_bytes(),
        };
        self.call(&LookupArgs { what }, |res| {
            res.map(|ok| ok.object.to_fh())
                .map_err(|failed| failed.status)
        })
    }

    pub fn getattr(&mut self, file: Fh) -> Result<Fattr3, Nfsstat3> {
        self.call(
            &GetattrArgs {
                object: file.handle(),
            },
            |res| {
                res.map(|ok| ok.obj_attributes)
                    .map_err(|failed| failed.status)
            },
        )
    }

    pub fn write(&mut self, file: Fh, offset: u64, data: &[u8], stable: StableHow) -> WriteRes {
        let (file, count) = (file.handle(), data.len() as u32);
        self.call(
            &WriteArgs {
                file,
                offset,
                count,
                stable,
                data,
            },
            |res| res,
        )
    }

    /// The data and whether the end was met.
    pub fn read(&mut self, file: Fh, offset: u64, count: u32) -> Result<(Vec<u8>, bool), Nfsstat3> {
        self.call(
            &ReadArgs {
                file: file.handle(),
                offset,
                count,
            },
            |res| match res {
                Ok(ok) => {
                    assert_eq!(ok.count as usize, ok.data.len());
                    assert!(ok.file_attributes.is_some());
                    Ok((ok.data.to_vec(), ok.eof))
                }
                Err(failed) => Err(failed.status),
            },
        )
    }
}

fn template(auth: &AuthBody) -> CallTemplate {
    CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, auth.as_auth())
}

fn made(res: CreateRes<'_>) -> Result<Fh, Nfsstat3> {
    match res {
        Ok(ok) => {
            assert!(ok.obj_attributes.is_some() && ok.dir_wcc.before.is_some());
            Ok(ok.obj.expect("a handle").to_fh())
        }
        Err(failed) => Err(failed.status),
    }
}

/// The results in a reply, which must fill it and answer `xid`.
pub fn results<'a, R: Decode<'a>>(record: &'a [u8], xid: u32) -> Result<R, RpcRefusal> {
    let mut d = Decoder::new(record);
    let header = ReplyHeader::decode(&mut d).expect("a reply header");
    assert_eq!(header.xid, xid);
    header.check()?;
    Ok(xdr::finish(&mut d).expect("results"))
}
