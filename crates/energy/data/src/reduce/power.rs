//! Chooses the power of a meter: its own column, or voltage x current x power factor of the
//! same readings, where these have more digits and agree.

use super::types::{Product, Resolution, SourceData};
use crate::digits::Digits;
use crate::reading::Quantity;

/// The product must be finer by this factor.
const FINER_MIN: f64 = 2.0;
/// Share of readings that may disagree: a meter may change its range between two columns.
const MISFITS_MAX: f64 = 0.01;
/// Tolerance factor on the error that rounding explains.
const SLACK: f64 = 1.1;

/// The power of a source, reading by reading, and how it is computed.
pub(super) fn power_of(data: &SourceData) -> (Vec<(f64, f64)>, Resolution) {
    let of = |quantity| data.moments.get(&quantity).map(Vec::as_slice);
    let own = of(Quantity::Power).unwrap_or_default();
    let column = data.digits(Quantity::Power);
    let mut fineness = Resolution {
        column,
        product: None,
    };
    let factors = [Quantity::Voltage, Quantity::Current, Quantity::PowerFactor];
    let (Some(column), Some(product)) = (column, product(own, factors.map(of))) else {
        return (own.to_vec(), fineness);
    };
    let share: f64 = factors
        .into_iter()
        .map(|quantity| {
            let moments = of(quantity).unwrap_or_default();
            let seen = Digits::finest_of(moments.iter().map(|m| m.1));
            let digits = data.source.digits.get(&quantity).copied().or(seen);
            digits.map_or(1.0, |digits| digits.share_at(mean(moments)))
        })
        .sum();
    let mean_w = mean(own);
    if share * FINER_MIN > column.share_at(mean_w) {
        return (own.to_vec(), fineness);
    }
    let pairs = || own.iter().zip(&product).map(|(own, made)| (own.1, made.1));
    let explained = |watts: f64| column.step_at(watts) / 2.0 + share * watts.abs();
    let misfits = pairs().filter(|(own, made)| (own - made).abs() > explained(*own) * SLACK);
    let is_used = misfits.count() as f64 <= own.len() as f64 * MISFITS_MAX;
    fineness.product = Some(Product {
        is_used,
        share,
        mean_w,
        apart_w: pairs()
            .map(|(own, made)| (own - made).abs())
            .fold(0.0, f64::max),
        explained_w: pairs().map(|(own, _)| explained(own)).fold(0.0, f64::max),
    });
    match is_used {
        true => (product, fineness),
        false => (own.to_vec(), fineness),
    }
}

/// The product of three columns; `None`: one lacks a reading that the power has.
fn product(own: &[(f64, f64)], factors: [Option<&[(f64, f64)]>; 3]) -> Option<Vec<(f64, f64)>> {
    let [volts, amperes, factor] = factors;
    let (volts, amperes, factor) = (volts?, amperes?, factor?);
    if own.is_empty()
        || [volts, amperes, factor]
            .iter()
            .any(|m| m.len() != own.len())
    {
        return None;
    }
    let rows = own.iter().zip(volts).zip(amperes).zip(factor);
    rows.map(|(((own, volts), amperes), factor)| {
        let same = own.0 == volts.0 && own.0 == amperes.0 && own.0 == factor.0;
        same.then_some((own.0, volts.1 * amperes.1 * factor.1))
    })
    .collect()
}

fn mean(moments: &[(f64, f64)]) -> f64 {
    moments.iter().map(|m| m.1).sum::<f64>() / moments.len().max(1) as f64
}
