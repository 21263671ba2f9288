//! HTTP/1.1 as far as a scripted server needs it: reads whole requests, plays raw steps.

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Captured, Response, Shared, Step, check};

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                stream.set_nodelay(true).ok();
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                shared.open.fetch_add(1, Ordering::SeqCst);
                let shared = shared.clone();
                connections.spawn(async move {
                    // The client may go at any time: that is its right and no fault of the test.
                    converse(stream, &shared).await.ok();
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
            Some(ended) = connections.join_next() => {
                if let Err(e) = ended {
                    shared.unsound.lock().unwrap_or_else(|e| e.into_inner()).push(format!("answering failed: {e}"));
                }
            }
        }
    }
}

async fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer, shared.hasty).await? {
        let sound = if shared.hasty { Ok(()) } else { check::sound(&request) };
        let response = match &sound {
            Ok(()) => (shared.answer.lock().unwrap())(&request),
            Err(why) => {
                shared.unsound.lock().unwrap().push(why.clone());
                let message =
                    serde_json::json!({"type":"error","error":{"type":"invalid_request_error","message":why}});
                Response::status(400, &message.to_string())
            }
        };
        let path = request.path.clone();
        if !shared.hasty {
            shared.requests.lock().unwrap().push(request);
        }
        let (steps, keep) = match response {
            Response::Raw { steps, keep } => (steps, keep),
            Response::Says(says) => {
                let (kind, body) = says.on(&path);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
                let whole = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
                (vec![Step::Send(whole.into_bytes())], true)
            }
        };
        for step in steps {
            if !play(&mut stream, step).await? {
                return Ok(());
            }
        }
        if !keep {
            return stream.shutdown().await;
        }
    }
    Ok(())
}

/// Answers whether the connection goes on.
async fn play(stream: &mut TcpStream, step: Step) -> io::Result<bool> {
    match step {
        Step::Send(bytes) => stream.write_all(&bytes).await?,
        Step::Sleep(time) => tokio::time::sleep(time).await,
        Step::Hold(file) => {
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        Step::Drip { bytes, size, every } => {
            for piece in bytes.chunks(size.max(1)) {
                stream.write_all(piece).await?;
                tokio::time::sleep(every).await;
            }
        }
        Step::Stall => {
            let mut nothing = [0; 256];
            while stream.read(&mut nothing).await? > 0 {}
            return Ok(false);
        }
        Step::Rst => {
            stream.set_zero_linger()?;
            return Ok(false);
        }
        Step::Fin => {
            stream.shutdown().await?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads one request; `None` when the client has closed.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>, hasty: bool) -> io::Result<Option<Captured>> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while buffer.len() < head_end + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let raw = buffer[head_end..head_end + length].to_vec();
    buffer.drain(..head_end + length);
    let body = if hasty { Value::Null } else { serde_json::from_slice(&raw).unwrap_or(Value::Null) };
    Ok(Some(Captured { method, path, headers, body, raw, at: Instant::now() }))
}
