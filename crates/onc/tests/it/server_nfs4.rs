//! NFSv4.1 with a server that others wrote: nfs-ganesha answers what the codec encodes, and the codec reads
//! all of its answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use filermark_onc::nfs4::*;
use filermark_onc::record::RecordReader;
use filermark_onc::rpc::{AuthSys, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Array, Decode, Decoder};
use filermark_testbed::{Fsal, Ganesha, Sandbox, ServerOptions, available};

/// For the answer of a server on a busy host.
const LIMIT: Duration = Duration::from_secs(60);

struct Client {
    connection: TcpStream,
    template: CallTemplate,
    reader: RecordReader,
    xid: u32,
    session: Sessionid4,
    sequence: u32,
}

impl Client {
    fn new(connection: TcpStream) -> Self {
        connection
            .set_read_timeout(Some(LIMIT))
            .expect("a time limit");
        let cred = AuthSys::new(0, b"client", 0, 0, &[]).to_body();
        Self {
            connection,
            template: CallTemplate::new(PROGRAM, VERSION, cred.as_auth()),
            reader: RecordReader::new(1 << 20),
            xid: 0,
            session: [0; 16],
            sequence: 0,
        }
    }

    /// One COMPOUND; `look` gets the results and must read them all.
    fn compound<R>(
        &mut self,
        ops: impl FnOnce(&mut CompoundWriter<'_, Operation>),
        look: impl FnOnce(&mut CompoundRes<'_, Operation>) -> R,
    ) -> R {
        self.xid += 1;
        let mut out = Vec::new();
        let record = self.template.begin(&mut out, self.xid, PROC_COMPOUND);
        let mut compound = CompoundWriter::begin(&mut out, b"test", 1);
        ops(&mut compound);
        compound.finish();
        record.finish(&mut out);
        self.connection.write_all(&out).expect("send");
        let mut buffer = [0; 4096];
        loop {
            let len = self.connection.read(&mut buffer).expect("an answer");
            assert!(len > 0, "the server closed the connection");
            let mut input = &buffer[..len];
            let record = self.reader.next_record(&mut input).expect("a record");
            let Some(record) = record else { continue };
            let mut d = Decoder::new(record);
            let header = ReplyHeader::decode(&mut d).expect("a reply");
            assert_eq!(header.xid, self.xid);
            header.check().expect("accepted");
            let mut results = CompoundRes::decode(&mut d).expect("COMPOUND4res");
            assert_eq!(results.tag, b"test");
            let found = look(&mut results);
            assert_eq!(results.end(), Ok(()), "all results are read");
            return found;
        }
    }

    /// A COMPOUND of the session.
    fn call<R>(
        &mut self,
        ops: impl FnOnce(&mut CompoundWriter<'_, Operation>),
        look: impl FnOnce(&mut CompoundRes<'_, Operation>) -> R,
    ) -> R {
        self.sequence += 1;
        let sequence = SequenceArgs {
            sessionid: self.session,
            sequenceid: self.sequence,
            slotid: 0,
            highest_slotid: 0,
            cachethis: false,
        };
        self.compound(
            |compound| {
                compound.op(&sequence);
                ops(compound);
            },
            |results| {
                let ok = results.read::<SequenceArgs>().expect("sound").expect("OK");
                assert_eq!(ok.sequenceid, sequence.sequenceid);
                look(results)
            },
        )
    }
}

/// Reads results of this operation, which succeeded.
fn ok<'r, A, T>(results: &mut CompoundRes<'r, Operation>) -> T
where
    A: Arguments<Operation = Operation, Res<'r> = Res<T>>,
{
    let name = A::OPERATION.name();
    match results.read::<A>() {
        Ok(Ok(value)) => value,
        Ok(Err(status)) => panic!("{name}: {status}"),
        Err(error) => panic!("{name}: {error}"),
    }
}

fn begin_session(client: &mut Client) -> Clientid4 {
    let exchange = ExchangeIdArgs {
        clientowner: ClientOwner4 {
            verifier: *b"verifier",
            ownerid: b"filermark test",
        },
        flags: 0,
        state_protect: StateProtect4A::None,
        client_impl_id: None,
    };
    let (clientid, sequence) = client.compound(
        |compound| {
            compound.op(&exchange);
        },
        |results| {
            let ok = results.read::<ExchangeIdArgs<'_>>().expect("sound");
            let ok = ok.expect("EXCHANGE_ID");
            (ok.clientid, ok.sequenceid)
        },
    );
    let channel = ChannelAttrs4 {
        headerpadsize: 0,
        maxrequestsize: 1 << 17,
        maxresponsesize: 1 << 17,
        maxresponsesize_cached: 4096,
        maxoperations: 16,
        maxrequests: 8,
        rdma_ird: None,
    };
    let sec_parms = [CallbackSecParms4::None];
    let create = CreateSessionArgs {
        clientid,
        sequence,
        flags: 0,
        fore_chan_attrs: channel,
        back_chan_attrs: channel,
        cb_program: 0x4000_0000,
        sec_parms: Array::new(&sec_parms).expect("one"),
    };
    client.session = client.compound(
        |compound| {
            compound.op(&create);
        },
        |results| ok::<CreateSessionArgs<'_>, _>(results).sessionid,
    );
    let complete = ReclaimCompleteArgs { one_fs: false };
    client.call(
        |compound| {
            compound.op(&complete);
        },
        |results| {
            ok::<ReclaimCompleteArgs, ()>(results);
        },
    );
    clientid
}

fn open(
    clientid: Clientid4,
    name: &'static [u8],
    mode: &'static Attributes<'static>,
) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access: share::BOTH | share::WANT_NO_DELEG,
        share_deny: 0,
        owner: StateOwner4 {
            clientid,
            owner: b"owner",
        },
        openhow: Openflag4::Create(Createhow4::Unchecked(Fattr4::new(mode))),
        claim: OpenClaim4::Null(name),
    }
}

/// Opens a new file of the export; returns the directory, the file and the open.
fn create(client: &mut Client, clientid: Clientid4) -> (Fh4, Fh4, Stateid4) {
    static MODE: std::sync::LazyLock<Attributes<'static>> =
        std::sync::LazyLock::new(|| Attributes {
            mode: Some(0o644),
            ..Attributes::default()
        });
    client.call(
        |compound| {
            compound.op(&PutrootfhArgs {});
            compound.op(&LookupArgs { objname: b"export" });
            compound.op(&GetfhArgs {});
            compound.op(&open(clientid, b"file", &MODE));
            compound.op(&GetfhArgs {});
        },
        |results| {
            ok::<PutrootfhArgs, _>(results);
            ok::<LookupArgs<'_>, _>(results);
            let dir = ok::<GetfhArgs, _>(results).object.to_fh();
            let opened = results
                .read::<OpenArgs<'_>>()
                .expect("sound")
                .expect("OPEN");
            let file = ok::<GetfhArgs, _>(results).object.to_fh();
            (dir, file, opened.stateid)
        },
    )
}

/// The attributes that the server has and that the codec knows, without those that GETATTR cannot return.
fn readable(client: &mut Client, object: FileHandle4<'_>) -> Bitmap4 {
    let supported = client.call(
        |compound| {
            compound.op(&PutfhArgs { object });
            compound.op(&GetattrArgs {
                attr_request: Bitmap4::of(&[Attribute::SupportedAttrs]),
            });
        },
        |results| {
            ok::<PutfhArgs<'_>, _>(results);
            let fattr = results
                .read::<GetattrArgs>()
                .expect("sound")
                .expect("GETATTR");
            let values = fattr.obj_attributes.attributes().expect("known attributes");
            values.supported_attrs.expect("was asked for")
        },
    );
    supported
        .and(Attributes::KNOWN)
        .without(Attributes::NOT_IN_GETATTR)
}

fn write_and_read(client: &mut Client, file: Fh4, stateid: Stateid4) {
    let object = file.handle();
    let attr_request = readable(client, object);
    assert!(attr_request.bits().count() > 30, "{attr_request:?}");
    client.call(
        |compound| {
            compound.op(&PutfhArgs { object });
            compound.op(&WriteArgs {
                stateid,
                offset: 0,
                stable: StableHow::FileSync,
                data: b"some data",
            });
            compound.op(&ReadArgs {
                stateid,
                offset: 5,
                count: 100,
            });
            compound.op(&GetattrArgs { attr_request });
        },
        |results| {
            ok::<PutfhArgs<'_>, _>(results);
            assert_eq!(ok::<WriteArgs<'_>, _>(results).count, 9);
            let read = results.read::<ReadArgs>().expect("sound").expect("READ");
            assert_eq!((read.data, read.eof), (&b"data"[..], true));
            let fattr = results
                .read::<GetattrArgs>()
                .expect("sound")
                .expect("GETATTR");
            let values = fattr.obj_attributes.attributes().expect("known attributes");
            assert_eq!((values.size, values.ftype), (Some(9), Some(Ftype4::Reg)));
            assert_eq!(values.mode, Some(0o644));
            assert_eq!(values.filehandle, Some(object));
            assert!(values.lease_time > Some(0) && values.maxread > Some(4096));
            assert!(
                values
                    .supported_attrs
                    .is_some_and(|set| set.has(Attribute::Fileid))
            );
        },
    );
}

fn list_and_remove(client: &mut Client, dir: Fh4, file: Fh4, open_stateid: Stateid4) {
    let close = CloseArgs {
        seqid: 0,
        open_stateid,
    };
    let readdir = ReaddirArgs {
        cookie: 0,
        cookieverf: [0; 8],
        dircount: 4096,
        maxcount: 16_384,
        attr_request: Bitmap4::of(&[Attribute::RdattrError, Attribute::Size]),
    };
    let (dir, object) = (dir.handle(), file.handle());
    client.call(
        |compound| {
            compound.op(&PutfhArgs { object });
            compound.op(&close);
            compound.op(&PutfhArgs { object: dir });
            compound.op(&readdir);
            compound.op(&RemoveArgs { target: b"file" });
            compound.op(&LookupArgs { objname: b"file" });
        },
        |results| {
            ok::<PutfhArgs<'_>, _>(results);
            ok::<CloseArgs, _>(results);
            ok::<PutfhArgs<'_>, _>(results);
            let list = results
                .read::<ReaddirArgs>()
                .expect("sound")
                .expect("READDIR");
            let entries: Vec<_> = list.entries.iter().collect();
            assert!(list.eof && entries.len() == 1, "{entries:?}");
            let size = entries[0].attrs.attributes().expect("known").size;
            assert_eq!((entries[0].name, size), (&b"file"[..], Some(9)));
            ok::<RemoveArgs<'_>, _>(results);
            let missing = results.read::<LookupArgs<'_>>().expect("sound");
            assert_eq!(missing, Err(Nfsstat4::Noent));
            assert_eq!(results.status, Nfsstat4::Noent);
        },
    );
}

#[test]
fn ganesha_serves_a_session_a_file_and_a_directory() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions {
        nfs4: true,
        ..ServerOptions::default()
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options)) else {
        return;
    };
    let address = ganesha.export().nfs();
    let connection = sandbox
        .run(|| TcpStream::connect(address))
        .expect("connect");
    let mut client = Client::new(connection);
    let clientid = begin_session(&mut client);
    let (dir, file, stateid) = create(&mut client, clientid);
    write_and_read(&mut client, file, stateid);
    list_and_remove(&mut client, dir, file, stateid);
    let destroy = DestroySessionArgs {
        sessionid: client.session,
    };
    client.compound(
        |compound| {
            compound.op(&destroy);
        },
        |results| {
            ok::<DestroySessionArgs, ()>(results);
        },
    );
    client.compound(
        |compound| {
            compound.op(&DestroyClientidArgs { clientid });
        },
        |results| {
            ok::<DestroyClientidArgs, ()>(results);
        },
    );
}
