//! Classical definition files: TOML in, a checked benchmark out.

use super::commit::CommitTable;
use super::types::{Benchmark, ClassicWork, FileSetRule, Heritage, Standard, Work};
use crate::dist::SizeDistribution;
use crate::mix::Mix;
use crate::op::Op;
use crate::plan::Protocol;
use crate::sequence::SequenceTable;
use crate::text::sanitize;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// RFC 1094 section 2.3: sizes have 32 bits; implementations take them for signed.
pub const NFS2_FILE_BYTES_MAX: u64 = (1 << 31) - 1;

/// Why a text is no definition, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct DefinitionError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong, in one line.
    pub reason: String,
}

impl DefinitionError {
    fn new(text: &str, span: &Range<usize>, reason: &str) -> Self {
        // Messages of the TOML reader list all keys that there are.
        const REASON_CHARS_MAX: usize = 600;
        let before = text.get(..span.start).unwrap_or_default();
        let reason = reason.lines().collect::<Vec<_>>().join(" ");
        Self {
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
            reason: sanitize(&reason, REASON_CHARS_MAX),
        }
    }
}

/// A classical definition file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassicDefinition {
    name: String,
    version: u32,
    title: String,
    protocol: Spanned<Protocol>,
    unit: String,
    standard: Standard,
    fileset: FileSetRule,
    #[serde(default)]
    heritage: Option<Heritage>,
    mix: Spanned<BTreeMap<Op, f64>>,
    file_sizes: Spanned<SizeDistribution>,
    read_sizes: SizeDistribution,
    write_sizes: SizeDistribution,
    #[serde(default)]
    commit: Option<Spanned<CommitTable>>,
    #[serde(default)]
    sequence: Option<SequenceTable>,
}

/// Reads a definition.
pub(super) fn read(text: &str) -> Result<Benchmark, DefinitionError> {
    let wrong = |span: Range<usize>, reason: &str| DefinitionError::new(text, &span, reason);
    let d = toml::from_str::<ClassicDefinition>(text)
        .map_err(|e| wrong(e.span().unwrap_or_default(), e.message()))?;
    let protocol = *d.protocol.get_ref();
    let total = d.heritage.as_ref().and_then(|h| h.mix_total_pcnt);
    let mix = mix_of(d.mix.get_ref(), total);
    let mix = mix.map_err(|why| wrong(d.mix.span(), &why))?;
    let sequence = match (d.sequence, protocol.is_sequential()) {
        (None, false) => None,
        (None, true) => {
            let text = "operations of SMB come in sequences; draw them: [[sequence.state]]";
            return Err(wrong(d.protocol.span(), text));
        }
        (Some(_), false) => {
            let text = "the operations of this protocol come in any order; leave [sequence] out";
            return Err(wrong(d.protocol.span(), text));
        }
        (Some(table), true) => {
            let shape = table.shape().map_err(|(span, why)| wrong(span, &why))?;
            let solved = shape.solve(&mix);
            Some(solved.map_err(|e| wrong(d.mix.span(), &e.to_string()))?)
        }
    };
    if let Some((op, _)) = mix
        .shares()
        .iter()
        .find(|(op, _)| !protocol.ops().contains(op))
    {
        let text = format!("{} has no operation {op}", protocol.sfssum_name());
        return Err(wrong(d.mix.span(), &text));
    }
    let commit = match &d.commit {
        Some(table) if !protocol.ops().contains(&Op::Commit) => {
            let text = "this protocol has no COMMIT; leave [commit] out";
            return Err(wrong(table.span(), text));
        }
        Some(table) => {
            let policy = table.get_ref().policy();
            Some(policy.map_err(|why| wrong(table.span(), &why))?)
        }
        None => None,
    };
    if protocol == Protocol::Nfs2 && d.file_sizes.get_ref().max().0 > NFS2_FILE_BYTES_MAX {
        let text = "a file of NFS version 2 ends at 2 GiB: leave larger ones out";
        return Err(wrong(d.file_sizes.span(), text));
    }
    Ok(Benchmark {
        name: d.name,
        version: d.version,
        title: d.title,
        protocol,
        unit: d.unit,
        standard: d.standard,
        mix,
        work: Work::Classic(ClassicWork {
            fileset: d.fileset,
            file_sizes: d.file_sizes.into_inner(),
            read_sizes: d.read_sizes,
            write_sizes: d.write_sizes,
            commit,
            sequence,
        }),
        heritage: d.heritage,
    })
}

/// The mix, scaled to 100 where the published one adds up to another total.
fn mix_of(shares: &BTreeMap<Op, f64>, total: Option<f64>) -> Result<Mix, String> {
    let Some(total) = total else {
        return Mix::new(shares.clone()).map_err(|e| e.to_string());
    };
    let sum: f64 = shares.values().sum();
    let is_total = total > 0.0 && (sum - total).abs() <= 1e-3;
    if !is_total {
        return Err(format!(
            "the operation mix adds up to {sum} percent, not to the {total} of mix_total_pcnt"
        ));
    }
    let scaled = shares.iter().map(|(op, p)| (*op, p * 100.0 / total));
    Mix::new(scaled).map_err(|e| e.to_string())
}
