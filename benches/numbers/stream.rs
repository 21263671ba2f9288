//! How fast the bytes of a stream become events.

use std::time::Instant;

use tillerman::model::sse::SseDecoder;

use crate::server;
use crate::table::row;

/// Decodes a long reply cut into chunks as a network does, and as the worst network would.
pub(crate) fn measure() {
    let words = "the quick brown fox jumps over the lazy dog, ".repeat(4);
    let reply = server::stream_of(&vec![server::text(&words); 100_000]);
    for (chunk, bar) in [(16 * 1024, ""), (37, "")] {
        let rates = (0..5).map(|_| rate(reply.as_bytes(), chunk)).collect::<Vec<f64>>();
        let best = rates.into_iter().fold(0.0, f64::max);
        row(&format!("event stream decoded, chunks of {chunk} bytes"), bar, format!("{best:.0} MB/s"));
    }
}

fn rate(bytes: &[u8], chunk: usize) -> f64 {
    let mut decoder = SseDecoder::default();
    let started = Instant::now();
    let events: usize = bytes.chunks(chunk).map(|part| decoder.push(part).map_or(0, |events| events.len())).sum();
    assert_eq!(events, 3 * 100_000 + 3, "every event is there");
    bytes.len() as f64 / started.elapsed().as_secs_f64() / 1e6
}
