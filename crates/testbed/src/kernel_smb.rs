//! The Linux kernel's own SMB client.

use crate::tools::{need, write};
use crate::uml::Uml;
use crate::{Kernel, Result, Samba, ScriptOutput};
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
    /// The path that scripts use for the directory shared with the host.
    pub const SHARED: &'static str = "/run/testbed";

    /// The path that scripts use for the mount.
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
        // No cache, so that changes by other clients are seen.
        options.push_str(",cache=none,noserverino");
        options.push_str(&format!("{comma}{extra}"));
        let login = format!(
            "username={}\npassword={}\ndomain={}\n",
            Samba::USER,
            Samba::PASSWORD,
            Samba::DOMAIN
        );
        let uml = Uml::boot(
            samba.sandbox(),
            Kernel::V61,
            "cifs",
            CLIENT_MIB,
            include_str!("../scripts/uml-cifs.sh"),
            &[
                ("SERVER", String::new()),
                ("SHARE", share.to_owned()),
                ("OPTIONS", options),
            ],
            |shared, _| write(shared.join("credentials"), &login).map(drop),
        )?;
        Ok(KernelSmbClient { uml })
    }

    /// The path of [`KernelSmbClient::SHARED`] on the host.
    #[must_use]
    pub fn shared(&self) -> &Path {
        &self.uml.shared
    }

    /// The path on the host of the file `SHARED/name` of scripts.
    #[must_use]
    pub fn shared_file(&self, name: &str) -> PathBuf {
        self.uml.shared.join(name)
    }

    /// Runs a shell script in the mounted directory; see [`crate::KernelClient::run`].
    ///
    /// # Errors
    ///
    /// When the script has not ended within `limit`, or the kernel has ended.
    pub fn run(&mut self, script: &str, limit: Duration) -> Result<ScriptOutput> {
        self.uml.run(script, limit)
    }

    /// The interface that its traffic uses, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.uml.interface
    }

    /// The output of the kernel's console so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.uml.kernel.output()
    }
}
