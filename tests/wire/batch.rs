//! The messages of the extended protocol, and what comes back for a batch of them.

use crate::raw::{Client, Reply, message};

pub fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let types = counted(types, |oid| oid.to_be_bytes().to_vec());
    message('P', &[name.as_bytes(), b"\0", sql.as_bytes(), b"\0", &types].concat())
}

/// Bind with everything: formats of values, values, formats of columns.
pub fn bind_all(
    portal: &str,
    name: &str,
    formats: &[i16],
    values: &[Option<&[u8]>],
    results: &[i16],
) -> Vec<u8> {
    let short = |n: &i16| n.to_be_bytes().to_vec();
    let values = counted(values, |v| match v {
        None => (-1i32).to_be_bytes().to_vec(),
        Some(v) => [&i32::try_from(v.len()).unwrap().to_be_bytes()[..], v].concat(),
    });
    let (formats, results) = (counted(formats, short), counted(results, short));
    let names = [portal.as_bytes(), b"\0", name.as_bytes(), b"\0"].concat();
    message('B', &[names, formats, values, results].concat())
}

pub fn bind(portal: &str, name: &str) -> Vec<u8> {
    bind_all(portal, name, &[], &[], &[])
}

/// `kind` is S or P.
pub fn describe(kind: char, name: &str) -> Vec<u8> {
    message('D', format!("{kind}{name}\0").as_bytes())
}

/// `kind` is S or P.
pub fn close(kind: char, name: &str) -> Vec<u8> {
    message('C', format!("{kind}{name}\0").as_bytes())
}

pub fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    message('E', &[portal.as_bytes(), b"\0", &max_rows.to_be_bytes()].concat())
}

pub fn flush() -> Vec<u8> {
    message('H', b"")
}

pub fn sync() -> Vec<u8> {
    message('S', b"")
}

/// Parse, Bind, Describe, Execute of unnamed ones, without Sync.
pub fn all_of(sql: &str) -> Vec<u8> {
    [parse("", sql, &[]), bind("", ""), describe('P', ""), execute("", 0)].concat()
}

impl Client {
    /// Sends the messages and a Sync.
    pub fn batch(&mut self, messages: &[Vec<u8>]) -> Reply {
        self.send(&[messages.concat(), sync()].concat());
        self.reply()
    }

    /// Messages until one of this type has come.
    pub fn until(&mut self, tag: char) -> Reply {
        let mut messages = Vec::new();
        while messages.last().is_none_or(|m: &crate::raw::Message| m.tag != tag) {
            messages.push(self.message().expect("the server closed"));
        }
        Reply(messages)
    }
}

impl Reply {
    /// The only error's SQLSTATE.
    pub fn code(&self) -> String {
        self.error().map(|e| e.1).unwrap_or_default()
    }
}

/// Type and format of each column of a RowDescription.
pub fn columns(body: &[u8]) -> Vec<(u32, i16)> {
    let mut rest = &body[2..];
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let name = rest.iter().position(|b| *b == 0).unwrap();
        let oid = u32::from_be_bytes(rest[name + 7..name + 11].try_into().unwrap());
        let format = i16::from_be_bytes(rest[name + 17..name + 19].try_into().unwrap());
        columns.push((oid, format));
        rest = &rest[name + 19..];
    }
    assert_eq!(columns.len(), usize::from(u16::from_be_bytes([body[0], body[1]])));
    columns
}

fn counted<T>(items: &[T], bytes: impl Fn(&T) -> Vec<u8>) -> Vec<u8> {
    let count = u16::try_from(items.len()).unwrap().to_be_bytes();
    count.into_iter().chain(items.iter().flat_map(bytes)).collect()
}
