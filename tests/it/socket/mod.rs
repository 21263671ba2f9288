//! The socket by which a second terminal gives orders: what it does, and what it bears.

mod hostile;
mod strangers;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tillerman::message::NoteId;
use tillerman::runtime::{Batch, ControlError, Done, Open, Order, Runtime, Steered, Table};
use tillerman::server::control::{Client, Host, Unanswered};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use crate::runtime::{Ask, Boat, Ground, boat, calls, eventually, played, says};

/// A program with a worker that answers when it is let go, and other terminals are answered.
async fn busy() -> (Boat, Arc<Semaphore>, Host) {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("busy", move |ask: Ask| {
        let held = held.clone();
        async move {
            if ask.is_worker() {
                held.acquire().await.unwrap().forget();
                return says(format!("worked; heard {}", ask.count("keep the API")));
            }
            let handed = ask.count("hand it over") == 1 && ask.messages.len() == 1;
            if handed { calls([("dispatch", json!({"task": "Work."}))]) } else { says("as you say") }
        }
    }))
    .await;
    assert_eq!(boat.answer("hand it over").await, "as you say");
    let dir = boat.task(1);
    eventually("the worker never begins", || dir.task().is_ok_and(|task| task.status == TaskStatus::Running)).await;
    boat.runtime.attend(&boat.session);
    let host = Host::open(&boat.runtime).unwrap().unwrap();
    (boat, gate, host)
}

fn client(ground: &Ground) -> Client {
    Client::new(&ground.workspace())
}

fn socket(ground: &Ground) -> PathBuf {
    ground.workspace().state().join("control.sock")
}

fn steer(text: &str) -> Order {
    Order::Steer { task: TaskId(1), text: text.to_owned() }
}

#[tokio::test]
async fn orders_reach_the_program_that_has_the_workspace() {
    let (mut boat, gate, _host) = busy().await;
    let client = client(&boat.ground);
    assert_eq!(client.order(&steer("keep the API")).await.unwrap(), Done::Queued { note: NoteId(1) });
    let later = Order::FollowUp { task: TaskId(1), text: "and the docs".to_owned() };
    assert_eq!(client.order(&later).await.unwrap(), Done::Queued { note: NoteId(2) });
    let brief = Box::new(Brief { body: "More work.".to_owned(), ..Brief::default() });
    let more = client.order(&Order::Dispatch { brief, session: None }).await.unwrap();
    assert_eq!(more, Done::Dispatched { task: TaskId(2) });

    let brief = Box::new(Brief { body: "Read {{f}}.".to_owned(), ..Brief::default() });
    let table = |text: &str| Table::Text(text.to_owned());
    let order = |table| Order::Batch { brief: brief.clone(), table, session: None };
    let batch = client.order(&order(table("f\na\nb\n"))).await.unwrap();
    assert_eq!(batch, Done::Batch(Batch { tasks: vec![TaskId(3), TaskId(4)] }));
    let none = client.order(&order(table("g\na\n"))).await.unwrap_err().to_string();
    assert!(none.contains("the template asks for {{f}}, and the columns are g"), "{none}");

    let Done::Tasks { rows } = client.order(&Order::Tasks).await.unwrap() else { panic!("no rows") };
    let titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
    assert_eq!(titles, ["Work.", "More work.", "Read a.", "Read b."]);
    let Done::Task { detail } = client.order(&Order::Task { task: TaskId(2) }).await.unwrap() else { panic!("none") };
    assert_eq!(detail.brief.body, "More work.");
    assert_eq!(detail.brief.session, Some(boat.session.to_string()), "who is at the prompt is told");

    assert_eq!(client.order(&Order::Abort { task: TaskId(2) }).await.unwrap(), Done::Ordered);
    assert_eq!(boat.task_ended(2).await.status, TaskStatus::Aborted);
    let resumed = client.order(&Order::Resume { task: TaskId(2), session: None, text: None }).await.unwrap();
    assert!(matches!(&resumed, Done::Resumed(resumed) if resumed.attempt == 2), "{resumed:?}");
    gate.add_permits(10);
    assert_eq!(boat.task_ended(1).await.answer, "worked; heard 1");
    boat.idle().await;
    let refused = client.order(&steer("too late")).await.unwrap_err();
    assert!(matches!(&refused, Unanswered::Refused(why) if why.contains("t_001 has already ended")), "{refused}");
}

