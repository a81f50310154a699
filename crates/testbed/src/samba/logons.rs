//! Login attempts in smbd's log.

/// One login attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logon {
    /// `SMB` (the first version) or `SMB2`.
    pub protocol: String,
    /// The domain that the client sent.
    pub domain: String,
    /// The user that the client sent; empty for an anonymous one.
    pub user: String,
    /// `NTLMv2`, `NTLMv1`, `No-Password`, `krb5` ... Refused tickets are not in the log.
    pub method: String,
    /// NTSTATUS by name, such as `NT_STATUS_OK` or `NT_STATUS_WRONG_PASSWORD`: the status in
    /// the log, which is more specific than the one that is sent to the client.
    pub status: String,
    /// The client's address and port, in smbd's form (`ipv4:127.0.0.1:40000`).
    pub client: String,
}

impl Logon {
    /// Whether the login succeeded.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.status == "NT_STATUS_OK"
    }
}

/// Reads lines such as
/// `Auth: [SMB2,(null)] user [GROUP]\[alice] at [..] with [NTLMv2] status [NT_STATUS_OK]
/// workstation [HOST] remote host [ipv4:127.0.0.1:49022] became ..`.
pub(super) fn read(log: &str) -> Vec<Logon> {
    let found = log.lines().map(str::trim_start);
    let found = found.filter_map(|line| logon(line).or_else(|| ticket(line)));
    found.collect()
}

/// Reads lines such as `Successful AuthZ: [SMB2,krb5] user [GROUP]\[alice] [S-1-5-..] at
/// [..] Remote host [ipv4:127.0.0.1:57160] local host ..`, the only line for a ticket.
fn ticket(line: &str) -> Option<Logon> {
    let rest = line.strip_prefix("Successful AuthZ: [")?;
    let (protocol, rest) = rest.split_once(",krb5] user [")?;
    let (domain, rest) = rest.split_once("]\\[")?;
    let (user, rest) = rest.split_once(']')?;
    let (_, rest) = rest.split_once("Remote host [")?;
    let (client, _) = rest.split_once(']')?;
    Some(Logon {
        protocol: protocol.to_owned(),
        domain: domain.to_owned(),
        user: user.to_owned(),
        method: "krb5".to_owned(),
        status: "NT_STATUS_OK".to_owned(),
        client: client.to_owned(),
    })
}

fn logon(line: &str) -> Option<Logon> {
    let rest = line.strip_prefix("Auth: [")?;
    let (protocol, rest) = rest.split_once(',')?;
    let (_, rest) = rest.split_once("user [")?;
    let (domain, rest) = rest.split_once("]\\[")?;
    let (user, rest) = rest.split_once("] at [")?;
    let (_, rest) = rest.split_once("] with [")?;
    let (method, rest) = rest.split_once("] status [")?;
    let (status, rest) = rest.split_once(']')?;
    let (_, rest) = rest.split_once("remote host [")?;
    let (client, _) = rest.split_once(']')?;
    Some(Logon {
        protocol: protocol.to_owned(),
        domain: domain.to_owned(),
        user: user.to_owned(),
        method: method.to_owned(),
        status: status.to_owned(),
        client: client.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_read_and_other_lines_are_not() {
        let log = "[2026/11/21 23:58:16.116907,  2, pid=7] auth_log.c:647(log_it)\n  \
            Auth: [SMB2,(null)] user [TESTGROUP]\\[alice] at [Sat, 21 Nov 2026 23:58:16.116864 UTC] \
            with [NTLMv2] status [NT_STATUS_WRONG_PASSWORD] workstation [TESTBED] \
            remote host [ipv4:10.88.0.1:37910] mapped to [TESTGROUP]\\[alice]. local host [ipv4:10.88.0.1:12445] \n";
        let found = read(log);
        let [attempt] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert!(!attempt.succeeded());
        assert_eq!(
            (
                attempt.protocol.as_str(),
                attempt.domain.as_str(),
                attempt.user.as_str()
            ),
            ("SMB2", "TESTGROUP", "alice")
        );
        assert_eq!(
            (attempt.method.as_str(), attempt.client.as_str()),
            ("NTLMv2", "ipv4:10.88.0.1:37910")
        );
        let log = "  Successful AuthZ: [SMB2,NTLMSSP] user [TESTBED]\\[alice] [S-1-5-21-1] at [..] \
            Remote host [ipv4:127.0.0.1:5] local host [ipv4:127.0.0.1:12445]\n  \
            Successful AuthZ: [SMB,krb5] user [TESTGROUP]\\[bob] [S-1-5-21-2] at [..] \
            Remote host [ipv4:127.0.0.1:6] local host [ipv4:127.0.0.1:12445]\n";
        let found = read(log);
        let [ticket] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (ticket.user.as_str(), ticket.client.as_str()),
            ("bob", "ipv4:127.0.0.1:6")
        );
    }
}
