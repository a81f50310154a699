//! Service processors and PDUs that speak Redfish (DMTF DSP0266; schemas DSP8010).
//!
//! A resource is read for what its schema says; a chassis is followed to the resources it
//! links to, and which of them had figures is remembered: [`resource`] knows the schemas,
//! [`client`] HTTP. The clock of a service is only told of: figures have no time of their
//! own there, and their time is that of the answer.

mod client;
mod resource;

use crate::meter::{ReadFailure, Sample, Source};
use crate::waiting::Deadline;
use client::Client;
use filermark_energy_data::Quantity;
use filermark_energy_data::log::ClockFacts;
use filermark_energy_data::setup::SourceSpec;
use resource::{ResourceData, WantedFigures};
use std::time::Duration;

/// Most requests of one reading, all links among them.
const REQUESTS_MAX: usize = 8;

/// One resource and what it links to.
pub(crate) struct Redfish {
    client: Client,
    /// From `/redfish`, with what follows `#`.
    path: String,
    limit: Duration,
    /// Where there were figures, and which of them were taken; empty before the first time.
    plan: Vec<(String, WantedFigures)>,
}

impl Redfish {
    /// Of this source. Reads the password and the certificate, and connects to nobody.
    pub(crate) fn new(spec: &SourceSpec, limit: Duration) -> Result<Self, ReadFailure> {
        let SourceSpec::Redfish { path, .. } = spec else {
            return Err(ReadFailure::new("open", "this is no Redfish source"));
        };
        Ok(Self {
            client: Client::new(spec)?,
            path: path.clone(),
            limit,
            plan: Vec::new(),
        })
    }

    /// Follows the links from the resource until nothing is left to be followed.
    fn explore(&mut self, deadline: Deadline) -> Result<Vec<(Quantity, f64)>, ReadFailure> {
        let mut values = Vec::new();
        let mut plan = Vec::new();
        let mut todo = vec![(self.path.clone(), WantedFigures::Everything)];
        let mut requests = 0;
        while let Some((path, wanted)) = todo.pop() {
            if !wanted.is_missing_in(&values) {
                continue;
            }
            requests += 1;
            if requests > REQUESTS_MAX {
                let reason = format!(
                    "{REQUESTS_MAX} requests were not enough; name a resource further down, \
                     as .../EnvironmentMetrics"
                );
                return Err(ReadFailure::new("follow the links", reason));
            }
            let body = match self.client.get(&path, deadline) {
                Ok(body) => body,
                // A link may lead nowhere; the resource that was asked for may not.
                Err(client::HttpError::NotFound(_)) if path != self.path => continue,
                Err(failed) => return Err(failed.into()),
            };
            let ResourceData { figures, links } = resource::read(&body, fragment(&path), wanted)?;
            // Of what is looked for last the stack has it first.
            todo.extend(links.into_iter().rev());
            if figures.taken > 0 {
                plan.push((path, wanted));
            }
            merge(&mut values, figures.values);
        }
        if plan.is_empty() {
            let reason = "it has no power, temperature or humidity; name another resource, as \
                          /redfish/v1/Chassis/1 or .../Sensors/NAME";
            return Err(ReadFailure::new("look for figures", reason));
        }
        self.plan = plan;
        Ok(values)
    }

    fn again(&mut self, deadline: Deadline) -> Result<Vec<(Quantity, f64)>, ReadFailure> {
        let mut values = Vec::new();
        for (path, wanted) in &self.plan {
            let body = self.client.get(path, deadline)?;
            let found = resource::read(&body, fragment(path), *wanted)?;
            merge(&mut values, found.figures.values);
        }
        Ok(values)
    }
}

impl Source for Redfish {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let deadline = Deadline::after(self.limit);
        let values = match self.plan.is_empty() {
            true => self.explore(deadline),
            false => self.again(deadline),
        };
        // After a failure it may be another firmware: everything is looked for again.
        let values = values.inspect_err(|_| self.plan.clear())?;
        Ok(Sample::now(values))
    }

    fn clock(&mut self) -> ClockFacts {
        let how = match self.client.clock() {
            None => return ClockFacts::default(),
            Some((ahead, bound)) => format!(
                "times are this host's, when it answered; its own clock is {ahead:+.1} s from \
                 this host's (Date header, within {bound:.1} s)"
            ),
        };
        ClockFacts {
            how,
            ..ClockFacts::default()
        }
    }
}

/// What follows `#`: a place within the resource (RFC 6901).
fn fragment(path: &str) -> Option<&str> {
    path.split_once('#').map(|(_, fragment)| fragment)
}

/// The first that tells of a quantity is believed: nothing is added up.
fn merge(values: &mut Vec<(Quantity, f64)>, new: Vec<(Quantity, f64)>) {
    for (quantity, value) in new {
        if !values.iter().any(|(known, _)| *known == quantity) {
            values.push((quantity, value));
        }
    }
}
