//! Settings: which layer wins, what is refused, what is only warned about. Trust is in `trust`, the template in `init`.

mod cast;
mod compaction;
mod init;
mod strange;
mod trust;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use tempfile::TempDir;
use tillerman::agent::Limits;
use tillerman::config::{self, Agents, AgentsFrom, Config, CrewLimits, Durability, Flags, Place, THEMES};
use tillerman::terminal::theme::Theme;
use tillerman::tools::Enabled;
use tillerman::tools::preset::Preset;
use tillerman::workspace::Workspace;
use tillerman::workspace::policy::Profile;

/// A workspace, a home and an environment to load from.
pub(super) struct Scene {
    pub(super) dir: TempDir,
    env: BTreeMap<String, String>,
    pub(super) flags: Flags,
}

impl Scene {
    pub(super) fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("ws")).unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        Scene { dir, env: BTreeMap::new(), flags: Flags::default() }
    }

    pub(super) fn file(self, path: &str, text: &str) -> Scene {
        fs::write(self.dir.path().join(path), text).unwrap();
        self
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Scene {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(super) fn trusted(mut self) -> Scene {
        self.flags.trust = true;
        self
    }

    pub(super) fn model(mut self, model: &str) -> Scene {
        self.flags.model = Some(model.to_owned());
        self
    }

    pub(super) fn url(mut self, url: &str) -> Scene {
        self.flags.base_url = Some(url.to_owned());
        self
    }

    pub(super) fn workspace(&self) -> Workspace {
        Workspace::open(&self.dir.path().join("ws"), &self.dir.path().join("home")).unwrap()
    }

    pub(super) fn load(&self) -> Result<Config, config::ConfigError> {
        config::load(self.workspace(), &self.flags, &|name| self.env.get(name).cloned())
    }

    pub(super) fn config(&self) -> Config {
        self.load().unwrap()
    }

    /// The error with the temporary folder cut out of it.
    pub(super) fn error(&self) -> String {
        self.short(&self.load().unwrap_err().to_string())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.config().warnings.iter().map(|warning| self.short(warning)).collect()
    }

    fn short(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.dir.path().canonicalize().unwrap().display()), "")
    }
}

fn front(lines: &str) -> String {
    format!("---\n{lines}\n---\nnotes\n")
}

/// A setting and where it came from, in words.
fn origin(scene: &Scene, key: &str) -> (String, String) {
    let config = scene.config();
    let origin = config.origins.iter().find(|origin| origin.key == key).unwrap();
    (origin.value.clone(), scene.short(&origin.from.to_string()))
}

#[test]
fn without_any_file_the_defaults_count_and_the_pilot_answers() {
    let scene = Scene::new();
    let config = scene.config();
    let pilot_window = config.models.window(&config.choice.id);
    let limits = Limits { max_turns: None, max_tokens: 4096, context_window: pilot_window, ..Limits::default() };
    assert_eq!(config.choice.id.to_string(), "pilot/pilot");
    assert_eq!(config.main, Limits { parallel: true, ..limits.clone() });
    assert_eq!(config.worker, Limits { max_turns: Some(100), parallel: true, ..limits });
    assert_eq!(config.crew, CrewLimits { running: 8, queued: 1_024, depth: 1 });
    assert_eq!(config.shell_timeout, Duration::from_secs(120));
    assert_eq!((config.profile, config.durability), (Profile::WorkspaceWrite, Durability::Turn));
    assert_eq!((config.tools, config.trusted, config.warnings), (Enabled::default(), false, Vec::new()));
    assert!(config.origins.iter().all(|o| matches!(o.from, Place::Default | Place::Model)), "{:?}", config.origins);
}

#[test]
fn each_layer_wins_over_those_before_it() {
    let scene = Scene::new().trusted();
    assert_eq!(origin(&scene, "workers"), ("8".into(), "default".into()));
    let scene = scene.file("home/config.yaml", "# mine\nworkers: 2\n");
    assert_eq!(origin(&scene, "workers"), ("2".into(), "home/config.yaml line 2".into()));
    let scene = scene.file("ws/config.md", &front("name: x\nworkers: 3"));
    assert_eq!(origin(&scene, "workers"), ("3".into(), "ws/config.md line 3".into()));
    let scene = scene.file("ws/.env", "# mine\n\nTILLERMAN_WORKERS=4\n");
    assert_eq!(origin(&scene, "workers"), ("4".into(), "ws/.env line 3".into()));
    let scene = scene.env("TILLERMAN_WORKERS", "5");
    assert_eq!(origin(&scene, "workers"), ("5".into(), "TILLERMAN_WORKERS".into()));
    assert_eq!(scene.config().crew.running, 5);

    let scene = scene.env("TILLERMAN_MODEL", "openai/gpt-6-sol").model("pilot");
    assert_eq!(origin(&scene, "model"), ("pilot".into(), "--model".into()));
    assert_eq!(scene.config().choice.id.to_string(), "pilot/pilot");
}

