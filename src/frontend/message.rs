//! Checked decoding of the messages a client may send after login.
//!
//! pgwire's own decoders panic on short messages and replace invalid UTF-8 silently, so none is called with
//! bytes of a client.

use super::frame::Frame;
use super::stop::violation;
use answer::{ClientError, Severity};
use bytes::Bytes;

/// A message after the login. Texts and names are bytes of unknown encoding.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Simple query.
    Query(Vec<u8>),
    /// Of the extended protocol: after an error, everything up to Sync is void.
    Extended(Extended),
    /// Send what is buffered.
    Flush,
    /// End of an extended batch.
    Sync,
    /// Goodbye.
    Terminate,
    /// Fast-path function call.
    FunctionCall,
    /// CopyData, CopyDone, CopyFail: ignored outside of COPY, as PostgreSQL does.
    Copy,
    /// Password family, after login.
    Password,
}

/// A message of the extended protocol. An empty name means the unnamed statement or portal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Extended {
    /// Prepare a statement.
    Parse {
        /// The statement's name.
        name: Vec<u8>,
        /// Text of the statement.
        sql: Vec<u8>,
        /// Type OIDs; 0 leaves one open.
        types: Vec<u32>,
    },
    /// Make a portal of a statement.
    Bind(Bind),
    /// Question about parameters and columns.
    Describe(Target),
    /// Run a portal, or go on with it.
    Execute {
        /// The portal's name.
        portal: Vec<u8>,
        /// Number of rows; 0 and below mean all.
        max_rows: i32,
    },
    /// Forget it.
    Close(Target),
}

/// Object of Describe and Close.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A prepared statement.
    Statement(Vec<u8>),
    /// A portal.
    Portal(Vec<u8>),
}

/// A Bind message. The counts are not compared yet, the format codes not looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bind {
    /// The portal's name.
    pub portal: Vec<u8>,
    /// The statement's name.
    pub statement: Vec<u8>,
    /// Format codes of the values: none, one for all, or one for each.
    pub formats: Vec<i16>,
    /// The values; None for NULL.
    pub values: Vec<Option<Bytes>>,
    /// Format codes of the columns: none, one for all, or one for each.
    pub results: Vec<i16>,
}

/// Decodes a frame. An error is 08P01: of the extended protocol's messages an ERROR, since the frame is whole and
/// Sync will come; of any other FATAL.
pub(super) fn decode(frame: &Frame) -> Result<Message, ClientError> {
    let body = Body(&frame.body);
    match frame.tag {
        b'P' | b'B' | b'D' | b'E' | b'C' => {
            extended(frame).map(Message::Extended).map_err(|e| ClientError { severity: Severity::Error, ..e })
        }
        b'Q' => {
            let mut body = body;
            let text = body.cstring()?.to_vec();
            body.end()?;
            Ok(Message::Query(text))
        }
        b'H' => body.end().map(|()| Message::Flush),
        b'S' => body.end().map(|()| Message::Sync),
        b'X' => body.end().map(|()| Message::Terminate),
        // Bodies of these are not looked at.
        b'F' => Ok(Message::FunctionCall),
        b'd' | b'c' | b'f' => Ok(Message::Copy),
        b'p' => Ok(Message::Password),
        tag => Err(violation(format!("invalid frontend message type {tag}"))),
    }
}

fn extended(frame: &Frame) -> Result<Extended, ClientError> {
    let mut body = Body(&frame.body);
    let message = match frame.tag {
        b'P' => {
            let (name, sql) = (body.cstring()?.to_vec(), body.cstring()?.to_vec());
            let types = body.list(Body::u32)?;
            Extended::Parse { name, sql, types }
        }
        b'B' => {
            let (portal, statement) = (body.cstring()?.to_vec(), body.cstring()?.to_vec());
            let formats = body.list(Body::i16)?;
            // The frame may be a small part of a large read buffer, which the values must not keep alive.
            let all = Bytes::copy_from_slice(body.0);
            let mut body = Body(&all);
            let values = body.list(|b| Ok(b.value()?.map(|value| all.slice_ref(value))))?;
            let results = body.list(Body::i16)?;
            body.end()?;
            return Ok(Extended::Bind(Bind { portal, statement, formats, values, results }));
        }
        b'E' => Extended::Execute { portal: body.cstring()?.to_vec(), max_rows: body.i32()? },
        tag => {
            let (kind, name) = (body.take(1)?, body.cstring()?.to_vec());
            let target = match kind {
                b"S" => Target::Statement(name),
                b"P" => Target::Portal(name),
                _ => return Err(violation("invalid subtype of a Describe or Close message")),
            };
            if tag == b'D' { Extended::Describe(target) } else { Extended::Close(target) }
        }
    };
    body.end()?;
    Ok(message)
}

