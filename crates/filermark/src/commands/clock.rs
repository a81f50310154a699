//! `clock`: a time service for runs in virtual machines.

use crate::cli::ClockArgs;
use crate::{resolve_args, stdout};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_engine::driver::StopFlag;
use filermark_link::clock_service::ClockService;
use std::process::ExitCode;
use std::time::Duration;

/// Answers until it is interrupted; then prints how many requests there were.
pub fn clock(args: &ClockArgs) -> CommandResult {
    resolve_args::init_tracing(&[], args.verbose.verbose);
    let service = ClockService::start(&args.listen)
        .map_err(|e| CommandError::Failed(format!("{e}; choose another address (--listen)")))?;
    let stop = StopFlag::new();
    interrupt::on_interrupt(stop.clone(), "stopping");
    for address in service.addrs() {
        filermark_cli_kit::stderr_line!(
            "serving the time on {address}; in the rc file: PIT_SERVER=HOST PIT_PORT={}",
            address.port()
        );
    }
    while !stop.is_raised() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let (answered, refused) = service.counts();
    if args.output.json {
        stdout::print_json(&serde_json::json!({"answered": answered, "refused": refused}));
    } else {
        stdout::print(&format!(
            "answered     {answered}\nrefused      {refused}\n"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
