//! What clients send.

use crate::functions::{messages, opening};
use crate::fuzz;
use crate::input::{Corpus, kept};

fn words() -> Vec<Vec<u8>> {
    let numbers = [0i32, 1, 2, 4, 8, -1, 196_608, 80_877_102, 80_877_103, 80_877_104, i32::MAX];
    let texts =
        ["user\0", "database\0", "_pq_.x\0", "ana\0", "options\0", "\0", "replication\0", "select 1\0"];
    let numbers = numbers.iter().map(|n| n.to_be_bytes().to_vec());
    numbers
        .chain(texts.iter().map(|t| t.as_bytes().to_vec()))
        .chain(b"QPBDECHSXFdcfp".map(|b| vec![b]))
        .collect()
}

#[test]
fn messages_after_the_login() {
    let corpus = Corpus { inputs: kept("messages"), words: words(), text: false };
    let (tried, meant) = fuzz("messages", corpus, messages);
    assert!(meant * 10 > tried, "{meant} of {tried}");
}

#[test]
fn whatever_comes_before_the_login() {
    let corpus = Corpus { inputs: kept("opening"), words: words(), text: false };
    let (tried, meant) = fuzz("opening", corpus, opening);
    assert!(meant * 10 > tried, "{meant} of {tried}");
}
