//! The place of a node in a document.

/// The path from the root to a node: the number of the child at each step, from 0.
/// The path of the root is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Vec<usize>);

impl NodePath {
    /// The root.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The child number `at`, from 0.
    #[must_use]
    pub fn child(&self, at: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(at);
        Self(steps)
    }

    /// The node above; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// Its number among the children of the node above, from 0; `None` at the root.
    pub fn number(&self) -> Option<usize> {
        self.0.last().copied()
    }

    /// Steps from the root.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// The steps.
    pub fn steps(&self) -> &[usize] {
        &self.0
    }

    /// Whether this is `other` or a node above it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}
