//! What a provider confirmed of its models, kept for a day in a file of its own below the home. A file that is torn,
//! foreign or too old counts as absent, so nothing here can fail a start.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::listing::Listed;

/// The folder below the home.
const FOLDER: &str = "models";
/// Of the format; another one is not read.
const VERSION: u32 = 1;
/// Most bytes of a file that is read.
const MAX_FILE: u64 = 4 << 20;
/// How long what was confirmed counts.
const FRESH: SignedDuration = SignedDuration::from_hours(24);

/// A provider's list and when it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    v: u32,
    /// When.
    pub at: Timestamp,
    /// From where; what another address says is another thing.
    pub base_url: String,
    /// In the provider's order.
    pub models: Vec<Listed>,
}

/// The lists of all providers that are known to this process, each read from its file when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Confirmed {
    home: Option<PathBuf>,
    lists: Mutex<HashMap<String, Option<Arc<Listing>>>>,
}

impl Listing {
    pub(super) fn new(base_url: &str, models: Vec<Listed>) -> Listing {
        Listing { v: VERSION, at: Timestamp::now(), base_url: base_url.to_owned(), models }
    }

    /// What the provider says of a model, if it has it.
    pub fn model(&self, id: &str) -> Option<&Listed> {
        self.models.iter().find(|model| model.id == id)
    }
}

impl Confirmed {
    pub(super) fn below(home: &Path) -> Confirmed {
        Confirmed { home: Some(home.to_owned()), lists: Mutex::default() }
    }

    /// What the provider at this address confirmed within a day, or told this process.
    pub(super) fn of(&self, provider: &str, base_url: &str) -> Option<Arc<Listing>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || self.home.as_deref().and_then(|home| read(&path(home, provider))).map(Arc::new);
        let listing = lists.entry(provider.to_owned()).or_insert_with(read).clone();
        listing.filter(|listing| listing.base_url == base_url)
    }

    /// Keeps a list for this process.
    pub(super) fn note(&self, provider: &str, listing: Listing) -> Arc<Listing> {
        let listing = Arc::new(listing);
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(provider.to_owned(), Some(listing.clone()));
        listing
    }

    /// Keeps a list for a day. Readers see the old file or the new one, whole.
    pub(super) fn keep(&self, provider: &str, listing: &Listing) -> io::Result<()> {
        let Some(home) = &self.home else { return Ok(()) };
        let folder = home.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let mut file = NamedTempFile::new_in(&folder)?;
        file.write_all(&serde_json::to_vec(listing)?)?;
        file.persist(path(home, provider)).map_err(|error| error.error)?;
        Ok(())
    }
}

fn path(home: &Path, provider: &str) -> PathBuf {
    home.join(FOLDER).join(format!("{provider}.json"))
}

fn read(path: &Path) -> Option<Listing> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    let listing: Listing = serde_json::from_slice(&bytes).ok()?;
    let age = Timestamp::now().duration_since(listing.at);
    // A clock that was set back would keep a list for ever.
    (listing.v == VERSION && age < FRESH && age > -FRESH).then_some(listing)
}
