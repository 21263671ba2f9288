//! What rules say about calls (S02, S03, S20, S21, P16), and what a gate does about it. That commands have no other effect
//! than their rules say is for the walls to hold.

mod bypass;
mod doors;

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tillerman::message::{CallId, RawArgs};
use tillerman::tool::{FnTool, Tool, ToolContext, ToolOutput};
use tillerman::tools::gate::{Answer, Asker, Ground, Keeper, Request, Rule, Rules, Verdict, shown};
use tokio_util::sync::CancellationToken;

use Verdict::{Allow, Ask, Deny};

pub fn ground() -> Ground {
    Ground { root: "/nonexistent/here".into(), home: Some("/nonexistent/home".into()) }
}

pub fn rules(written: &[(Verdict, &str)], otherwise: Verdict) -> Rules {
    let read = |(verdict, text): &(Verdict, &str)| Rule::read(text, *verdict, "here".into(), &ground()).unwrap();
    Rules::new(written.iter().map(read).collect(), otherwise, ground())
}

pub fn shell(rules: &Rules, command: &str) -> Verdict {
    rules.judge("shell", &json!({ "command": command }), Path::new("/nonexistent/here")).verdict
}

fn path(rules: &Rules, tool: &str, path: &str) -> Verdict {
    rules.judge(tool, &json!({ "path": path }), Path::new("/nonexistent/here")).verdict
}

#[test]
fn deny_goes_before_ask_and_ask_before_allow_however_special_a_rule_is() {
    let all = rules(
        &[
            (Allow, "Bash(git push origin main)"),
            (Ask, "Bash(git push:*)"),
            (Deny, "Bash(git push --force*)"),
            (Allow, "shell"),
        ],
        Ask,
    );
    let said = |command| shell(&all, command);
    assert_eq!(said("git push origin main"), Ask);
    assert_eq!(said("git push --force origin"), Deny);
    assert_eq!(said("git status"), Allow);
    assert_eq!(said("git pushy"), Allow, "a prefix ends at a word");
}

#[test]
fn patterns_of_commands_are_read_as_others_write_them() {
    let said = |rule, command| shell(&rules(&[(Allow, rule)], Ask), command);
    for (rule, command, verdict) in [
        ("Bash(npm run:*)", "npm run test --all", Allow),
        ("Bash(npm run:*)", "npm run", Allow),
        ("Bash(npm run:*)", "npm running", Ask),
        ("shell(git * main)", "git merge --ff main", Allow),
        ("shell(git * main)", "git merge other", Ask),
        ("shell(ls *)", "ls", Allow),
        ("shell(ls *)", "lsof", Ask),
        ("shell(make)", "make", Allow),
        ("shell(make)", "make all", Ask),
        ("Bash", "anything at all", Allow),
    ] {
        assert_eq!(said(rule, command), verdict, "{rule}: {command}");
    }
}

#[test]
fn every_part_of_a_command_must_be_allowed() {
    let rules = rules(&[(Allow, "shell(echo:*)"), (Allow, "shell(ls:*)")], Ask);
    for command in
        ["echo a && ls -l", "echo a; ls | ls\nls", "echo $(ls x) done", "echo \"in $(ls)\"", "ls 2>&1 >/dev/null &"]
    {
        assert_eq!(shell(&rules, command), Allow, "{command}");
    }
    for command in
        ["echo a && rm x", "echo $(rm x)", "echo a; FOO=1 ls", "ls > x", "echo `ls`", "(rm x)", "echo a & rm x"]
    {
        assert_eq!(shell(&rules, command), Ask, "{command}");
    }
}

