import { Json, JsonBool, JsonList, JsonNumber, JsonObject, JsonText, joined } from '@palisade/guest/assembly';
import { numberText } from './number';

const HEX: string = '0123456789abcdef';

/** Without a space, members in their order. */
export function compact(value: Json): string {
  return new Printer('', false).print(value);
}

/** A member or item in each line. */
export function pretty(value: Json, indent: i32): string {
  return new Printer(' '.repeat(indent), false).print(value);
}

/** As RFC 8785 has it: without a space, members in the order of the UTF-16 units of their keys. */
export function canonical(value: Json): string {
  return new Printer('', true).print(value);
}

class Printer {
  private readonly step: string;
  private readonly isSorted: bool;
  private readonly pieces: string[] = [];

  constructor(step: string, isSorted: bool) {
    this.step = step;
    this.isSorted = isSorted;
  }

  print(value: Json): string {
    this.value(value, '\n');
    return joined(this.pieces);
  }

  private value(value: Json, margin: string): void {
    if (value instanceof JsonObject) this.object(value as JsonObject, margin);
    else if (value instanceof JsonList) this.list(value as JsonList, margin);
    else if (value instanceof JsonText) this.text((value as JsonText).value);
    else if (value instanceof JsonNumber) this.pieces.push(numberText((value as JsonNumber).value));
    else if (value instanceof JsonBool) this.pieces.push((value as JsonBool).value ? 'true' : 'false');
    else this.pieces.push('null');
  }

  private object(object: JsonObject, margin: string): void {
    const keys = object.keys;
    if (this.isSorted) keys.sort((one, other) => (one < other ? -1 : 1));
    this.pieces.push('{');
    for (let index = 0; index < keys.length; index += 1) {
      if (index > 0) this.pieces.push(',');
      this.breakLine(margin + this.step);
      this.text(keys[index]);
      this.pieces.push(this.step === '' ? ':' : ': ');
      this.value(object.get(keys[index]) as Json, margin + this.step);
    }
    if (keys.length > 0) this.breakLine(margin);
    this.pieces.push('}');
  }

  private list(list: JsonList, margin: string): void {
    this.pieces.push('[');
    for (let index = 0; index < list.items.length; index += 1) {
      if (index > 0) this.pieces.push(',');
      this.breakLine(margin + this.step);
      this.value(list.items[index], margin + this.step);
    }
    if (list.items.length > 0) this.breakLine(margin);
    this.pieces.push(']');
  }

  private breakLine(margin: string): void {
    if (this.step !== '') this.pieces.push(margin);
  }

  /** What JSON does not require to be escaped stands as it is. */
  private text(text: string): void {
    this.pieces.push('"');
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit >= 0x20 && unit !== 0x22 && unit !== 0x5c) continue;
      this.pieces.push(text.slice(from, at));
      this.pieces.push(escaped(unit));
      from = at + 1;
    }
    this.pieces.push(text.slice(from));
    this.pieces.push('"');
  }
}

function escaped(unit: i32): string {
  if (unit === 0x22) return '\\"';
  if (unit === 0x5c) return '\\\\';
  if (unit === 8) return '\\b';
  if (unit === 9) return '\\t';
  if (unit === 10) return '\\n';
  if (unit === 12) return '\\f';
  if (unit === 13) return '\\r';
  return `\\u00${HEX.charAt(unit >> 4)}${HEX.charAt(unit & 15)}`;
}
