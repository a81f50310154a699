//! The password of a plan's driver: it is not part of the plan's text, and is sent separately,
//! sealed for one agent.

use crate::facts::InspectRequest;
use crate::message::{ClientShare, Order};
use crate::secure::seal::{Opener, SealError, Sealed, Sealer};
use filermark_model::plan::DriverPlan;

/// Adds the password of an order's plan, if there is one; `sealer` is called only then.
///
/// # Errors
/// It cannot be sealed for that agent.
pub fn seal<'a>(
    order: &mut Order,
    sealer: impl FnOnce() -> Result<&'a mut Sealer, SealError>,
) -> Result<(), SealError> {
    let Some((driver, field)) = parts(order) else {
        return Ok(());
    };
    if let Some(password) = driver.password().and_then(|p| p.reveal()) {
        *field = Some(sealer()?.seal(password)?);
    }
    Ok(())
}

/// The driver's settings in an order, and the field for the sealed password.
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

/// Puts the separate password of a share into its plan.
///
/// # Errors
/// A message: why it cannot be opened.
pub fn open(share: &mut ClientShare, opener: &mut Opener) -> Result<(), String> {
    open_into(&mut share.plan.driver, share.password.take(), opener)
}

/// Puts a separate password into a driver's settings.
///
/// # Errors
/// A message: why it cannot be opened.
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
