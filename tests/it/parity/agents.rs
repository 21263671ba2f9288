//! Promises about named agents: what their models are shown, and what limits their work.

use std::sync::Arc;

use serde_json::json;
use tillerman::model::Model;
use tillerman::runtime::{Open, Runtime};
use tillerman::task::{Brief, TaskStatus};

use super::crew::{Seen, Shown, showing};
use crate::runtime::{Ask, Boat, Ground, boat, boat_with, calls, played, says};

fn agent(ground: &Ground, name: &str, text: &str) {
    let folder = ground.root().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn brief(agent: Option<&str>) -> Brief {
    Brief { body: "count the lines".into(), agent: agent.map(str::to_owned), ..Brief::default() }
}

/// What the first call of each of these tasks was shown, after all of them are over.
async fn workers<const N: usize>(boat: &Boat, shown: &Shown, agents: [Option<&str>; N]) -> [Seen; N] {
    for agent in agents {
        boat.runtime.dispatch(&boat.session, brief(agent)).await.unwrap();
    }
    boat.idle().await;
    let seen = shown.lock().unwrap().clone();
    let of = |task: usize| {
        let head = format!("Task t_{:03}", task + 1);
        let mut first = seen.iter().find(|seen| seen.text.starts_with(&head)).cloned().unwrap();
        first.tools.sort();
        first
    };
    std::array::from_fn(of)
}

#[tokio::test]
async fn s1_30_s1_31_a_file_of_an_agent_says_its_text_its_tools_its_skills_and_its_limit() {
    let shown = Shown::default();
    let steps = |ask: &Ask| match ask.is_worker() && !ask.tools.is_empty() {
        true => calls([("shell", json!({"command": "true"}))]),
        false => says("so far"),
    };
    let mut boat = boat(showing(&shown, steps)).await;
    let file = "---\nname: counter\ndescription: Counts.\ntools: [shell]\nskills: [writing]\nmax_steps: 2\n---\n\
                You count, as in {{task}}, exactly.\n";
    agent(&boat.ground, "c", file);
    boat.runtime.dispatch(&boat.session, brief(Some("counter"))).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.trim()), (TaskStatus::LimitTurns, "so far"));
    let [counter] = {
        boat.idle().await;
        let seen = shown.lock().unwrap().clone();
        let asked: Vec<usize> = seen.iter().filter(|seen| seen.is_worker).map(|seen| seen.tools.len()).collect();
        assert_eq!(asked, [1, 1, 0], "two steps, and one without tools that sums up");
        [seen.into_iter().find(|seen| seen.is_worker).unwrap()]
    };
    assert!(counter.system.contains("You count, as in count the lines, exactly."), "{}", counter.system);
    assert!(counter.system.contains("Skill writing, built in.") && !counter.system.contains("coding"));
    assert_eq!(counter.tools, ["shell"]);
}

#[tokio::test]
async fn s1_33_s1_34_an_agent_has_the_tools_it_lists_or_all_and_never_call_agent() {
    for (depth, listed) in [(1, vec!["read_file"]), (2, vec!["dispatch", "read_file"])] {
        let shown = Shown::default();
        let boat = boat_with(showing(&shown, |_| says("done")), |config| config.crew.depth = depth).await;
        agent(&boat.ground, "lists", "---\ndescription: d\ntools: [read_file, call_agent, dispatch]\n---\n");
        agent(&boat.ground, "omits", "---\ndescription: d\n---\n");
        let [lists, omits, plain] = workers(&boat, &shown, [Some("lists"), Some("omits"), None]).await;
        assert_eq!(lists.tools, listed, "at depth {depth}");
        let all: Vec<&String> = omits.tools.iter().filter(|tool| *tool != "note").collect();
        assert_eq!(all, plain.tools.iter().collect::<Vec<_>>(), "what is not listed is everything, and its notes");
        assert!(all.len() > 8 && !omits.tools.contains(&"call_agent".to_owned()), "{omits:?}");
    }
}

/// T01: a tool that is usually off comes with a role that names it, unless the role is that of a strange workspace.
#[tokio::test]
async fn s4_20_an_agent_that_names_a_tool_that_is_usually_off_has_it() {
    for (trusted, listed) in [(true, vec!["current_time", "read_file"]), (false, vec!["read_file"])] {
        let shown = Shown::default();
        let boat = boat_with(showing(&shown, |_| says("done")), |config| config.trusted = trusted).await;
        agent(&boat.ground, "clock", "---\ndescription: d\ntools: [read_file, get_current_time]\n---\n");
        let [clock, plain] = workers(&boat, &shown, [Some("clock"), None]).await;
        assert_eq!(clock.tools, listed, "trusted: {trusted}");
        assert!(!plain.tools.contains(&"current_time".to_owned()), "{:?}", plain.tools);
    }
}

