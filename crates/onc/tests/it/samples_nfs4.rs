//! One set of field values, and from it the arguments and results of every operation of NFSv4. Property
//! tests draw the values at random; the others use a fixed set.

use filermark_onc::nfs4::*;
use filermark_onc::rpc::AuthSys;
use filermark_onc::xdr::{self, Array, Decode, Encode, Encoder, Opaque, encode_list};
use proptest::prelude::*;

use crate::encoded;

/// Field values, owned; messages borrow from it.
#[derive(Debug, Clone)]
pub struct Pool4 {
    pub texts: [Vec<u8>; 4],
    pub fh: Vec<u8>,
    pub data: Vec<u8>,
    pub words: [u32; 8],
    pub hypers: [u64; 8],
    pub flags: [bool; 4],
    pub verf: Verf,
    pub id16: [u8; 16],
    pub status: u32,
    pub choice: usize,
    pub stateids: Vec<Stateid4>,
    pub statuses: Vec<Nfsstat4>,
    pub devices: Vec<Deviceid4>,
    pub errors: Vec<DeviceError4>,
    /// Items that borrow from the above, in their XDR form: made by [`Pool4::write_forms`].
    forms: Forms,
}

#[derive(Debug, Clone, Default)]
struct Forms {
    attributes: Vec<u8>,
    entries: Vec<u8>,
    texts: Vec<u8>,
    sec_parms: Vec<u8>,
    netlocs: Vec<u8>,
    contents: Vec<u8>,
    secinfo: Vec<u8>,
    layouts: Vec<u8>,
}

