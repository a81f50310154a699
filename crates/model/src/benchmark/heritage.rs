//! What every rendering of a run after an older generation says of it: rows for tables,
//! lines for texts. One place, so that none says less than another.

use super::types::{Benchmark, Heritage};

/// Printed with every figure of a benchmark modelled on an older generation.
pub const HERITAGE_NOTICE: &str = "Modelled on an older generation: not comparable with its results, nor with those of any other benchmark.";

/// Printed where a run has a mix of its own.
const OWN_MIX: &str =
    "The mix of operations is this run's own (MIXFILE), not that of the generation.";

impl Heritage {
    /// The mix is another one: no statement about that generation's applies.
    pub(super) fn forget_mix(&mut self) {
        self.mix_total_pcnt = None;
        self.caveats.retain(|text| !text.contains("published mix"));
        self.caveats.push(OWN_MIX.to_owned());
    }
}

impl Benchmark {
    /// What a reader has to know of a benchmark after an older generation, as rows of
    /// (what, words): which one, its limits, its mix, and a row per caveat. Empty where it
    /// is modelled on none. The texts come from the definition, which may be the user's.
    pub fn heritage_rows(&self) -> Vec<(&'static str, String)> {
        let Some(heritage) = &self.heritage else {
            return Vec::new();
        };
        let mut limits = match self.standard.response_limit_ms {
            limit if limit > 0.0 => format!("mean service time of {limit} ms at most"),
            _ => "no limit of the mean service time".to_owned(),
        };
        if let Some(work) = self.classic() {
            let rule = &work.fileset;
            limits += &format!(
                "; {} MiB of files per op/s, {} % of them accessed",
                rule.mb_per_op, rule.access_pcnt
            );
        }
        if let Some(kib) = self.standard.block_size_kib {
            limits += &format!("; physical transfers of {kib} KiB at most");
        }
        let mut rows = vec![
            ("Generation", heritage.generation.clone()),
            ("Comparable", format!("no. {HERITAGE_NOTICE}")),
            ("Limits", limits),
        ];
        if let Some(total) = heritage.mix_total_pcnt {
            let text = format!("the published shares add up to {total} %; scaled to 100 %");
            rows.push(("Mix", text));
        }
        let caveats = heritage.caveats.iter();
        rows.extend(caveats.map(|text| ("Caveat", text.clone())));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, Op};

    #[test]
    fn rows_have_all_facts() {
        let b = Benchmark::shipped("nfs3-2001").unwrap();
        let rows = b.heritage_rows();
        let whole: Vec<String> = rows.iter().map(|(n, t)| format!("{n}: {t}")).collect();
        let whole = whole.join("\n");
        for text in [
            "Generation: SFS 3.0 (2001), NFS version 3",
            "Comparable: no. ",
            "40 ms at most; 10 MiB of files per op/s, 10 % of them accessed; physical transfers of 8 KiB",
            "add up to 99 %; scaled to 100 %",
            "Caveat: The list of file sizes",
        ] {
            assert!(whole.contains(text), "{text}\n{whole}");
        }
        let mut own = b.clone();
        let mix = Mix::new([(Op::Read, 100.0)]).unwrap();
        own.set_mix(mix).unwrap();
        let rows = own.heritage_rows();
        assert!(
            rows.iter()
                .all(|(name, text)| *name != "Mix" && !text.contains("published mix"))
        );
        assert!(rows.iter().any(|(_, text)| text.contains("this run's own")));
        let of_1993 = Benchmark::shipped("nfs2-1993").unwrap().heritage_rows();
        assert!(of_1993.iter().all(|(name, _)| *name != "Mix"));
        let general = Benchmark::shipped("general-nfs3").unwrap();
        assert!(general.heritage_rows().is_empty());
    }
}
