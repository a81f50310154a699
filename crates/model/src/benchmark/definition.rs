//! Classical definition files: TOML in, a checked benchmark out.

use super::{Benchmark, ClassicWork, FileSetRule, Protocol, Standard, Work};
use crate::dist::SizeDistribution;
use crate::mix::Mix;
use crate::sequence::SequenceTable;
use crate::words::tame;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

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
            reason: tame(&reason, REASON_CHARS_MAX),
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
    mix: Spanned<Mix>,
    file_sizes: SizeDistribution,
    read_sizes: SizeDistribution,
    write_sizes: SizeDistribution,
    #[serde(default)]
    sequence: Option<SequenceTable>,
}

/// Reads a definition.
pub(super) fn read(text: &str) -> Result<Benchmark, DefinitionError> {
    let wrong = |span: Range<usize>, reason: &str| DefinitionError::new(text, &span, reason);
    let d = toml::from_str::<ClassicDefinition>(text)
        .map_err(|e| wrong(e.span().unwrap_or_default(), e.message()))?;
    let (protocol, mix) = (*d.protocol.get_ref(), d.mix.get_ref());
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
            let solved = shape.solve(mix);
            Some(solved.map_err(|e| wrong(d.mix.span(), &e.to_string()))?)
        }
    };
    Ok(Benchmark {
        name: d.name,
        version: d.version,
        title: d.title,
        protocol,
        unit: d.unit,
        standard: d.standard,
        mix: d.mix.into_inner(),
        work: Work::Classic(ClassicWork {
            fileset: d.fileset,
            file_sizes: d.file_sizes,
            read_sizes: d.read_sizes,
            write_sizes: d.write_sizes,
            sequence,
        }),
    })
}
