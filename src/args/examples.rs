//! The examples that help shows: for each command what is typed, and what it does. Each of them works as it stands.

/// A line as it is typed, and what it does.
pub(super) type Example = (&'static str, &'static str);

/// Examples of a command, by its words; none of a command that is not known.
pub(super) fn of(path: &str) -> &'static [Example] {
    let found = [MAIN, TASKS, SESSIONS, OTHERS].into_iter().flatten().find(|(command, _)| *command == path);
    found.map_or(&[], |(_, examples)| examples)
}

type Examples = &'static [(&'static str, &'static [Example])];

const MAIN: Examples = &[
    (
        "",
        &[
            ("tillerman", "open a prompt in this folder"),
            ("tillerman run \"explain src/main.rs\"", "print one answer"),
            ("tillerman -c", "go on where you left"),
            ("tillerman tasks watch", "see all workers on one screen"),
            ("git diff | tillerman run \"review\" -", "add what a program prints"),
            ("tillerman run --wait \"fix the tests\"", "also wait for the workers"),
            ("tillerman -m pilot run \"17 * 4\"", "use no language model"),
            ("tillerman tasks steer t_001 \"be brief\"", "tell a worker something"),
            ("tillerman sessions search parser", "find where that was said"),
        ],
    ),
    (
        "run",
        &[
            ("tillerman run \"explain src/main.rs\"", "print the answer"),
            ("git diff | tillerman run \"review\" -", "add what a program prints"),
            ("tillerman run --wait \"fix the tests\"", "also wait for the workers"),
            ("tillerman run --json \"list the files\"", "print every event as JSON"),
            ("tillerman run -o answer.md \"sum it up\"", "also write the answer into a file"),
            ("tillerman run --max-turns 5 \"tidy up\"", "ask the model at most five times"),
            ("tillerman run --image plan.png \"explain\"", "show it a picture"),
            ("tillerman -c run \"and the tests?\"", "go on with the last conversation"),
        ],
    ),
    (
        "replay",
        &[
            ("tillerman --record day.json run \"list\"", "keep what the model says"),
            ("tillerman replay day.json", "play it again, without the model"),
            ("tillerman replay --fast day.json", "without the waits"),
        ],
    ),
    ("demo", &[("tillerman demo", "two workers, a few seconds")]),
    ("rpc", &[("tillerman rpc", "read commands from stdin as lines of JSON")]),
];

const TASKS: Examples = &[
    (
        "tasks",
        &[
            ("tillerman tasks", "list them"),
            ("tillerman tasks watch", "see all workers on one screen"),
            ("tillerman tasks dispatch \"fix the tests\"", "hand over work"),
            ("tillerman tasks steer t_001 \"be brief\"", "tell a worker something"),
        ],
    ),
    ("tasks list", &[("tillerman tasks list", "one line per task"), ("tillerman tasks list --json", "for programs")]),
    ("tasks show", &[("tillerman tasks show t_001", "what was asked, how far it is, what came out")]),
    ("tasks tail", &[("tillerman tasks tail t_001", "see what the worker says and does")]),
    ("tasks watch", &[("tillerman tasks watch", "Ctrl-C leaves; the workers go on")]),
    (
        "tasks dispatch",
        &[
            ("tillerman tasks dispatch \"fix the tests\"", "hand over work"),
            ("tillerman tasks dispatch - < brief.md", "the work is in a file"),
            ("tillerman tasks dispatch --budget '$0.50' \"tidy up\"", "for at most 50 cents"),
            ("tillerman tasks dispatch --after t_001 \"test it\"", "start when t_001 is over"),
            ("tillerman tasks dispatch --rows shops.csv \"check {{shop}}\"", "one task per row"),
        ],
    ),
    (
        "tasks steer",
        &[
            ("tillerman tasks steer t_001 \"keep the API\"", "heard before its next step"),
            ("tillerman tasks steer --wait t_001 \"stop\"", "wait until it is seen"),
        ],
    ),
    ("tasks follow-up", &[("tillerman tasks follow-up t_001 \"then test it\"", "heard when it would be done")]),
    (
        "tasks answer",
        &[
            ("tillerman tasks answer t_001 2", "take the second option"),
            ("tillerman tasks answer t_001 \"use SQLite\"", "answer in your own words"),
        ],
    ),
    (
        "tasks budget",
        &[
            ("tillerman tasks budget t_001", "what it has used"),
            ("tillerman tasks budget t_001 +0.25 +5m", "25 cents and five minutes more"),
            ("tillerman tasks budget t_001 400k 40 turns", "another limit"),
        ],
    ),
    ("tasks abort", &[("tillerman tasks abort t_001 t_002", "stop both")]),
    ("tasks continue", &[("tillerman tasks continue t_001 \"now the docs\"", "more work, same worker")]),
    ("tasks resume", &[("tillerman tasks resume t_001", "go on where it was stopped")]),
];

