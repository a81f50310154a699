//! Objects of PDUs and sensors, by SNMP version 2c (RFC 3416).
//!
//! One request has all objects of a source, and their values add up. If one is missing, the
//! reading fails: a sum without an outlet would be taken for the total.

use crate::figure;
use crate::meter::{ReadFailure, Sample, Source};
use crate::waiting::{Deadline, Resolver};
use filermark_energy_data::Quantity;
use filermark_energy_data::setup::SourceSpec;
use filermark_model::text::sanitize;
use snmp2::{Error, Oid, SyncSession, Value};
use std::time::Duration;

/// How often a request is sent within the limit, since datagrams can be lost.
const TRIES: u32 = 3;
const STEP: &str = "ask for the objects";

/// Objects of one agent.
pub(crate) struct Snmp {
    resolver: Resolver,
    community: String,
    oids: Vec<Oid<'static>>,
    quantity: Quantity,
    scale: f64,
    limit: Duration,
    session: Option<Box<SyncSession>>,
    next_id: i32,
}

impl Snmp {
    /// Sends nothing yet.
    pub(crate) fn new(spec: &SourceSpec, limit: Duration) -> Result<Self, ReadFailure> {
        let SourceSpec::Snmp {
            host,
            port,
            community,
            oids,
            quantity,
            scale,
        } = spec
        else {
            return Err(ReadFailure::new("open", "not an SNMP source"));
        };
        let oids = oids.iter().map(|oid| {
            let ids: Vec<u64> = oid.iter().copied().map(u64::from).collect();
            Oid::from(&ids).map_err(|_| ReadFailure::new("open", "an object's number is too short"))
        });
        Ok(Self {
            resolver: Resolver::new(host, *port),
            community: community.clone(),
            oids: oids.collect::<Result<_, _>>()?,
            quantity: *quantity,
            scale: *scale,
            limit,
            session: None,
            next_id: 1,
        })
    }

    /// One request and its answer, within a share of the limit.
    fn ask(&mut self, deadline: Deadline) -> Result<f64, SnmpError> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect(deadline)?,
        };
        let oids: Vec<&Oid<'_>> = self.oids.iter().collect();
        let sum = match session.get_many(&oids) {
            Ok(answer) => {
                let status = answer.error_status;
                let values = answer.varbinds.clone();
                sum(values, status, &oids, self.quantity).map_err(SnmpError::For)
            }
            Err(Error::Receive) => Err(SnmpError::Lost),
            Err(Error::Send) => Err(SnmpError::For(ReadFailure::new(
                STEP,
                "the request cannot be sent; is the network there?",
            ))),
            Err(error) => {
                let reason = format!("the answer cannot be decoded: {error}");
                Err(SnmpError::For(ReadFailure::new(STEP, reason)))
            }
        }?;
        // After a failure the next request has a new socket, so that late answers are lost.
        self.session = Some(session);
        Ok(sum * self.scale)
    }

    fn connect(&mut self, deadline: Deadline) -> Result<Box<SyncSession>, SnmpError> {
        let address = self.resolver.address(deadline).map_err(SnmpError::For)?;
        let wait = (self.limit / TRIES).min(deadline.left(STEP).map_err(SnmpError::For)?);
        self.next_id = self.next_id.wrapping_add(7919) & 0x7fff_ffff;
        let made =
            SyncSession::new_v2c(address, self.community.as_bytes(), Some(wait), self.next_id);
        let made =
            made.map_err(|e| SnmpError::For(ReadFailure::new("open a socket", e.to_string())))?;
        Ok(Box::new(made))
    }
}

/// Why a request failed.
enum SnmpError {
    /// No answer: worth another try.
    Lost,
    /// A failure for which another try does not help.
    For(ReadFailure),
}

impl Source for Snmp {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let deadline = Deadline::after(self.limit);
        for _ in 0..TRIES {
            match self.ask(deadline) {
                Ok(value) => return Ok(Sample::now(vec![(self.quantity, value)])),
                Err(SnmpError::For(failure)) => return Err(failure),
                Err(SnmpError::Lost) => {}
            }
        }
        let limit = self.limit.as_secs_f64();
        Err(ReadFailure::new(
            STEP,
            format!(
                "no answer within {limit} s to {TRIES} requests; an agent does not answer a \
                 wrong community: is it on, does it allow this host, is the community right?"
            ),
        ))
    }
}

/// Adds the values of an answer up.
fn sum<'a>(
    values: impl Iterator<Item = (Oid<'a>, Value<'a>)>,
    status: u32,
    asked: &[&Oid<'_>],
    quantity: Quantity,
) -> Result<f64, ReadFailure> {
    if status != 0 {
        let reason = format!("the agent answers with error {status} (RFC 3416, 4.2.1)");
        return Err(ReadFailure::new(STEP, reason));
    }
    let mut sum = 0.0;
    let mut count = 0;
    for ((name, value), wanted) in values.zip(asked) {
        if name != **wanted {
            let reason = format!("asked for {wanted}, and the agent answered with {name}");
            return Err(ReadFailure::new(STEP, reason));
        }
        let value = number(&value, quantity);
        sum += value.map_err(|why| ReadFailure::new(STEP, format!("{name}: {why}")))?;
        count += 1;
    }
    if count != asked.len() {
        let reason = format!("asked for {} objects, and got {count}", asked.len());
        return Err(ReadFailure::new(STEP, reason));
    }
    Ok(sum)
}

