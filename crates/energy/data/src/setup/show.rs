//! Displays sources, without secrets.

use super::read::HIDDEN;
use super::spec::{Simulated, SourceSpec};
use super::url;
use crate::reading::Quantity;
use std::fmt;

/// Without secrets, as in logs. The text can be parsed again, except for a community that is
/// not `public`.
impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scpi {
                host,
                port,
                element,
            } => show_meter(f, "scpi", host, Some(*port), *element),
            Self::Vxi11 {
                host,
                port,
                element,
            } => show_meter(f, "vxi11", host, *port, *element),
            Self::Redfish { .. } => self.show_redfish(f),
            Self::Snmp { .. } => self.show_snmp(f),
            Self::Hwmon { chip } => write!(f, "hwmon:{}", chip.as_deref().unwrap_or_default()),
            Self::Rapl => f.write_str("rapl:"),
            Self::Command { command, quantity } => match quantity {
                Quantity::Power => write!(f, "cmd:{command}"),
                other => write!(f, "cmd+{other}:{command}"),
            },
            Self::Simulated(made) => {
                let Simulated {
                    quantity,
                    idle,
                    per_mib,
                    noise,
                    seed,
                } = made;
                write!(
                    f,
                    "sim:idle={idle},per-mib={per_mib},noise={noise},seed={seed}"
                )?;
                match quantity {
                    Quantity::Power => Ok(()),
                    other => write!(f, ",quantity={other}"),
                }
            }
        }
    }
}

fn show_meter(
    f: &mut fmt::Formatter<'_>,
    scheme: &str,
    host: &str,
    port: Option<u16>,
    element: Option<u32>,
) -> fmt::Result {
    write!(f, "{scheme}://{}", url::host(host))?;
    port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
    element.map_or(Ok(()), |element| write!(f, "?element={element}"))
}

impl SourceSpec {
    fn show_redfish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Redfish {
            tls,
            host,
            port,
            path,
            user,
            password_file,
            ca,
            insecure,
        } = self
        else {
            return Ok(());
        };
        f.write_str(if *tls {
            "redfish://"
        } else {
            "redfish+http://"
        })?;
        if let Some(user) = user {
            write!(f, "{}@", url::encode(user).replace('/', "%2F"))?;
        }
        write!(f, "{}:{port}{path}", url::host(host))?;
        let mut sign = '?';
        for (key, file) in [("password-file", password_file), ("ca", ca)] {
            if let Some(file) = file {
                write!(f, "{sign}{key}={}", url::encode(&file.to_string_lossy()))?;
                sign = '&';
            }
        }
        if *insecure {
            write!(f, "{sign}insecure=yes")?;
        }
        Ok(())
    }

    fn show_snmp(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Snmp {
            host,
            port,
            community,
            oids,
            quantity,
            scale,
        } = self
        else {
            return Ok(());
        };
        f.write_str("snmp://")?;
        if community != "public" {
            write!(f, "{HIDDEN}@")?;
        }
        write!(f, "{}:{port}", url::host(host))?;
        for (n, oid) in oids.iter().enumerate() {
            f.write_str(if n == 0 { "/" } else { "," })?;
            let ids: Vec<String> = oid.iter().map(u32::to_string).collect();
            f.write_str(&ids.join("."))?;
        }
        write!(f, "?quantity={quantity}&scale={scale}")
    }
}

/// As displayed, so that debug output has no secrets either.
impl fmt::Debug for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