const SESSIONS: Examples = &[
    (
        "sessions",
        &[
            ("tillerman sessions", "list the conversations of this folder"),
            ("tillerman sessions search parser bug", "find where that was said"),
            ("tillerman sessions export -o talk.md", "write the latest one out"),
        ],
    ),
    (
        "sessions list",
        &[
            ("tillerman sessions list -n 5", "the last five"),
            ("tillerman sessions list --archived", "those that were put away"),
        ],
    ),
    (
        "sessions show",
        &[
            ("tillerman sessions show", "the latest one"),
            ("tillerman sessions show 20261121 --last 20", "the last 20 messages of another"),
            ("tillerman sessions show t_003", "what a worker said"),
        ],
    ),
    ("sessions search", &[("tillerman sessions search parser bug", "both words, in any conversation")]),
    ("sessions rename", &[("tillerman sessions rename latest Parser work", "give it this title")]),
    ("sessions tree", &[("tillerman sessions tree", "what was said, with all ways that were tried")]),
    ("sessions branches", &[("tillerman sessions branches", "the ways that were tried")]),
    ("sessions branch", &[("tillerman sessions branch latest m37", "go on from there; nothing is deleted")]),
    ("sessions switch", &[("tillerman sessions switch latest m52", "go to the end of another way")]),
    ("sessions fork", &[("tillerman sessions fork latest m37", "a new conversation that begins like this one")]),
    (
        "sessions export",
        &[
            ("tillerman sessions export", "print the latest one"),
            ("tillerman sessions export latest -f html -o talk.html", "as a web page"),
        ],
    ),
    ("sessions import", &[("tillerman sessions import old.json", "begin with what another program kept")]),
    ("sessions archive", &[("tillerman sessions archive 20261120", "put it away")]),
    ("sessions unarchive", &[("tillerman sessions unarchive 20261120", "take it back")]),
    ("sessions delete", &[("tillerman sessions delete 20261120", "it can be taken out of the trash again")]),
    (
        "sessions trash",
        &[("tillerman sessions trash", "look into it"), ("tillerman sessions trash restore 20261120", "take one out")],
    ),
    ("sessions trash list", &[("tillerman sessions trash list", "one line per conversation")]),
    ("sessions trash restore", &[("tillerman sessions trash restore 20261120", "take it out")]),
    ("sessions trash empty", &[("tillerman sessions trash empty", "remove for good; asks first")]),
];

const OTHERS: Examples = &[
    (
        "compaction",
        &[
            ("tillerman compaction", "when the conversation was shortened"),
            ("tillerman compaction show", "what stayed and what went the last time"),
        ],
    ),
    ("compaction list", &[("tillerman compaction list", "one line for each time")]),
    ("compaction show", &[("tillerman compaction show 2", "what stayed and what went the second time")]),
    ("compaction restore", &[("tillerman compaction restore m37", "the model sees these words again")]),
    ("compaction preview", &[("tillerman compaction preview", "what would stay and go now")]),
    ("notes", &[("tillerman notes export", "print what the main agent noted")]),
    (
        "notes export",
        &[
            ("tillerman notes export -o notes.json", "into a new file"),
            ("tillerman notes export --agent coder", "what another agent noted"),
        ],
    ),
    (
        "tool",
        &[
            ("tillerman tool", "list them"),
            ("tillerman tool show shell", "what it does and needs"),
            ("tillerman tool call calculator '{\"expression\":\"17*4\"}'", "run it"),
        ],
    ),
    ("tool list", &[("tillerman tool list", "every tool, and who has it")]),
    ("tool show", &[("tillerman tool show shell", "what it does and needs")]),
    (
        "tool call",
        &[
            ("tillerman tool call list", "what it finds in this folder"),
            ("tillerman tool call calculator '{\"expression\":\"17*4\"}'", "with an argument"),
        ],
    ),
    ("init", &[("tillerman init", "this folder"), ("tillerman init ~/notes", "another one, made if need be")]),
    (
        "models",
        &[
            ("tillerman models", "those that you have a key for"),
            ("tillerman models anthropic", "all of one provider"),
            ("tillerman models --refresh", "ask the providers first"),
        ],
    ),
    (
        "permissions",
        &[
            ("tillerman permissions", "list the rules"),
            ("tillerman permissions explain 'shell(git push)'", "what they say about this call"),
        ],
    ),
    ("permissions list", &[("tillerman permissions list", "in the order in which they count")]),
    (
        "permissions explain",
        &[("tillerman permissions explain 'shell(git push)'", "allowed, asked or denied, and why")],
    ),
    (
        "doctor",
        &[
            ("tillerman doctor", "what works here, and what does not"),
            ("tillerman doctor --summary", "only what does not"),
            ("tillerman doctor --json", "for programs"),
        ],
    ),
    (
        "config",
        &[
            ("tillerman config", "every setting and its value"),
            ("tillerman config show --origin", "and where each comes from"),
        ],
    ),
    (
        "config show",
        &[
            ("tillerman config show --origin", "every setting, and where it comes from"),
            ("tillerman config show --json", "for programs"),
        ],
    ),
    (
        "completions",
        &[
            ("tillerman completions bash > ~/.tillerman.bash", "then: source ~/.tillerman.bash"),
            ("tillerman completions zsh > ~/.zfunc/_tillerman", "a folder of your fpath"),
            ("tillerman completions fish > ~/.config/fish/completions/tillerman.fish", "fish finds it there"),
        ],
    ),
    (
        "man",
        &[
            ("tillerman man | man -l -", "read it"),
            ("tillerman man ~/.local/share/man/man1", "then: man tillerman-tasks"),
        ],
    ),
];
