//! RPCSEC_GSS byte for byte: calls of Filermark and the replies of nfs-ganesha 4.3, captured with tshark,
//! which decodes them. The key of the context is gone with the KDC of the test.

use filermark_onc::nfs3::{Fh, FileHandle, GetattrArgs, GetattrRes};
use filermark_onc::rpc::*;
use filermark_onc::xdr::{self, Decode, Decoder};

use crate::{encoded, hex};

/// The reply to RPCSEC_GSS_INIT: the server's name of the context, its window and its token.
const INIT_REPLY: &str = "
    50bf34f0 00000001 00000000
    00000006 0000001c 040405ffffffffff00000000314b469d224b9fb38030bba8e9ff2f9c
    00000000
    00000010 601a00645c7f0000a04000645c7f0000
    00000000 00000000 00000020
    0000009c
    60819906092a864886f71201020202006f8189308186a003020105a10302010fa27a3078a003020112a271046fd333bf
    b6de9cfb2b41e161f1df0a9cf802f4db6d38aa470496f22e5c9c12a8f4fe5d4d85fe96523d8fdd88f426bf366173164f
    6d30b9ee5d4691b913dfb4163e27532768fe862c65423ab9fd6caec136b4dff0aae476f3b51e1ce8638b15cecf26fdb9
    73988fe2b1741d7d48f12c08
";
/// The end of a context: RPCSEC_GSS_DESTROY with the NULL procedure.
const DESTROY_CALL: &str = "
    bf766d36 00000000 00000002 000186a3 00000003 00000000
    00000006 00000024 00000001 00000003 00000004 00000001 00000010 c02200785c7f00002014bc7764550000
    00000006 0000001c 040404ffffffffff0000000003be8ba7a9711f97e2c05266786d34c7
";
/// A GETATTR with krb5i.
const SIGNED_CALL: &str = "
    6e88009b 00000000 00000002 000186a3 00000003 00000001
    00000006 00000024 00000001 00000000 0000027d 00000002 00000010 404200805c7f0000604003805c7f0000
    00000006 0000001c 040404ffffffffff0000000022b150be866b36e2bde54172455aa0a2
    00000024 0000027d 0000001c 4300000116448503e3f77f2983710124362d45fa0600000000000000
    0000001c 040404ffffffffff0000000022b150bfd5a0794d835a0c98196dee7d
";
/// Its reply.
const SIGNED_REPLY: &str = "
    6e88009b 00000001 00000000
    00000006 0000001c 040405ffffffffff00000000235c02bab7838a32f4e55d7d39da6671
    00000000
    0000005c 0000027d 00000000
    00000001000001a400000001fffffffefffffffe00000000000008000000000000001000000000000000000071832
    97ff7e3038500000000000006fa6b0aee171211fbd66b0aee1713f7d7296b0aee1713f7d729
    0000001c 040405ffffffffff00000000235c02bb1affc4a4ecbd2f406202c059
";
/// An FSINFO with krb5p.
const ENCRYPTED_CALL: &str = "
    50bf34ef 00000000 00000002 000186a3 00000003 00000013
    00000006 00000024 00000001 00000000 00000001 00000003 00000010 601a00645c7f0000a04000645c7f0000
    00000006 0000001c 040404ffffffffff000000000ebfdcd49e36f86bd4dc52e921dea5d0
    00000060
    050406ff00000000000000000ebfdcd597cce58248dca4b6b66bd825aaba163f26688c314e11061a79dba17b6d792972
    4662eec2318192f4f550175357dfc55a6a54cff2d72226379ece0c43fb14865c4fe71eac793c7a99c7b4bd5cd9031e44
";

/// The header of a call, its credential, and its arguments.
fn call(bytes: &[u8]) -> (CallHeader<'_>, GssCred<'_>, &[u8]) {
    let mut d = Decoder::new(bytes);
    let header = CallHeader::decode(&mut d).unwrap();
    assert_eq!(header.verf.flavor, AuthFlavor::RpcsecGss);
    let cred = header.cred.gss_cred().unwrap();
    // Both ends: what is decoded is encoded to the same bytes.
    let mut again = encoded(&header);
    again.extend_from_slice(d.rest());
    assert_eq!(again, bytes);
    assert_eq!(encoded(&cred), header.cred.body);
    (header, cred, d.rest())
}

