//! The packet filter's rules, if this user may list them (Linux). No kernel module is loaded: a
//! tool is run only if its filter is in use.

use super::system::line_of;
use crate::facts::FirewallFacts;
use crate::tool::{self, ToolError};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// How long a tool may take.
const TOOL_MAX: Duration = Duration::from_secs(5);

/// Collects the rules.
pub fn inspect() -> FirewallFacts {
    if !cfg!(target_os = "linux") {
        return FirewallFacts {
            unreadable: Some("they are read on Linux only".into()),
            ..FirewallFacts::default()
        };
    }
    let mut facts = FirewallFacts {
        manager: manager(),
        ..FirewallFacts::default()
    };
    let nft = filermark_system::proc_exists("/sys/module/nf_tables");
    if nft {
        let result =
            run_tool("nft", &["-j", "list", "ruleset"]).map(|text| read_nft(&text, &mut facts));
        match result {
            Ok(()) => return with_legacy(facts),
            Err(ToolError::Failed(why)) => facts.unreadable = Some(why),
            // iptables may be installed; it lists the same rules.
            Err(ToolError::Missing) => {
                for tool in ["iptables", "ip6tables"] {
                    add_iptables(tool, &mut facts);
                }
            }
        }
    }
    with_legacy(facts)
}

/// Adds the rules of the older filter, if it is in use besides the newer one.
fn with_legacy(mut facts: FirewallFacts) -> FirewallFacts {
    for (tables, tools) in [
        ("/proc/net/ip_tables_names", ["iptables-legacy", "iptables"]),
        (
            "/proc/net/ip6_tables_names",
            ["ip6tables-legacy", "ip6tables"],
        ),
    ] {
        if line_of(tables).is_none() {
            continue;
        }
        for tool in tools {
            if add_iptables(tool, &mut facts) {
                break;
            }
        }
    }
    facts
}

fn add_iptables(tool: &str, facts: &mut FirewallFacts) -> bool {
    match run_tool(tool, &["-S"]) {
        Ok(text) => {
            read_iptables(tool, &text, facts);
            true
        }
        Err(ToolError::Failed(why)) => {
            facts.unreadable.get_or_insert(why);
            true
        }
        Err(ToolError::Missing) => false,
    }
}

fn run_tool(program: &str, args: &[&str]) -> Result<String, ToolError> {
    let output = tool::run(program, args, TOOL_MAX)?;
    match output.is_success {
        true => Ok(output.stdout),
        false => Err(ToolError::Failed(format!("{program}: {}", output.stderr))),
    }
}

/// The program that manages the rules.
fn manager() -> Option<String> {
    if Path::new("/run/firewalld").exists() {
        return Some("firewalld".into());
    }
    let ufw = std::fs::read_to_string("/etc/ufw/ufw.conf").unwrap_or_default();
    ufw.lines()
        .any(|l| l.trim().eq_ignore_ascii_case("ENABLED=yes"))
        .then(|| "ufw".into())
}

/// From the output of `nft -j list ruleset` (libnftables-json(5)).
fn read_nft(text: &str, facts: &mut FirewallFacts) {
    let Ok(all) = serde_json::from_str::<Value>(text) else {
        facts.unreadable = Some("nft: its output cannot be parsed".into());
        return;
    };
    let objects = all["nftables"].as_array().map_or(&[][..], |o| &o[..]);
    for object in objects {
        if let Some(rule) = object.get("rule") {
            facts.rule_count += 1;
            let parts = rule["expr"].as_array().map_or(&[][..], |e| &e[..]);
            let drops = |part: &Value| part.get("drop").is_some() || part.get("reject").is_some();
            facts.drop_rule_count += u32::from(parts.iter().any(drops));
        }
        let Some(chain) = object.get("chain") else {
            continue;
        };
        let at = |hook: &str| chain["hook"] == hook;
        if (at("input") || at("output")) && chain["policy"] == "drop" {
            let word = |name: &str| chain[name].as_str().unwrap_or("?").to_owned();
            let name = format!("{} {} {}", word("family"), word("table"), word("name"));
            facts.drop_policies.push(name);
        }
    }
}

/// From the output of `iptables -S`.
fn read_iptables(tool: &str, text: &str, facts: &mut FirewallFacts) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["-P", chain @ ("INPUT" | "OUTPUT"), "DROP"] => {
                facts.drop_policies.push(format!("{tool} {chain}"));
            }
            ["-A", chain, rest @ ..] => {
                facts.rule_count += 1;
                let jump = rest.windows(2).find(|w| w[0] == "-j").map(|w| w[1]);
                let drops = matches!(jump, Some("DROP" | "REJECT")) && *chain != "FORWARD";
                facts.drop_rule_count += u32::from(drops);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_nft_are_read() {
        let text = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}},
            {"table": {"family": "inet", "name": "filter", "handle": 1}},
            {"chain": {"family": "inet", "table": "filter", "name": "input", "handle": 1,
                       "type": "filter", "hook": "input", "prio": 0, "policy": "drop"}},
            {"chain": {"family": "inet", "table": "filter", "name": "forward", "handle": 2,
                       "type": "filter", "hook": "forward", "prio": 0, "policy": "drop"}},
            {"rule": {"family": "inet", "table": "filter", "chain": "input", "handle": 4,
                      "expr": [{"match": {"op": "==", "left": {"payload": {"protocol": "tcp",
                      "field": "dport"}}, "right": 22}}, {"accept": null}]}},
            {"rule": {"family": "inet", "table": "filter", "chain": "input", "handle": 5,
                      "expr": [{"reject": {"type": "icmpx", "expr": "admin-prohibited"}}]}}]}"#;
        let mut facts = FirewallFacts::default();
        read_nft(text, &mut facts);
        assert_eq!((facts.rule_count, facts.drop_rule_count), (2, 1));
        assert_eq!(facts.drop_policies, ["inet filter input"]);
        assert!(facts.may_drop() && facts.unreadable.is_none());
        let mut none = FirewallFacts::default();
        read_nft(r#"{"nftables": [{"metainfo": {}}]}"#, &mut none);
        assert_eq!(none, FirewallFacts::default());
        read_nft("Operation not permitted", &mut none);
        assert!(none.unreadable.is_some());
    }

    #[test]
    fn rules_of_iptables_are_read() {
        let text = "-P INPUT DROP\n-P FORWARD DROP\n-P OUTPUT ACCEPT\n\
                    -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n\
                    -A INPUT -j REJECT --reject-with icmp-port-unreachable\n\
                    -A FORWARD -j DROP\n";
        let mut facts = FirewallFacts::default();
        read_iptables("iptables", text, &mut facts);
        assert_eq!((facts.rule_count, facts.drop_rule_count), (3, 1));
        assert_eq!(facts.drop_policies, ["iptables INPUT"]);
    }
}