#[tokio::test]
async fn where_nobody_works_a_client_says_so_and_what_to_do() {
    let ground = Ground::new();
    let why = client(&ground).order(&Order::Tasks).await.unwrap_err().to_string();
    let root = ground.root().display().to_string();
    assert!(why.contains(&root) && why.contains("start one there"), "{why}");
}

#[tokio::test]
async fn the_socket_is_its_owners_alone_and_goes_with_its_program() {
    let (boat, gate, host) = busy().await;
    let path = socket(&boat.ground);
    assert_eq!(std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!path.with_extension("sock.new").exists());
    drop(host);
    assert!(!path.exists(), "it is left");
    gate.add_permits(10);
    boat.idle().await;
}

/// What a killed program left: a file at which nobody listens.
#[tokio::test]
async fn a_stale_socket_is_seen_through_and_replaced() {
    let ground = Ground::new();
    let path = socket(&ground);
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(matches!(client(&ground).order(&Order::Tasks).await, Err(Unanswered::Nobody { .. })));
    let runtime = Runtime::start(ground.config(played("idle", |_: Ask| async { says("yes") }))).await.unwrap();
    let host = Host::open(&runtime).unwrap();
    assert_eq!(client(&ground).order(&Order::Tasks).await.unwrap(), Done::Tasks { rows: vec![] });
    drop(host);
    assert!(!path.exists());
}

/// A path that is longer than the system lets a socket's be.
#[tokio::test]
async fn a_workspace_with_a_long_path_has_its_socket_too() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("deep".repeat(30)).join("er".repeat(30));
    std::fs::create_dir_all(dir.join("work")).unwrap();
    let ground = Ground::at(dir);
    let runtime = Runtime::start(ground.config(played("idle", |_: Ask| async { says("yes") }))).await.unwrap();
    let _host = Host::open(&runtime).unwrap().unwrap();
    assert!(socket(&ground).as_os_str().len() > 200);
    assert_eq!(client(&ground).order(&Order::Tasks).await.unwrap(), Done::Tasks { rows: vec![] });
}

#[tokio::test]
async fn a_prompt_that_looks_on_gives_its_orders_there_and_is_told_what_happens() {
    let (boat, gate, host) = busy().await;
    let looking = Runtime::attach(boat.ground.config(played("nobody", |_: Ask| async { panic!("not asked") }))).await;
    let looking = looking.unwrap();
    looking.reach(client(&boat.ground).remote()).await;
    let mut feed = looking.feed();
    let session = looking.open(Open::Latest).await.unwrap();
    assert_eq!(session, boat.session);
    assert!(looking.is_told());
    assert!(Host::open(&looking).unwrap().is_none(), "who looks has no socket");

    assert_eq!(looking.steer(TaskId(1), "keep the API".to_owned()).await, Ok(NoteId(1)));
    let said = looking.steer_main(&session, "hello".to_owned()).await.unwrap();
    assert!(matches!(said, Steered::Said(_)), "{said:?}");
    assert_eq!(looking.tasks().await.len(), 1);
    let before = looking.fleet().await.spent.tokens;
    gate.add_permits(10);
    let ended = async {
        loop {
            if let tillerman::runtime::News::TaskEnded(report) = feed.recv().await.unwrap().news {
                return report.answer;
            }
        }
    };
    let answer = tokio::time::timeout(crate::patience::PATIENCE, ended).await.expect("the end is not told");
    assert_eq!(answer, "worked; heard 1");
    boat.idle().await;
    let fleet = looking.fleet().await;
    assert!(fleet.spent.tokens > before && fleet == boat.runtime.fleet().await, "after {before}: {fleet:?}");
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    assert!(said.iter().any(|message| message.text() == "hello"), "{said:?}");

    drop(host);
    eventually("it is told for ever", || !looking.is_told()).await;
    let refused = looking.abort(TaskId(1)).await.unwrap_err();
    assert!(matches!(&refused, ControlError::Elsewhere(why) if why.contains("no tillerman works")), "{refused}");
}
