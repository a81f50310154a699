//! SMB_DIALECT, SMB_SIGNING and SMB_ENCRYPTION, which must fit each other.

use super::parameters;
use crate::error::{ConfigError, quoted};
use crate::given::Values;
use crate::params::Parameter;
use crate::reading::Reading;
use filermark_model::benchmark::Protocol;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_model::{Rule, Severity};

/// Lowest and highest.
type Range = (Dialect, Dialect);

const SMB1: Range = (Dialect::Nt1, Dialect::Nt1);
const SMB2: Range = (Dialect::V202, Dialect::V311);

/// Whether a dialect supports this signing (MS-SMB2 3.1.4.1).
fn can_sign(dialect: Dialect, signing: Signing) -> bool {
    use Dialect::{Nt1, V202, V210, V300, V302, V311};
    match signing {
        Signing::Auto | Signing::Off | Signing::Required => true,
        Signing::HmacSha256 => matches!(dialect, V202 | V210 | V311),
        Signing::AesCmac => !matches!(dialect, Nt1 | V202 | V210),
        Signing::AesGmac => !matches!(dialect, Nt1 | V202 | V210 | V300 | V302),
    }
}

/// Whether a dialect supports this encryption (MS-SMB2 3.1.4.3).
fn can_encrypt(dialect: Dialect, encryption: Encryption) -> bool {
    match encryption {
        Encryption::Auto | Encryption::Off => true,
        Encryption::Required | Encryption::Aes128Ccm => dialect >= Dialect::V300,
        Encryption::Aes128Gcm | Encryption::Aes256Ccm | Encryption::Aes256Gcm => {
            dialect == Dialect::V311
        }
    }
}

/// The dialects to offer: those of SMB_DIALECT that can protect messages as
/// the two other parameters require.
pub(super) fn dialects(
    r: &mut Reading<'_>,
    protocol: Protocol,
    signing: Signing,
    encryption: Encryption,
) -> Range {
    let values = r.values;
    let Some(asked) = asked(r, protocol) else {
        return if protocol == Protocol::Smb1 {
            SMB1
        } else {
            SMB2
        };
    };
    let signed = narrowed(asked, |d| can_sign(d, signing));
    if signed.is_none() {
        r.reports.errors.push(impossible(
            values,
            &parameters::SMB_SIGNING,
            asked,
            signing_from(signing),
        ));
    }
    let encrypted = narrowed(asked, |d| can_encrypt(d, encryption));
    if encrypted.is_none() {
        r.reports.errors.push(impossible(
            values,
            &parameters::SMB_ENCRYPTION,
            asked,
            encryption_from(encryption),
        ));
    }
    let (Some(_), Some(encrypted)) = (signed, encrypted) else {
        return asked;
    };
    let Some(both) = narrowed(encrypted, |d| can_sign(d, signing)) else {
        r.reports.errors.push(impossible(
            values,
            &parameters::SMB_SIGNING,
            encrypted,
            signing_from(signing),
        ));
        return asked;
    };
    if both != asked && values.given(&parameters::SMB_DIALECT).is_some() {
        let text = format!(
            "of SMB_DIALECT={} only {} can protect messages as required",
            range_text(asked),
            range_text(both)
        );
        r.reports.note(Rule::NotStandard, Severity::Note, text);
    }
    both
}

/// SMB_DIALECT or the range of the protocol; `None`: wrong, as reported.
fn asked(r: &mut Reading<'_>, protocol: Protocol) -> Option<Range> {
    let values = r.values;
    let all = if protocol == Protocol::Smb1 {
        SMB1
    } else {
        SMB2
    };
    let Some(text) = values.get(&parameters::SMB_DIALECT) else {
        return (!values.is_bad(&parameters::SMB_DIALECT)).then_some(all);
    };
    let mut wrong = |what: String, hint: String| {
        let message = format!("SMB_DIALECT={} {what}", quoted(&text));
        r.refuse(&parameters::SMB_DIALECT, message, hint);
        None
    };
    let range = match parse(&text) {
        Ok(range) => range,
        Err((what, hint)) => return wrong(what, hint),
    };
    let fits = |d: Dialect| (d == Dialect::Nt1) == (protocol == Protocol::Smb1);
    if fits(range.0) && fits(range.1) {
        return Some(range);
    }
    let other = match (protocol, range) {
        (Protocol::Smb1, (low, _)) if low > Dialect::Nt1 => {
            "or set FS_PROTOCOL=smb (BENCHMARK=general-smb2)"
        }
        (Protocol::Smb1, _) => "or take SMB1 alone",
        (_, SMB1) => "or set FS_PROTOCOL=cifs (BENCHMARK=general-smb1)",
        (_, _) => "or start at 2.0.2: SMB1 is a benchmark of its own",
    };
    wrong(
        format!("does not fit a benchmark for {}", protocol.decl().title),
        format!("leave it out, {other}"),
    )
}

