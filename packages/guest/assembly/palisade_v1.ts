/*
 * The host functions that take a handle, by the table of the ABI, and the capabilities made of them. The name of this file is
 * that of their module. The compiler imports those that are called and no others, so what a tool does not use needs no grant.
 */
import { Answer, answerOf, headLengthOf, INVALID } from './answer';
import { bytesOf, textOf } from './bytes';
import { asList, asNumber, asText, Json } from './json';
import { parseJson, readJson } from './json-reader';

// imports:begin
export declare function capability_count(kind: i32): i32;
export declare function capability_handle(kind: i32, index: i32): i32;
export declare function http_request(
  handle: i32,
  head: usize,
  headLength: usize,
  body: usize,
  bodyLength: usize,
): i32;
export declare function secret_read(handle: i32): i32;
export declare function storage_get(handle: i32, key: usize, keyLength: usize): i32;
export declare function storage_put(
  handle: i32,
  key: usize,
  keyLength: usize,
  value: usize,
  valueLength: usize,
  version: f64,
): i32;
export declare function storage_delete(handle: i32, key: usize, keyLength: usize, version: f64): i32;
export declare function storage_list(
  handle: i32,
  prefix: usize,
  prefixLength: usize,
  after: usize,
  afterLength: usize,
  limit: i32,
): i32;
export declare function channel_publish(handle: i32, message: usize, messageLength: usize): i32;
export declare function channel_receive(handle: i32, waitMs: i32): i32;
// imports:end

/** The kinds of capabilities by their numbers in the ABI. */
export const HTTP: i32 = 1;
export const SECRET: i32 = 2;
export const STORAGE: i32 = 3;
export const CHANNEL: i32 = 4;

/** How many capabilities of a kind the call has. */
export function countOf(kind: i32): i32 {
  return capability_count(kind);
}

/** The handle of a capability by its position in the grant; an error, which is negative, if it does not exist. */
export function handleOf(kind: i32, index: i32): i32 {
  return capability_handle(kind, index);
}

/** A secret by its position in the grant. Use it in a request; it can be read only if the grant allows that. */
export class Secret {
  readonly handle: i32;

  constructor(index: i32 = 0) {
    this.handle = handleOf(SECRET, index);
  }

  read(): Answer<Uint8Array> {
    return answerOf(secret_read(this.handle));
  }
}

/** Write in any case. */
export const ANY: f64 = -1;
/** Write only if there is no value. */
export const ABSENT: f64 = 0;

const VERSION_BYTES: i32 = 8;

/** A value with its version, which is never reused. */
export class Stored {
  readonly version: f64;
  readonly bytes: Uint8Array;

  constructor(version: f64, bytes: Uint8Array) {
    this.version = version;
    this.bytes = bytes;
  }

  /** The value in UTF-8. */
  get text(): string {
    return textOf(this.bytes);
  }
}

/** Keys below the prefixes of a grant. */
export class Storage {
  readonly handle: i32;

  constructor(index: i32 = 0) {
    this.handle = handleOf(STORAGE, index);
  }

  get(key: string): Answer<Stored> {
    const name = bytesOf(key);
    const answer = answerOf(storage_get(this.handle, name.dataStart, name.length));
    if (!answer.ok) return new Answer<Stored>(answer.error, null);
    const bytes = answer.value;
    return new Answer(0, new Stored(load<f64>(bytes.dataStart), bytes.subarray(VERSION_BYTES)));
  }

  /** Stores a value if the version is this one, or for ANY or ABSENT. Returns 0 or an error; CONFLICT: read it again. */
  put(key: string, value: Uint8Array, version: f64 = ANY): i32 {
    const name = bytesOf(key);
    return storage_put(this.handle, name.dataStart, name.length, value.dataStart, value.length, version);
  }

  putText(key: string, value: string, version: f64 = ANY): i32 {
    return this.put(key, bytesOf(value), version);
  }

  /** Removes a value if the version is this one, or for ANY. Returns 0 or an error. */
  remove(key: string, version: f64 = ANY): i32 {
    const name = bytesOf(key);
    return storage_delete(this.handle, name.dataStart, name.length, version);
  }

  /** At most `limit` keys at and below a prefix that come after a key; '' for the first page. */
  list(prefix: string, after: string = '', limit: i32 = 1_000): Answer<string[]> {
    const top = bytesOf(prefix);
    const last = bytesOf(after);
    const answer = answerOf(
      storage_list(this.handle, top.dataStart, top.length, last.dataStart, last.length, limit),
    );
    if (!answer.ok) return new Answer<string[]>(answer.error, null);
    const items = asList(parseJson(answer.value));
    const keys: string[] = [];
    for (let index = 0; index < items.length; index += 1) {
      const key = asText(items[index]);
      if (key === null) return new Answer<string[]>(INVALID, null);
      keys.push(key);
    }
    return new Answer(0, keys);
  }
}

/** A message, and its sender as authenticated by the gateway. */
export class Message {
  /** `principal` of the call, and `skill` of the tool. */
  readonly sender: Json;
  /** How many messages before this one were lost because the queue was full. */
  readonly missed: i32;
  readonly body: Uint8Array;

  constructor(sender: Json, missed: i32, body: Uint8Array) {
    this.sender = sender;
    this.missed = missed;
    this.body = body;
  }

  /** The body in UTF-8. */
  get text(): string {
    return textOf(this.body);
  }

  get skill(): string | null {
    return asText(this.sender.get('skill'));
  }
}

export class Channel {
  readonly handle: i32;

  constructor(index: i32 = 0) {
    this.handle = handleOf(CHANNEL, index);
  }

  /** Returns 0 or an error. */
  publish(message: Uint8Array): i32 {
    return channel_publish(this.handle, message.dataStart, message.length);
  }

  publishText(message: string): i32 {
    return this.publish(bytesOf(message));
  }

  /** Waits for the next message, at most that long; MISSING if none came. */
  receive(waitMs: i32): Answer<Message> {
    const answer = answerOf(channel_receive(this.handle, waitMs));
    if (!answer.ok) return new Answer<Message>(answer.error, null);
    const bytes = answer.value;
    const headLength = headLengthOf(bytes);
    const head = readJson(bytes.dataStart + 4, headLength);
    if (head === null) return new Answer<Message>(INVALID, null);
    const sender = head.get('sender');
    if (sender === null) return new Answer<Message>(INVALID, null);
    const missed = asNumber(head.get('missed')) as i32;
    return new Answer(0, new Message(sender, missed, bytes.subarray(4 + headLength)));
  }
}
