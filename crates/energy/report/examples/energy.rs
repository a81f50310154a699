//! Writes the energy report of a made-up reduction in every form into a directory: to look
//! at, and for the picture in the documentation.
//!
//! `cargo run -p filermark-energy-report --example energy -- DIR`

use filermark_energy_data::reduce::testing::reduction;
use filermark_energy_report as energy;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let dir = Path::new(&dir);
    let reduction = reduction();
    std::fs::write(dir.join("energy.html"), energy::html(&reduction)?)?;
    std::fs::write(dir.join("energy.txt"), energy::text(&reduction, 100))?;
    std::fs::write(dir.join("energy.csv"), energy::csv(&reduction))?;
    std::fs::write(dir.join("energy.xlsx"), energy::xlsx(&reduction)?)?;
    std::fs::write(
        dir.join("energy.json"),
        energy::json(&reduction).to_string(),
    )?;
    Ok(())
}
