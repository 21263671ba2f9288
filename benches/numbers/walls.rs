//! What walls cost: a command that does nothing, without and within each kind of walls, and the building of the walls (S24).

use std::sync::Arc;
use std::time::{Duration, Instant};

use tillerman::sandbox::{self, Command, Environment, Limits, Tier, WallSettings, Walls};
use tillerman::secret::Secrets;
use tillerman::workspace::policy::Bounds;
use tokio_util::sync::CancellationToken;

use crate::process::BINARY;
use crate::table::{at, median, ms, row};

/// The argument that measures only this.
pub(crate) const WORD: &str = "walls";
/// Commands of each kind.
const COMMANDS: usize = 300;

pub(crate) fn measure() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads can be started");
    let dir = tempfile::tempdir().expect("the temporary folder is writable");
    let bounds = Bounds { base: dir.path().into(), write: vec![dir.path().into()], ..Bounds::default() };
    let around = |tier| {
        let settings =
            WallSettings { program: Some(BINARY.into()), only: Some(tier), ..WallSettings::new(bounds.clone()) };
        Walls::around(settings)
    };
    let plain = runtime.block_on(commands(&bounds, &Walls::open(), Duration::ZERO));
    let base = median(plain.iter().copied());
    row("`true` without walls", "", of(&plain));
    for (name, tier) in [("namespaces", Tier::Full), ("Landlock alone", Tier::Landlock)] {
        let built = (0..10).map(|_| {
            let began = Instant::now();
            around(tier).build().expect("walls can be built");
            began.elapsed()
        });
        row(&format!("walls of {name}: built and tried"), "", ms(median(built)));
        let walls = around(tier);
        walls.build().expect("walls can be built");
        // An agent thinks between two commands, and the next first process gets ready meanwhile.
        for (how, pause) in [("one after the other", Duration::ZERO), ("10 ms apart", Duration::from_millis(10))] {
            let took = runtime.block_on(commands(&bounds, &walls, pause));
            let over = median(took.iter().copied()).saturating_sub(base);
            row(&format!("`true` within {name}, {how}"), "< 2 ms more", format!("{}, {} more", of(&took), ms(over)));
        }
    }
}

fn of(took: &[Duration]) -> String {
    format!("{} (p99 {})", ms(median(took.iter().copied())), ms(at(took.iter().copied(), 0.99)))
}

async fn commands(bounds: &Bounds, walls: &Arc<Walls>, pause: Duration) -> Vec<Duration> {
    let command = Command {
        text: "true".to_owned(),
        cwd: bounds.base.clone(),
        environment: Environment::inherited(),
        spool: bounds.base.join("spool"),
        stdin: None,
        secrets: Secrets::default(),
        walls: Arc::clone(walls),
    };
    let (limits, cancel) = (Limits::default(), CancellationToken::new());
    let mut took = Vec::new();
    for _ in 0..COMMANDS {
        tokio::time::sleep(pause).await;
        let finished = sandbox::run(&command, &limits, &cancel, &mut |_| {}).await.expect("true runs");
        took.push(finished.took);
    }
    took
}
