//! The Linux kernel's own SMB client.

use crate::tools::{need, write};
use crate::uml::Uml;
use crate::{Result, Samba, ScriptOutput};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Memory of a client.
const CLIENT_MIB: u32 = 512;

/// A Linux kernel that has a share of a [`Samba`] mounted on `/mnt`.
#[derive(Debug)]
pub struct KernelSmbClient {
    uml: Uml,
}

impl KernelSmbClient {
    /// The directory, as scripts see it, that the host reads and writes too.
    pub const SHARED: &'static str = "/run/testbed";

    /// Where the share is mounted, as scripts see it.
    pub const MOUNT: &'static str = "/mnt";

    /// Boots a client and mounts a share as [`Samba::USER`]. `version` is mount.cifs's
    /// `vers=` (`1.0`, `2.0`, `2.1`, `3.0`, `3.0.2`, `3.1.1`); `extra` are more mount
    /// options, such as `seal`, or empty.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of the kernel's console.
    pub fn start(
        samba: &Samba,
        share: &str,
        version: &str,
        extra: &str,
    ) -> Result<KernelSmbClient> {
        need(&[("mount.cifs", "cifs-utils")])?;
        let comma = if extra.is_empty() { "" } else { "," };
        let mut options = format!("vers={version},port={}", samba.port());
        // As it is: no cache hides what others change.
        options.push_str(",cache=none,noserverino");
        options.push_str(&format!("{comma}{extra}"));
        let login = format!(
            "username={}\npassword={}\ndomain={}\n",
            Samba::USER,
            Samba::PASSWORD,
            Samba::DOMAIN
        );
        let uml = Uml::boot_with(
            samba.sandbox(),
            "cifs",
            CLIENT_MIB,
            include_str!("../scripts/uml-cifs.sh"),
            &[
                ("SERVER", String::new()),
                ("SHARE", share.to_owned()),
                ("OPTIONS", options),
            ],
            |shared| write(shared.join("credentials"), &login).map(drop),
        )?;
        Ok(KernelSmbClient { uml })
    }

    /// The host's name of [`KernelSmbClient::SHARED`].
    #[must_use]
    pub fn shared(&self) -> &Path {
        &self.uml.shared
    }

    /// The host's name of a file that scripts call `SHARED/name`.
    #[must_use]
    pub fn shared_file(&self, name: &str) -> PathBuf {
        self.uml.shared.join(name)
    }

    /// Runs a shell script in the mounted directory; see [`crate::KernelClient::run`].
    ///
    /// # Errors
    ///
    /// When the script is not done within `limit`, or the kernel is gone.
    pub fn run(&mut self, script: &str, limit: Duration) -> Result<ScriptOutput> {
        self.uml.run(script, limit)
    }

    /// The interface that its traffic takes, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.uml.interface
    }

    /// What the kernel's console has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.uml.kernel.said()
    }
}
