//! Which one of several connections the next call goes over: they take turns.

/// Connections that take turns.
#[derive(Debug, Default)]
pub struct Turns {
    conns: Vec<u32>,
    /// The one of the last turn.
    at: usize,
}

impl Turns {
    /// Adds a connection.
    pub fn add(&mut self, conn: u32) {
        self.conns.push(conn);
    }

    /// All of them.
    #[inline]
    pub fn conns(&self) -> &[u32] {
        &self.conns
    }

    /// The next connection after that of the last turn which is fit; `None`: none is.
    #[inline]
    pub fn next(&mut self, is_fit: impl Fn(u32) -> bool) -> Option<u32> {
        let count = self.conns.len();
        for step in 1..=count {
            let at = (self.at + step) % count;
            let conn = *self.conns.get(at)?;
            if is_fit(conn) {
                self.at = at;
                return Some(conn);
            }
        }
        None
    }
}

impl From<std::ops::Range<u32>> for Turns {
    fn from(conns: std::ops::Range<u32>) -> Self {
        Self {
            conns: conns.collect(),
            at: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fit_connection_has_its_turn() {
        let mut turns = Turns::from(4..8);
        let all: Vec<_> = (0..5).filter_map(|_| turns.next(|_| true)).collect();
        assert_eq!(all, [5, 6, 7, 4, 5]);
        let fit: Vec<_> = (0..3).filter_map(|_| turns.next(|c| c != 6)).collect();
        assert_eq!(fit, [7, 4, 5]);
        assert_eq!(turns.next(|_| false), None);
        assert_eq!(Turns::default().next(|_| true), None);
    }
}
