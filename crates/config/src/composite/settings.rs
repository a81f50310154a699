//! Independent settings of a composite run: the driver, the scripts,
//! the time service, the heartbeat.

use crate::drivers::{DriverRequest, driver_of, driver_of_word};
use crate::error::quoted;
use crate::given::Values;
use crate::params;
use crate::plan::common::script_limit;
use crate::reading::Reading;
use crate::resolved::NetmistOutput;
use filermark_model::benchmark::Protocol;
use filermark_model::plan::{ClockServicePlan, DriverPlan, ScriptsPlan};
use filermark_model::{Nanos, Rule, Severity};
use std::path::PathBuf;

/// Port of the time service that netmist's manual shows (manual N, section 10).
pub(crate) const PIT_PORT: u16 = 2010;

/// The driver, with its settings.
pub(crate) fn driver(r: &mut Reading<'_>) -> Option<DriverPlan> {
    let protocol = Protocol::Posix;
    let chosen = r.values.get(&params::DRIVER).and_then(driver_of_word);
    let for_all = chosen.filter(|driver| driver.is_for_all());
    let request = DriverRequest {
        protocol,
        benchmark: None,
        layout: None,
    };
    let driver = for_all.or(driver_of(protocol))?;
    Some((driver.settings)(r, &request))
}

/// netmist's scripts, looked for in the current directory.
pub(crate) fn scripts(values: &Values) -> Option<ScriptsPlan> {
    let limit = script_limit(values);
    values.get(&params::SCRIPTS).then(|| ScriptsPlan {
        dir: ".".to_owned(),
        limit,
    })
}

/// Time between heartbeats.
pub(super) fn heartbeat(values: &Values) -> Option<Nanos> {
    let every = Nanos::from_secs_f64(values.get(&params::HEARTBEAT_S));
    values
        .get(&params::HEARTBEAT_NOTIFICATIONS)
        .then_some(every)
}

/// Where the clients' logs go.
pub(super) fn output(values: &Values) -> Option<NetmistOutput> {
    let dir = values.get(&params::NETMIST_LOGS).map(PathBuf::from);
    dir.map(|dir| NetmistOutput {
        client_log_dir: Some(dir),
        // The consoles of 2014 always show them.
        bands: true,
        ..NetmistOutput::default()
    })
}

/// PIT_SERVER and PIT_PORT.
pub(crate) fn clock_service(r: &mut Reading<'_>) -> Option<ClockServicePlan> {
    let values = r.values;
    let Some(host) = values.get(&params::PIT_SERVER) else {
        if let Some(given) = values.given(&params::PIT_PORT) {
            let text = format!("{} has no effect without PIT_SERVER", given.shown());
            r.reports.note(Rule::NotStandard, Severity::Note, text);
        }
        return None;
    };
    let service = values.get(&params::PIT_PORT);
    match port(&service) {
        Ok(port) => Some(ClockServicePlan { host, port }),
        Err((what, hint)) => {
            let message = format!("PIT_PORT={} {what}", quoted(&service));
            r.refuse(&params::PIT_PORT, message, hint);
            None
        }
    }
}

/// A TCP port by number, or by its name in /etc/services.
///
/// # Errors
/// (what is wrong, what to try).
pub(crate) fn port(service: &str) -> Result<u16, (String, String)> {
    let services = std::path::Path::new("/etc/services");
    let text = crate::sources::read_text(services).unwrap_or_default();
    port_in(service, &text)
}

/// As [`port`], with the text of /etc/services.
fn port_in(service: &str, services: &str) -> Result<u16, (String, String)> {
    if service.is_empty() {
        return Ok(PIT_PORT);
    }
    if service.chars().all(|c| c.is_ascii_digit()) {
        return match service.parse::<u16>() {
            Ok(port) if port > 0 => Ok(port),
            _ => Err((
                "is not a port".into(),
                "give 1 to 65535, or a name from /etc/services".into(),
            )),
        };
    }
    let named = services.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let (port, protocol) = words.next()?.split_once('/')?;
        let is = std::iter::once(name)
            .chain(words)
            .any(|n| n.eq_ignore_ascii_case(service));
        (is && protocol.eq_ignore_ascii_case("tcp")).then(|| port.parse::<u16>().ok())?
    });
    // The manual's own name for it, where /etc/services does not have it.
    let known = service.eq_ignore_ascii_case("PIT").then_some(PIT_PORT);
    named.or(known).ok_or_else(|| {
        (
            "is not a TCP service in /etc/services".into(),
            format!("give the port's number, e.g. {PIT_PORT}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_by_number_and_name() {
        let text = "# services\nssh 22/tcp # shell\npit-x 2011/udp\nPIT 2012/tcp timer\n";
        assert_eq!(port_in("", text), Ok(2010));
        assert_eq!(port_in("99", text), Ok(99));
        assert_eq!(port_in("PIT", text), Ok(2012));
        assert_eq!(port_in("timer", text), Ok(2012));
        assert_eq!(port_in("PIT", ""), Ok(2010));
        assert!(port_in("pit-x", text).is_err());
        assert!(port_in("0", text).is_err());
        assert!(port_in("99999999999", text).is_err());
    }
}
