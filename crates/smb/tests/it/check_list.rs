//! The checks by which servers are judged: none is lost, and none changes its name, its
//! title, the sections that it cites or its dialects without a change of `checks.txt`.

use filermark_model::smb::Dialect;
use filermark_smb::validate::checks;

#[test]
fn the_checks_are_those_of_the_list() {
    let listed: Vec<&str> = include_str!("checks.txt").lines().collect();
    let all: Vec<String> = checks()
        .map(|check| {
            let (id, about, title) = (check.id, check.about_name(), check.title);
            let (smb1, smb2) = (check.section(Dialect::Nt1), check.section(Dialect::V311));
            let lowest = check.lowest.map_or("all", Dialect::name);
            format!("{id} | {about} | {title} | {smb1} | {smb2} | {lowest}")
        })
        .collect();
    for (is, wanted) in all.iter().zip(&listed) {
        assert_eq!(is, wanted);
    }
    assert_eq!((all.len(), listed.len()), (143, 143));
}
