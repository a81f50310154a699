#![no_main]

use filermark_config::{Host, InputLog, Sources, resolve};
use filermark_model::Secret;
use filermark_server::{DelaySpec, StopSpec};

// Values with a syntax of their own: STOP_IF, and the delays and stops of the embedded server.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = text.parse::<DelaySpec>();
    if let Ok(stop) = text.parse::<StopSpec>() {
        assert!(stop.length_ns > 0 && stop.length_ns < stop.every_ns);
    }
    let host = Host {
        name: "fuzz".into(),
        uid: 1,
        gid: 1,
        mem_bytes: None,
        password: Secret::NONE,
        slurm_nodes: None,
    };
    let mut sources = Sources {
        rc: None,
        overrides: Vec::new(),
        defaults: Vec::new(),
        host,
        inputs: InputLog::default(),
    };
    for (name, value) in [("LOAD", "1"), ("PROCS", "1"), ("DRIVER", "null"), ("STOP_IF", text)] {
        sources.set("fuzz", name, value);
    }
    if let Ok(resolved) = resolve(&sources) {
        assert!(resolved.plan.stop_if.len() <= 8);
    }
});
