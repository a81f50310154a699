//! Service processors and PDUs with Redfish (DMTF DSP0266; schemas DSP8010).
//!
//! A resource is read by its schema. The links of a chassis are followed, and the resources
//! with figures are remembered: [`resource`] has the schemas, [`client`] HTTP. Figures have no
//! time of their own, so their time is that of the answer; the clock of the service is only
//! recorded.

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
    /// From `/redfish`, with the fragment.
    path: String,
    limit: Duration,
    /// The resources with figures, and which figures were taken; empty before the first reading.
    plan: Vec<(String, WantedFigures)>,
}

impl Redfish {
    /// Reads the password and the certificate, and does not connect yet.
    pub(crate) fn new(spec: &SourceSpec, limit: Duration) -> Result<Self, ReadFailure> {
        let SourceSpec::Redfish { path, .. } = spec else {
            return Err(ReadFailure::new("open", "not a Redfish source"));
        };
        Ok(Self {
            client: Client::new(spec)?,
            path: path.clone(),
            limit,
            plan: Vec::new(),
        })
    }

    /// Follows the links from the resource.
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
                    "{REQUESTS_MAX} requests were not enough; name a lower resource, \
                     as .../EnvironmentMetrics"
                );
                return Err(ReadFailure::new("follow the links", reason));
            }
            let body = match self.client.get(&path, deadline) {
                Ok(body) => body,
                // A dead link is ignored, but not the resource of the setup.
                Err(client::HttpError::NotFound(_)) if path != self.path => continue,
                Err(failed) => return Err(failed.into()),
            };
            let ResourceData { figures, links } = resource::read(&body, fragment(&path), wanted)?;
            // `todo` is a stack: reversed, the first link is followed first.
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
        // After a failure the firmware may be another: search again.
        let values = values.inspect_err(|_| self.plan.clear())?;
        Ok(Sample::now(values))
    }

    fn clock(&mut self) -> ClockFacts {
        let how = match self.client.clock() {
            None => return ClockFacts::default(),
            Some((ahead, bound)) => format!(
                "times are this host's when it answered; its own clock is {ahead:+.1} s from \
                 this host's (Date header, within {bound:.1} s)"
            ),
        };
        ClockFacts {
            how,
            ..ClockFacts::default()
        }
    }
}

/// The fragment after `#`: a JSON pointer into the resource (RFC 6901).
fn fragment(path: &str) -> Option<&str> {
    path.split_once('#').map(|(_, fragment)| fragment)
}

/// The first resource with a quantity is used; nothing is added up.
fn merge(values: &mut Vec<(Quantity, f64)>, new: Vec<(Quantity, f64)>) {
    for (quantity, value) in new {
        if !values.iter().any(|(known, _)| *known == quantity) {
            values.push((quantity, value));
        }
    }
}
