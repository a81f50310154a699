//! A pair of connected streams inside this process.

#[cfg(unix)]
mod own {
    use std::io;
    use std::os::unix::net::UnixStream;

    /// One end of a pair.
    pub type LocalStream = UnixStream;

    /// Makes a pair.
    ///
    /// # Errors
    /// The system's.
    pub fn local_pair() -> io::Result<(LocalStream, LocalStream)> {
        UnixStream::pair()
    }
}

/// Windows has no pairs: a TCP connection of this host to itself.
#[cfg(not(unix))]
mod own {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    /// Connections of other processes that are refused before the own one must have come.
    const OTHERS_MAX: usize = 64;

    /// One end of a pair.
    pub type LocalStream = TcpStream;

    /// Makes a pair.
    ///
    /// # Errors
    /// The system's, or other processes take all connections.
    pub fn local_pair() -> io::Result<(LocalStream, LocalStream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let own = near.local_addr()?;
        for _ in 0..OTHERS_MAX {
            let (far, peer) = listener.accept()?;
            // Another process may have connected first.
            if peer == own {
                near.set_nodelay(true)?;
                far.set_nodelay(true)?;
                return Ok((near, far));
            }
        }
        Err(io::Error::other("other processes take all connections"))
    }
}

pub use own::{LocalStream, local_pair};
