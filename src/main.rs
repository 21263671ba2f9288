//! The binary: reads the command line, picks a front end and returns its exit code. What a command does is in its room.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use tempfile::TempDir;
use tillerman::args::{Args, Command, Common, Compaction, Dialect, Notes, Run, Sessions, Settings, Tasks, Tools, When};
use tillerman::cli;
use tillerman::cli::output::Output;
use tillerman::cli::ready::Stay;
use tillerman::cli::run::Course;
use tillerman::cli::schema::Schema;
use tillerman::repl;
use tillerman::runtime::Said;
#[cfg(target_os = "linux")]
use tillerman::sandbox::warden;
use tillerman::terminal::exit::Exit;
use tillerman::terminal::theme::Theme;
use tillerman::terminal::{ColorChoice, Look, is_dumb};

/// Threads that runs share; they wait far more than they work.
const THREADS: usize = 4;

fn main() -> ExitCode {
    // Before there is any other thread.
    #[cfg(target_os = "linux")]
    if warden::is_wanted(std::env::args_os()) {
        return warden::serve();
    }
    close_memory();
    let words: Vec<OsString> = std::env::args_os().collect();
    let args = match Args::read(&words) {
        Ok(args) => args,
        Err(error) => return misread(&error, &words),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let exit = match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(command(args));
            // Whoever still reads a terminal or a pipe is not waited for.
            runtime.shutdown_background();
            exit
        }
        Err(error) => complain(Exit::Failed, &format!("cannot start threads: {error}")),
    };
    exit.into()
}