#[test]
fn s03_what_is_too_long_or_too_much_is_asked() {
    let rules = rules(&[(Allow, "shell(true:*)"), (Deny, "shell(rm:*)")], Allow);
    assert_eq!(shell(&rules, &vec!["true"; 50].join(";")), Allow);
    assert_eq!(shell(&rules, &vec!["true"; 51].join(";")), Ask);
    assert_eq!(shell(&rules, &format!("true {}", "x".repeat(1 << 20))), Ask);
    assert_eq!(shell(&rules, &format!("{}true{}", "$(".repeat(20), ")".repeat(20))), Ask);
    assert_eq!(shell(&rules, "cat <<E\nsome text\nE"), Ask);
}

#[test]
fn paths_are_matched_as_in_a_gitignore_under_every_name_of_the_file() {
    let rules = rules(
        &[(Deny, "Edit(./config/**)"), (Deny, "Read(~/.ssh/**)"), (Ask, "Edit(//etc/**)"), (Ask, "Read(*.pem)")],
        Allow,
    );
    for (tool, asked, verdict) in [
        ("edit_file", "config/a.yaml", Deny),
        ("write_file", "src/../config/a.yaml", Deny),
        ("write_file", "/nonexistent/here/config/deep/er", Deny),
        ("write_file", "src/config/a", Allow),
        ("read_file", "config/a.yaml", Allow),
        ("read_file", "~/.ssh/id_rsa", Deny),
        ("grep", "/nonexistent/home/.ssh", Deny),
        ("write_file", "/etc/passwd", Ask),
        ("read_file", "deep/down/key.pem", Ask),
    ] {
        assert_eq!(path(&rules, tool, asked), verdict, "{tool} {asked}");
    }
}

#[test]
fn addresses_agents_and_skills_have_rules_of_their_own() {
    let rules =
        rules(&[(Deny, "WebFetch(domain:*.example.com)"), (Ask, "Agent(coder)"), (Deny, "Skill(deploy*)")], Allow);
    let said = |tool, args: Value| rules.judge(tool, &args, Path::new("/")).verdict;
    assert_eq!(said("fetch_url", json!({"url": "https://www.EXAMPLE.com/x"})), Deny);
    assert_eq!(said("fetch_url", json!({"url": "https://other.org/?www.example.com"})), Allow);
    assert_eq!(said("dispatch", json!({"agent": "coder"})), Ask);
    assert_eq!(said("call_agent", json!({"agent": "tester"})), Allow);
    assert_eq!(said("load_skill", json!({"name": "deploy-it"})), Deny);
}