#[test]
fn a_key_without_a_value_leaves_it_to_the_layers_below() {
    let scene = Scene::new().trusted().file("home/config.yaml", "workers: 2").file("ws/config.md", &front("workers:"));
    assert_eq!(scene.config().crew.running, 2);
    let scene = scene.env("TILLERMAN_WORKERS", " ");
    assert_eq!(scene.config().crew.running, 2);
}

#[test]
fn every_setting_reaches_its_place() {
    let settings = "max_tokens: 1000\ncontext_window: 50000\nmax_turns: 5\nworker_max_turns: 6\nworkers: 1\nqueue: 0\n\
                    depth: 0\nparallel_tools: false\ntools: [shell, list]\nshell_timeout: 9\nprofile: curated\n\
                    durability: off\nagents: built-in\nagents_folder: team/agents\nsteer_boundary: turn\n\
                    keep_follow_ups: true\nworker_approval: ask\ntheme: light";
    let config = Scene::new().trusted().file("ws/config.md", &front(settings)).config();
    let steers = Limits { keep_follow_ups: true, steer_waits: true, ..Limits::default() };
    let limits = Limits { max_tokens: 1000, context_window: 50_000, parallel: false, ..steers };
    assert_eq!(config.main, Limits { max_turns: Some(5), ..limits.clone() });
    assert_eq!(config.worker, Limits { max_turns: Some(6), ..limits });
    assert_eq!(config.crew, CrewLimits { running: 1, queued: 0, depth: 0 });
    let two = Enabled::read(&["shell", "list"]).unwrap();
    assert_eq!((&config.tools, config.worker_approval), (&two, tillerman::message::Approval::Ask));
    assert_eq!(config.theme, "light");
    assert_eq!(THEMES, Theme::NAMES.map(|(name, _)| name), "the settings name the themes there are");
    let folder = Some(config.workspace.root().join("team/agents"));
    assert_eq!(config.agents, Agents { from: AgentsFrom::BuiltIn, folder, foreign: None });
    assert_eq!(config.shell_timeout, Duration::from_secs(9));
    assert_eq!((config.profile, config.durability), (Profile::Curated, Durability::Off));
    let of = |settings: &str| {
        let config = Scene::new().trusted().file("ws/config.md", &front(settings)).config();
        (config.output, config.shell_timeout.as_secs(), config.leave)
    };
    assert_eq!(of("shell_timeout:"), (Preset::S0, 120, true));
    assert_eq!(of("output: s2"), (Preset::S2, 30, true));
    assert_eq!(of("output: s3\nshell_timeout: 9\nat_deadline: kill"), (Preset::S3, 9, false));
    let config = Scene::new().env("TILLERMAN_TOOLS", " shell, list ,").env("TILLERMAN_MAX_TOKENS", "8_000").config();
    assert_eq!((config.tools, config.main.max_tokens), (two, 8000));
}

/// C-8: a main agent has no limit of turns unless somebody sets one, a worker has one unless somebody lifts it.
#[test]
fn c8_a_limit_of_turns_is_set_or_lifted_for_main_agent_and_workers_apart() {
    let turns = |settings: &str| {
        let config = Scene::new().trusted().file("ws/config.md", &front(settings)).config();
        (config.main.max_turns, config.worker.max_turns)
    };
    assert_eq!(turns("name: x"), (None, Some(100)));
    assert_eq!(turns("max_turns: 5\nworker_max_turns: off"), (Some(5), None));
    let config = Scene::new().env("TILLERMAN_MAX_TURNS", "7").config();
    assert_eq!(config.main.max_turns, Some(7));
}

#[test]
fn an_effort_that_the_model_does_not_know_is_told() {
    let scene = Scene::new().trusted().file("ws/config.md", &front("model: llamacpp/m\neffort: off\ntemperature: 0.7"));
    let expected = "effort off in ws/config.md line 3 not used: nothing is known of how to ask llamacpp/m for it";
    assert_eq!(scene.warnings(), [expected]);
    let scene = Scene::new().trusted().file("ws/config.md", &front("model: pilot/pilot\neffort: high"));
    assert_eq!(scene.warnings(), [""; 0]);
}