/// Keeps other processes of the user from reading keys out of the memory or the environment of this one, and the system
/// from writing them into a core file. Inside a command of another tillerman there are no keys, and that one must see its
/// descendants to end them.
fn close_memory() {
    #[cfg(target_os = "linux")]
    if tillerman::sandbox::nesting(&|name| std::env::var_os(name)) == 0 {
        // A system that does not know it protects nothing.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}

async fn command(args: Args) -> Exit {
    let Args { mut common, command } = args;
    let scratch = match cli::ready::scratch(&mut common) {
        Ok(scratch) => scratch,
        Err(error) => return complain(error.exit, &error.why),
    };
    let exit = obey(common, command).await;
    match scratch.map_or(Ok(()), TempDir::close) {
        Ok(()) => exit,
        Err(error) => complain(exit, &format!("what was not to be kept is still there: {error}")),
    }
}

async fn obey(common: Common, command: Option<Command>) -> Exit {
    if common.record.is_some()
        && !matches!(command, None | Some(Command::Run(_) | Command::Rpc { .. } | Command::Replay { .. }))
    {
        return complain(Exit::Usage, "--record is for the prompt, for run, rpc and replay: nothing else asks a model");
    }
    if common.resume_workers && !matches!(command, None | Some(Command::Run(_) | Command::Rpc { .. })) {
        return complain(
            Exit::Usage,
            "--resume-workers is for the prompt, for run and for rpc; one task: tillerman tasks resume t_001",
        );
    }
    match command {
        None => prompt(&common).await,
        Some(Command::Run(words)) => {
            let done = run(&common, &words).await;
            done.unwrap_or_else(|why| complain(Exit::Usage, &why))
        }
        Some(Command::Rpc { wait }) => {
            let setup = cli::run::Setup { wait, ..shown(&common, Some(Dialect::Own)) };
            cli::run::run(cli::ready::ready(&common, Stay::Answer).await, Course::Orders, &setup).await
        }
        Some(Command::Replay { file, json, fast }) => replay(&common, &file, json, fast).await,
        Some(Command::Demo) => demo(&common).await,
        Some(Command::Tasks { command, json }) => tasks(&common, command.unwrap_or(Tasks::List), json).await,
        Some(Command::Sessions { command, json }) => sessions(&common, command, json),
        Some(Command::Compaction { command, json }) => compaction(&common, command, json),
        Some(Command::Notes { command }) => notes(&common, &command),
        Some(Command::Models { provider, refresh, json }) => {
            let setup = cli::models::Setup { provider, refresh, json, look: look(&common, &io::stdout()) };
            let shown = cli::models::models(&common, &setup).await;
            shown.unwrap_or_else(|error| complain(error.exit, &error.why))
        }
        Some(Command::Permissions { command, json }) => {
            let shown = cli::permissions::permissions(&common, command.as_ref(), json, look(&common, &io::stdout()));
            shown.unwrap_or_else(|error| complain(error.exit, &error.why))
        }
        Some(Command::Doctor(asked)) => cli::doctor::doctor(&common, look(&common, &io::stdout()), asked),
        Some(Command::Config { command, json }) => {
            let Settings::Show { origin } = command.unwrap_or(Settings::Show { origin: false });
            let shown = cli::settings::show(&common, look(&common, &io::stdout()), origin, json);
            shown.unwrap_or_else(|error| complain(error.exit, &error.why))
        }
        Some(Command::Completions { shell }) => cli::man::completions(shell),
        Some(Command::Man { dir }) => cli::man::man(dir.as_deref()).unwrap_or_else(|why| complain(Exit::Failed, &why)),
        Some(Command::Tool { command, json }) => tools(&common, command.unwrap_or(Tools::List), json).await,
        Some(Command::Init { dir }) => init(&common, dir),
    }
}

async fn prompt(common: &Common) -> Exit {
    // A script cannot look.
    let seen = io::stdin().is_terminal() && io::stdout().is_terminal();
    let (mut ready, feed) = match cli::ready::ready(common, Stay::Prompt { seen }).await {
        Ok(ready) => ready,
        Err(error) => return complain(error.exit, &error.why),
    };
    let theme = Theme::named(ready.theme).unwrap_or_default();
    let look = Look { theme, ..look(common, &io::stdout()) };
    let setup = repl::Setup {
        look,
        headline: ready.headline(),
        warnings: ready.warnings.clone(),
        root: ready.root.clone(),
        history: ready.state.join("history"),
        resumed: ready.resumed,
        dumb: is_still(common),
    };
    let ended = repl::run(&ready.runtime, &ready.session, feed, setup).await;
    ready.end().await;
    if let Some(fault) = ready.recording_fault() {
        return complain(Exit::Failed, &fault);
    }
    ended.unwrap_or_else(|error| complain(Exit::Failed, &format!("cannot use the terminal: {error}")))
}

fn said(words: &Run) -> Result<Said, String> {
    // The pictures first: a wrong one is told before anybody types a prompt on stdin.
    let images = cli::image::read(&words.image)?;
    let piped = words.prompt.is_empty() && !io::stdin().is_terminal();
    let text = if piped { cli::run::prompt(&["-".to_owned()])? } else { cli::run::prompt(&words.prompt)? };
    Ok(Said { text, images })
}

async fn run(common: &Common, words: &Run) -> Result<Exit, String> {
    // What cannot be done at the end is told before a model is asked.
    let schema = words.json_schema.as_deref().map(Schema::open).transpose()?;
    let output = words.output.as_deref().map(Output::open).transpose()?;
    let prompt = said(words)?;
    let setup = cli::run::Setup { wait: words.wait, output, schema, ..shown(common, words.json) };
    Ok(cli::run::run(cli::ready::answering(common, &words.most).await, Course::Prompt(prompt), &setup).await)
}

async fn resume(common: &Common, ids: &[String], json: bool) -> Exit {
    cli::resume::resume(common, ids, &shown(common, json.then_some(Dialect::Own))).await
}

/// How a run is shown here; one that waits for its tasks.
fn shown(common: &Common, json: Option<Dialect>) -> cli::run::Setup {
    let stderr = io::stderr();
    let width = stderr.is_terminal().then(columns).flatten();
    let in_place = width.is_some() && !is_still(common);
    cli::run::Setup { json, wait: true, look: look(common, &stderr), width, in_place, output: None, schema: None }
}

async fn replay(common: &Common, file: &Path, json: bool, fast: bool) -> Exit {
    cli::replay::replay(common, file, fast, &shown(common, json.then_some(Dialect::Own))).await
}

/// Columns of the terminal. To be asked only when there is one: without, two programs would be started to find out.
fn columns() -> Option<usize> {
    crossterm::terminal::size().ok().map(|(columns, _)| columns.into())
}

async fn demo(common: &Common) -> Exit {
    let stdout = io::stdout();
    let width = stdout.is_terminal().then(columns).flatten().unwrap_or(100);
    let setup = cli::demo::Setup { look: look(common, &stdout), width, parent: std::env::temp_dir() };
    cli::demo::demo(&setup).await
}

async fn tasks(common: &Common, command: Tasks, json: bool) -> Exit {
    let workspace = match cli::ready::workspace(common) {
        Ok(workspace) => workspace,
        Err(error) => return complain(error.exit, &error.why),
    };
    let orders = cli::orders::Setup {
        workspace: &workspace,
        look: look(common, &io::stdout()),
        json,
        in_place: !is_still(common),
    };
    match (cli::orders::orders(&command, &orders).await, &command) {
        (None, _) => {}
        (Some(Err(error)), Tasks::Resume { ids }) if error.is_alone() => return resume(common, ids, json).await,
        (Some(Err(error)), _) if error.nobody_reads() => return Exit::Done,
        (Some(ordered), _) => return ordered.unwrap_or_else(|error| complain(error.exit(), &error.to_string())),
    }
    let setup = cli::tasks::Setup {
        workspace: &workspace,
        look: look(common, &io::stdout()),
        json,
        live: cli::tasks::live(&workspace).await,
    };
    match cli::tasks::tasks(&command, &setup).await {
        Ok(exit) => exit,
        Err(error) if error.nobody_reads() => Exit::Done,
        Err(error) => complain(error.exit(), &error.to_string()),
    }
}

fn sessions(common: &Common, command: Option<Sessions>, json: bool) -> Exit {
    let workspace = match cli::ready::workspace(common) {
        Ok(workspace) => workspace,
        Err(error) => return complain(error.exit, &error.why),
    };
    let stdout = io::stdout();
    let width = stdout.is_terminal().then(columns).flatten();
    let setup = cli::sessions::Setup { workspace: &workspace, look: look(common, &stdout), json, width };
    let all = Sessions::List { archived: false, trash: false, limit: None };
    match cli::sessions::sessions(&command.unwrap_or(all), &setup) {
        Ok(exit) => exit,
        Err(error) if error.nobody_reads() => Exit::Done,
        Err(error) => complain(error.exit(), &error.to_string()),
    }
}

fn compaction(common: &Common, command: Option<Compaction>, json: bool) -> Exit {
    let config = match cli::ready::settings(common) {
        Ok(config) => config,
        Err(error) => return complain(error.exit, &error.why),
    };
    let (workspace, session, limits) = (&config.workspace, common.session.as_deref(), &config.main);
    let setup = cli::compaction::Setup { workspace, session, limits, look: look(common, &io::stdout()), json };
    match cli::compaction::compaction(&command.unwrap_or(Compaction::List), &setup) {
        Ok(exit) => exit,
        Err(error) if error.nobody_reads() => Exit::Done,
        Err(error) => complain(error.exit(), &error.to_string()),
    }
}

fn notes(common: &Common, command: &Notes) -> Exit {
    let workspace = match cli::ready::workspace(common) {
        Ok(workspace) => workspace,
        Err(error) => return complain(error.exit, &error.why),
    };
    match cli::notes::notes(command, &workspace) {
        Ok(exit) => exit,
        Err(error) if error.nobody_reads() => Exit::Done,
        Err(error) => complain(error.exit(), &error.to_string()),
    }
}

async fn tools(common: &Common, command: Tools, json: bool) -> Exit {
    let config = match cli::ready::settings(common) {
        Ok(config) => config,
        Err(error) => return complain(error.exit, &error.why),
    };
    let setup = cli::tools::Setup { config: &config, look: look(common, &io::stdout()), json };
    match cli::tools::tools(&command, &setup).await {
        Ok(exit) => exit,
        Err(error) if error.nobody_reads() => Exit::Done,
        Err(error) => complain(error.exit(), &error.to_string()),
    }
}

fn init(common: &Common, dir: Option<PathBuf>) -> Exit {
    let done = cli::init::init(common, dir, look(common, &io::stdout()));
    done.unwrap_or_else(|error| complain(error.exit, &error.why))
}

fn look(common: &Common, stream: &impl IsTerminal) -> Look {
    let plain = is_plain(common);
    let color = if plain && common.color != When::Always { When::Never } else { common.color };
    Look::choose(color.into(), &env, stream).in_words(plain)
}

/// The prompt is lines in and lines out.
fn is_still(common: &Common) -> bool {
    is_plain(common) || is_dumb(&env)
}

fn is_plain(common: &Common) -> bool {
    common.plain || env("TILLERMAN_PLAIN").is_some_and(|value| !["", "0"].contains(&value.trim()))
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn complain(exit: Exit, why: &str) -> Exit {
    // When stderr is gone too, the exit code has to do.
    let _ = writeln!(io::stderr().lock(), "tillerman: {why}");
    exit
}

/// Help and version are what was asked for; all else is a slip, told with the nearest that exists.
fn misread(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let plain = Common { plain: words.iter().any(|word| word == "--plain"), ..Common::default() };
    let color = if is_plain(&plain) { ColorChoice::Never } else { When::in_words(words).into() };
    let shown = |look: Look| if look.color { error.render().ansi().to_string() } else { error.render().to_string() };
    // A reader that has gone needs no help.
    let _ = if error.use_stderr() {
        io::stderr().write_all(shown(Look::choose(color, &env, &io::stderr())).as_bytes())
    } else {
        io::stdout().write_all(shown(Look::choose(color, &env, &io::stdout())).as_bytes())
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let _ = writeln!(io::stderr().lock(), "\n  to ask something: tillerman run \"PROMPT\"");
    }
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
