//! The way to a provider: names that nobody knows, certificates that prove nothing, bodies that are larger than they
//! look. Through the real program where the system's files decide.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use tillerman::message::Message;
use tillerman::model::http::Timeouts;
use tillerman::model::{Fault, ModelError};

use super::talk::{ALL, ANTHROPIC, Ask, KEY, OLLAMA, id_of, model, models, stream};
use crate::cli::{Done, Place, wait_until};
use crate::server::{Response, Server, says};

/// The program asks a model at this address, once.
fn ask_at(url: &str, env: &[(&str, &str)]) -> Done {
    let env: Vec<_> =
        env.iter().chain(&[("ANTHROPIC_API_KEY", KEY), ("TILLERMAN_RETRY_PATIENCE", "0")]).copied().collect();
    Place::new().tillerman_with(&["run", "-m", ANTHROPIC, "--base-url", url, "hi"], &env, "")
}

/// A16.
#[test]
fn a_name_that_nobody_knows_is_told() {
    let done = ask_at("http://nowhere.invalid", &[]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(4), ""), "{}", done.stderr);
    assert!(done.stderr.contains("cannot connect to nowhere.invalid: "), "{}", done.stderr);
}

/// A16: a name that is known a moment later is found by the next call of the same program. The table of names is a file
/// of our own, put in the place of the system's in a name space of the program; where that is not allowed the test says
/// so and ends.
#[test]
fn that_a_name_was_unknown_is_not_kept() {
    let (place, server) = (Place::new(), Server::list([says().text("found")]));
    let hosts = place.home.path().join("hosts");
    fs::write(&hosts, "127.0.0.1 localhost\n").unwrap();
    let mount = format!("mount --bind {} /etc/hosts", hosts.display());
    let may = Command::new("unshare").args(["-rm", "sh", "-c", &mount]).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no name space for a table of names");
        return;
    }
    let url = server.base_url().replace("127.0.0.1", "soon.invalid");
    let program = place.command(&["-m", ANTHROPIC, "--base-url", &url]);
    let mut shell = Command::new("unshare");
    shell.args(["-rm", "sh", "-c", &format!("{mount} && exec \"$@\""), "sh"]);
    shell.arg(program.get_program()).args(program.get_args()).current_dir(place.path()).env_clear();
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("ANTHROPIC_API_KEY", KEY).env("TILLERMAN_RETRY_PATIENCE", "0");
    let errors = place.home.path().join("errors");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(fs::File::create(&errors).unwrap());
    let mut child = shell.spawn().unwrap();
    let mut lines = child.stdin.take().unwrap();
    lines.write_all(b"are you there?\n").unwrap();
    wait_until("the call fails", || fs::read_to_string(&errors).unwrap().contains("cannot connect to soon.invalid"));
    fs::write(&hosts, "127.0.0.1 localhost soon.invalid\n").unwrap();
    lines.write_all(b"and now?\n").unwrap();
    drop(lines);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.ends_with("found\n"), "{said}{}", fs::read_to_string(&errors).unwrap());
}

/// Serves one answer over TLS to whoever believes the certificate, and keeps the first byte of each connection and all
/// that was said once it was believed.
struct Tls {
    url: String,
    heard: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
}

impl Tls {
    fn start(certificate: &'static [u8]) -> Tls {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(include_bytes!("tls/key.der").as_slice()));
        let config = ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![CertificateDer::from(certificate)], key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let heard: Arc<Mutex<(Vec<u8>, Vec<u8>)>> = Arc::default();
        let hearing = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut first = [0];
                if stream.peek(&mut first).is_ok_and(|read| read == 1) {
                    hearing.lock().unwrap().0.push(first[0]);
                    hearing.lock().unwrap().1.extend(Tls::converse(stream, &config));
                }
            }
        });
        Tls { url, heard }
    }

    fn converse(mut stream: TcpStream, config: &Arc<ServerConfig>) -> Vec<u8> {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut tls = ServerConnection::new(config.clone()).unwrap();
        let mut secured = rustls::Stream::new(&mut tls, &mut stream);
        let mut request = vec![0; 1 << 20];
        let read = secured.read(&mut request).unwrap_or(0);
        if read > 0 {
            let body = says().text("believed").anthropic();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            secured.write_all(format!("{head}{body}").as_bytes()).ok();
            secured.conn.send_close_notify();
            secured.flush().ok();
        }
        request.truncate(read);
        request
    }
}