fn number(value: &Value<'_>, quantity: Quantity) -> Result<f64, String> {
    match value {
        Value::Integer(n) => Ok(*n as f64),
        Value::Counter32(n) | Value::Unsigned32(n) | Value::Timeticks(n) => Ok(f64::from(*n)),
        Value::Counter64(n) => Ok(*n as f64),
        Value::OctetString(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| "its octets are not text")?;
            figure::the_one(text, quantity)
        }
        Value::Opaque(bytes) => opaque(bytes).ok_or_else(|| "its Opaque is not a float".into()),
        Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView => Err(
            "the agent has no such object; `snmpwalk` shows what it has. A scalar ends with .0"
                .into(),
        ),
        other => Err(format!(
            "not a number: {}",
            sanitize(&format!("{other:?}"), 40)
        )),
    }
}

/// A float in an Opaque, as net-snmp encodes it: 9F 78 04 and four bytes.
fn opaque(bytes: &[u8]) -> Option<f64> {
    match bytes {
        [0x9f, 0x78, 4, a, b, c, d] => Some(f64::from(f32::from_be_bytes([*a, *b, *c, *d]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(ids: &[u64]) -> Oid<'static> {
        Oid::from(ids).expect("an object")
    }

    #[test]
    fn all_kinds_of_numbers() {
        let float = [&[0x9f, 0x78, 4][..], &535.5f32.to_be_bytes()].concat();
        for (value, wanted) in [
            (Value::Integer(-3), -3.0),
            (Value::Unsigned32(535), 535.0),
            (Value::Counter32(u32::MAX), 4_294_967_295.0),
            (Value::Counter64(1 << 40), (1u64 << 40) as f64),
            (Value::OctetString(b"535.2 W"), 535.2),
            (Value::OctetString(b"2 kW"), 2000.0),
            (Value::Opaque(&float), 535.5),
        ] {
            assert_eq!(number(&value, Quantity::Power), Ok(wanted));
        }
        for value in [
            Value::Null,
            Value::NoSuchObject,
            Value::NoSuchInstance,
            Value::OctetString(b"off"),
            Value::OctetString(&[0xff]),
            Value::Opaque(&[1, 2]),
            Value::IpAddress([1, 2, 3, 4]),
        ] {
            assert!(number(&value, Quantity::Power).is_err(), "{value:?}");
        }
    }

    #[test]
    fn a_sum_needs_all_objects_of_the_request() {
        let (a, b) = (oid(&[1, 3, 6, 1]), oid(&[1, 3, 6, 2]));
        let asked = [&a, &b];
        let of = |names: &[&Oid<'static>], status| {
            let values: Vec<_> = names
                .iter()
                .map(|name| ((*name).clone(), Value::Integer(100)))
                .collect();
            sum(values.into_iter(), status, &asked, Quantity::Power)
        };
        assert_eq!(of(&[&a, &b], 0), Ok(200.0));
        for (names, status) in [(&[&a][..], 0), (&[&b, &a], 0), (&[&a, &b], 5)] {
            assert!(of(names, status).is_err());
        }
    }

    /// An answer with two values, as an agent sends it.
    const ANSWER: [u8; 58] = [
        0x30, 0x38, 0x02, 0x01, 0x01, 0x04, 0x03, b'l', b'a', b'b', 0xa2, 0x2e, 0x02, 0x02, 0x1e,
        0xef, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00, 0x30, 0x22, 0x30, 0x0e, 0x06, 0x08, 0x2b, 6, 1,
        2, 1, 1, 3, 0, 0x02, 0x02, 0x09, 0xce, 0x30, 0x10, 0x06, 0x08, 0x2b, 6, 1, 2, 1, 1, 5, 0,
        0x04, 0x04, b'5', b' ', b'k', b'W',
    ];

    #[test]
    fn the_answer_of_the_next_test_is_valid() {
        let answer = snmp2::Pdu::from_bytes(&ANSWER).expect("an answer");
        let (a, b) = (
            oid(&[1, 3, 6, 1, 2, 1, 1, 3, 0]),
            oid(&[1, 3, 6, 1, 2, 1, 1, 5, 0]),
        );
        let sum = sum(answer.varbinds, 0, &[&a, &b], Quantity::Power);
        assert_eq!(sum, Ok(7510.0));
    }

    proptest::proptest! {
        // The library decodes untrusted datagrams.
        #[test]
        fn no_datagram_makes_it_panic(
            changes in proptest::collection::vec((0usize..58, proptest::num::u8::ANY), 0..6),
            len in 0usize..=58,
        ) {
            let mut bytes = ANSWER;
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            if let Ok(answer) = snmp2::Pdu::from_bytes(&bytes[..len]) {
                let asked = oid(&[1, 3, 6, 1]);
                let _ = sum(answer.varbinds, answer.error_status, &[&asked], Quantity::Power);
            }
        }
    }
}