#[tokio::test]
async fn s1_32_s1_40_the_settings_switch_agents_name_their_folder_and_bound_the_depth() {
    let settings = "agents: built-in\nagents_folder: team\ndepth: 2\n";
    let ground = Ground::new();
    std::fs::create_dir_all(ground.path().join("home")).unwrap();
    std::fs::write(ground.path().join("home/config.yaml"), settings).unwrap();
    agent(&ground, "own", "---\ndescription: of the workspace\n---\n");
    std::fs::create_dir(ground.root().join("team")).unwrap();
    std::fs::write(ground.root().join("team/mate.md"), "---\ndescription: of the team\n---\n").unwrap();
    let shown = Shown::default();
    let runtime = Runtime::start(ground.config(showing(&shown, |_| says("done")))).await.unwrap();
    let (feed, session) = (runtime.feed(), runtime.open(Open::New).await.unwrap());
    let mut boat = Boat { ground, runtime, session, feed };
    boat.answer("hello").await;
    let [mate] = workers(&boat, &shown, [Some("mate")]).await;
    assert!(mate.tools.contains(&"dispatch".to_owned()), "{:?}", mate.tools);
    let main = shown.lock().unwrap()[0].clone();
    assert!(main.system.contains("- mate: of the team\n") && main.system.contains("- reviewer: "), "{}", main.system);
    assert!(!main.system.contains("of the workspace"), "{}", main.system);
    let refused = boat.runtime.dispatch(&boat.session, brief(Some("own"))).await.unwrap_err().to_string();
    assert!(refused.starts_with("there is no agent own; there are: "), "{refused}");
}

/// A main agent that writes a file and has an agent look at it with its own tools.
fn shares() -> Arc<dyn Model> {
    played("shares", |ask: Ask| async move {
        match (ask.is_worker(), ask.messages.len(), ask.outputs().join("\n")) {
            (true, 1, _) => calls([("shell", json!({"command": "pwd; cat plan.md"}))]),
            (false, 1, _) => calls([("write_file", json!({"path": "plan.md", "content": "left, then right"}))]),
            (false, 3, _) => calls([("call_agent", json!({"agent_name": "reviewer", "task": "Look at plan.md."}))]),
            (_, _, output) => says(output),
        }
    })
}

#[tokio::test]
async fn s1_39_an_agent_works_in_the_same_folder_as_who_called_it() {
    let mut boat = boat(shares()).await;
    let told = boat.answer("plan").await;
    let root = boat.ground.root();
    assert!(told.contains(&format!("> {}", root.display())) && told.contains("> left, then right"), "{told}");
}

#[tokio::test]
async fn s1_41_the_main_agent_reads_which_agents_there_are_and_a_worker_does_not() {
    let shown = Shown::default();
    let mut boat = boat(showing(&shown, |_| says("done"))).await;
    agent(&boat.ground, "books", "---\nname: keeper\ndescription: Keeps the books.\n---\nCount money.\n");
    boat.answer("hello").await;
    let [plain] = workers(&boat, &shown, [None]).await;
    let main = shown.lock().unwrap()[0].clone();
    for line in ["- keeper: Keeps the books.\n", "- coder: ", "- researcher: ", "- reviewer: ", "- tester: "] {
        assert!(main.system.contains(line) && !plain.system.contains(line), "{line}");
    }
    assert!(!main.system.contains("Count money."), "the text is the agent's own");
}

/// S3-54 too: the one that is built in gets a model of its own by one line.
#[tokio::test]
async fn s3_54_s3_56_what_is_built_in_is_there_and_a_file_of_its_name_replaces_it() {
    let (shown, other) = (Shown::default(), Shown::default());
    let careful = played("careful", {
        let other = other.clone();
        move |ask: Ask| {
            other.lock().unwrap().push(Seen::of(&ask));
            async { says("found") }
        }
    });
    let model = showing(&shown, |_| says("done"));
    let mut boat = boat_with(model, |config| config.models = config.models.clone().with(careful)).await;
    boat.answer("hello").await;
    let main = shown.lock().unwrap().last().unwrap().system.clone();
    assert!(["- researcher: ", "- reviewer: ", "- coding: ", "- writing: "].iter().all(|line| main.contains(line)));

    let built_in = tillerman::workspace::defaults::text("agents/researcher.md").unwrap();
    let line = built_in.lines().find(|line| line.starts_with("# model: ")).unwrap();
    agent(&boat.ground, "researcher", &built_in.replace(line, "model: played/careful"));
    let skill = boat.ground.root().join("skills");
    std::fs::create_dir(&skill).unwrap();
    std::fs::write(skill.join("coding.md"), "---\nname: coding\ndescription: our own way\n---\nx\n").unwrap();
    agent(&boat.ground, "reviewer", "---\nname: reviewer\ndescription: our own eye\n---\nLook.\n");
    boat.runtime.dispatch(&boat.session, brief(Some("researcher"))).await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "found");
    assert!(other.lock().unwrap()[0].system.contains("You research one question"), "only its model is another");
    boat.answer("hello").await;
    let main = shown.lock().unwrap().last().unwrap().system.clone();
    assert!(main.contains("- coding: our own way\n") && main.contains("- reviewer: our own eye\n"), "{main}");
    assert_eq!((main.matches("- coding: ").count(), main.matches("- reviewer: ").count()), (1, 1));
}
