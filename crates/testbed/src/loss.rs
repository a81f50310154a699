//! Packet loss by the kernel's packet filter.
//!
//! `tc netem` can drop packets, too, but many kernels are built without it: see
//! [`crate::KernelServer::lose_replies`] for one that has it. The packet filter counts
//! the packets that it drops, so that a test has the exact number.

use crate::tools::need;
use crate::{Error, Result, Sandbox};
use std::sync::Arc;

/// Loss of UDP packets in a sandbox's network; it ends when dropped.
#[derive(Debug)]
pub struct Loss {
    sandbox: Arc<Sandbox>,
}

/// The unit of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Whole datagrams.
    Datagrams,
    /// Packets: each fragment of a datagram separately.
    Fragments,
}

/// Number of packets dropped so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// To the server.
    pub calls: u64,
    /// To the client.
    pub replies: u64,
}

impl Loss {
    /// Drops `per_mille` of a thousand packets to and from this UDP port, at random. Only
    /// the first fragment of a datagram has the port: [`Lost::Fragments`] applies to all
    /// UDP packets of the sandbox, which count as calls.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without nftables; otherwise what `nft` reported.
    pub fn start(sandbox: &Arc<Sandbox>, port: u16, per_mille: u32, lost: Lost) -> Result<Loss> {
        need(&[("nft", "nftables")])?;
        let draw = format!("numgen random mod 1000 < {per_mille}");
        let (hook, rules) = match lost {
            Lost::Datagrams => (
                "input priority 0",
                format!(
                    "udp dport {port} {draw} counter name calls drop\n\
                     udp sport {port} {draw} counter name replies drop"
                ),
            ),
            Lost::Fragments => (
                "prerouting priority -450",
                format!("ip protocol udp {draw} counter name calls drop"),
            ),
        };
        let rules = format!(
            "table inet loss {{\ncounter calls {{ }}\ncounter replies {{ }}\n\
             chain drops {{\ntype filter hook {hook}; policy accept;\n{rules}\n}}\n}}\n"
        );
        sandbox.set_up(
            "start packet loss",
            r#"printf %s "$1" | nft -f -"#,
            &[&rules],
        )?;
        Ok(Loss {
            sandbox: Arc::clone(sandbox),
        })
    }

    /// Number of packets dropped so far.
    ///
    /// # Errors
    ///
    /// When `nft` fails, or its output is not as expected.
    pub fn dropped(&self) -> Result<Dropped> {
        Ok(Dropped {
            calls: self.count("calls")?,
            replies: self.count("replies")?,
        })
    }

    fn count(&self, name: &str) -> Result<u64> {
        let output = self
            .sandbox
            .command("nft")
            .args(["list", "counter", "inet", "loss", name])
            .output()
            .map_err(Error::io("start nft"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        let packets = words.find(|w| *w == "packets").and_then(|_| words.next());
        let count = packets.and_then(|count| count.parse().ok());
        count.ok_or_else(|| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Error::failed("nft", output.status.to_string(), format!("{text}{stderr}"))
        })
    }
}

impl Drop for Loss {
    fn drop(&mut self) {
        let gone = self
            .sandbox
            .set_up("end packet loss", "nft delete table inet loss", &[]);
        if let Err(error) = gone {
            eprintln!("testbed: {error}");
        }
    }
}
