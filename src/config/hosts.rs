//! Hosts that a person opens for fetching pages. Only the person's own files say which: a workspace, also a trusted one, is
//! written by others, and what it opens it could be told by.

use std::path::Path;

use super::ConfigError;
use super::checked::{Checked, listed, wrong};
use super::raw::Place;
use crate::tools::Hosts;

const KEY: &str = "fetch_hosts";

impl Checked<'_> {
    /// The hosts; a workspace that names some is warned of.
    pub(super) fn fetch_hosts(&self, home: &Path, warnings: &mut Vec<String>) -> Result<Hosts, ConfigError> {
        let expected = "a list of hosts, like [wiki.corp.example, 10.0.0.5:8080]";
        let mut setting = self.raw.get(KEY);
        while let Some(strange) = setting.filter(|setting| is_strange(&setting.place, home)) {
            let place = &strange.place;
            warnings.push(format!("{KEY} in {place} not used: it counts in ~/.tillerman/config.yaml alone"));
            setting = strange.layer.checked_sub(1).and_then(|below| self.raw.below(KEY, below));
        }
        let Some(setting) = setting else { return Ok(Hosts::default()) };
        let entries = listed(&setting.value).ok_or_else(|| wrong(KEY, setting, expected))?;
        Hosts::read(&entries).map_err(|why| wrong(KEY, setting, &format!("{expected}: {why}")))
    }
}

/// Written in a file that is not the person's own.
fn is_strange(place: &Place, home: &Path) -> bool {
    matches!(place, Place::File { path, .. } if !path.starts_with(home))
}
