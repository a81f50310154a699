//! Common parts of the drivers that implement a protocol themselves: address family,
//! connections, the port of URLs.

use crate::given::Values;
use crate::layout::Layout;
use crate::params::{self, Parameter};
use crate::reading::Reading;
use filermark_model::plan::{ClientPlan, IpChoice};
use filermark_model::{Rule, Severity};
use std::net::{Ipv4Addr, Ipv6Addr};

/// BLOCK_SIZE, in bytes.
pub(crate) fn block_size_max(values: &Values) -> Option<u32> {
    values
        .get(&params::BLOCK_SIZE)
        .map(|kib| kib.saturating_mul(1024))
}

/// The port that a parameter sets, or that of the URLs; both only when they agree. `None`:
/// neither is given.
pub(crate) fn port(
    r: &mut Reading<'_>,
    parameter: &Parameter,
    given: Option<u16>,
    layout: Option<&Layout>,
) -> Option<u16> {
    let url = layout.and_then(|l| l.url_port);
    if let (Some(given), Some(url)) = (given, url)
        && given != url
    {
        let name = parameter.name;
        r.refuse(
            parameter,
            format!("{name}={given}, but the URLs in MNT_POINTS name port {url}"),
            "leave one of them out",
        );
    }
    given.or(url)
}

/// IPV6_ENABLE, unless an address in MNT_POINTS has the other family.
pub(crate) fn ip(r: &mut Reading<'_>, layout: Option<&Layout>) -> IpChoice {
    let clients = layout.map_or(&[] as &[ClientPlan], |l| &l.clients);
    let mut hosts = clients.iter().flat_map(|c| &c.mounts).map(|m| &m.host);
    let is_v6 = |host: &String| host.contains(':') || host.parse::<Ipv6Addr>().is_ok();
    let (choice, other) = match r.values.get(&params::IPV6_ENABLE) {
        IpChoice::V4 => (IpChoice::V4, hosts.find(|h| is_v6(h))),
        IpChoice::V6 => (IpChoice::V6, hosts.find(|h| h.parse::<Ipv4Addr>().is_ok())),
        IpChoice::Any => return IpChoice::Any,
    };
    let Some(other) = other else { return choice };
    r.reports.note(
        Rule::NotStandard,
        Severity::Note,
        format!(
            "IPV6_ENABLE does not fit {other} in MNT_POINTS: every server is used with the family that it has"
        ),
    );
    IpChoice::Any
}
