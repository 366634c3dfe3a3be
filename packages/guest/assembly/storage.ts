import { Answer, answerOf, INVALID } from './answer';
import { bytesOf, textOf } from './bytes';
import { handleOf, STORAGE } from './capabilities';
import { asList, asText } from './json';
import { parseJson } from './json-reader';
import * as host from './palisade_v1';

/** Write over whatever is there. */
export const ANY: f64 = -1;
/** Write only where nothing is. */
export const ABSENT: f64 = 0;

const VERSION_BYTES: i32 = 8;

/** A value with its version, which never comes twice. */
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

/** Keys beneath the prefixes of a grant. */
export class Storage {
  readonly handle: i32;

  constructor(index: i32 = 0) {
    this.handle = handleOf(STORAGE, index);
  }

  get(key: string): Answer<Stored> {
    const name = bytesOf(key);
    const answer = answerOf(host.storage_get(this.handle, name.dataStart, name.length));
    if (!answer.ok) return new Answer<Stored>(answer.error, null);
    const bytes = answer.value;
    return new Answer(0, new Stored(load<f64>(bytes.dataStart), bytes.subarray(VERSION_BYTES)));
  }

  /** Stores a value where the version is this one, ANY or ABSENT. Gives 0 or an error; CONFLICT: read it again. */
  put(key: string, value: Uint8Array, version: f64 = ANY): i32 {
    const name = bytesOf(key);
    return host.storage_put(this.handle, name.dataStart, name.length, value.dataStart, value.length, version);
  }

  putText(key: string, value: string, version: f64 = ANY): i32 {
    return this.put(key, bytesOf(value), version);
  }

  /** Removes a value where the version is this one, or ANY. Gives 0 or an error. */
  remove(key: string, version: f64 = ANY): i32 {
    const name = bytesOf(key);
    return host.storage_delete(this.handle, name.dataStart, name.length, version);
  }

  /** At most so many keys at and beneath a prefix that come after a key; '' for the first page. */
  list(prefix: string, after: string = '', limit: i32 = 1_000): Answer<string[]> {
    const top = bytesOf(prefix);
    const last = bytesOf(after);
    const answer = answerOf(
      host.storage_list(this.handle, top.dataStart, top.length, last.dataStart, last.length, limit),
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
