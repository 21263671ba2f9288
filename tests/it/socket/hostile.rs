//! What comes out of the socket for whoever is broken or means ill. The program goes on in each case.

use serde_json::Value;
use tillerman::runtime::{Done, Order, Runtime};
use tillerman::server::control::{Host, LONGEST_REQUEST};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{client, socket};
use crate::patience::PATIENCE;
use crate::runtime::{Ask, Ground, played, says};

struct Place {
    ground: Ground,
    _host: Host,
    _runtime: Runtime,
}

async fn place() -> Place {
    let ground = Ground::new();
    let runtime = Runtime::start(ground.config(played("idle", |_: Ask| async { says("yes") }))).await.unwrap();
    let host = Host::open(&runtime).unwrap().unwrap();
    Place { ground, _host: host, _runtime: runtime }
}

impl Place {
    async fn connect(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(socket(&self.ground)).await.unwrap())
    }

    /// It still answers others.
    async fn lives(&self) {
        assert_eq!(client(&self.ground).order(&Order::Tasks).await.unwrap(), Done::Tasks { rows: vec![] });
    }
}

async fn answer(stream: &mut BufReader<UnixStream>) -> Value {
    let mut line = String::new();
    timeout(PATIENCE, stream.read_line(&mut line)).await.expect("no answer").unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

async fn ask(stream: &mut BufReader<UnixStream>, bytes: &[u8]) -> Value {
    stream.write_all(bytes).await.unwrap();
    answer(stream).await
}

#[tokio::test]
async fn a_line_that_makes_no_sense_is_told_why_and_the_next_one_is_heard() {
    let place = place().await;
    let mut stream = place.connect().await;
    let senseless: [(&[u8], &str); 12] = [
        (b"hello\n", "no JSON"),
        (b"\xff\xfe\x00\x01\n", "no JSON"),
        (b"{\"v\":1,\"order\":\"steer\"\n", "no JSON"),
        (b"[1,2]\n", "no JSON object"),
        (b"\"tasks\"\n", "no JSON object"),
        (b"{}\n", "missing field `v`"),
        (b"{\"v\":1}\n", "missing field `order`"),
        (b"{\"v\":2,\"order\":\"tasks\"}\n", "version 2 is not spoken here, only 1"),
        (b"{\"v\":1,\"order\":\"fly\"}\n", "unknown variant `fly`"),
        (b"{\"v\":1,\"order\":\"steer\",\"task\":\"t_001\"}\n", "missing field `text`"),
        (b"{\"v\":1,\"order\":\"abort\",\"task\":\"../../etc\"}\n", "is no task id"),
        (b"{\"v\":1,\"order\":\"dispatch\",\"brief\":{\"body\":\"x\",\"budget\":\"lots\"}}\n", "`lots` is no budget"),
    ];
    for (line, why) in senseless {
        let said = ask(&mut stream, line).await;
        assert!(said["error"].as_str().is_some_and(|error| error.contains(why)), "{said}");
    }
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    assert!(ask(&mut stream, &deep).await["error"].as_str().unwrap().contains("recursion"));
    let said = ask(&mut stream, b"\n  \r\n{\"v\":1,\"id\":{\"a\":[7]},\"order\":\"tasks\"}\n").await;
    assert_eq!(said, serde_json::json!({"v": 1, "id": {"a": [7]}, "done": "tasks", "rows": []}));
    place.lives().await;
}

#[tokio::test]
async fn a_request_of_a_hundred_megabytes_is_refused_after_one() {
    let place = place().await;
    let mut stream = place.connect().await;
    let (piece, mut sent) = (vec![b'x'; 64 * 1024], 0_u64);
    while sent < 100 * 1024 * 1024 {
        match timeout(PATIENCE, stream.write(&piece)).await.expect("it is neither read nor refused") {
            Ok(written) => sent += written as u64,
            Err(_) => break,
        }
    }
    // What the system keeps between the two ends comes on top.
    assert!(sent < 8 * LONGEST_REQUEST, "{sent} bytes were taken");
    let said = answer(&mut stream).await;
    assert!(said["error"].as_str().is_some_and(|error| error.contains("more than 1048576 bytes")), "{said}");
    place.lives().await;
}

#[tokio::test]
async fn half_a_line_is_no_order_and_one_without_its_end_is() {
    let place = place().await;
    let mut silent = place.connect().await;
    silent.write_all(b"{\"v\":1,\"order\":\"ta").await.unwrap();
    place.lives().await;
    let mut last = place.connect().await;
    last.write_all(b"{\"v\":1,\"order\":\"tasks\"}").await.unwrap();
    last.get_mut().shutdown().await.unwrap();
    assert_eq!(answer(&mut last).await["done"], "tasks");
    let mut rest = Vec::new();
    timeout(PATIENCE, last.read_to_end(&mut rest)).await.expect("it does not end").unwrap();
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn too_many_clients_are_told_so_and_the_next_ones_are_answered_when_they_leave() {
    let place = place().await;
    let mut clients = Vec::new();
    for _ in 0..64 {
        let mut client = place.connect().await;
        assert_eq!(ask(&mut client, b"{\"v\":1,\"order\":\"tasks\"}\n").await["done"], "tasks");
        clients.push(client);
    }
    let mut one_more = place.connect().await;
    let said = answer(&mut one_more).await;
    assert!(said["error"].as_str().is_some_and(|error| error.contains("64 clients are connected")), "{said}");
    drop(clients);
    let began = std::time::Instant::now();
    while client(&place.ground).order(&Order::Tasks).await.is_err() {
        assert!(began.elapsed() < PATIENCE, "places are not free again");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Who connects and never reads is not waited for by anybody.
#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody() {
    let place = place().await;
    let mut deaf = place.connect().await;
    let flood = b"{\"v\":1,\"order\":\"fly\"}\n".repeat(20_000);
    let wrote = timeout(std::time::Duration::from_millis(300), deaf.write_all(&flood)).await;
    place.lives().await;
    drop((wrote, deaf));
    place.lives().await;
}
