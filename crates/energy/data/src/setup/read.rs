//! Parses sources strictly: errors state what is wrong and what to write instead.

use super::spec::{Simulated, SourceSpec};
use super::url::{Parts, TEXT_LEN_MAX};
use crate::reading::Quantity;
use std::path::PathBuf;

/// Default port of the line protocol.
const SCPI_PORT: u16 = 10001;
/// Default port of SNMP.
const SNMP_PORT: u16 = 161;
/// Most objects of one SNMP source: all of them are in one request.
pub const OIDS_MAX: usize = 16;
/// Longest object identifier (RFC 3416).
const OID_LEN_MAX: usize = 128;
/// Shown instead of a community.
pub(super) const HIDDEN: &str = "***";

/// Reads a source.
pub(super) fn source(text: &str) -> Result<SourceSpec, String> {
    if text.len() > TEXT_LEN_MAX {
        return Err(format!("a source has at most {TEXT_LEN_MAX} characters"));
    }
    if let Some(rest) = text.strip_prefix("scpi://") {
        return scpi(rest);
    }
    if let Some(rest) = text.strip_prefix("vxi11://") {
        return vxi11(rest);
    }
    if let Some(rest) = text.strip_prefix("redfish://") {
        return redfish(rest, true);
    }
    if let Some(rest) = text.strip_prefix("redfish+http://") {
        return redfish(rest, false);
    }
    if let Some(rest) = text.strip_prefix("snmp://") {
        return snmp(rest);
    }
    match text.split_once(':') {
        Some(("hwmon", chip)) => hwmon(chip),
        Some(("rapl", "")) => Ok(SourceSpec::Rapl),
        Some(("rapl", _)) => Err("nothing follows rapl:".into()),
        Some(("sim", rest)) => simulated(rest).map(SourceSpec::Simulated),
        Some(("cmd", rest)) => command(rest, Quantity::Power),
        Some((scheme, rest)) if scheme.starts_with("cmd+") => {
            command(rest, quantity(&scheme["cmd+".len()..])?)
        }
        _ => Err(
            "no such kind of source; there are scpi://, vxi11://, redfish://, redfish+http://, snmp://, \
             hwmon:, rapl:, cmd: and sim:"
                .into(),
        ),
    }
}

/// A meter's host, its port if it is given, and the input.
fn meter(rest: &str) -> Result<(String, Option<u16>, Option<u32>), String> {
    let mut url = Parts::new(rest)?;
    let element = match url.take("element") {
        None => None,
        Some(text) => match text.parse() {
            Ok(element @ 1..=16) => Some(element),
            _ => return Err("element is the number of an input, from 1 to 16".into()),
        },
    };
    url.finish("element=N")?;
    if !["", "/"].contains(&url.path) {
        return Err("nothing follows the port but ?element=N".into());
    }
    if url.user.is_some() {
        return Err("the line protocol has no user; leave out the part before @".into());
    }
    Ok((url.host, url.port, element))
}

fn scpi(rest: &str) -> Result<SourceSpec, String> {
    meter(rest).map(|(host, port, element)| SourceSpec::Scpi {
        host,
        port: port.unwrap_or(SCPI_PORT),
        element,
    })
}

fn vxi11(rest: &str) -> Result<SourceSpec, String> {
    meter(rest).map(|(host, port, element)| SourceSpec::Vxi11 {
        host,
        port,
        element,
    })
}

fn redfish(rest: &str, tls: bool) -> Result<SourceSpec, String> {
    let mut url = Parts::new(rest)?;
    let file = |text: Option<String>| text.map(PathBuf::from);
    let password_file = file(url.take("password-file"));
    let ca = file(url.take("ca"));
    let insecure = match url.take("insecure").as_deref() {
        None | Some("no") => false,
        Some("yes") => true,
        Some(_) => return Err("insecure is yes or no".into()),
    };
    url.finish("password-file=FILE, ca=FILE, insecure=yes")?;
    if !tls && (ca.is_some() || insecure) {
        return Err(
            "ca and insecure are for checking a certificate, and redfish+http has none; \
             write redfish://"
                .into(),
        );
    }
    if insecure && ca.is_some() {
        return Err("with insecure=yes nothing is checked against ca; write one of them".into());
    }
    if password_file.is_some() && url.user.is_none() {
        return Err("password-file needs a user: redfish://USER@HOST/...".into());
    }
    if url.user.as_ref().is_some_and(|user| user.contains(':')) {
        return Err("a user's name with a colon cannot log in over HTTP".into());
    }
    if url.path != "/redfish" && !url.path.starts_with("/redfish/") {
        return Err("name the resource, from /redfish: redfish://HOST/redfish/v1/Chassis/1".into());
    }
    Ok(SourceSpec::Redfish {
        tls,
        host: url.host,
        port: url.port.unwrap_or(if tls { 443 } else { 80 }),
        path: url.path.to_owned(),
        user: url.user,
        password_file,
        ca,
        insecure,
    })
}

