#![no_main]

use filermark_energy_data::import::{Columns, Ids, Options, Table, power_csv};
use filermark_energy_data::log::LogLine;
use filermark_energy_data::sflow::Zone;
use std::io::Cursor;
use std::path::Path;

// A table with any bytes: nothing panics, figures are finite, and times increase.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for columns in [
        "",
        "date=1,time=2,power_w=3*1000+4",
        "unix=1,temperature_c=2,order=dmy",
    ] {
        let options = Options {
            zone: Some(Zone::UTC),
            columns: columns.parse::<Columns>().expect("sound"),
            ..Options::default()
        };
        for table in [Table::Power, Table::Environment] {
            let mut last = None;
            let read = power_csv(
                Path::new("x"),
                table,
                Cursor::new(data),
                &options,
                &mut Ids::default(),
                &mut |line| {
                    if let LogLine::Readings(readings) = line {
                        assert!(last < Some(readings.at));
                        assert!(readings.values.values().all(|value| value.is_finite()));
                        last = Some(readings.at);
                    }
                    Ok(())
                },
            );
            assert!(read.is_err() || last.is_some());
        }
    }
});
