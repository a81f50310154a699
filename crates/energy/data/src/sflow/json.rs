//! One datagram as `sflowtool -j` and `-J` print it. Numbers are strings there, mostly.

use super::counters::InterfaceCounters;
use super::datagram::SAMPLES_MAX;
use super::ports::AgentKey;
use super::sflowtool::Row;
use filermark_results::Timestamp;
use serde_json::Value;

/// A field, as a number.
fn number<T: TryFrom<u64>>(object: &Value, name: &str) -> Option<T> {
    let value = object.get(name)?;
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        value => value.as_u64()?,
    };
    T::try_from(number).ok()
}

fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

/// Passes the rows of a datagram to `sink`; returns the number of invalid parts.
pub(super) fn datagram(object: &str, sink: &mut impl FnMut(Row)) -> u64 {
    let Ok(object) = serde_json::from_str::<Value>(object) else {
        return 1;
    };
    let Some((at, key)) = head(&object, sink) else {
        return 1;
    };
    let samples = object.get("samples").and_then(Value::as_array);
    let samples = samples.map_or(&[][..], Vec::as_slice);
    let mut bad = 0;
    for sample in samples.iter().take(SAMPLES_MAX as usize) {
        bad += self::sample(sample, at, key, sink);
    }
    bad
}

fn head(object: &Value, sink: &mut impl FnMut(Row)) -> Option<(Timestamp, AgentKey)> {
    let seconds: u32 = number(object, "unixSecondsUTC")?;
    let at = Timestamp::from_unix_seconds(seconds.into());
    let key = AgentKey {
        agent: text(object, "agent")?.parse().ok()?,
        sub_agent: number(object, "agentSubId").unwrap_or(0),
    };
    sink(Row::Head {
        at,
        key,
        sequence: number(object, "packetSequenceNo")?,
        uptime_ms: number(object, "sysUpTime")?,
    });
    Some((at, key))
}

fn sample(sample: &Value, at: Timestamp, key: AgentKey, sink: &mut impl FnMut(Row)) -> u64 {
    let elements = sample.get("elements").and_then(Value::as_array);
    let elements = elements.map_or(&[][..], Vec::as_slice);
    let at = Some(at);
    match text(sample, "sampleType_tag") {
        Some("0:1" | "0:3") => {
            let is_header = |element: &Value| text(element, "flowBlock_tag") == Some("0:1");
            if elements.iter().any(is_header) {
                sink(Row::Packet);
            }
            0
        }
        Some("0:2" | "0:4") => {
            let mut bad = 0;
            for element in elements
                .iter()
                .filter(|e| text(e, "counterBlock_tag") == Some("0:1"))
            {
                match counters(element) {
                    Some(counters) => sink(Row::Counters { at, key, counters }),
                    None => bad += 1,
                }
            }
            bad
        }
        Some(_) => 0,
        None => 1,
    }
}

fn counters(element: &Value) -> Option<InterfaceCounters> {
    let narrow = |name| number::<u32>(element, name);
    let wide = |name| number::<u64>(element, name);
    Some(InterfaceCounters {
        if_index: narrow("ifIndex")?,
        if_type: narrow("networkType")?,
        speed: wide("ifSpeed")?,
        direction: narrow("ifDirection")?,
        status: narrow("ifStatus")?,
        in_octets: wide("ifInOctets")?,
        in_unicast: narrow("ifInUcastPkts")?,
        in_multicast: narrow("ifInMulticastPkts")?,
        in_broadcast: narrow("ifInBroadcastPkts")?,
        in_discards: narrow("ifInDiscards")?,
        in_errors: narrow("ifInErrors")?,
        in_unknown_protocols: narrow("ifInUnknownProtos")?,
        out_octets: wide("ifOutOctets")?,
        out_unicast: narrow("ifOutUcastPkts")?,
        out_multicast: narrow("ifOutMulticastPkts")?,
        out_broadcast: narrow("ifOutBroadcastPkts")?,
        out_discards: narrow("ifOutDiscards")?,
        out_errors: narrow("ifOutErrors")?,
        promiscuous: narrow("ifPromiscuousMode")?,
    })
}
