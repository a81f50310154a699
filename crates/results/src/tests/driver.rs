//! Drivers as this and earlier builds wrote them into records: each is read, and written again
//! with the same members and the same fingerprint of its plan, which `tests/golden/drivers.txt`
//! has.

use super::golden::check;
use crate::record::Line;
use crate::{fingerprint, testing};
use std::fmt::Write;

const NFS: &str = r#""uid":500,"gid":501,"gids":[7],"machine_name":"a","resvport":true,"block_size_max":8192,"biod_max_reads":2,"biod_max_writes":3,"nfs_port":null,"mount_port":4,"portmap_port":111,"ip":"v4","connections":"per_proc","rpc_timeout_ms":60000,"rpc_retries":5,"connect_timeout_ms":10000,"jukebox_delay_ms":100,"jukebox_retries":10"#;
const SMB: &str = r#"{"name":"smb","dialects":["2.0.2","3.1.1"],"signing":"auto","encryption":"aes-128-gcm","auth":{"method":"ntlm","username":"u","domain":"D"},"port":445,"ip":"v6","block_size_max":null,"biod_max_reads":2,"biod_max_writes":2,"connections":{"shared":4},"reply_timeout_ms":10000,"connect_timeout_ms":2000}"#;
const POSIX: &str = r#""no_fsync":true,"open_files_max":9,"reuse_kept":true"#;

/// (what it is, the driver as the record has it).
fn forms() -> Vec<(&'static str, String)> {
    let v3 = r#""version":"v3","transport":"tcp","udp_timeout_ms":1100"#;
    let v2 = r#""version":"v2","transport":"udp","udp_timeout_ms":700"#;
    let commit = r#""commit":{"policy":"deferred","writes":8,"mib":4,"files":2}"#;
    let custom = r#""drop_caches":true,"custom":[["/bin/true","x"],[]]"#;
    vec![
        ("nfs3 of format 1", format!(r#"{{"name":"nfs3",{NFS}}}"#)),
        (
            "nfs without a version",
            format!(r#"{{"name":"nfs",{NFS}}}"#),
        ),
        ("nfs, version 3", format!(r#"{{"name":"nfs",{v3},{NFS}}}"#)),
        ("nfs, version 2", format!(r#"{{"name":"nfs",{v2},{NFS}}}"#)),
        (
            "nfs, deferred COMMIT",
            format!(r#"{{"name":"nfs",{v3},{NFS},{commit}}}"#),
        ),
        ("smb", SMB.to_owned()),
        (
            "smb, SMB1",
            SMB.replace(r#"["2.0.2","3.1.1"]"#, r#"["NT1","NT1"]"#),
        ),
        ("posix", format!(r#"{{"name":"posix",{POSIX},{custom}}}"#)),
        (
            "posix with ignore_space",
            format!(r#"{{"name":"posix",{POSIX},"ignore_space":true}}"#),
        ),
        ("null", r#"{"name":"null"}"#.to_owned()),
    ]
}

/// The first line of a record with this driver, as a file has it.
fn run_line(driver: &str) -> serde_json::Value {
    let mut line = serde_json::to_value(&testing::lines()[0]).unwrap();
    line["plan"]["driver"] = serde_json::from_str(driver).unwrap();
    line
}

#[test]
fn drivers_of_records_are_written_as_they_were_read() {
    let mut text = String::new();
    for (what, driver) in forms() {
        let line: Line = serde_json::from_value(run_line(&driver)).unwrap();
        let Line::Run(run) = line else {
            panic!("{what}: the first line is not that of the run");
        };
        let written = serde_json::to_string(&run.plan.driver).unwrap();
        let _ = writeln!(text, "{what}\n  {written}\n  {}", fingerprint(&run.plan));
    }
    check("drivers.txt", &text);
}

#[test]
fn an_unknown_driver_is_named() {
    let error = serde_json::from_value::<Line>(run_line(r#"{"name":"afp"}"#)).unwrap_err();
    assert!(error.to_string().contains("`afp`"), "{error}");
}
