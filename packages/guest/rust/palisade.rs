//! The library for tools in Rust, as one file: JSON in and out, the host functions, and the allocator for the input.
//! Put it next to the tools, declare it with `mod palisade;`, and export each tool with `palisade::tool!`.
//!
//!     rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C panic=abort skill.rs -o skill.wasm
//!
//! A host function that is not called is not imported, so it needs no grant.
#![allow(dead_code)]

use std::fmt::Write;

/// The host functions as they are imported; docs/abi.md describes each.
pub mod host {
    #[link(wasm_import_module = "palisade_v1")]
    extern "C" {
        // imports:begin
        pub fn capability_count(kind: i32) -> i32;
        pub fn capability_handle(kind: i32, index: i32) -> i32;
        pub fn result_read(place: *mut u8, place_length: usize) -> i32;
        pub fn fail(error: *const u8, error_length: usize);
        pub fn log(level: i32, text: *const u8, text_length: usize);
        pub fn clock_ms() -> f64;
        pub fn random(place: *mut u8, place_length: usize);
        pub fn config_get(key: *const u8, key_length: usize) -> i32;
        pub fn http_request(handle: i32, head: *const u8, head_length: usize, body: *const u8, body_length: usize) -> i32;
        pub fn secret_read(handle: i32) -> i32;
        pub fn storage_get(handle: i32, key: *const u8, key_length: usize) -> i32;
        pub fn storage_put(handle: i32, key: *const u8, key_length: usize, value: *const u8, value_length: usize, version: f64) -> i32;
        pub fn storage_delete(handle: i32, key: *const u8, key_length: usize, version: f64) -> i32;
        pub fn storage_list(handle: i32, prefix: *const u8, prefix_length: usize, after: *const u8, after_length: usize, limit: i32) -> i32;
        pub fn channel_publish(handle: i32, message: *const u8, message_length: usize) -> i32;
        pub fn channel_receive(handle: i32, wait_ms: i32) -> i32;
        // imports:end
    }
}

pub const HTTP: i32 = 1;
pub const SECRET: i32 = 2;
pub const STORAGE: i32 = 3;
pub const CHANNEL: i32 = 4;

pub const DEBUG: i32 = 0;
pub const INFO: i32 = 1;
pub const WARNING: i32 = 2;
pub const ERROR: i32 = 3;

/// Conditions of a write: always, and only if there is no value.
pub const ANY: f64 = -1.0;
pub const ABSENT: f64 = 0.0;

/// Why a tool failed, for its caller.
pub struct Failure {
    pub code: String,
    pub message: String,
}

pub fn failure(code: &str, message: &str) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

/// The negative number that a host function returned: -1 denied, -2 missing, and the others of docs/abi.md.
pub type HostError = i32;

/// Where the gateway puts the input; nothing is ever freed, because every call has a guest of its own.
#[no_mangle]
pub extern "C" fn palisade_alloc(length: usize) -> *mut u8 {
    let mut bytes = Vec::<u8>::with_capacity(length);
    let place = bytes.as_mut_ptr();
    std::mem::forget(bytes);
    place
}

/// Runs a tool: reads its input, and gives its output or reports its failure. `tool!` calls this.
pub fn run(place: *const u8, length: usize, tool: fn(&Json) -> Result<Json, Failure>) -> u64 {
    let bytes = unsafe { std::slice::from_raw_parts(place, length) };
    let ended = match Json::parse(bytes) {
        Some(input) => tool(&input),
        None => Err(failure("wrong-input", "expected JSON")),
    };
    match ended {
        Ok(output) => packed(output.to_string().into_bytes()),
        Err(Failure { code, message }) => {
            let error = Json::Object(vec![("code".into(), code.into()), ("message".into(), message.into())]);
            let text = error.to_string();
            unsafe { host::fail(text.as_ptr(), text.len()) };
            0
        }
    }
}

fn packed(bytes: Vec<u8>) -> u64 {
    let at = (bytes.as_ptr() as u64) << 32 | bytes.len() as u64;
    std::mem::forget(bytes);
    at
}

/// `tool!(count)` exports the function `count`, which takes `&Json` and gives `Result<Json, Failure>`, as a tool.

macro_rules! tool {
    ($name:ident) => {
        const _: () = {
            #[export_name = stringify!($name)]
            extern "C" fn exported(place: *const u8, length: usize) -> u64 {
                $crate::palisade::run(place, length, $name)
            }
        };
    };
}
pub(crate) use tool;

/// A line for the log of the call.
pub fn log(level: i32, text: &str) {
    unsafe { host::log(level, text.as_ptr(), text.len()) }
}

/// When the call began, in milliseconds since 1970.
pub fn now_ms() -> f64 {
    unsafe { host::clock_ms() }
}

/// A value of the configuration.
pub fn config(key: &str) -> Result<String, HostError> {
    fetch(unsafe { host::config_get(key.as_ptr(), key.len()) }).map(text_of)
}

/// The handle of a capability by its position in the grant.
pub fn handle(kind: i32, index: i32) -> Result<i32, HostError> {
    checked(unsafe { host::capability_handle(kind, index) })
}

/// A value with its version.
pub fn get_stored(handle: i32, key: &str) -> Result<(f64, Vec<u8>), HostError> {
    let bytes = fetch(unsafe { host::storage_get(handle, key.as_ptr(), key.len()) })?;
    let mut version = [0; 8];
    version.copy_from_slice(&bytes[..8]);
    Ok((f64::from_le_bytes(version), bytes[8..].to_vec()))
}

