//! What time it is, and which day, for those who have a limit a day: the day is that of the wall, in the zone of this
//! machine, whether it has 23, 24 or 25 hours.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A clock in a zone. Cheap to clone.
#[derive(Clone)]
pub struct Clock {
    zone: TimeZone,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Clock {
    /// This machine's, in its zone as it is now; UTC where the machine names none.
    pub fn system() -> Clock {
        Clock::of(TimeZone::system(), Timestamp::now)
    }

    /// Another one.
    pub fn of(zone: TimeZone, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock { zone, now: Arc::new(now) }
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.now)()
    }

    pub(super) fn today(&self) -> Date {
        self.day(self.now())
    }

    pub(super) fn day(&self, at: Timestamp) -> Date {
        self.zone.to_datetime(at).date()
    }
}
