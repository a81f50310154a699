//! Packet loss by `tc netem`, in the kernel that also serves NFS.
//!
//! Many hosts' kernels are built without netem; User Mode Linux has it as a module. So
//! the server drops packets that it sends, and the client's kernel is unchanged.

use crate::tools::BUSY_LIMIT;
use crate::{Error, KernelServer, Result};
use std::time::Duration;

/// The scripts take milliseconds; a busy machine takes longer.
const LIMIT: Duration = BUSY_LIMIT;

/// The exit status of [`LOSE`] if a module is missing.
const NO_MODULE: i32 = 77;

/// Only packets that the filter matches reach netem, by a band that no type of service is
/// mapped to: a lost ARP reply would delay all traffic by a second, and netem would count
/// it as a datagram. Loading a module that is already loaded has no effect.
const LOSE: &str = r#"
for module in sch_prio cls_u32 sch_netem; do
    modprobe -d /run/testbed/modules "$module" || exit 77
done
tc qdisc replace dev vec0 root handle 1: prio bands 4 || exit 1
tc qdisc replace dev vec0 parent 1:4 handle 40: netem loss "$PERCENT%" || exit 1
tc filter replace dev vec0 parent 1: handle 800::1 protocol ip prio 1 \
    u32 match ip protocol 17 0xff match ip sport "$PORT" 0xffff flowid 1:4
"#;

/// netem's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetemCounts {
    /// Packets that it sent on.
    pub sent: u64,
    /// Packets that it dropped.
    pub dropped: u64,
}

impl KernelServer {
    /// Drops `per_mille` of a thousand UDP datagrams that the server sends from this port,
    /// at random; of a fragmented one only the first fragment. Other packets are not
    /// dropped. A further call changes the figure and does not reset the counters.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the server's kernel has no netem; otherwise what `tc`
    /// reported.
    pub fn lose_replies(&mut self, port: u16, per_mille: u32) -> Result<()> {
        let (whole, tenths) = (per_mille / 10, per_mille % 10);
        let script = format!("PORT={port}\nPERCENT={whole}.{tenths}\n{LOSE}");
        let done = self.run(&script, LIMIT)?;
        match done.status {
            0 => Ok(()),
            NO_MODULE => Err(Error::Unavailable(format!(
                "the server's kernel has no netem: {}",
                done.output.trim()
            ))),
            status => Err(Error::failed("tc", status.to_string(), done.output)),
        }
    }

    /// Packets that netem has sent and dropped since the first [`KernelServer::lose_replies`].
    ///
    /// # Errors
    ///
    /// When the kernel has ended, or the output of `tc` is not as expected.
    pub fn netem_counts(&mut self) -> Result<NetemCounts> {
        let done = self.run("tc -s qdisc show dev vec0", LIMIT)?;
        counts(&done.output)
            .ok_or_else(|| Error::failed("tc", "its output has no counters of netem", done.output))
    }
}

/// Reads `Sent 96 bytes 2 pkt (dropped 1, overlimits 0 requeues 0)` after netem's name.
fn counts(text: &str) -> Option<NetemCounts> {
    let (_, netem) = text.split_once("qdisc netem ")?;
    let sent = netem.lines().nth(1)?.trim().strip_prefix("Sent ")?;
    let (sent, dropped) = sent.split_once(" pkt (dropped ")?;
    let (_, sent) = sent.split_once(" bytes ")?;
    let (dropped, _) = dropped.split_once(',')?;
    Some(NetemCounts {
        sent: sent.parse().ok()?,
        dropped: dropped.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_netem_are_read_and_not_those_of_its_parent() {
        let text = "qdisc prio 1: root refcnt 2 bands 4 priomap 1 2\n \
                    Sent 900 bytes 9 pkt (dropped 3, overlimits 0 requeues 0)\n \
                    backlog 0b 0p requeues 0\n\
                    qdisc netem 40: parent 1:4 limit 1000 loss 3%\n \
                    Sent 96 bytes 2 pkt (dropped 1, overlimits 0 requeues 0)\n \
                    backlog 0b 0p requeues 0\n";
        let read = NetemCounts {
            sent: 2,
            dropped: 1,
        };
        assert_eq!(counts(text), Some(read));
        assert_eq!(counts("qdisc noqueue 0: root refcnt 2\n"), None);
    }
}
