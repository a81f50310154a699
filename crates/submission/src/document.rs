//! A filled-in form: a tree of elements with the structure of the form.

use crate::form::{FORM, Kind, Node, Value};
use crate::node_path::NodePath;
use filermark_model::text::{multi_line, one_line};

/// Maximum length of the text of a field, in bytes.
pub const TEXT_LEN_MAX: usize = 1 << 20;
/// Maximum number of items in a list.
pub const ITEM_COUNT_MAX: usize = 10_000;

/// A node of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    node: &'static Node,
    text: String,
    children: Vec<Self>,
}

impl PartialEq for Node {
    /// Every node of the form is declared once: name and description identify it.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.doc == other.doc
    }
}

impl Element {
    /// A blank element: groups have all children, lists have one blank item to edit.
    pub fn blank(node: &'static Node) -> Self {
        Self {
            node,
            text: String::new(),
            children: node.children().iter().map(Self::blank).collect(),
        }
    }

    /// Its node in the form.
    pub const fn node(&self) -> &'static Node {
        self.node
    }

    /// A field's value; empty for groups and lists.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A group's children or a list's items.
    pub fn children(&self) -> &[Self] {
        &self.children
    }

    /// The first child of this name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.node.name == name)
    }

    /// The value of the field at a path of names below this element; empty if there is no
    /// such field. Lists stand for their first item.
    pub fn value(&self, path: &str) -> &str {
        path.split('.')
            .try_fold(self, |element, name| element.get(name))
            .map_or("", Self::text)
    }

    /// Whether no field in it has a value.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.children.iter().all(Self::is_blank)
    }

    /// The items of a list that are not blank.
    pub fn items(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(|item| !item.is_blank())
    }

    /// The first child of this name, mutable.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.children.iter_mut().find(|c| c.node.name == name)
    }

    /// Sets the field at a path of names below this element. Without such a field it does
    /// nothing; a debug build panics.
    pub(crate) fn put(&mut self, path: &str, text: impl Into<String>) {
        let found = path
            .split('.')
            .try_fold(self, |element, name| element.get_mut(name));
        debug_assert!(found.is_some(), "no field {path}");
        if let Some(field) = found {
            field.write(&text.into());
        }
    }

    /// Sets its text: without control characters, and in one line unless the field allows
    /// more.
    pub(crate) fn write(&mut self, text: &str) {
        self.text = match self.node.kind {
            Kind::Field(field) => clean(text, field.value),
            _ => String::new(),
        };
    }

    /// Replaces the items of a list.
    pub(crate) fn set_items(&mut self, items: Vec<Self>) {
        if let Kind::List(item, _) = self.node.kind {
            self.children = items;
            self.children.truncate(ITEM_COUNT_MAX);
            if self.children.is_empty() {
                self.children.push(Self::blank(item));
            }
        }
    }

    pub(crate) const fn children_mut(&mut self) -> &mut Vec<Self> {
        &mut self.children
    }
}

/// A value for XML and terminals ([`filermark_model::text`]), trimmed, and not longer than
/// [`TEXT_LEN_MAX`].
fn clean(text: &str, value: Value) -> String {
    let mut kept = match value.is_multi_line() {
        true => multi_line(text),
        false => one_line(&text.replace("\r\n", "\n")),
    };
    // After the replacement, which turns vertical tabs and similar into blanks.
    kept = kept.trim_matches(['\n', ' ', '\t', '\r']).to_owned();
    kept.truncate(kept.floor_char_boundary(TEXT_LEN_MAX));
    kept
}

/// A submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub(crate) root: Element,
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

impl Document {
    /// A blank document, marked as compliant.
    pub fn new() -> Self {
        let mut root = Element::blank(&FORM);
        root.put("resultCompliance.isCompliant", "yes");
        Self { root }
    }

    /// The root.
    pub const fn root(&self) -> &Element {
        &self.root
    }

    /// The node at a place; `None` if there is none.
    pub fn element(&self, place: &NodePath) -> Option<&Element> {
        place
            .steps()
            .iter()
            .try_fold(&self.root, |element, &at| element.children.get(at))
    }

    fn element_mut(&mut self, place: &NodePath) -> Option<&mut Element> {
        place
            .steps()
            .iter()
            .try_fold(&mut self.root, |element, &at| element.children.get_mut(at))
    }