/// A dialect, or two with a hyphen.
fn parse(text: &str) -> Result<Range, (String, String)> {
    let one = |name: &str| {
        let name = name.trim();
        let mut all = Dialect::ALL.into_iter();
        all.find(|d| d.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                let known = Dialect::ALL.map(Dialect::name).join(", ");
                let what = format!("names no dialect: '{}'", quoted(name));
                let hint = format!("choose of {known}, or a range such as 2.1-3.1.1");
                (what, hint)
            })
    };
    let (low, high) = match text.split_once('-') {
        Some((low, high)) => (one(low)?, one(high)?),
        None => (one(text)?, one(text)?),
    };
    match low <= high {
        true => Ok((low, high)),
        false => Err((
            "starts above its end".into(),
            format!("write SMB_DIALECT={high}-{low}"),
        )),
    }
}

/// The part of a range from the first dialect with a property to the last.
fn narrowed(range: Range, can: impl Fn(Dialect) -> bool) -> Option<Range> {
    let all = Dialect::ALL.into_iter();
    let mut able = all.filter(|d| (range.0..=range.1).contains(d) && can(*d));
    let first = able.next()?;
    Some((first, able.next_back().unwrap_or(first)))
}

/// The dialects that support this signing, as a value of SMB_DIALECT.
const fn signing_from(signing: Signing) -> &'static str {
    match signing {
        Signing::HmacSha256 => "2.0.2-2.1",
        Signing::AesCmac | Signing::Required => "3.0-3.1.1",
        Signing::AesGmac | Signing::Auto | Signing::Off => "3.1.1",
    }
}

/// The dialects that support this encryption, as a value of SMB_DIALECT.
const fn encryption_from(encryption: Encryption) -> &'static str {
    match encryption {
        Encryption::Aes128Ccm | Encryption::Required => "3.0-3.1.1",
        Encryption::Aes128Gcm
        | Encryption::Aes256Ccm
        | Encryption::Aes256Gcm
        | Encryption::Auto
        | Encryption::Off => "3.1.1",
    }
}

/// A protection that none of the dialects supports; `able` support it.
fn impossible(values: &Values, parameter: &Parameter, dialects: Range, able: &str) -> ConfigError {
    let shown = values.given(parameter).map(|g| g.shown());
    let hint = match dialects == SMB1 {
        true if parameter.is(&parameters::SMB_ENCRYPTION) => {
            "leave it out: SMB1 has no encryption".to_owned()
        }
        true => "SMB1 has one way only: set SMB_SIGNING=required".to_owned(),
        false => format!("set SMB_DIALECT={able}, or leave {} out", parameter.name),
    };
    let message = format!(
        "{} is not available with SMB {}",
        shown.unwrap_or_default(),
        range_text(dialects)
    );
    ConfigError::new(values.place(parameter), message, hint)
}

fn range_text((low, high): Range) -> String {
    match low == high {
        true => low.to_string(),
        false => format!("{low}-{high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_and_ranges() {
        assert_eq!(parse("nt1"), Ok(SMB1));
        assert_eq!(parse("2.0.2-3.1.1"), Ok(SMB2));
        assert_eq!(parse("2.1 - 3.0"), Ok((Dialect::V210, Dialect::V300)));
        for text in ["", "-", "3", "2.1-", "3.1.1-2.1", "2.1-3.0-3.1.1", "SMB3"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_keeps_what_can_protect() {
        let sign = |range, signing| narrowed(range, |d| can_sign(d, signing));
        let seal = |range, encryption| narrowed(range, |d| can_encrypt(d, encryption));
        let only = |d| Some((d, d));
        assert_eq!(sign(SMB2, Signing::AesGmac), only(Dialect::V311));
        assert_eq!(sign(SMB2, Signing::HmacSha256), Some(SMB2));
        assert_eq!(
            sign((Dialect::V300, Dialect::V302), Signing::HmacSha256),
            None
        );
        assert_eq!(sign(SMB1, Signing::Required), Some(SMB1));
        assert_eq!(sign(SMB1, Signing::AesCmac), None);
        assert_eq!(
            seal(SMB2, Encryption::Required),
            Some((Dialect::V300, Dialect::V311))
        );
        assert_eq!(seal(SMB2, Encryption::Aes256Gcm), only(Dialect::V311));
        assert_eq!(seal(SMB1, Encryption::Required), None);
    }
}