/// Stores a value if the version is this one, or for `ANY` or `ABSENT`.
pub fn put_stored(handle: i32, key: &str, value: &[u8], version: f64) -> Result<(), HostError> {
    let ended = unsafe { host::storage_put(handle, key.as_ptr(), key.len(), value.as_ptr(), value.len(), version) };
    checked(ended).map(|_| ())
}

/// Makes a request; the head has `method`, `url`, `headers` (pairs) and `secret`. Gives the head and the body of the answer.
pub fn send(handle: i32, head: &Json, body: &[u8]) -> Result<(Json, Vec<u8>), HostError> {
    let head = head.to_string();
    let length = unsafe { host::http_request(handle, head.as_ptr(), head.len(), body.as_ptr(), body.len()) };
    let bytes = fetch(length)?;
    let end = 4 + u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    Ok((Json::parse(&bytes[4..end]).ok_or(-6)?, bytes[end..].to_vec()))
}

/// The bytes of the length that a host function returned.
pub fn fetch(length: i32) -> Result<Vec<u8>, HostError> {
    let mut bytes = vec![0; checked(length)? as usize];
    unsafe { host::result_read(bytes.as_mut_ptr(), bytes.len()) };
    Ok(bytes)
}

fn checked(result: i32) -> Result<i32, HostError> {
    if result < 0 { Err(result) } else { Ok(result) }
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A JSON value; members keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads strict JSON: no duplicate keys, nothing after the value, at most 128 levels.
    pub fn parse(bytes: &[u8]) -> Option<Json> {
        let mut reader = Reader { text: std::str::from_utf8(bytes).ok()?, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at == bytes.len() { Some(value) } else { None }
    }

    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    pub fn as_number(&self) -> Option<f64> {
        if let Json::Number(number) = self { Some(*number) } else { None }
    }

    fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(value) => write_number(*value, out),
            Json::Text(text) => write_text(text, out),
            Json::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 { out.push(',') }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 { out.push(',') }
                    write_text(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        to.write_str(&out)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json { Json::Text(text.into()) }
}
impl From<String> for Json {
    fn from(text: String) -> Json { Json::Text(text) }
}
impl From<f64> for Json {
    fn from(number: f64) -> Json { Json::Number(number) }
}
impl From<u32> for Json {
    fn from(number: u32) -> Json { Json::Number(number as f64) }
}
impl From<bool> for Json {
    fn from(value: bool) -> Json { Json::Bool(value) }
}

/// An object of literal keys: `object([("words", 3.into())])`.
pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// The fewest digits that are read back as the same. Panics if it is not finite, which JSON cannot represent.
fn write_number(value: f64, out: &mut String) {
    assert!(value.is_finite());
    let is_plain = value == 0.0 || (1e-7..1e21).contains(&value.abs());
    let _ = if is_plain { write!(out, "{}", value) } else { write!(out, "{:e}", value) };
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for each in text.chars() {
        match each {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{0}'..='\u{1f}' => { let _ = write!(out, "\\u{:04x}", each as u32); }
            _ => out.push(each),
        }
    }
    out.push('"');
}

const MOST_DEEP: u32 = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') { self.at += 1 }
    }

    fn take(&mut self, word: &str) -> Option<()> {
        if !self.text[self.at..].starts_with(word) { return None }
        self.at += word.len();
        Some(())
    }

    fn value(&mut self, depth: u32) -> Option<Json> {
        if depth > MOST_DEEP { return None }
        self.space();
        match self.peek() {
            b'n' => self.take("null").map(|_| Json::Null),
            b't' => self.take("true").map(|_| Json::Bool(true)),
            b'f' => self.take("false").map(|_| Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: u32) -> Option<Json> {
        let mut items = Vec::new();
        self.take("[")?;
        self.space();
        if self.take("]").is_some() { return Some(Json::List(items)) }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take("]").is_some() { return Some(Json::List(items)) }
            self.take(",")?;
        }
    }

    fn object(&mut self, depth: u32) -> Option<Json> {
        let mut members: Vec<(String, Json)> = Vec::new();
        self.take("{")?;
        self.space();
        if self.take("}").is_some() { return Some(Json::Object(members)) }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.take(":")?;
            let value = self.value(depth + 1)?;
            if members.iter().any(|(name, _)| *name == key) { return None }
            members.push((key, value));
            self.space();
            if self.take("}").is_some() { return Some(Json::Object(members)) }
            self.take(",")?;
        }
    }

    fn number(&mut self) -> Option<Json> {
        let from = self.at;
        let _ = self.take("-");
        let whole = self.at;
        if self.digits() == 0 || (self.text.as_bytes()[whole] == b'0' && self.at - whole > 1) { return None }
        if self.take(".").is_some() && self.digits() == 0 { return None }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') { self.at += 1 }
            if self.digits() == 0 { return None }
        }
        let number: f64 = self.text[from..self.at].parse().ok()?;
        if number.is_finite() { Some(Json::Number(number)) } else { None }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.peek().is_ascii_digit() { self.at += 1 }
        self.at - from
    }

    fn string(&mut self) -> Option<String> {
        let mut out = String::new();
        self.take("\"")?;
        loop {
            let each = self.text[self.at..].chars().next()?;
            self.at += each.len_utf8();
            match each {
                '"' => return Some(out),
                '\\' => out.push(self.escape()?),
                '\u{0}'..='\u{1f}' => return None,
                _ => out.push(each),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let each = self.peek();
        self.at += 1;
        Some(match each {
            b'"' | b'\\' | b'/' => each as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return None,
        })
    }

    /// A character, or two halves of one; a half alone is refused.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) { return char::from_u32(first) }
        self.take("\\u")?;
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) { return None }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|each| each.is_ascii_hexdigit()) { return None }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
