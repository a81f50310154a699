//! netmist's flags, declared once: the parser, the help and the reference page
//! are made from this table (manual N, section 10).

/// One flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its letter.
    pub letter: char,
    /// Filermark's long name for it.
    pub long: &'static str,
    /// What its value is called; empty: it is a switch.
    pub value: &'static str,
    /// What it does.
    pub effect: Effect,
    /// What it is, in one line.
    pub one_line: &'static str,
    /// Further details.
    pub long_help: &'static str,
}

/// What a flag does.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Its value becomes this parameter's.
    Parameter(&'static str),
    /// Sets these parameters to these values.
    Sets(&'static [(&'static str, &'static str)]),
    /// Handled by the modules of netmist.
    Own,
    /// Has no effect.
    Idle,
}

const fn value(
    letter: char,
    long: &'static str,
    value: &'static str,
    effect: Effect,
    one_line: &'static str,
) -> Flag {
    Flag {
        letter,
        long,
        value,
        effect,
        one_line,
        long_help: "",
    }
}

const fn switch(letter: char, long: &'static str, effect: Effect, one_line: &'static str) -> Flag {
    value(letter, long, "", effect, one_line)
}

impl Flag {
    const fn help(mut self, long_help: &'static str) -> Self {
        self.long_help = long_help;
        self
    }

    /// Finds one by its letter.
    pub fn find(letter: char) -> Option<&'static Self> {
        FLAGS.iter().find(|f| f.letter == letter)
    }
}

/// All of them, in the manual's order. `-h` is clap's own.
pub const FLAGS: &[Flag] = &[
    value('t', "time", "SECONDS", Effect::Parameter("RUNTIME"), "Least time to measure [default: 300]").help(
        "The run is made longer where the data set would not be read and written once in that \
         time, up to 24 hours; without a rate it continues until they were, up to 4 hours; \
         --exact-time keeps it as it is.",
    ),
    value('w', "warmup", "SECONDS", Effect::Parameter("WARMUP_TIME"), "Time to warm up before that [default: 300]"),
    value('r', "record-size", "KBYTES", Effect::Idle, "Record size; deprecated, without effect").help(
        "Transfer sizes come from the workload.",
    ),
    value('b', "client-memory", "SIZE", Effect::Parameter("CLIENT_MEM"), "Memory of a client, with k, m, g or t [default: 1g]").help(
        "The files of a proc are made so large that those of all procs on a client exceed its memory.",
    ),
    value('B', "aggregate", "SIZE", Effect::Parameter("AGGR_CAP"), "Least data set of all procs, with k, m, g or t [default: 1g]"),
    switch('G', "heartbeat", Effect::Sets(&[("HEARTBEAT_NOTIFICATIONS", "on")]), "Report the rate of a proc every minute"),
    value('O', "op-rate", "RATE", Effect::Own, "Requested operations per second [default: as many as possible]").help(
        "Divided equally among the procs whose line in the token file has no Oprate of its own. \
         -O search finds the highest rate that holds, and measures ten load points up to it; \
         Oprates keep their ratios.",
    ),
    switch('N', "bands", Effect::Own, "Show the latency bands"),
    value('q', "heartbeat-log", "FILE", Effect::Own, "Log all heartbeats to this file"),
    value('Q', "files-per-dir", "COUNT", Effect::Parameter("FILES_PER_DIR"), "Files per directory [default: 100]").help(
        "In each of the buckets that a directory has for the kinds of operations.",
    ),
    value('T', "dirs", "COUNT", Effect::Parameter("DIR_COUNT"), "Directories per proc [default: 10]"),
    value('g', "token-file", "FILE", Effect::Own, "The token file: clients, directories, workloads"),
    switch('i', "info", Effect::Own, "Show what would run, and exit"),
    value('d', "procs-per-client", "COUNT", Effect::Own, "Procs on each client [default: as in the token file]").help(
        "What a client's memory is divided by when file sizes are chosen. The token file gives \
         the number of procs; a -d that differs from it gets a warning.",
    ),
    switch('k', "kill", Effect::Own, "Stop what is left of a test on all clients; runs nothing").help(
        "On the clients of the token file; only what belongs to Filermark and to the user. The \
         same as 'filermark stop'. What -K has left is removed with the flags of that run, or \
         with --force.",
    ),
    switch('v', "version-info", Effect::Own, "Show the version, and exit"),
    switch('D', "install", Effect::Own, "Install the program on the clients; runs nothing").help(
        "On those of the token file that lack this very version, at Execpath or where Filermark \
         keeps its programs. The same as 'filermark install'; a run does it by itself, too.",
    ),
    value('H', "pit-host", "HOST", Effect::Parameter("PIT_SERVER"), "Host of a time service to compare the clock with"),
    value('S', "pit-service", "SERVICE", Effect::Parameter("PIT_PORT"), "Its port, or its name in /etc/services [default: 2010]"),
    switch('E', "export", Effect::Own, "Print the workload objects in the text form, and exit").help(
        "Those of -I are printed with their changes.",
    ),
    value('I', "import", "FILE", Effect::Parameter("WORKLOAD_FILE"), "Take workload objects from this file, as -E writes it"),
    switch('F', "no-fsync", Effect::Sets(&[("DISABLE_FSYNCS", "on")]), "Never call fsync"),
    value('U', "client-logs", "DIR", Effect::Parameter("NETMIST_LOGS"), "Directory of the clients' logs [default: next to the results]"),
    value('l', "log", "FILE", Effect::Own, "Send a copy of the output to this file"),
    switch('K', "keep", Effect::Sets(&[("UNLINK_FILES", "off"), ("KEEP", "on")]), "Leave the files, for the next run to use").help(
        "The next run must have the same suffix and another --dir; files that have the right size already are not made again.",
    ),
    switch('u', "rsh", Effect::Idle, "Use rsh and rcp; without effect").help(
        "SSH is used instead, by the user's own client and configuration.",
    ),
    value('y', "ip-version", "VERSION", Effect::Own, "IP version of the connections to the clients: 6, or 4").help(
        "The servers are reached through their mounts, whatever their addresses.",
    ),
    switch('Y', "access-list", Effect::Sets(&[("FILE_ACCESS_LIST", "on")]), "Write how often every file was accessed to the client log"),
    switch('X', "sharing", Effect::Sets(&[("SHARING_MODE", "on")]), "All procs of a workload share one directory tree"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Parameter;
    use std::collections::BTreeSet;

    #[test]
    fn every_flag_of_the_manual_is_there_once() {
        let letters: String = FLAGS.iter().map(|f| f.letter).collect();
        assert_eq!(letters, "twrbBGONqQTgidkvDHSEIFUlKuyYX");
        let longs: BTreeSet<_> = FLAGS.iter().map(|f| f.long).collect();
        assert_eq!(longs.len(), FLAGS.len());
        for f in FLAGS {
            assert!(f.one_line.len() <= 76, "-{}", f.letter);
            match f.effect {
                Effect::Parameter(name) => {
                    assert!(
                        Parameter::find(name).is_some() && !f.value.is_empty(),
                        "{name}"
                    );
                }
                Effect::Sets(all) => {
                    assert!(all.iter().all(|(name, _)| Parameter::find(name).is_some()));
                    assert!(f.value.is_empty());
                }
                Effect::Own | Effect::Idle => {}
            }
        }
    }
}