#[test]
fn the_provider_and_the_model_of_one_layer_belong_together() {
    let table = [
        ("", "provider: anthropic\nmodel: claude-x", "anthropic/claude-x"),
        ("", "model: openai/gpt-x", "openai/gpt-x"),
        ("", "provider: openrouter\nmodel: anthropic/claude-x", "openrouter/anthropic/claude-x"),
        ("", "provider: anthropic\nmodel: anthropic/claude-x", "anthropic/claude-x"),
        ("provider: anthropic\nmodel: claude-x", "model: claude-y", "anthropic/claude-y"),
        ("provider: anthropic\nmodel: claude-x", "model: openai/gpt-x", "openai/gpt-x"),
        ("provider: anthropic\nmodel: claude-x", "provider: pilot", "pilot/pilot"),
    ];
    for (home, own, expected) in table {
        let scene = Scene::new().file("home/config.yaml", home).file("ws/config.md", &front(own));
        assert_eq!(scene.config().choice.id.to_string(), expected, "{home:?} {own:?}");
    }
    let scene = Scene::new().file("ws/config.md", &front("model: pilot/pilot"));
    assert_eq!(scene.short(&scene.config().choice.why), "named in ws/config.md line 2");
}

#[test]
fn an_address_goes_only_to_the_provider_it_was_written_for() {
    let scene = Scene::new().file("home/config.yaml", "provider: openai\nmodel: m\nbase_url: http://127.0.0.1:9/v1\n");
    assert_eq!(scene.warnings(), [""; 0]);
    let scene = scene.model("anthropic/claude-x");
    assert_eq!(
        scene.warnings(),
        ["base_url in home/config.yaml line 3 not used: it belongs to openai/m, not to anthropic/claude-x"]
    );
    let scene = scene.model("openai/other");
    assert_eq!(scene.warnings(), [""; 0]);
    assert_eq!(
        Scene::new().url("http://127.0.0.1:9/v1").error(),
        "base_url in --base-url belongs to no model; name one too, for example -m openai/MODEL"
    );
    assert!(Scene::new().url("ftp://x").model("openai/m").error().ends_with("(asked for in --base-url)"));
}

#[test]
fn values_out_of_their_range_are_refused_with_place_and_remedy() {
    let table = [
        ("max_tokens: 0", "max_tokens is 0 in ws/config.md line 2; it must be a whole number from 1 to 1000000"),
        ("max_tokens: -1", "max_tokens is -1 in ws/config.md line 2; it must be a whole number from 1 to 1000000"),
        ("max_tokens: 1.5", "max_tokens is 1.5 in ws/config.md line 2; it must be a whole number from 1 to 1000000"),
        ("max_tokens: many", "max_tokens is many in ws/config.md line 2; it must be a whole number from 1 to 1000000"),
        ("max_tokens: [1]", "max_tokens is 1 in ws/config.md line 2; it must be a whole number from 1 to 1000000"),
        ("context_window: 2000", "max_tokens is 4096 in default; it must be below the context window of 2000"),
        ("workers: 0", "workers is 0 in ws/config.md line 2; it must be a whole number from 1 to 10000"),
        ("workers: 10001", "workers is 10001 in ws/config.md line 2; it must be a whole number from 1 to 10000"),
        ("shell_timeout: 601", "shell_timeout is 601 in ws/config.md line 2; it must be a whole number from 1 to 600"),
        ("max_turns: 0", "max_turns is 0 in ws/config.md line 2; it must be a whole number from 1 to 1000000, or off"),
        ("steer_boundary: soon", "steer_boundary is soon in ws/config.md line 2; it must be one of call, turn"),
        ("parallel_tools: maybe", "parallel_tools is maybe in ws/config.md line 2; it must be true or false"),
        ("temperature: hot", "temperature is hot in ws/config.md line 2; it must be a number from 0 to 2"),
        ("temperature: 2.1", "temperature is 2.1 in ws/config.md line 2; it must be a number from 0 to 2"),
        (
            "effort: hard",
            "effort is hard in ws/config.md line 2; it must be one of off, minimal, low, medium, high, max",
        ),
        ("protocol: words", "protocol is words in ws/config.md line 2; it must be one of native, react, auto"),
        ("durability: never", "durability is never in ws/config.md line 2; it must be one of always, turn, off"),
        (
            "profile: root",
            "profile is root in ws/config.md line 2; it must be one of \
             workspace-write, read-only, free, workspace, curated, task",
        ),
        ("tools: [shell, gerp]", "tools in ws/config.md line 2: there is no tool or group gerp; did you mean grep?"),
        (
            "tools: 3",
            "tools is 3 in ws/config.md line 2; it must be a list of tools and groups, like [default, web, -grep]",
        ),
        ("model: 3", "model is 3 in ws/config.md line 2; it must be text like anthropic or claude-sonnet-5-5"),
    ];
    for (line, expected) in table {
        assert_eq!(Scene::new().trusted().file("ws/config.md", &front(line)).error(), expected, "{line}");
    }
    let error = Scene::new().file("ws/config.md", &front("model: antropic/x")).error();
    assert!(
        error.contains("did you mean anthropic?") && error.ends_with("(asked for in ws/config.md line 2)"),
        "{error}"
    );
}