#[test]
fn arguments_that_can_be_read_in_two_ways_are_asked() {
    let rules = rules(&[(Deny, "shell(rm:*)")], Allow);
    let said = |args| rules.judge_raw("shell", args, Path::new("/")).verdict;
    assert_eq!(said(r#"{"command":"ls"}"#), Allow);
    for args in
        ["not json", r#"{"input":{"command":"rm x"}}"#, r#"{"command":"ls","cmd":"rm x"}"#, r#""{}""#, "[]", "{}"]
    {
        assert_eq!(said(args), Ask, "{args}");
    }
}

#[test]
fn rules_that_never_count_are_named_with_the_reason() {
    let written = [
        (Deny, "Bash"),
        (Allow, "Bash(ls:*)"),
        (Allow, "Nosuch"),
        (Allow, "WebFetch(https://example.com)"),
        (Allow, "mcp__*"),
        (Ask, "Bash(command:rm)"),
        (Allow, "Read(./src/**)"),
    ];
    let rules = rules(&written, Allow);
    let dead = rules.dead(&|tool| ["shell", "read_file", "fetch_url"].contains(&tool));
    let dead: Vec<String> = dead.iter().map(|dead| format!("{}: {}", dead.rule, dead.why)).collect();
    let expected = [
        "ask Bash(command:rm) (here): a command stands there as it is typed, without a name before it",
        "allow Bash(ls:*) (here): deny Bash (here) comes first and says all of it",
        "allow Nosuch (here): there is no tool Nosuch",
        "allow WebFetch(https://example.com) (here): an address is named by its domain: WebFetch(domain:example.com)",
        "allow mcp__* (here): a pattern that allows must name its server: mcp__server__*",
    ];
    assert_eq!(dead, expected);
}

#[test]
fn s2_33_commands_that_destroy_everything_are_asked_about_where_no_rule_allows_them() {
    let none = rules(&[], Allow);
    let feared = [
        "rm -rf /",
        "rm -fr /*",
        "sudo rm -r --no-preserve-root /",
        "rm -rf ~",
        "rm -r ~/",
        "cd x && rm -Rf /usr/",
        "rm -rf /etc/*",
        "chmod -R 777 /",
        "chown -R me /home",
        "mkfs.ext4 /dev/sda1",
        "dd if=x of=/dev/nvme0n1 bs=1M",
        "echo x > /dev/sda",
        "cat a >/dev/vda",
        ":(){ :|:& };:",
        "shutdown -h now",
        "systemctl poweroff",
        "init 0",
        "bash -c 'rm -rf /'",
        "wipefs -a /dev/sdb",
    ];
    for command in feared {
        assert_eq!(shell(&none, command), Ask, "{command}");
    }
    let plain = [
        "rm -rf target",
        "rm -rf ./build /tmp/x",
        "rm -f /etc/motd",
        "rm -rf \"$TMPDIR\"/*",
        "chmod -R u+w src",
        "mkfs.ext4 disk.img",
        "dd if=/dev/zero of=file",
        "echo x > /dev/null",
        "ls /",
        "grep -r shutdown /etc",
        "echo rm -rf /",
    ];
    for command in plain {
        assert_eq!(shell(&none, command), Allow, "{command}");
    }
    // A person's word counts for more.
    assert_eq!(shell(&rules(&[(Allow, "shell(shutdown:*)")], Allow), "shutdown -h now"), Allow);
    assert_eq!(shell(&rules(&[(Deny, "shell(rm:*)")], Allow), "rm -rf /"), Deny);
}

#[test]
fn p16_what_a_person_is_asked_hides_nothing() {
    let text = "rm \u{202e}txt.exe\u{200b} \u{e0041}\x1b[2K\r\nls\u{a0}";
    assert_eq!(shown(text), "rm \\u{202e}txt.exe\\u{200b} \\u{e0041}\\u{1b}[2K\\r\\nls\\u{a0}");
    assert!(shown(&"x".repeat(9_000)).ends_with("… and 7000 more characters"));
}

proptest! {
    #[test]
    fn s02_nothing_that_is_appended_makes_a_denied_command_pass(
        allowed in prop::sample::select(vec!["ls", "echo 'a b'", "ls -l \"x\"", "true"]),
        between in prop::sample::select(vec![";", "&&", "||", "|", "&", "\n", " ; ", ";;", "|&", "\t&&\n", "&\n"]),
        after in "[ -~\n]{0,12}",
    ) {
        let rules = rules(&[(Allow, "shell(ls:*)"), (Allow, "shell(echo:*)"), (Deny, "shell(rm:*)")], Allow);
        prop_assert_ne!(shell(&rules, &format!("{allowed}{between}rm {after}")), Allow);
    }

    #[test]
    fn s02_a_word_that_only_a_shell_understands_makes_an_allowed_command_asked(
        sign in prop::sample::select(vec!["`id`", "$(id)", "\nid", ";id", "&id", "|id", ">x", "<(id)", "<<E", "${x@P}", "&& id", "\r"]),
        before in "[a-z0-9 ./-]{0,8}",
        after in "[a-z0-9 ]{0,8}",
    ) {
        let rules = rules(&[(Allow, "shell(ls:*)")], Ask);
        prop_assert_eq!(shell(&rules, &format!("ls {before}")), Allow);
        prop_assert_ne!(shell(&rules, &format!("ls {before}{sign}{after}")), Allow);
    }

    #[test]
    fn a_command_of_anything_is_judged_without_harm(command in "\\PC{0,60}") {
        shell(&rules(&[(Deny, "shell(rm:*)")], Ask), &command);
    }
}

fn cx() -> ToolContext {
    ToolContext {
        call: CallId("c".into()),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        artifacts: "/nonexistent".into(),
        secrets: Default::default(),
    }
}

fn tool(name: &str) -> Arc<dyn Tool> {
    let act = |_: Map<String, Value>, _cx| async { Ok(ToolOutput::text("done")) };
    Arc::new(FnTool::new(name, "Does it.", true, act))
}

fn keeper(rules: Rules, asker: Option<Asker>) -> Keeper {
    Keeper { rules: Arc::new(rules), base: "/nonexistent/here".into(), around: "workspace-write".into(), asker }
}

async fn call(keeper: &Keeper, command: &str) -> Result<String, String> {
    let args = RawArgs(json!({ "command": command }).to_string());
    let called = keeper.before(tool("shell")).call(args, &cx()).await;
    called.map(|output| output.text).map_err(|error| error.to_string())
}

#[tokio::test]
async fn s21_what_must_be_asked_is_denied_where_nobody_answers() {
    let keeper = keeper(rules(&[(Ask, "shell(git push:*)"), (Deny, "shell(rm:*)")], Allow), None);
    assert_eq!(call(&keeper, "git status").await, Ok("done".into()));
    let why = "shell was not done: a person must allow it (ask shell(git push:*) (here)), and nobody can be asked; do without \
               it, or say what is missing";
    assert_eq!(call(&keeper, "git push").await, Err(why.into()));
    let why = "shell was not done: denied (deny shell(rm:*) (here)); do not try it in another way";
    assert_eq!(call(&keeper, "rm x").await, Err(why.into()));
}

#[tokio::test]
async fn s20_a_request_is_keyed_by_all_that_it_depends_on() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (asked, told) = (seen.clone(), seen.clone());
    let asker: Asker = Arc::new(move |request: Request| {
        asked.lock().unwrap().push(request);
        async { Answer::Yes }.boxed()
    });
    let one = keeper(rules(&[(Ask, "shell")], Allow), Some(asker));
    let others = [Keeper { base: "/elsewhere".into(), ..one.clone() }, Keeper { around: "full".into(), ..one.clone() }];
    assert_eq!(call(&one, "git push").await, Ok("done".into()));
    assert_eq!(call(&one, "git push").await, Ok("done".into()));
    assert_eq!(call(&one, "git push -f").await, Ok("done".into()));
    for other in &others {
        assert_eq!(call(other, "git push").await, Ok("done".into()));
    }
    let told = told.lock().unwrap();
    assert_eq!(told[0], told[1]);
    let mut keys: Vec<_> = told.iter().map(|request| request.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 4);
    assert_eq!((told[0].shown.as_str(), told[0].why.as_str()), (r#"{"command":"git push"}"#, "ask shell (here)"));
}

#[tokio::test]
async fn a_run_that_is_stopped_waits_for_no_person() {
    let asker: Asker = Arc::new(|_| std::future::pending().boxed());
    let keeper = keeper(rules(&[(Ask, "shell")], Allow), Some(asker));
    let cx = cx();
    cx.cancel.cancel();
    let called = keeper.before(tool("shell")).call(RawArgs(r#"{"command":"ls"}"#.into()), &cx).await;
    assert!(called.unwrap_err().to_string().contains("the run was stopped"));
}

#[test]
fn a_tool_that_no_rule_is_about_has_no_gate() {
    let keeper = keeper(rules(&[(Deny, "shell(rm:*)"), (Allow, "Read")], Allow), None);
    let (shell, read) = (tool("shell"), tool("read_file"));
    assert!(!Arc::ptr_eq(&keeper.before(shell.clone()), &shell));
    assert!(Arc::ptr_eq(&keeper.before(read.clone()), &read));
}
