//! Where a mount point is: addresses, share, the directory in it.

use filermark_engine::driver::DriverError;
use filermark_engine::interrupt_guard;
use filermark_model::plan::{IpChoice, MountPoint, SmbPlan};
use std::net::{SocketAddr, ToSocketAddrs};

/// Addresses of one name that are tried: each may cost a whole time-out.
const ADDRESSES_MAX: usize = 4;

/// A mount point, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As the user names it.
    pub mount: MountPoint,
    /// Name of the share.
    pub share: String,
    /// The directory in it that the run works below; empty: the share's root.
    pub dir: String,
}

impl Target {
    /// Takes a mount point apart.
    ///
    /// # Errors
    /// It is no share.
    pub fn of(mount: &MountPoint) -> Result<Self, DriverError> {
        let path = mount.path.trim_matches('\\');
        let (share, dir) = path.split_once('\\').unwrap_or((path, ""));
        if share.is_empty() || !mount.is_share() {
            return Err(DriverError {
                place: mount.to_string(),
                step: "parse the mount point".into(),
                reason: "it names no share".into(),
                advice: r"write \\server\share".into(),
            });
        }
        Ok(Self {
            mount: mount.clone(),
            share: share.to_owned(),
            dir: dir.trim_matches('\\').to_owned(),
        })
    }

    /// The path of the run's directory, from the share on.
    pub fn run_dir(&self, dir_name: &str) -> String {
        match self.dir.is_empty() {
            true => dir_name.to_owned(),
            false => format!(r"{}\{dir_name}", self.dir),
        }
    }

    /// The run's directory below a mount point, for messages.
    pub fn run_dir_text(mount: &MountPoint, dir_name: &str) -> String {
        format!(r"{mount}\{dir_name}")
    }

    /// The server's addresses, of the family that the plan wants.
    ///
    /// # Errors
    /// The name is unknown, or has no such address.
    pub fn addresses(&self, plan: &SmbPlan) -> Result<Vec<SocketAddr>, DriverError> {
        let host = self.mount.host.as_str();
        let fail = |reason: String, advice: &str| DriverError {
            place: host.to_owned(),
            step: "look up its address".into(),
            reason,
            advice: advice.into(),
        };
        let (host, port) = (host.to_owned(), plan.port);
        let look_up = move || {
            let found = (host.as_str(), port).to_socket_addrs();
            found.map(Iterator::collect::<Vec<_>>)
        };
        let all = interrupt_guard::run_interruptible(look_up)
            .unwrap_or_else(|| Err(std::io::Error::other("stopped on request")))
            .map_err(|e| fail(e.to_string(), "check the name in MNT_POINTS"))?;
        let wanted = |a: &SocketAddr| match plan.ip {
            IpChoice::V4 => a.is_ipv4(),
            IpChoice::V6 => a.is_ipv6(),
            IpChoice::Any => true,
        };
        let found: Vec<_> = all.into_iter().filter(wanted).take(ADDRESSES_MAX).collect();
        match (found.is_empty(), plan.ip) {
            (false, _) => Ok(found),
            (true, IpChoice::V4) => {
                Err(fail("it has no IPv4 address".into(), "set IPV6_ENABLE=on"))
            }
            (true, _) => Err(fail("it has no IPv6 address".into(), "set IPV6_ENABLE=off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(path: &str) -> MountPoint {
        MountPoint {
            host: "filer".into(),
            path: path.into(),
        }
    }

    #[test]
    fn shares_and_directories_come_apart() {
        let target = Target::of(&mount(r"\data\bench\here")).unwrap();
        assert_eq!(
            (target.share.as_str(), target.dir.as_str()),
            ("data", r"bench\here")
        );
        assert_eq!(target.run_dir("filermark.x"), r"bench\here\filermark.x");
        let target = Target::of(&mount(r"\data")).unwrap();
        assert_eq!(target.run_dir("filermark.x"), "filermark.x");
        assert!(Target::of(&mount(r"\")).is_err());
        assert!(Target::of(&mount("/export")).is_err());
    }
}
