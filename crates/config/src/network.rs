//! What the drivers that speak a protocol themselves have in common: address family,
//! connections, the port that URLs name.

use crate::given::Values;
use crate::layout::Layout;
use crate::reading::Reading;
use filermark_model::plan::{ClientPlan, Connections, IpChoice};
use filermark_model::{Rule, Severity};
use std::net::{Ipv4Addr, Ipv6Addr};

/// CONNECTIONS.
pub(crate) fn connections(values: &Values) -> Connections {
    match values.int32("CONNECTIONS") {
        Some(n) => Connections::Shared(n),
        None => Connections::PerProc,
    }
}

/// BLOCK_SIZE, in bytes.
pub(crate) fn block_size_max(values: &Values) -> Option<u32> {
    values
        .int32("BLOCK_SIZE")
        .map(|kib| kib.saturating_mul(1024))
}

/// A parameter with a port, or the port of the URLs; both only when they agree. `None`:
/// neither is given.
pub(crate) fn port(r: &mut Reading<'_>, name: &str, layout: Option<&Layout>) -> Option<u16> {
    let values = r.values;
    let given = values.given(name).and_then(|_| values.int(name));
    let given = given.and_then(|n| u16::try_from(n).ok());
    let url = layout.and_then(|l| l.url_port);
    if let (Some(given), Some(url)) = (given, url)
        && given != url
    {
        r.reports.refuse(
            values.place(name),
            format!("{name}={given}, but the URLs in MNT_POINTS name port {url}"),
            "leave one of them out",
        );
    }
    given.or(url)
}

/// IPV6_ENABLE, unless an address in MNT_POINTS says otherwise.
pub(crate) fn ip(r: &mut Reading<'_>, layout: Option<&Layout>) -> IpChoice {
    let values = r.values;
    let clients = layout.map_or(&[] as &[ClientPlan], |l| &l.clients);
    let mut hosts = clients.iter().flat_map(|c| &c.mounts).map(|m| &m.host);
    let is_v6 = |host: &String| host.contains(':') || host.parse::<Ipv6Addr>().is_ok();
    let (choice, other) = match values.word("IPV6_ENABLE") {
        "off" => (IpChoice::V4, hosts.find(|h| is_v6(h))),
        "on" => (IpChoice::V6, hosts.find(|h| h.parse::<Ipv4Addr>().is_ok())),
        word_any => {
            debug_assert!(matches!(word_any, "any" | ""));
            return IpChoice::Any;
        }
    };
    let Some(other) = other else { return choice };
    r.reports.note(
        Rule::NotStandard,
        Severity::Note,
        format!(
            "IPV6_ENABLE does not fit {other} in MNT_POINTS: every server is taken as it comes"
        ),
    );
    IpChoice::Any
}