    /// The path of a place in prompts and messages:
    /// `filermarkSubmission.productInfo.sutBomList.bomItem[2].vendor`. Items of a list
    /// have their number, from 1, if there is more than one.
    pub fn path(&self, place: &NodePath) -> String {
        let mut path = self.root.node.name.to_owned();
        let mut element = &self.root;
        for &at in place.steps() {
            let numbered = element.node.is_list() && element.children.len() > 1;
            let Some(child) = element.children.get(at) else {
                break;
            };
            path.push('.');
            path.push_str(child.node.name);
            if numbered {
                path.push_str(&format!("[{}]", at + 1));
            }
            element = child;
        }
        path
    }

    /// Sets the field at a place. It does not check the value: see [`crate::check_value`].
    ///
    /// # Errors
    /// It is not a field, or its value comes from the run's files.
    pub fn set(&mut self, place: &NodePath, text: &str) -> Result<(), &'static str> {
        let Some(element) = self.element_mut(place) else {
            return Err("this node no longer exists");
        };
        let Some(_) = element.node.field() else {
            return Err("this node has children and holds no text itself; ?c shows them");
        };
        if element.node.is_of_run() {
            return Err("this comes from the run's files and cannot be edited");
        }
        element.write(text);
        Ok(())
    }

    /// Adds a blank item to the end of the list at a place; returns the item's place.
    ///
    /// # Errors
    /// It is not a list, its items come from the run's files, or it is full.
    pub fn add_item(&mut self, place: &NodePath) -> Result<NodePath, &'static str> {
        let list = self.list_mut(place)?;
        if list.children.len() >= ITEM_COUNT_MAX {
            return Err("the list is full: the limit is 10000 items");
        }
        if let Kind::List(item, _) = list.node.kind {
            list.children.push(Element::blank(item));
        }
        Ok(place.child(list.children.len().saturating_sub(1)))
    }

    /// Removes item `at` (from 0) of the list at a place.
    ///
    /// # Errors
    /// It is not a list, its items come from the run's files, there is no such item, or it
    /// is the only one.
    pub fn remove_item(&mut self, place: &NodePath, at: usize) -> Result<(), &'static str> {
        let list = self.list_mut(place)?;
        if at >= list.children.len() {
            return Err("there is no item of this number; ?c shows them");
        }
        if list.children.len() == 1 {
            return Err("the only item of a list cannot be removed; leave it blank instead");
        }
        list.children.remove(at);
        Ok(())
    }

    fn list_mut(&mut self, place: &NodePath) -> Result<&mut Element, &'static str> {
        let Some(list) = self.element_mut(place).filter(|e| e.node.is_list()) else {
            return Err("this node is not a list; go to the node that has the items");
        };
        if is_all_of_run(list.node) {
            return Err("these items come from the run's files and cannot be edited");
        }
        Ok(list)
    }
}

/// Whether every field below a node comes from the run's files.
fn is_all_of_run(node: &Node) -> bool {
    match node.kind {
        Kind::Field(_) => node.is_of_run(),
        _ => node.children().iter().all(is_all_of_run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(doc: &Document, path: &str) -> NodePath {
        doc.find(path).unwrap_or_else(|| panic!("{path}"))
    }

    #[test]
    fn values_are_set_and_found_by_their_path() {
        let mut doc = Document::new();
        let vendor = place_of(&doc, "productInfo.vendorAndProduct.vendor");
        assert_eq!(
            doc.path(&vendor),
            "filermarkSubmission.productInfo.vendorAndProduct.vendor"
        );
        doc.set(&vendor, "  Acme\nServers\u{7} ").unwrap();
        assert_eq!(
            doc.root().value("productInfo.vendorAndProduct.vendor"),
            "Acme Servers\u{fffd}"
        );
        assert!(doc.set(&NodePath::root(), "x").is_err());
        let peak = place_of(&doc, "results.result.peak");
        assert!(doc.set(&peak, "9").unwrap_err().contains("run's files"));
    }

    #[test]
    fn lists_keep_at_least_one_item() {
        let mut doc = Document::new();
        let list = place_of(&doc, "productInfo.sutBomList");
        assert!(doc.remove_item(&list, 0).is_err());
        let second = doc.add_item(&list).unwrap();
        assert_eq!(
            doc.path(&second),
            "filermarkSubmission.productInfo.sutBomList.bomItem[2]"
        );
        doc.remove_item(&list, 0).unwrap();
        assert!(doc.remove_item(&list, 5).is_err());
        assert!(doc.add_item(&NodePath::root()).is_err());
        let results = place_of(&doc, "results");
        assert!(doc.add_item(&results).is_err());
    }
}
