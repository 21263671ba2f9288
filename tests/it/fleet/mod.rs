//! The whole crew by its effects: the real program before a scripted model server, killed and gone on with. What a
//! single worker does is tried elsewhere.

mod asked;
mod budget;
mod process;
mod thousand;
mod twenty;

use std::fs;

use crate::battery::scene::Scene;
use crate::story::KEY;

/// Makes a scene one for so many workers at a time.
fn fleet(scene: Scene, workers: usize) -> Scene {
    fs::write(scene.home().join("config.yaml"), format!("workers: {workers}\nqueue: 10000\n")).unwrap();
    fs::write(scene.work().join(".env"), format!("ANTHROPIC_API_KEY={KEY}\nTILLERMAN_TITLES=off\n")).unwrap();
    scene
}

/// `tillerman run` with these words and the server's model.
fn run<'a>(url: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    let head = ["run", "--wait", "--trust", "-m", "anthropic/claude-test", "--base-url", url];
    head.into_iter().chain(words.iter().copied()).collect()
}

/// The number of the task that a worker's request is about.
fn task_of(request: &str) -> u32 {
    number_after(request, ".tasks/t_").unwrap_or_default()
}

/// The number that stands behind the first mark.
fn number_after(text: &str, mark: &str) -> Option<u32> {
    let rest = text.split_once(mark)?.1;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