#[test]
fn the_reply_that_establishes_a_context() {
    let bytes = hex(INIT_REPLY);
    let mut d = Decoder::new(&bytes);
    let header = ReplyHeader::decode(&mut d).unwrap();
    header.check().unwrap();
    let results: GssInitRes<'_> = xdr::finish(&mut d).unwrap();
    assert_eq!(
        (results.gss_major, results.gss_minor, results.seq_window),
        (GSS_S_COMPLETE, 0, 32)
    );
    assert_eq!((results.handle.len(), results.gss_token.len()), (16, 156));
    let mut again = encoded(&header);
    again.extend(encoded(&results));
    assert_eq!(again, bytes);
}

#[test]
fn the_call_that_ends_a_context() {
    let bytes = hex(DESTROY_CALL);
    let (header, cred, args) = call(&bytes);
    assert_eq!((header.proc, args), (0, &[][..]));
    let got = (cred.version, cred.gss_proc, cred.seq_num, cred.service);
    let want = (GSS_VERSION, GssProc::Destroy, 4, GssService::None);
    assert_eq!(got, want);
}

#[test]
fn signed_arguments_and_results() {
    let bytes = hex(SIGNED_CALL);
    let (_, cred, args) = call(&bytes);
    let got = (cred.gss_proc, cred.seq_num, cred.service);
    assert_eq!(got, (GssProc::Data, 0x27d, GssService::Integrity));
    let data: GssIntegData<'_> = xdr::decode(args).unwrap();
    assert_eq!(encoded(&data), args);
    assert_eq!(
        (data.checksum.len(), &data.databody_integ[..4]),
        (28, &[0, 0, 2, 0x7d][..])
    );
    let args: GetattrArgs<'_> = xdr::decode(&data.databody_integ[4..]).unwrap();
    assert_eq!(FileHandle::as_bytes(&args.object).len(), 28);
    assert!(Fh::new(args.object.as_bytes()).is_some());

    let bytes = hex(SIGNED_REPLY);
    let mut d = Decoder::new(&bytes);
    ReplyHeader::decode(&mut d).unwrap().check().unwrap();
    let data: GssIntegData<'_> = xdr::finish(&mut d).unwrap();
    let results: GetattrRes = xdr::decode(&data.databody_integ[4..]).unwrap();
    assert_eq!(results.unwrap().obj_attributes.size, 0x800);
}

#[test]
fn encrypted_arguments() {
    let bytes = hex(ENCRYPTED_CALL);
    let (header, cred, args) = call(&bytes);
    assert_eq!((header.proc, cred.service), (19, GssService::Privacy));
    let data: GssPrivData<'_> = xdr::decode(args).unwrap();
    // A token of RFC 4121 section 4.2.6.2: a Wrap token of an initiator with the acceptor's subkey.
    assert_eq!(&data.databody_priv[..3], [5, 4, 6]);
    assert_eq!(encoded(&data), args);
}

#[test]
fn other_flavors_and_damaged_credentials_are_refused() {
    assert!(OpaqueAuth::NONE.gss_cred().is_err());
    let bytes = hex(DESTROY_CALL);
    let (header, ..) = call(&bytes);
    let body = header.cred.body;
    for cut in 0..body.len() {
        let cred = OpaqueAuth {
            flavor: AuthFlavor::RpcsecGss,
            body: &body[..cut],
        };
        assert!(cred.gss_cred().is_err(), "{cut}");
    }
    // A procedure and a service that do not exist.
    for at in [7, 15] {
        let mut damaged = body.to_vec();
        damaged[at] = 9;
        let cred = OpaqueAuth {
            flavor: AuthFlavor::RpcsecGss,
            body: &damaged,
        };
        assert!(cred.gss_cred().is_err(), "{at}");
    }
}