#[test]
fn unknown_settings_are_named_with_their_line_and_the_nearest_one() {
    let scene = Scene::new().file("ws/config.md", &front("maxTokens: 5\nworker: 3\nsandbox: off\ndescription: mine"));
    let expected = [
        "unknown setting `maxTokens` in ws/config.md line 2; did you mean `max_tokens`?",
        "unknown setting `worker` in ws/config.md line 3; did you mean `workers`?",
        "unknown setting `sandbox` in ws/config.md line 4",
    ];
    assert_eq!(scene.warnings(), expected);
}

#[test]
fn broken_files_are_refused_with_line_and_column() {
    let table = [
        (
            "ws/config.md",
            "---\nmodel: x\nmax_tokens: a: b\n---\n",
            "the frontmatter of ws/config.md is wrong at line 3, column 14: mapping values are not allowed in this context",
        ),
        (
            "ws/config.md",
            "---\nmodel: x\n",
            "the frontmatter of ws/config.md is not closed; add a line --- after the settings",
        ),
        (
            "ws/config.md",
            "---\n- model\n---\n",
            "the frontmatter of ws/config.md is wrong at line 2, column 1: invalid type: sequence, expected a map",
        ),
        (
            "home/config.yaml",
            "workers: 1\nmodel: a: b\n",
            "home/config.yaml is wrong at line 2, column 9: mapping values are not allowed in this context",
        ),
        (
            "home/trust.yaml",
            "/x: [1]\n",
            "home/trust.yaml is wrong at line 1, column 5: /x: invalid type: sequence, expected struct Trusted",
        ),
    ];
    for (path, text, expected) in table {
        assert_eq!(Scene::new().file(path, text).error(), expected);
    }
    let scene = Scene::new();
    fs::create_dir(scene.dir.path().join("home/config.yaml")).unwrap();
    assert_eq!(scene.error(), "cannot use home/config.yaml: Is a directory (os error 21)");
}

/// Of two the first would count for nothing without a word, a list of what is denied included.
#[test]
fn a_key_that_stands_twice_is_refused_with_its_line() {
    let home = |text: &str| Scene::new().file("home/config.yaml", text).error();
    let own = |text: &str| Scene::new().trusted().file("ws/config.md", text).error();
    let twice = |file: &str, line: usize, key: &str| {
        format!("{file} is wrong at line {line}, column 1: `{key}` stands there twice; keep one of them")
    };
    assert_eq!(home("model: a/b\n\nworkers: 2\n\"model\": c/d\n"), twice("home/config.yaml", 4, "model"));
    let rules = "permissions:\n  deny: [shell]\n  allow: [read_file]\n  deny: []\nworkers: 2\n";
    assert_eq!(home(rules), twice("home/config.yaml", 4, "deny"));
    let front = "the frontmatter of ws/config.md";
    assert_eq!(own("---\nworkers: 2\nworkers: 3\n---\nworkers: 4\n"), twice(front, 3, "workers"));
    assert_eq!(own("---\nworkers: 2\nworkers: 3\n---"), twice(front, 3, "workers"));
    let deep = format!("workers: 2\na: {}", "[".repeat(100_000));
    assert_eq!(home(&deep), "home/config.yaml is wrong at line 2, column 132: nested too deeply");
    assert_eq!(Scene::new().file("home/config.yaml", "").warnings(), Vec::<String>::new());
}
