/** The values of JSON. Numbers are floats, as everywhere in JSON; whole ones are exact up to 2^53. */
export abstract class Json {
  /** A member of an object; null if this is not an object or has no such member. */
  get(_key: string): Json | null {
    return null;
  }

  /** How many members or items it has; 0 for what has none. */
  get size(): i32 {
    return 0;
  }

  static object(): JsonObject {
    return new JsonObject();
  }

  static list(): JsonList {
    return new JsonList();
  }

  static text(value: string): Json {
    return new JsonText(value);
  }

  static number(value: f64): Json {
    return new JsonNumber(value);
  }

  static bool(value: bool): Json {
    return new JsonBool(value);
  }

  static nothing(): Json {
    return new JsonNull();
  }
}

export class JsonNull extends Json {}

export class JsonBool extends Json {
  readonly value: bool;

  constructor(value: bool) {
    super();
    this.value = value;
  }
}

export class JsonNumber extends Json {
  readonly value: f64;

  constructor(value: f64) {
    super();
    this.value = value;
  }
}

export class JsonText extends Json {
  readonly value: string;

  constructor(value: string) {
    super();
    this.value = value;
  }
}

export class JsonList extends Json {
  readonly items: Json[] = [];

  get size(): i32 {
    return this.items.length;
  }

  add(item: Json): this {
    this.items.push(item);
    return this;
  }
}

/** Members in the order in which they were set; a key is there once. */
export class JsonObject extends Json {
  private readonly members: Map<string, Json> = new Map<string, Json>();

  get size(): i32 {
    return this.members.size;
  }

  get keys(): string[] {
    return this.members.keys();
  }

  get(key: string): Json | null {
    return this.members.has(key) ? this.members.get(key) : null;
  }

  set(key: string, value: Json): this {
    this.members.set(key, value);
    return this;
  }

  setText(key: string, value: string): this {
    return this.set(key, new JsonText(value));
  }

  setNumber(key: string, value: f64): this {
    return this.set(key, new JsonNumber(value));
  }

  setBool(key: string, value: bool): this {
    return this.set(key, new JsonBool(value));
  }
}

/** The text of a value; null if it is absent or not a text. */
export function asText(value: Json | null): string | null {
  return value instanceof JsonText ? (value as JsonText).value : null;
}

/** The number of a value; NaN, which JSON does not have, if it is not a number. */
export function asNumber(value: Json | null): f64 {
  return value instanceof JsonNumber ? (value as JsonNumber).value : NaN;
}

/** The items of a list; empty if it is not a list. */
export function asList(value: Json | null): Json[] {
  return value instanceof JsonList ? (value as JsonList).items : [];
}

export function isTrue(value: Json | null): bool {
  return value instanceof JsonBool && (value as JsonBool).value;
}
