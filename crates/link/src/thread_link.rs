//! How a plan's password comes to an agent: it is no part of the plan's text, and goes
//! beside it, sealed for that one agent.

use crate::facts::InspectRequest;
use crate::message::{ClientShare, Order};
use crate::secure::seal::{Opener, SealError, Sealed, Sealer};
use filermark_model::plan::DriverPlan;

/// Puts the password of an order's plan beside it, where there is one; `sealer` is
/// asked for only then.
///
/// # Errors
/// It cannot be sealed for that agent.
pub fn seal<'a>(
    order: &mut Order,
    sealer: impl FnOnce() -> Result<&'a mut Sealer, SealError>,
) -> Result<(), SealError> {
    let Some((driver, place)) = parts(order) else {
        return Ok(());
    };
    if let Some(word) = driver.password().and_then(|p| p.reveal()) {
        *place = Some(sealer()?.seal(word)?);
    }
    Ok(())
}

/// The driver's settings in an order, and the place for what is sealed.
fn parts(order: &mut Order) -> Option<(&DriverPlan, &mut Option<Sealed>)> {
    match order {
        Order::Prepare(share) | Order::Sweep(share) => {
            Some((&share.plan.driver, &mut share.password))
        }
        Order::Inspect(request) => match &mut **request {
            InspectRequest::Host {
                driver, password, ..
            }
            | InspectRequest::Validate {
                driver, password, ..
            } => Some((&*driver, password)),
            _ => None,
        },
        _ => None,
    }
}

/// Puts the password that came beside a share into its plan.
///
/// # Errors
/// A sentence on why it cannot be opened.
pub fn open(share: &mut ClientShare, opener: &mut Opener) -> Result<(), String> {
    open_into(&mut share.plan.driver, share.password.take(), opener)
}

/// The same for a driver's settings.
///
/// # Errors
/// A sentence on why it cannot be opened.
pub fn open_into(
    driver: &mut DriverPlan,
    sealed: Option<Sealed>,
    opener: &mut Opener,
) -> Result<(), String> {
    let Some(sealed) = sealed else {
        return Ok(());
    };
    let secret = opener
        .open(&sealed)
        .map_err(|e| format!("the password that the prime sent cannot be opened: {e}"))?;
    filermark_engine::sys::forbid_core_dumps();
    driver.set_password(secret);
    Ok(())
}
