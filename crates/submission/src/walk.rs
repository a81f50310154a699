//! Navigation in a document: up, down, to siblings, to the next node, to a path.

use crate::document::{Document, Element};
use crate::node_path::NodePath;

impl Document {
    /// The node `levels` levels up, or the root.
    pub fn up(&self, place: &NodePath, levels: usize) -> NodePath {
        (0..levels.min(place.depth())).fold(place.clone(), |at, _| at.parent().unwrap_or(at))
    }

    /// The next sibling, if there is one.
    pub fn next_sibling(&self, place: &NodePath) -> Option<NodePath> {
        self.sibling(place, 1)
    }

    /// The previous sibling, if there is one.
    pub fn previous_sibling(&self, place: &NodePath) -> Option<NodePath> {
        self.sibling(place, -1)
    }

    fn sibling(&self, place: &NodePath, step: isize) -> Option<NodePath> {
        let above = place.parent()?;
        let at = place.number()?.checked_add_signed(step)?;
        let sibling = above.child(at);
        self.element(&sibling).map(|_| sibling)
    }

    /// Child number `at`, from 0, if there is one.
    pub fn child(&self, place: &NodePath, at: usize) -> Option<NodePath> {
        let child = place.child(at);
        self.element(&child).map(|_| child)
    }

    /// The target of Enter (`.d`): the first child; from a node without children the next
    /// node on the same level (siblings, then the children of the next branch); if that
    /// branch is not deep enough, its last first child. Every field is visited once.
    /// `None` after the last one.
    ///
    /// A breadth-first order over the whole document would not work: after the items of a
    /// list it would skip the remaining fields of the levels above.
    pub fn next(&self, place: &NodePath) -> Option<NodePath> {
        if let Some(child) = self.child(place, 0) {
            return Some(child);
        }
        let mut at = place.clone();
        let branch = loop {
            if let Some(sibling) = self.next_sibling(&at) {
                break sibling;
            }
            at = at.parent()?;
        };
        let mut next = branch;
        while next.depth() < place.depth() {
            match self.child(&next, 0) {
                Some(child) => next = child,
                None => break,
            }
        }
        Some(next)
    }

    /// The place of a dotted path of names below the root (the root's name may
    /// come first): `productInfo.sutBomList.bomItem[2].vendor`. Without a number it is the
    /// first item of a list.
    pub fn find(&self, path: &str) -> Option<NodePath> {
        let path = path.trim_start_matches('.');
        let root = self.root().node().name;
        let below = match path.strip_prefix(root) {
            Some("") => return Some(NodePath::root()),
            Some(rest) => rest.strip_prefix('.').unwrap_or(path),
            None => path,
        };
        let mut place = NodePath::root();
        for step in below.split('.') {
            let (name, number) = match step.strip_suffix(']').and_then(|s| s.split_once('[')) {
                Some((name, number)) => (name, number.parse::<usize>().ok()?.checked_sub(1)?),
                None => (step, 0),
            };
            let here = self.element(&place)?;
            let at = match here.node().is_list() {
                true => number,
                false => position(here, name)?,
            };
            place = self.child(&place, at)?;
            if self.element(&place)?.node().name != name {
                return None;
            }
        }
        Some(place)
    }
}

fn position(element: &Element, name: &str) -> Option<usize> {
    element
        .children()
        .iter()
        .position(|c| c.node().name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all(doc: &Document, place: &NodePath, fields: &mut Vec<NodePath>) {
        let element = doc.element(place).unwrap();
        if element.node().field().is_some() {
            fields.push(place.clone());
        }
        for at in 0..element.children().len() {
            all(doc, &place.child(at), fields);
        }
    }

    #[test]
    fn enter_visits_every_field_once_in_document_order() {
        let mut doc = Document::new();
        let list = doc.find("productInfo.sutBomList").unwrap();
        doc.add_item(&list).unwrap();
        doc.add_item(&list).unwrap();
        let mut fields = Vec::new();
        all(&doc, &NodePath::root(), &mut fields);
        let mut seen = Vec::new();
        let mut visited = BTreeSet::new();
        let mut at = NodePath::root();
        while let Some(next) = doc.next(&at) {
            assert!(visited.insert(next.clone()), "{} twice", doc.path(&next));
            if doc.element(&next).unwrap().node().field().is_some() {
                seen.push(next.clone());
            }
            at = next;
        }
        assert_eq!(seen, fields);
    }

    /// Manual M, 5.1.4.2, steps 6 and 10; then the next nodes on the same level.
    #[test]
    fn enter_goes_from_the_root_to_the_vendor_and_the_product_name() {
        let mut doc = Document::new();
        let list = doc.find("productInfo.sutBomList").unwrap();
        doc.add_item(&list).unwrap();
        let go = |from: &str| {
            let next = doc.next(&doc.find(from).unwrap()).unwrap();
            doc.path(&next).replace("filermarkSubmission.", "")
        };
        assert_eq!(go("filermarkSubmission"), "productInfo");
        assert_eq!(go("productInfo"), "productInfo.vendorAndProduct");
        assert_eq!(
            go("productInfo.vendorAndProduct"),
            "productInfo.vendorAndProduct.vendor"
        );
        let vendor = go("productInfo.vendorAndProduct.vendor");
        assert_eq!(vendor, "productInfo.vendorAndProduct.productName");
        // The same level of the next branch: the first item, then from item to item.
        let last = "productInfo.vendorAndProduct.otherMarketingInfo";
        assert_eq!(go(last), "productInfo.sutBomList.bomItem[1]");
        let description = "productInfo.sutBomList.bomItem[1].description";
        assert_eq!(
            go(description),
            "productInfo.sutBomList.bomItem[2].quantity"
        );
        assert_eq!(doc.find("productInfo.sutBomList.bomItem[3]"), None);
        assert_eq!(doc.find("productInfo.nothing"), None);
    }
}
