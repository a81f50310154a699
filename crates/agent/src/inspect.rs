//! The facts that an agent collects on its host, without evaluation. Every step has a time
//! limit; what cannot be read is reported as unknown, and causes no error.

mod probe;
mod processes;

pub(crate) use probe::ProbeFiles;

use super::validate::check_here;
use crate::free_space::ClientSpace;
use filermark_driver_kit::survey::Survey;
use filermark_engine::driver::{Claim, StopFlag};
use filermark_link::facts::{HostFacts, InspectFacts, InspectRequest, OwnName, ValidationFacts};
use filermark_link::identity::own_hello;
use filermark_link::own_host::{firewall, names, system};
use filermark_model::plan::{DriverPlan, IpChoice, MountPoint};
use filermark_results::Environment;

/// Carries out an inspection for the prime. `created` are the probe files that this agent has
/// to remove.
pub fn inspect(request: InspectRequest, created: &mut ProbeFiles, stop: &StopFlag) -> InspectFacts {
    let outcomes = match request {
        InspectRequest::Host {
            driver,
            mounts,
            dir_name,
            log_in,
            password: _,
        } => return InspectFacts::Host(Box::new(host(&driver, &mounts, &dir_name, log_in))),
        InspectRequest::Validate {
            driver,
            mount,
            dir_name,
            run_id,
            first_only,
            password: _,
        } => {
            let claim = Claim { dir_name, run_id };
            let checked = check_here(&driver, &mount, &claim, first_only, stop, &mut |_| {});
            return InspectFacts::Validated(match checked {
                Ok(validation) => ValidationFacts::Done(validation),
                Err(why) => ValidationFacts::Failed(why),
            });
        }
        InspectRequest::CreateProbes { probes } => created.create(probes),
        InspectRequest::FindProbes { probes } => probe::find(&probes, stop),
        InspectRequest::RemoveProbes { probes } => created.remove(probes),
    };
    InspectFacts::Probes { outcomes }
}

fn host(driver: &DriverPlan, mounts: &[MountPoint], dir_name: &str, log_in: bool) -> HostFacts {
    // First, since the other steps use processor time.
    let load = processes::inspect();
    let hello = own_hello();
    let mut free = ClientSpace::by(driver);
    let survey = Survey {
        mounts,
        dir_name,
        log_in,
        unwritable: probe::unwritable,
    };
    let driver = filermark_drivers::find(driver).and_then(|spec| (spec.survey)(driver, &survey));
    let found = driver.unwrap_or_default();
    for at in &found.reports {
        free.add(&at.mount, at.is_kept, &hello.host, &at.report);
    }
    HostFacts {
        environment: Environment::collect(env!("CARGO_PKG_VERSION")),
        addresses: names::own_addresses(),
        own_name: own_name(&hello.host),
        hello: Some(hello),
        memory_available_bytes: system::memory_available_bytes(),
        limits: system::limits(),
        program: std::env::current_exe()
            .ok()
            .map(|path| path.display().to_string()),
        low_ports: system::low_ports(),
        async_engine: found.async_engine,
        sysctls: system::sysctls(),
        governors: system::governors(),
        nic_mbps: system::nic_mbps(),
        firewall: firewall::inspect(),
        load,
        selinux_enforcing: system::selinux_enforcing(),
        mounts: found.mounts,
        servers: found.servers,
        free: free.into_free(),
    }
}

fn own_name(name: &str) -> OwnName {
    let addresses = names::forward(name, IpChoice::Any).unwrap_or_default();
    OwnName {
        addresses: addresses.iter().map(ToString::to_string).collect(),
        loopback_line: names::loopback_line(&names::hosts_file(), name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_link::facts::LoadFacts;

    #[test]
    #[cfg(target_os = "linux")]
    fn this_host_is_inspected() {
        let mut facts = host(&DriverPlan::NULL, &[], "filermark.x", true);
        // The last digit of the shares of a core may change in JSON.
        facts.load = LoadFacts::default();
        assert_eq!(facts.hello, Some(own_hello()));
        assert!(facts.memory_available_bytes.is_some_and(|m| m > 1 << 20));
        assert!(facts.environment.core_count > 0);
        assert!(facts.mounts.is_empty() && facts.servers.is_empty() && facts.free.is_empty());
        let json = serde_json::to_string(&facts).expect("facts in JSON");
        assert_eq!(
            serde_json::from_str::<HostFacts>(&json).expect("back"),
            facts
        );
    }
}