/// A cursor that never reads past the end.
pub(super) struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    /// Exactly `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], ClientError> {
        let (head, tail) =
            self.0.split_at_checked(n).ok_or_else(|| violation("insufficient data left in message"))?;
        self.0 = tail;
        Ok(head)
    }

    /// Bytes up to a NUL, which is taken too.
    pub fn cstring(&mut self) -> Result<&'a [u8], ClientError> {
        let end =
            self.0.iter().position(|b| *b == 0).ok_or_else(|| violation("invalid string in message"))?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// Four bytes, signed.
    pub fn i32(&mut self) -> Result<i32, ClientError> {
        let bytes = self.take(4)?;
        bytes.try_into().map(i32::from_be_bytes).map_err(|_| violation("insufficient data left in message"))
    }

    fn u32(&mut self) -> Result<u32, ClientError> {
        self.i32().map(i32::cast_unsigned)
    }

    fn i16(&mut self) -> Result<i16, ClientError> {
        let bytes = self.take(2)?;
        bytes.try_into().map(i16::from_be_bytes).map_err(|_| violation("insufficient data left in message"))
    }

    /// A counted list. The count is unsigned, and memory grows with what is there, not with what it announces.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, ClientError>) -> Result<Vec<T>, ClientError> {
        let count = self.i16()?.cast_unsigned();
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// One parameter value: -1 for NULL, or a length and its bytes.
    fn value(&mut self) -> Result<Option<&'a [u8]>, ClientError> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length =
                    usize::try_from(length).map_err(|_| violation("invalid length of a parameter"))?;
                self.take(length).map(Some)
            }
        }
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), ClientError> {
        if self.0.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn frame(tag: u8, body: &[u8]) -> Frame {
        Frame { tag, body: Bytes::copy_from_slice(body) }
    }

    fn extend(tag: u8, body: &[u8]) -> Extended {
        match decode(&frame(tag, body)).unwrap() {
            Message::Extended(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn well_formed_messages_decode() {
        assert_eq!(decode(&frame(b'Q', b"select 1\0")).unwrap(), Message::Query(b"select 1".to_vec()));
        let parse = Extended::Parse { name: b"s".to_vec(), sql: b"select $1".to_vec(), types: vec![23] };
        assert_eq!(extend(b'P', b"s\0select $1\0\0\x01\0\0\0\x17"), parse);
        let bind = Bind {
            portal: b"p".to_vec(),
            statement: b"s".to_vec(),
            formats: vec![1],
            values: vec![Some(Bytes::from_static(b"x")), None, Some(Bytes::new())],
            results: vec![-1, 1],
        };
        let bytes = b"p\0s\0\0\x01\0\x01\0\x03\0\0\0\x01x\xff\xff\xff\xff\0\0\0\0\0\x02\xff\xff\0\x01";
        assert_eq!(extend(b'B', bytes), Extended::Bind(bind));
        let execute = Extended::Execute { portal: Vec::new(), max_rows: i32::MAX };
        assert_eq!(extend(b'E', b"\0\x7f\xff\xff\xff"), execute);
        assert_eq!(extend(b'D', b"Ss\0"), Extended::Describe(Target::Statement(b"s".to_vec())));
        assert_eq!(extend(b'C', b"P\0"), Extended::Close(Target::Portal(Vec::new())));
        assert_eq!(decode(&frame(b'S', b"")).unwrap(), Message::Sync);
    }

    #[test]
    fn malformed_messages_are_refused() {
        let bad: [(u8, &[u8]); 12] = [
            (b'Q', b"select 1"),
            (b'Q', b"select\0 1\0"),
            (b'B', b"\0\0"),
            (b'B', b"\0\0\xff\xff"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"),
            (b'B', b"\0\0\0\0\0\0\0\0more"),
            (b'P', b"\0select 1\0\xff\xff\0\0\0\x17"),
            (b'D', b"X\0"),
            (b'D', b""),
            (b'E', b"\0\0"),
            (b'S', b"more"),
        ];
        for (tag, body) in bad {
            let e = decode(&frame(tag, body)).unwrap_err();
            assert_eq!(e.code.as_str(), "08P01", "{} {body:?}", char::from(tag));
            assert_eq!(e.severity == Severity::Fatal, b"QS".contains(&tag), "{}", char::from(tag));
        }
    }

    proptest! {
        #[test]
        fn decoding_never_panics(tag: u8, body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&frame(tag, &body));
        }
    }
}
