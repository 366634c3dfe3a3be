/** Reads the part of WIT that our own files are written in; anything else is an error. */
import type { WitFunction, WitType } from '@palisade/wasm';

type Scope = Map<string, WitType>;

export type WitFiles = {
  /** By `interface.name`. */
  readonly functions: ReadonlyMap<string, WitFunction>;
  readonly interfaces: ReadonlySet<string>;
  readonly imported: readonly string[];
  readonly exported: ReadonlyMap<string, WitFunction>;
};

const TOKEN = /\/\/\/?[^\n]*|[a-z%][a-z0-9-]*|->|@[\d.]+|[{}()<>,;:=._/]/g;
const PLAIN: ReadonlySet<string> = new Set([
  ...['bool', 's8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64', 'f32', 'f64', 'char', 'string'],
]);

export function readWit(text: string): WitFiles {
  return new Reader(text).read();
}

class Reader {
  readonly #tokens: readonly string[];
  readonly #scopes = new Map<string, Scope>();
  readonly #functions = new Map<string, WitFunction>();
  readonly #exported = new Map<string, WitFunction>();
  readonly #imported: string[] = [];
  #at = 0;

  constructor(text: string) {
    this.#tokens = (text.match(TOKEN) ?? []).filter((token) => !token.startsWith('//'));
  }

  read(): WitFiles {
    while (this.#at < this.#tokens.length) {
      const word = this.#next();
      if (word === 'package') this.#until(';');
      else if (word === 'interface') this.#interface();
      else if (word === 'world') this.#world();
      else throw new Error(`no idea what ${word} is`);
    }
    return {
      functions: this.#functions,
      interfaces: new Set(this.#scopes.keys()),
      imported: this.#imported,
      exported: this.#exported,
    };
  }

  #interface(): void {
    const name = this.#name();
    const scope: Scope = new Map();
    this.#scopes.set(name, scope);
    this.#expect('{');
    while (!this.#take('}')) {
      if (this.#take('use')) this.#use(scope);
      else if (!this.#define(scope)) {
        const called = this.#name();
        this.#functions.set(`${name}.${called}`, this.#function(scope));
      }
    }
  }

  #world(): void {
    this.#name();
    const scope: Scope = new Map();
    this.#expect('{');
    while (!this.#take('}')) {
      if (this.#take('import')) {
        this.#imported.push(this.#name());
        this.#expect(';');
      } else if (this.#take('export')) {
        const called = this.#name();
        this.#exported.set(called, this.#function(scope));
      } else if (this.#take('include')) this.#until(';');
      else if (!this.#define(scope)) throw new Error(`no idea what ${this.#next()} is`);
    }
  }

  #use(scope: Scope): void {
    const other = this.#scopes.get(this.#name());
    this.#expect('.');
    this.#expect('{');
    for (const name of this.#until('}').filter((token) => token !== ',')) {
      const type = other?.get(name);
      if (type === undefined) throw new Error(`there is no ${name} to use`);
      scope.set(name, type);
    }
    this.#expect(';');
  }

  #define(scope: Scope): boolean {
    const kind = this.#tokens[this.#at];
    if (kind === 'record' || kind === 'variant' || kind === 'enum') {
      this.#at += 1;
      const name = this.#name();
      this.#expect('{');
      scope.set(name, this.#body(kind, scope));
      return true;
    }
    return false;
  }

  #body(kind: 'record' | 'variant' | 'enum', scope: Scope): WitType {
    const members: (readonly [string, WitType | null])[] = [];
    while (!this.#take('}')) {
      const name = this.#name();
      if (this.#take(':')) members.push([name, this.#type(scope)]);
      else if (this.#take('(')) {
        members.push([name, this.#type(scope)]);
        this.#expect(')');
      } else members.push([name, null]);
      this.#take(',');
    }
    if (kind === 'enum') return { kind, names: members.map(([name]) => name) };
    if (kind === 'variant') return { kind, cases: members };
    return { kind, fields: members.map(([name, type]) => [name, type ?? 'bool']) };
  }

  #function(scope: Scope): WitFunction {
    for (const token of [':', 'func', '(']) this.#expect(token);
    const params: (readonly [string, WitType])[] = [];
    while (!this.#take(')')) {
      const name = this.#name();
      this.#expect(':');
      params.push([name, this.#type(scope)]);
      this.#take(',');
    }
    const result = this.#take('->') ? this.#type(scope) : null;
    this.#expect(';');
    return { params, result };
  }

  #type(scope: Scope): WitType {
    const name = this.#name();
    if (PLAIN.has(name)) return name as WitType;
    if (!['list', 'tuple', 'option', 'result'].includes(name)) {
      const type = scope.get(name);
      if (type === undefined) throw new Error(`there is no type ${name}`);
      return type;
    }
    const inner: (WitType | null)[] = [];
    if (this.#take('<'))
      do inner.push(this.#take('_') ? null : this.#type(scope));
      while (this.#take(',') || !this.#take('>'));
    const [first = null, second = null] = inner;
    if (name === 'result') return { kind: name, ok: first, error: second };
    if (first === null) throw new Error(`${name} of nothing`);
    if (name === 'list') return { kind: name, element: first };
    return name === 'option'
      ? { kind: name, some: first }
      : { kind: 'tuple', elements: inner.map((each) => each ?? 'bool') };
  }

  #name(): string {
    return this.#next().replace('%', '');
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('it ends too early');
    this.#at += 1;
    return token;
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw new Error(`${this.#tokens[this.#at]} is there, expected ${token}`);
  }

  #until(token: string): readonly string[] {
    const from = this.#at;
    while (this.#next() !== token);
    return this.#tokens.slice(from, this.#at - 1);
  }
}
