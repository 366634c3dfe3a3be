import { Json, JsonBool, JsonList, JsonNumber, JsonObject, JsonText } from './json';
import { putCharacter } from './json-text';

const HALF_PAIR: i32 = 0xfffd;
const HEX: string = '0123456789abcdef';
/** Whole numbers below it are written as such. */
const WHOLE: f64 = 9_007_199_254_740_992;

/** The JSON of a value, in UTF-8. Traps at a number that is not finite, which JSON cannot represent. */
export function writeJson(value: Json): Uint8Array {
  const writer = new Writer();
  writer.value(value);
  return writer.written();
}

class Writer {
  private room: usize = heap.alloc(256);
  private size: usize = 256;
  private length: usize = 0;

  written(): Uint8Array {
    const bytes = new Uint8Array(this.length as i32);
    memory.copy(bytes.dataStart, this.room, this.length);
    return bytes;
  }

  value(value: Json): void {
    if (value instanceof JsonObject) this.object(value as JsonObject);
    else if (value instanceof JsonList) this.list(value as JsonList);
    else if (value instanceof JsonText) this.text((value as JsonText).value);
    else if (value instanceof JsonNumber) this.number((value as JsonNumber).value);
    else if (value instanceof JsonBool) this.ascii((value as JsonBool).value ? 'true' : 'false');
    else this.ascii('null');
  }

  private object(object: JsonObject): void {
    const keys = object.keys;
    this.byte(0x7b);
    for (let index = 0; index < keys.length; index += 1) {
      if (index > 0) this.byte(0x2c);
      this.text(keys[index]);
      this.byte(0x3a);
      this.value(object.get(keys[index]) as Json);
    }
    this.byte(0x7d);
  }

  private list(list: JsonList): void {
    this.byte(0x5b);
    for (let index = 0; index < list.items.length; index += 1) {
      if (index > 0) this.byte(0x2c);
      this.value(list.items[index]);
    }
    this.byte(0x5d);
  }

  private number(value: f64): void {
    assert(Number.isFinite(value));
    const isWhole = Math.abs(value) < WHOLE && Math.floor(value) === value;
    this.ascii(isWhole ? (value as i64).toString() : value.toString());
  }

  private text(text: string): void {
    this.byte(0x22);
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit === 0x22 || unit === 0x5c) {
        this.byte(0x5c);
        this.byte(unit);
      } else if (unit < 0x20) this.control(unit);
      else if (unit < 0xd800 || unit > 0xdfff) this.character(unit);
      else {
        const whole = text.codePointAt(index);
        this.character(whole > 0xffff ? whole : HALF_PAIR);
        if (whole > 0xffff) index += 1;
      }
    }
    this.byte(0x22);
  }

  private control(unit: i32): void {
    this.byte(0x5c);
    if (unit === 8) this.byte(0x62);
    else if (unit === 9) this.byte(0x74);
    else if (unit === 10) this.byte(0x6e);
    else if (unit === 12) this.byte(0x66);
    else if (unit === 13) this.byte(0x72);
    else {
      this.ascii('u00');
      this.byte(HEX.charCodeAt(unit >> 4));
      this.byte(HEX.charCodeAt(unit & 15));
    }
  }

  /** ASCII only. */
  private ascii(text: string): void {
    for (let index = 0; index < text.length; index += 1) this.byte(text.charCodeAt(index));
  }

  private character(character: i32): void {
    this.make(4);
    this.length = putCharacter(this.room + this.length, character) - this.room;
  }

  private byte(byte: i32): void {
    this.make(1);
    store<u8>(this.room + this.length, byte);
    this.length += 1;
  }

  private make(more: usize): void {
    if (this.length + more <= this.size) return;
    const size = this.size * 2;
    const room = heap.alloc(size);
    memory.copy(room, this.room, this.length);
    this.room = room;
    this.size = size;
  }
}