fn snmp(rest: &str) -> Result<SourceSpec, String> {
    let mut url = Parts::new(rest)?;
    let quantity = match url.take("quantity") {
        None => Quantity::Power,
        Some(text) => quantity(&text)?,
    };
    let scale = match url.take("scale").map(|text| text.parse::<f64>()) {
        None => 1.0,
        Some(Ok(scale)) if scale.is_finite() && scale > 0.0 => scale,
        Some(_) => return Err("scale is a number above 0, as 0.1".into()),
    };
    url.finish("quantity=QUANTITY, scale=NUMBER")?;
    if url.user.as_deref() == Some(HIDDEN) {
        return Err(format!(
            "{HIDDEN} stands for a community that is not shown; write the community itself"
        ));
    }
    let oids = url.path.strip_prefix('/').unwrap_or_default();
    let oids: Vec<_> = oids.split(',').map(oid).collect::<Result<_, _>>()?;
    if oids.len() > OIDS_MAX {
        return Err(format!("a source adds up at most {OIDS_MAX} objects"));
    }
    if (1..oids.len()).any(|at| oids[..at].contains(&oids[at])) {
        return Err("an object is listed twice, and would count twice".into());
    }
    Ok(SourceSpec::Snmp {
        host: url.host,
        port: url.port.unwrap_or(SNMP_PORT),
        community: url.user.unwrap_or_else(|| "public".into()),
        oids,
        quantity,
        scale,
    })
}

/// `1.3.6.1.4.1`, with a leading dot or without.
fn oid(text: &str) -> Result<Vec<u32>, String> {
    let bad = || {
        format!(
            "\"{text}\" is not an object; write its number, as 1.3.6.1.4.1.3808.1.1.3.2.3.1.1.11.1"
        )
    };
    let digits = text.strip_prefix('.').unwrap_or(text);
    let mut ids = Vec::new();
    for word in digits.split('.') {
        let plain = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        ids.push(word.parse().ok().filter(|_| plain).ok_or_else(bad)?);
        if ids.len() > OID_LEN_MAX {
            return Err(bad());
        }
    }
    // The first two are one byte on the wire (X.690, 8.19).
    match ids.as_slice() {
        [0 | 1, 0..=39, ..] | [2, 0..=175, ..] => Ok(ids),
        _ => Err(bad()),
    }
}

fn hwmon(text: &str) -> Result<SourceSpec, String> {
    let fits = |part: &str| {
        !part.is_empty() && part.len() <= 64 && !part.chars().any(|c| c.is_control() || c == '/')
    };
    let (chip, sensor) = match text.split_once('/') {
        Some((chip, sensor)) => (chip, Some(sensor)),
        None => (text, None),
    };
    if text.is_empty() {
        return Ok(SourceSpec::Hwmon { chip: None });
    }
    if !fits(chip) || !sensor.is_none_or(fits) {
        return Err(
            "write hwmon:, hwmon:CHIP, or hwmon:CHIP/SENSOR; `grep . /sys/class/hwmon/*/name` \
             shows the chips"
                .into(),
        );
    }
    Ok(SourceSpec::Hwmon {
        chip: Some(text.to_owned()),
    })
}

fn command(text: &str, quantity: Quantity) -> Result<SourceSpec, String> {
    if text.trim().is_empty() {
        return Err("no command follows; write cmd:COMMAND".into());
    }
    if text.contains(['\0', '\n', '\r']) {
        return Err("a command is one line".into());
    }
    Ok(SourceSpec::Command {
        command: text.to_owned(),
        quantity,
    })
}

fn quantity(text: &str) -> Result<Quantity, String> {
    let found = Quantity::ALL.into_iter().find(|q| q.name() == text);
    found.ok_or_else(|| {
        let names = Quantity::ALL.map(Quantity::name).join(", ");
        format!("\"{text}\" is not a quantity; there are {names}")
    })
}

fn simulated(text: &str) -> Result<Simulated, String> {
    let known = "idle=200, per-mib=0.5, noise=1, seed=7, quantity=power_w";
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!(
                "\"{pair}\" has no value; a made-up source has {known}"
            ));
        };
        if pairs.iter().any(|(there, _)| *there == key.trim()) {
            return Err(format!("\"{}\" occurs twice", key.trim()));
        }
        pairs.push((key.trim(), value.trim()));
    }
    let mut made = Simulated {
        quantity: Quantity::Power,
        idle: 200.0,
        per_mib: 0.0,
        noise: 0.0,
        seed: 1,
    };
    for (key, value) in pairs {
        match key {
            "idle" => made.idle = figure(key, value)?,
            "per-mib" => made.per_mib = figure(key, value)?,
            "noise" => made.noise = figure(key, value)?,
            "quantity" => made.quantity = quantity(value)?,
            "seed" => {
                let seed = value.parse();
                made.seed = seed.map_err(|_| "seed is a whole number".to_owned())?;
            }
            _ => return Err(format!("\"{key}\" is not known; there are {known}")),
        }
    }
    if made.noise < 0.0 {
        return Err("noise is a standard deviation: 0 or more".into());
    }
    Ok(made)
}

fn figure(key: &str, value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok();
    let number = number.filter(|n| n.is_finite() && n.abs() <= 1e9);
    number.ok_or_else(|| format!("{key} is a number, as {key}=0.5"))
}

/// The text without anything that may be a community or a password.
pub(super) fn without_secrets(text: &str) -> String {
    let shown = match text.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, rest)) => format!("{scheme}://{HIDDEN}@{rest}"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    };
    filermark_model::text::sanitize(&shown, 200)
}
