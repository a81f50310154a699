//! The form: every group, list and field of a submission, declared once.
//!
//! The editor's prompts and help, the checks, the XML, its schema (XSD), the reports
//! and the manual are all made from these declarations. The fields follow
//! the disclosure forms of the 2008 and 2014 generations (sources.md 2.6, 2.7, 3.11);
//! the names in the seed's example session (manual M, 5.1.4.2) are used, the others are
//! new.

mod closing;
mod node;
mod product;
mod result;
mod test;

use node::group;
pub use node::{Field, Kind, Node, Origin, Value, YES_NO};

/// The name of the root element.
pub const ROOT_NAME: &str = "filermarkSubmission";

/// The form, as its root.
pub static FORM: Node = group(
    ROOT_NAME,
    "Submission",
    "The disclosure of one or more results. Enter goes from field to field; in the list of children (?c), * marks those that are incomplete or invalid.",
    const {
        &[
            product::PRODUCT_INFO,
            test::TEST_INFO,
            result::RESULTS,
            closing::OTHER_REPORT_NOTES,
            closing::RESULT_COMPLIANCE,
            closing::SUBMISSION_INFO,
        ]
    },
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn each(node: &'static Node, path: &str, check: &mut dyn FnMut(&'static Node, &str)) {
        check(node, path);
        for child in node.children() {
            each(child, &format!("{path}.{}", child.name), check);
        }
    }

    #[test]
    fn every_node_has_names_and_items_have_distinguishing_fields() {
        let mut fields = 0;
        each(&FORM, FORM.name, &mut |node, path| {
            let first = node.name.chars().next();
            assert!(first.is_some_and(|c| c.is_ascii_lowercase()), "{path}");
            assert!(
                node.name.chars().all(|c| c.is_ascii_alphanumeric()),
                "{path}"
            );
            assert!(node.doc.ends_with('.') && node.doc.len() > 8, "{path}");
            assert!(!node.title.is_empty(), "{path}");
            let names: BTreeSet<_> = node.children().iter().map(|c| c.name).collect();
            assert_eq!(names.len(), node.children().len(), "{path}");
            if let Kind::List(item, keys) = node.kind {
                assert!(!keys.is_empty(), "{path}");
                for name in keys {
                    assert!(item.find(name).is_some(), "{path}: {name}");
                }
            }
            fields += usize::from(node.field().is_some());
        });
        assert!(fields > 120, "{fields}");
    }

    /// Guide V: the NVRAM that makes writes stable is part of the configuration. A complete
    /// submission has a description of it.
    #[test]
    fn stable_storage_has_to_be_stated() {
        let mut paths = Vec::new();
        each(&FORM, FORM.name, &mut |node, path| {
            if node.name == "stableStorage" {
                assert!(!node.is_optional, "{path}");
                let value = node.field().map(|field| field.value);
                assert_eq!(value, Some(Value::FreeForm), "{path}");
                assert!(node.doc.contains("when the power fails"), "{}", node.doc);
                paths.push(path.to_owned());
            }
        });
        assert_eq!(paths.len(), 1, "{paths:?}");
        assert!(paths[0].contains("productInfo"), "{paths:?}");
    }

    /// Manual M, 5.1.4.2, steps 5 and 6.
    #[test]
    fn the_paths_of_the_seeds_session_are_there() {
        let names: Vec<_> = FORM.children().iter().map(|c| c.name).collect();
        let wanted =
            "productInfo testInfo results otherReportNotes resultCompliance submissionInfo";
        assert_eq!(names.join(" "), wanted);
        let first = FORM
            .find("productInfo.vendorAndProduct")
            .unwrap()
            .children();
        assert_eq!((first[0].name, first[1].name), ("vendor", "productName"));
        assert_eq!(FORM.children()[0].children()[0].name, "vendorAndProduct");
    }
}
