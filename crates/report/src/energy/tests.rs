//! The renderings side by side.
