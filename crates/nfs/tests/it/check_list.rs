//! The checks by which servers are judged: none is lost, and none changes its name, its
//! title or the section that it cites without a change of `checks.txt`.

use filermark_model::plan::NfsVersion;
use filermark_nfs::validate::checks;

#[test]
fn the_checks_are_those_of_the_list() {
    let listed: Vec<&str> = include_str!("checks.txt").lines().collect();
    let versions = [
        ("NFSv2", NfsVersion::V2, 127),
        ("NFSv3", NfsVersion::V3, 132),
        ("NFSv4.0", NfsVersion::V40, 188),
        ("NFSv4.1", NfsVersion::V41, 210),
        ("NFSv4.2", NfsVersion::V42, 249),
    ];
    let mut all = Vec::new();
    for (name, version, count) in versions {
        let checks = checks(version);
        println!("{name}: {} checks", checks.len());
        assert_eq!(checks.len(), count, "{name}");
        all.extend(checks.into_iter().map(|check| {
            let (id, about, title) = (check.id, check.procedure, check.title);
            format!("{name} | {id} | {about} | {title} | {}", check.section)
        }));
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/checks.txt");
        return std::fs::write(path, all.join("\n") + "\n").expect("written");
    }
    for (is, wanted) in all.iter().zip(&listed) {
        assert_eq!(is, wanted);
    }
    assert_eq!(all.len(), listed.len());
}
