//! Faults of hosts, and checks that no process is left on them.

use super::{Hosts, ssh};
use crate::processes::{self, Process};
use crate::{Error, Result};
use rustix::process::Signal;
use std::time::Duration;

impl Hosts {
    /// Cuts the link of a host (or of `prime`): no packet passes in either direction.
    ///
    /// # Errors
    ///
    /// When there is no such host, or what ip(8) reported.
    pub fn cut(&self, host: &str) -> Result<()> {
        self.set_link(host, "down")
    }

    /// Restores a link that was cut; connections that still wait continue.
    ///
    /// # Errors
    ///
    /// As [`Hosts::cut`].
    pub fn fix(&self, host: &str) -> Result<()> {
        self.set_link(host, "up")
    }

    fn set_link(&self, host: &str, state: &str) -> Result<()> {
        let name = &self.place(host)?.name;
        let what = format!("set the link of {host} {state}");
        let script = r#"ip link set "$1" "$2""#;
        self.sandbox.set_up(&what, script, &[name, state])
    }

    /// Stops all processes of a client host, its SSH server included; its kernel
    /// still answers on the network. Not for processes that [`Hosts::command_on`] started.
    ///
    /// # Errors
    ///
    /// When there is no such host, or a process does not stop in time.
    pub fn freeze(&self, host: &str) -> Result<()> {
        processes::stop_or_continue(self.client(host)?.namespace, true)
    }

    /// Continues the processes of a frozen host.
    ///
    /// # Errors
    ///
    /// As [`Hosts::freeze`].
    pub fn thaw(&self, host: &str) -> Result<()> {
        processes::stop_or_continue(self.client(host)?.namespace, false)
    }

    /// The processes of a client host, without those of the fixture: the SSH server
    /// that listens, and the host's process 1.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn processes(&self, host: &str) -> Result<Vec<Process>> {
        let place = self.client(host)?;
        let mut found = processes::in_namespace(place.namespace)?;
        found.retain(|process| !place.own.contains(&process.pid));
        Ok(found)
    }

    /// Waits until only the fixture's own processes run on the client hosts: a
    /// session of the SSH server takes a moment to end.
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`] with a list of what is left.
    pub fn wait_clean(&self, limit: Duration) -> Result<()> {
        processes::wait_for_none("the end of all processes on the hosts", limit, || {
            let mut left = Vec::new();
            for host in self.names() {
                let found = self.processes(host)?;
                left.extend(found.iter().map(|process| format!("{host}: {process}")));
            }
            Ok(left)
        })
    }

    /// Kills (SIGKILL) the processes of a client host that have this name, the
    /// last part of the program's path, and returns their number.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn kill_processes(&self, host: &str, name: &str) -> Result<usize> {
        self.signal(host, name, Signal::KILL)
    }

    /// Stops (SIGSTOP) the processes of a client host that have this name.
    ///
    /// # Errors
    ///
    /// As [`Hosts::kill_processes`].
    pub fn stop_processes(&self, host: &str, name: &str) -> Result<usize> {
        self.signal(host, name, Signal::STOP)
    }

    /// Continues stopped processes of this name.
    ///
    /// # Errors
    ///
    /// As [`Hosts::kill_processes`].
    pub fn continue_processes(&self, host: &str, name: &str) -> Result<usize> {
        self.signal(host, name, Signal::CONT)
    }

    fn signal(&self, host: &str, name: &str, signal: Signal) -> Result<usize> {
        let mut found = processes::in_namespace(self.client(host)?.namespace)?;
        found.retain(|process| process.name == name);
        processes::signal(&found, signal);
        Ok(found.len())
    }

    /// Replaces the key of this host in the user's known hosts by a wrong one.
    ///
    /// # Errors
    ///
    /// When there is no such host, or what ssh-keygen reported.
    pub fn wrong_host_key(&self, host: &str) -> Result<()> {
        let place = self.client(host)?;
        let key = self.dir.join(host).join("wrong_key");
        ssh::make_key(&key, "of another host")?;
        self.ssh.add_known_host(host, place.address, &key)
    }

    /// Makes this host refuse the user's key and ask for the password,
    /// [`Hosts::PASSWORD`].
    ///
    /// # Errors
    ///
    /// When there is no such host, or the key was removed before.
    pub fn ask_password(&self, host: &str) -> Result<()> {
        let keys = self.home.join(".ssh/authorized_keys");
        let keys = self.outside(host, &keys.display().to_string())?;
        std::fs::remove_file(&keys).map_err(Error::path("remove", &keys))
    }

    /// Mounts a small empty file system on a host's directory, which is made if it is
    /// missing; the parent must then be one of the host's own directories.
    ///
    /// # Errors
    ///
    /// When there is no such host, or what mount(8) reported.
    pub fn small_tmpfs(&self, host: &str, path: &str, size_kib: u32) -> Result<()> {
        let script = format!(
            "mkdir -p '{path}' && mount -t tmpfs -o mode=755,size={size_kib}k tmpfs '{path}'"
        );
        let done = self.run_on(host, &script)?;
        if done.status == 0 {
            return Ok(());
        }
        let what = format!("mount a small tmpfs on {host}:{path}");
        Err(Error::failed(
            what,
            format!("status {}", done.status),
            done.output,
        ))
    }

    /// The end of the log of a host's SSH server.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn log(&self, host: &str) -> Result<String> {
        self.place(host).map(super::host_root::HostRoot::log)
    }
}
