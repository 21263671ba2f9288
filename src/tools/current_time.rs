//! The tool `current_time`: what the clock says, here or in a zone.

use std::sync::LazyLock;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::message::RawArgs;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("timezone", "zone"), ("tz", "zone")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("current_time", include_str!("current_time.md"), true).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// Like Europe/Berlin or +02:00; this machine's if absent.
    zone: Option<String>,
}

/// Reads the clock.
pub(super) struct CurrentTime;

impl Tool for CurrentTime {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let zone = read.args.zone.as_deref().map_or_else(|| Ok(TimeZone::system()), zone)?;
            Ok(told(&Timestamp::now().to_zoned(zone)).noting(&read.repairs))
        }
        .boxed()
    }
}

fn zone(name: &str) -> Result<TimeZone, ToolError> {
    let name = name.trim();
    let unknown = || ToolError::new(format!("there is no zone {name:?}; write one like Europe/Berlin, UTC or +02:00"));
    if name.eq_ignore_ascii_case("z") || name.eq_ignore_ascii_case("utc") {
        return Ok(TimeZone::UTC);
    }
    if !name.starts_with(['+', '-']) {
        return TimeZone::get(name).map_err(|_| unknown());
    }
    let offset = jiff::fmt::temporal::DateTimeParser::new().parse_time_zone(name);
    offset.map_err(|_| unknown())
}

fn told(now: &Zoned) -> ToolOutput {
    let iso = now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let weekday = now.strftime("%A").to_string();
    let zone = now.time_zone().iana_name().map(str::to_owned);
    let named = zone.as_ref().map(|zone| format!(" ({zone})")).unwrap_or_default();
    let details = json!({ "iso": iso, "weekday": weekday, "zone": zone, "unix": now.timestamp().as_second() });
    ToolOutput::new(format!("{iso} {weekday}{named}"), details)
}