/// The XDR form of an array of these items.
fn array<T: Encode>(items: &[T]) -> Vec<u8> {
    encoded(&Array::<'_, T, { usize::MAX }>::new(items).expect("no limit"))
}

/// What was written by [`Pool4::write_forms`].
pub fn read<'a, T: Decode<'a>>(form: &'a [u8]) -> T {
    xdr::decode(form).expect("a form")
}

impl Pool4 {
    /// Fixed values, no two fields alike.
    pub fn fixed() -> Self {
        let stateid = |n: u8| Stateid4 {
            seqid: u32::from(n),
            other: [n; 12],
        };
        let mut pool = Self {
            texts: [&b"alpha"[..], b"be", b"gamma gamma", b"delt"].map(<[u8]>::to_vec),
            fh: (0..FHSIZE4 as u8).collect(),
            data: (0..=255).chain(0..7).collect(),
            words: std::array::from_fn(|i| 0x0101_0000 + i as u32),
            hypers: std::array::from_fn(|i| 0x0002_0000_0000_0000 + i as u64),
            flags: [true, false, true, true],
            verf: *b"verifier",
            id16: *b"sixteen byte id.",
            status: 70,
            choice: 0,
            stateids: vec![stateid(0x31), stateid(0x32), stateid(0x33)],
            statuses: vec![Nfsstat4::Ok, Nfsstat4::BadStateid],
            devices: vec![*b"device number 1.", *b"device number 2."],
            errors: vec![DeviceError4 {
                device_id: *b"device number 3.",
                status: Nfsstat4::Nxio,
                opnum: 25,
            }],
            forms: Forms::default(),
        };
        pool.write_forms();
        pool
    }

    /// Renews the XDR forms after a change of values.
    pub fn write_forms(&mut self) {
        let attributes = self.attributes();
        let fattr = Fattr4::new(&attributes);
        let mut entries = Vec::new();
        encode_list(&mut Encoder::new(&mut entries), self.entries(fattr));
        let gss = GssCbHandles4 {
            service: 1,
            handle_from_server: self.text(0),
            handle_from_client: self.text(1),
        };
        let sys = AuthSys::new(
            self.words[0],
            b"client",
            self.words[1],
            self.words[2],
            &[3, 4],
        );
        let texts = self.texts.each_ref().map(|text| Opaque::<MAX_OWNER>(text));
        let layouts = [1, 2].map(|iomode| Layout4 {
            offset: self.hypers[0],
            length: self.hypers[1],
            iomode: Layoutiomode4::from_u32(iomode).expect("a mode"),
            content: self.content(),
        });
        self.forms = Forms {
            attributes: encoded(&fattr),
            entries,
            texts: array(&texts),
            sec_parms: array(&[
                CallbackSecParms4::None,
                CallbackSecParms4::Sys(sys),
                CallbackSecParms4::Gss(gss),
            ]),
            netlocs: array(&self.netlocs()),
            contents: array(&[
                ReadPlusContent4::Data(Data4 {
                    offset: self.hypers[0],
                    data: &self.data,
                }),
                ReadPlusContent4::Hole(DataInfo4 {
                    offset: self.hypers[1],
                    length: self.hypers[2],
                }),
            ]),
            secinfo: array(&[
                Secinfo4::Flavor(1),
                Secinfo4::Gss(RpcsecGssInfo {
                    oid: b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02",
                    qop: 0,
                    service: 3,
                }),
            ]),
            layouts: array(&layouts),
        };
    }

    pub fn text(&self, i: usize) -> &[u8] {
        &self.texts[i]
    }

    pub fn handle(&self) -> FileHandle4<'_> {
        FileHandle4::new(&self.fh).expect("at most 128 bytes")
    }

    pub fn stateid(&self, i: usize) -> Stateid4 {
        self.stateids.get(i).copied().unwrap_or(Stateid4::CURRENT)
    }

    pub fn time(&self, i: usize) -> Nfstime4 {
        Nfstime4 {
            seconds: self.hypers[i].cast_signed(),
            nseconds: self.words[i],
        }
    }

    pub fn attrs(&self) -> Fattr4<'_> {
        read(&self.forms.attributes)
    }

    pub fn bitmap(&self) -> Bitmap4 {
        self.attrs().attrmask()
    }

    fn entries<'a>(&'a self, attrs: Fattr4<'a>) -> impl Iterator<Item = Entry4<'a>> {
        (1..).zip(&self.texts).map(move |(cookie, name)| Entry4 {
            cookie,
            name,
            attrs,
        })
    }

    /// Every third attribute, by the choice.
    fn attributes(&self) -> Attributes<'_> {
        let (h, w) = (&self.hypers, &self.words);
        match self.choice % 3 {
            0 => Attributes {
                supported_attrs: Some(Attributes::KNOWN),
                ftype: Some(Ftype4::Dir),
                change: Some(h[0]),
                size: Some(h[1]),
                fsid: Some(Fsid4 {
                    major: h[2],
                    minor: h[3],
                }),
                lease_time: Some(w[0]),
                filehandle: Some(self.handle()),
                fileid: Some(h[4]),
                maxread: Some(h[5]),
                maxwrite: Some(h[6]),
                maxname: Some(w[1]),
                mode: Some(0o755),
                numlinks: Some(w[2]),
                owner: Some(self.text(0)),
                owner_group: Some(self.text(1)),
                rawdev: Some(Specdata4 {
                    specdata1: w[3],
                    specdata2: w[4],
                }),
                space_used: Some(h[7]),
                time_access: Some(self.time(0)),
                time_metadata: Some(self.time(1)),
                time_modify: Some(self.time(2)),
                mounted_on_fileid: Some(h[0]),
                suppattr_exclcreat: Some(Bitmap4::of(&[Attribute::Mode])),
                ..Attributes::default()
            },
            1 => Attributes {
                rdattr_error: Some(Nfsstat4::Access),
                time_access_set: Some(Settime4::ServerTime),
                time_modify_set: Some(Settime4::ClientTime(self.time(3))),
                ..Attributes::default()
            },
            _ => Attributes {
                size: Some(h[1]),
                fs_layout_types: Some(
                    const { Array::new(&[layout_type::FLEX_FILES]).expect("one") },
                ),
                clone_blksize: Some(w[5]),
                xattr_support: Some(self.flags[0]),
                ..Attributes::default()
            },
        }
    }

    fn netlocs(&self) -> [Netloc4<'_>; 3] {
        [
            Netloc4::Netaddr(self.netaddr()),
            Netloc4::Name(self.text(0)),
            Netloc4::Url(self.text(1)),
        ]
    }

    pub fn netaddr(&self) -> Netaddr4<'_> {
        Netaddr4 {
            netid: b"tcp",
            addr: b"192.0.2.1.8.1",
        }
    }

    /// Data in the form of a type that has no number yet: a decoder does not look into it.
    pub fn content(&self) -> LayoutContent4<'_> {
        LayoutContent4 {
            layout_type: 77,
            body: self.text(2),
        }
    }

    pub fn owner(&self) -> StateOwner4<'_> {
        StateOwner4 {
            clientid: self.hypers[7],
            owner: self.text(3),
        }
    }

    pub fn client(&self) -> ClientOwner4<'_> {
        ClientOwner4 {
            verifier: self.verf,
            ownerid: self.text(0),
        }
    }

    pub fn cinfo(&self) -> ChangeInfo4 {
        ChangeInfo4 {
            atomic: self.flags[0],
            before: self.hypers[0],
            after: self.hypers[1],
        }
    }

    pub fn channel(&self) -> ChannelAttrs4 {
        let [maxrequestsize, maxresponsesize, maxresponsesize_cached, ..] = self.words;
        ChannelAttrs4 {
            headerpadsize: 0,
            maxrequestsize,
            maxresponsesize,
            maxresponsesize_cached,
            maxoperations: self.words[3],
            maxrequests: self.words[4],
            rdma_ird: self.flags[1].then_some(self.words[5]),
        }
    }

    pub fn sec_parms(&self) -> SecParms<'_> {
        read(&self.forms.sec_parms)
    }

    pub fn impl_id(&self) -> Option<NfsImplId4<'_>> {
        self.flags[0].then(|| NfsImplId4 {
            domain: self.text(1),
            name: self.text(2),
            date: self.time(4),
        })
    }

    pub fn protect_ops(&self) -> StateProtectOps4 {
        StateProtectOps4 {
            must_enforce: Bitmap4::EMPTY.with_bit(53),
            must_allow: Bitmap4::EMPTY.with_bit(9).with_bit(25),
        }
    }

    pub fn opaques<const MAX: usize>(&self) -> Array<'_, Opaque<'_, MAX_OWNER>, MAX> {
        read(&self.forms.texts)
    }

    pub fn names(&self) -> Array<'_, Opaque<'_, MAX_NAME>, MAX_PIECES> {
        read(&self.forms.texts)
    }

    pub fn contents(&self) -> Array<'_, ReadPlusContent4<'_>, MAX_PIECES> {
        read(&self.forms.contents)
    }

    pub fn source_server(&self) -> Array<'_, Netloc4<'_>, MAX_ITEMS> {
        read(&self.forms.netlocs)
    }

    pub fn netloc(&self) -> Netloc4<'_> {
        self.netlocs()[self.choice % 3]
    }

    pub fn secinfo(&self) -> SecinfoOk<'_> {
        read(&self.forms.secinfo)
    }

    pub fn layouts(&self) -> Array<'_, Layout4<'_>, MAX_ITEMS> {
        read(&self.forms.layouts)
    }

    pub fn listing(&self) -> xdr::List<'_, Entry4<'_>> {
        read(&self.forms.entries)
    }

    pub fn stable(&self) -> StableHow {
        StableHow::ALL[self.choice % 3]
    }

    pub fn written(&self) -> WriteResponse4 {
        WriteResponse4 {
            callback_id: self.flags[1].then(|| self.stateid(0)),
            count: self.hypers[0],
            committed: self.stable(),
            writeverf: self.verf,
        }
    }

    pub fn io(&self, i: usize) -> IoInfo4 {
        IoInfo4 {
            count: self.hypers[i],
            bytes: self.hypers[i + 1],
        }
    }

    pub fn iomode(&self) -> Layoutiomode4 {
        Layoutiomode4::ALL[self.choice % 3]
    }

    pub fn ace(&self) -> Nfsace4<'_> {
        Nfsace4 {
            acetype: 0,
            flag: 0,
            access_mask: self.words[6],
            who: b"OWNER@",
        }
    }

    pub fn delegation(&self) -> OpenDelegation4<'_> {
        let (stateid, recall, permissions) = (self.stateid(1), self.flags[1], self.ace());
        let write = |space_limit| {
            OpenDelegation4::Write(OpenWriteDelegation4 {
                stateid,
                recall,
                space_limit,
                permissions,
            })
        };
        match self.choice % 7 {
            0 => OpenDelegation4::None,
            1 => OpenDelegation4::Read(OpenReadDelegation4 {
                stateid,
                recall,
                permissions,
            }),
            2 => write(NfsSpaceLimit4::Size(self.hypers[2])),
            3 => write(NfsSpaceLimit4::Blocks(NfsModifiedLimit4 {
                num_blocks: self.words[0],
                bytes_per_block: self.words[1],
            })),
            4 => OpenDelegation4::NoneExt(OpenNoneDelegation4::NotWanted),
            5 => OpenDelegation4::NoneExt(OpenNoneDelegation4::Contention(self.flags[0])),
            _ => OpenDelegation4::NoneExt(OpenNoneDelegation4::Resource(self.flags[0])),
        }
    }

    /// A status that no operation returns anything beside.
    pub fn failure(&self) -> Nfsstat4 {
        Nfsstat4::from_u32(self.status)
    }
}

/// Any field values.
pub fn pools4() -> impl Strategy<Value = Pool4> {
    let bytes = |max: usize| proptest::collection::vec(any::<u8>(), 0..=max);
    let stateid = any::<(u32, [u8; 12])>().prop_map(|(seqid, other)| Stateid4 { seqid, other });
    let opaque = (
        [bytes(40), bytes(9), bytes(9), bytes(9)],
        bytes(FHSIZE4),
        bytes(300),
        proptest::collection::vec(stateid, 0..5),
    );
    let numbers = any::<([u32; 8], [u64; 8], [bool; 4], Verf, [u8; 16], u16)>();
    (opaque, numbers, 20_000..30_000u32).prop_map(
        |((texts, fh, data, stateids), (words, hypers, flags, verf, id16, choice), status)| {
            let mut pool = Pool4 {
                texts,
                fh,
                data,
                words,
                hypers,
                flags,
                verf,
                id16,
                status,
                choice: usize::from(choice),
                statuses: words.map(Nfsstat4::from_u32).to_vec(),
                stateids,
                ..Pool4::fixed()
            };
            pool.write_forms();
            pool
        },
    )
}
