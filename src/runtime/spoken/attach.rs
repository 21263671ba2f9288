//! Adds what a line mentions: small texts behind its words, pictures beside them. What may be read is what the agent may
//! read itself; a whole path of a picture is a person's own hand.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::mention::Mention;
use crate::message::{Image, ImageKind};
use crate::model::ModelId;
use crate::runtime::Said;
use crate::runtime::site::Site;
use crate::workspace::policy::{PathError, PathPolicy};

/// Most bytes of a text that is added, and of all of them; what is larger the agent reads in pieces, with its tools.
const EACH: usize = 32 << 10;
const TOGETHER: usize = 96 << 10;
/// Most names of a folder.
const NAMES: usize = 100;

struct Added<'a> {
    site: &'a Site,
    model: &'a ModelId,
    policy: PathPolicy,
    text: String,
    room: usize,
    images: Vec<Image>,
    told: Vec<String>,
}

/// The line with what it mentions, and what to tell of it. Reads the disk.
pub(super) fn attach(site: &Site, model: &ModelId, line: String, mentions: Vec<Mention>) -> (Said, Vec<String>) {
    let Ok(policy) = site.policy(site.config.profile) else { return (Said::from(line), Vec::new()) };
    let mut added = Added { site, model, policy, text: line, room: TOGETHER, images: Vec::new(), told: Vec::new() };
    for mention in mentions {
        match mention.is_bare {
            true => added.picture(&mention.path),
            false => added.named(&mention.path),
        }
    }
    (Said { text: added.text, images: added.images }, added.told)
}

impl Added<'_> {
    /// A file or a folder of the workspace. What does not exist is no mention: people write `@home`, too.
    fn named(&mut self, path: &str) {
        let ends = [path, path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '"'])];
        for path in ends {
            match self.policy.resolve(path) {
                Ok(real) if real.is_dir() => return self.folder(path, &real),
                Ok(_) => return self.file(path),
                Err(PathError::Missing { .. } | PathError::Unusable { .. }) => {}
                Err(error) => return self.told.push(format!("@{path} is not added: {error}")),
            }
        }
    }

    fn file(&mut self, path: &str) {
        let mut bytes = Vec::new();
        let read = self.policy.open(path).map_err(|error| error.to_string()).and_then(|file| {
            file.take(Image::LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())
        });
        if let Err(why) = read {
            return self.told.push(format!("@{path} is not added: {why}"));
        }
        if let Some(kind) = ImageKind::of(&bytes) {
            return self.show(path, kind, &bytes);
        }
        if bytes.len() > EACH.min(self.room) {
            return self.told.push(format!("@{path} is large; the agent reads what it needs of it"));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                self.room -= text.len();
                self.text.push_str(&format!("\n\n<file path=\"{path}\">\n{}\n</file>", text.trim_end_matches('\n')));
                self.told.push(format!("added {path}, {} lines", text.lines().count()));
            }
            _ => self.told.push(format!("@{path} is no text, so it is only named")),
        }
    }

    fn folder(&mut self, path: &str, real: &Path) {
        let entries = std::fs::read_dir(real).into_iter().flatten().flatten();
        let shown = entries.filter(|entry| !self.policy.is_hidden(&entry.path()));
        let mut names: Vec<String> = shown
            .map(|entry| {
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                format!("{}{}", entry.file_name().to_string_lossy(), if is_dir { "/" } else { "" })
            })
            .take(NAMES * 10)
            .collect();
        names.sort();
        let more = names.len().saturating_sub(NAMES);
        names.truncate(NAMES);
        if more > 0 {
            names.push("…".to_owned());
        }
        self.told.push(format!("added the names in {path}"));
        self.text.push_str(&format!("\n\n<folder path=\"{path}\">\n{}\n</folder>", names.join("\n")));
    }

    /// A picture by its whole path, wherever it lies.
    fn picture(&mut self, path: &str) {
        let place = match (path.strip_prefix("~/"), std::env::home_dir()) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(path),
        };
        // Opening what is no file may wait for ever.
        if !place.metadata().is_ok_and(|meta| meta.is_file()) || self.is_kept_away(&place) {
            return;
        }
        let mut bytes = Vec::new();
        let read = File::open(&place).and_then(|file| file.take(Image::LARGEST as u64 + 1).read_to_end(&mut bytes));
        if let (Ok(_), Some(kind)) = (read, ImageKind::of(&bytes)) {
            self.show(path, kind, &bytes);
        }
    }

    fn is_kept_away(&self, place: &Path) -> bool {
        place.canonicalize().is_ok_and(|real| self.policy.is_hidden(&real))
    }

    fn show(&mut self, path: &str, kind: ImageKind, bytes: &[u8]) {
        let together: usize = self.images.iter().map(Image::bytes).sum();
        let why = match kind.look(bytes) {
            Err(unfit) => format!("it {unfit}"),
            Ok(_) if !self.site.config.models.takes_images(self.model) => format!("{} takes no images", self.model),
            Ok(_) if self.images.len() == Image::MOST || together + bytes.len() > Image::TOTAL => {
                "there are too many images in this line".to_owned()
            }
            Ok((width, height)) => {
                self.told.push(format!("added the image {path}, {width} × {height}"));
                return self.images.push(Image::of(kind, bytes));
            }
        };
        self.told.push(format!("the image {path} is not added: {why}"));
    }
}