/// A17: and nothing is said to who proves nothing, least of all without encryption.
#[test]
fn a_certificate_that_proves_nothing_ends_the_talk() {
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/model/tls/authority.pem");
    let cases: [(&'static [u8], Option<&str>); 3] = [
        (include_bytes!("tls/valid.der"), None),
        (include_bytes!("tls/expired.der"), Some("expired")),
        (include_bytes!("tls/self-signed.der"), Some("UnknownIssuer")),
    ];
    for (certificate, why) in cases {
        let server = Tls::start(certificate);
        let done = ask_at(&server.url, &[("SSL_CERT_FILE", authority)]);
        let (firsts, said) = server.heard.lock().unwrap().clone();
        assert!(
            !firsts.is_empty() && firsts.iter().all(|first| *first == 0x16),
            "all begin with a handshake: {firsts:?}"
        );
        match why {
            None => assert_eq!((done.code, done.stdout.as_str()), (Some(0), "believed\n"), "{}", done.stderr),
            Some(why) => {
                assert_eq!((done.code, done.stdout.as_str(), said.len()), (Some(4), "", 0), "{}", done.stderr);
                assert!(
                    done.stderr.contains("cannot connect to 127.0.0.1: ") && done.stderr.contains(why),
                    "{}",
                    done.stderr
                );
            }
        }
    }
}

/// So many megabytes of one letter behind some words, in a few kilobytes.
fn bomb(start: &str, megabytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(start.as_bytes()).unwrap();
    let letters = vec![b'x'; 1 << 20];
    (0..megabytes).for_each(|_| encoder.write_all(&letters).unwrap());
    encoder.finish().unwrap()
}

fn zipped(status: &str, kind: &str, body: &[u8]) -> Response {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Response::raw().send(head).send(body)
}

async fn fault(id: &str, response: Response) -> ModelError {
    let server = Server::answer(move |_| response.clone());
    let models = models(&server, Timeouts::default()).with_patience(Duration::ZERO);
    Ask::new([Message::user("hi")]).send(&models.get(&id_of(id)).unwrap()).await.0.expect_err("a fault")
}

/// A43: what a body is worth is counted when it is unpacked.
#[tokio::test]
async fn a_small_body_that_is_huge_inside_is_cut_off() {
    let cases = [
        ("200 OK", "text/event-stream", "data: ", Fault::Garbled, "an event of over 16 MiB"),
        ("200 OK", "application/json", "{\"x\": \"", Fault::BadRequest, "answered without an end and was cut off"),
        ("400 No", "application/json", "{\"error\": \"", Fault::BadRequest, "400 from 127.0.0.1: {\"error\":"),
    ];
    let cases = cases.map(|(status, kind, start, fault, words)| (status, kind, bomb(start, 80), fault, words));
    for id in ALL {
        for (status, kind, body, expected, words) in &cases {
            assert!(body.len() < 100_000, "{}", body.len());
            let error = fault(id, zipped(status, kind, body)).await;
            assert_eq!(error.fault, *expected, "{id} {status} {kind}: {error:.200}");
            let short = error.message.len() < 2300;
            assert!(error.message.contains(words) && short, "{id} {status} {kind}: {:.200}", error.message);
        }
        let kind = if id == OLLAMA { "application/x-ndjson" } else { "text/event-stream" };
        let server = Server::list([zipped("200 OK", kind, &{
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let said = says().text("small");
            encoder.write_all(stream(id, &said).as_bytes()).unwrap();
            encoder.finish().unwrap()
        })]);
        let reply = Ask::new([Message::user("hi")]).send(&model(&server, id)).await.0.unwrap();
        assert_eq!(reply.message, Message::assistant("small"), "{id}");
    }
}

/// A43: of a gigabyte of refusal 64 KB are read, so that the last words that count stand before them. Nobody waits for
/// the rest, which would take until the deadline of ten seconds.
#[tokio::test]
async fn an_error_body_without_an_end_is_read_for_64_kilobytes() {
    let (early, late) = ("x".repeat(60 << 10) + " retry in 9s ", "x".repeat(70 << 10) + " retry in 9s ");
    for (body, asked) in [(early, Some(Duration::from_secs(9))), (late, None)] {
        let begun = Instant::now();
        let head = "HTTP/1.1 429 Slow\r\ncontent-length: 1000000000\r\n\r\n";
        let error = fault(ANTHROPIC, Response::raw().send(head).send(&body).send("y".repeat(256 << 10)).stall()).await;
        assert_eq!((error.fault, error.retry_after), (Fault::RateLimited, asked));
        assert!(error.message.len() < 2300, "{}", error.message.len());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}
