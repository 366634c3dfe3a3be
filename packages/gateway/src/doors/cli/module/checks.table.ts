import { DEFAULT_LIMITS, type Facts, type WasmError } from '@palisade/wasm';
import { RESERVED, RESERVED_REMEDY, remedyOf } from './errors.ts';
import { type Need, PAGE_BYTES } from './needs.ts';

/** What the checks look at: the facts, what the limits leave, and why the meter refused, if it did. */
export type Seen = {
  readonly facts: Facts;
  readonly needs: readonly Need[];
  readonly refusal: WasmError | null;
};

/** A refusal would keep the module from running at all; a warning wants a decision; a note is good to know. */
export type Severity = 'refusal' | 'warning' | 'note';

/** One thing an audit looks for: its sentence when it is there, null when it is not. */
export type Check = {
  readonly severity: Severity;
  readonly look: (seen: Seen) => string | null;
  readonly remedy: string | ((seen: Seen) => string);
};

const ENGINE_MODULE = 'palisade';
const LARGE_FUNCTION_BYTES = 256 * 1024;
const MANY_LOCALS = 1_000;

/** What compilers and their tools write beside the code; anything else is a load that nobody looked into. */
const KNOWN_SECTIONS =
  /^(name|producers|target_features|sourceMappingURL|external_debug_info|build_id|dylink(\.0)?|linking|reloc\..*|\.debug_.*|metadata\.code\..*)$/;
const DEBUG_SECTIONS = /^(name|sourceMappingURL|external_debug_info|\.debug_.*)$/;
const OBJECT_SECTIONS = /^(linking|reloc\..*)$/;

export const CHECKS: readonly Check[] = [
  {
    severity: 'refusal',
    look: ({ refusal }) => (refusal === null ? null : `It would be refused. ${refusal.message}`),
    remedy: ({ refusal, facts }) => {
      if (facts.exports.some(({ name }) => name.startsWith(RESERVED))) return RESERVED_REMEDY;
      return refusal === null ? '' : remedyOf(refusal);
    },
  },
  {
    severity: 'refusal',
    look: ({ facts }) => {
      const taken = facts.imports.filter(({ module }) => module === ENGINE_MODULE);
      return taken.length === 0
        ? null
        : `It would be refused. It imports ${list(taken.map(importName))}; the name "${ENGINE_MODULE}" is the engine's own.`;
    },
    remedy: 'Import from a module of another name.',
  },
  {
    severity: 'refusal',
    look: ({ facts }) => {
      const others = facts.imports.filter(({ kind }) => kind === 'table' || kind === 'global');
      return others.length === 0
        ? null
        : `It would be refused. It imports ${list(others.map(importName))}; the engine gives functions and memories only.`;
    },
    remedy: 'Link it statically, so that it defines its own tables and globals.',
  },
  {
    severity: 'warning',
    look: ({ facts }) => {
      const wasi = functionsOf(facts).filter(isWasi);
      return wasi.length === 0
        ? null
        : `It imports ${count(wasi.length, 'function')} of WASI, which no guest is given.`;
    },
    remedy: 'Build it without WASI, for instance for wasm32-unknown-unknown.',
  },
  {
    severity: 'warning',
    look: ({ facts }) => {
      const wanted = functionsOf(facts).filter((each) => !isWasi(each));
      return wanted.length === 0
        ? null
        : `It imports ${count(wanted.length, 'function')} of ${list(modulesOf(wanted))}: it runs only where a host has ${wanted.length === 1 ? 'it' : 'them'}.`;
    },
    remedy: 'Find out what each would do before you let it be called.',
  },
  {
    severity: 'warning',
    look: ({ facts }) =>
      facts.hasStart ? 'It has a start function: code that runs before anything is called.' : null,
    remedy: 'It is metered like a call. Expect a new instance to cost fuel, and to be able to fail.',
  },
  {
    severity: 'warning',
    look: ({ facts: { largestDense } }) =>
      largestDense === undefined
        ? null
        : `A data segment of ${largestDense.bytes} bytes has ${largestDense.bitsPerByte} bits in a byte: it looks compressed or encrypted.`,
    remedy: 'Ask the author what it holds; nothing here can look inside.',
  },
  {
    severity: 'warning',
    look: ({ needs }) => {
      const bytes = foundOf(needs, 'functionBytes');
      return bytes < LARGE_FUNCTION_BYTES ? null : `Its largest function has ${bytes} bytes of code.`;
    },
    remedy:
      'V8 compiles a function as a whole when it is first called: bound the time of that, in a process.',
  },
  {
    severity: 'warning',
    look: ({ needs }) => {
      const locals = foundOf(needs, 'locals');
      return locals < MANY_LOCALS ? null : `A function of it has ${locals} locals, its parameters included.`;
    },
    remedy: 'Many locals make V8 compile slowly: bound the time of the first call, in a process.',
  },
  {
    severity: 'warning',
    look: ({ needs }) => {
      const near = needs.filter(({ found, most }) => found !== null && found > most / 2);
      return near.length === 0
        ? null
        : `It takes more than half of ${list(near.map(({ limit, found, most }) => `${limit} (${found} of ${most})`))}.`;
    },
    remedy: 'It may pass a limit with its next version, or where limits are lower than here.',
  },
  {
    severity: 'warning',
    look: ({ facts }) => {
      const parts = facts.customs.filter(({ name }) => OBJECT_SECTIONS.test(name));
      return parts.length === 0 ? null : `It has the sections of an object file: ${list(parts.map(nameOf))}.`;
    },
    remedy: 'Link it first; an object file by itself does not run as it was meant.',
  },
  {
    severity: 'warning',
    look: ({ facts }) =>
      facts.exports.some(({ kind }) => kind === 'function') ? null : 'It exports no function.',
    remedy: 'Export what is to be called; compilers drop the rest.',
  },
  {
    severity: 'note',
    look: ({ facts }) => {
      const foreign = facts.exports.filter(({ kind, type }) => kind === 'function' && /v128|ref/.test(type));
      return foreign.length === 0
        ? null
        : `It exports ${list(foreign.map(nameOf))} with a type that cannot cross to the host.`;
    },
    remedy: 'Only i32, i64, f32 and f64 cross. Wrap the function, or do not export it.',
  },
  {
    severity: 'note',
    look: ({ facts }) => {
      if (facts.counts.memories === 0) return 'It has no memory.';
      const isShown = facts.exports.some(({ name, kind }) => kind === 'memory' && name === 'memory');
      return isShown ? null : 'It does not export its memory as "memory".';
    },
    remedy: 'Host functions see the memory that is exported as "memory", else the first, else none.',
  },
  {
    severity: 'note',
    look: ({ facts: { memory, counts } }) => {
      if (counts.memories === 0 || memory.min * PAGE_BYTES > DEFAULT_LIMITS.memoryBytes) return null;
      const most = DEFAULT_LIMITS.memoryBytes / PAGE_BYTES;
      if (memory.max === undefined) return `Its memory has no maximum: it can grow to ${most} pages here.`;
      return memory.max <= most
        ? null
        : `Its memory asks for up to ${memory.max} pages: it can grow to ${most} here.`;
    },
    remedy: 'Growing past that gives -1, as the specification has it; a program has to expect that.',
  },
  {
    severity: 'note',
    look: ({ facts }) => {
      const debug = facts.customs.filter(({ name }) => DEBUG_SECTIONS.test(name));
      const bytes = debug.reduce((sum, each) => sum + each.bytes, 0);
      return debug.length === 0
        ? null
        : `It carries ${bytes} bytes for debuggers: ${list(debug.map(nameOf))}.`;
    },
    remedy: 'Strip it; nothing that runs it reads them, and they tell about the source.',
  },
  {
    severity: 'note',
    look: ({ facts }) => {
      const unknown = facts.customs.filter(({ name }) => !KNOWN_SECTIONS.test(name));
      return unknown.length === 0
        ? null
        : `It carries custom sections of other tools: ${list(unknown.map(({ name, bytes }) => `${shorten(name)} (${bytes} bytes)`))}.`;
    },
    remedy: 'V8 passes over them and nothing here looks inside. Ask what they are for, or strip them.',
  },
  {
    severity: 'note',
    look: ({ facts }) => (facts.names.state === 'malformed' ? 'Its section of names is malformed.' : null),
    remedy: 'It changes nothing about what runs; names in stack traces may be missing.',
  },
];

type ImportFact = Facts['imports'][number];

function functionsOf({ imports }: Facts): readonly ImportFact[] {
  return imports.filter(({ kind, module }) => kind === 'function' && module !== ENGINE_MODULE);
}

function isWasi({ module }: ImportFact): boolean {
  return /^wasi[_:]/.test(module);
}

function modulesOf(imports: readonly ImportFact[]): readonly string[] {
  return [...new Set(imports.map(({ module }) => `"${shorten(module)}"`))];
}

function foundOf(needs: readonly Need[], limit: Need['limit']): number {
  return needs.find((need) => need.limit === limit)?.found ?? 0;
}

function importName({ module, name }: { readonly module: string; readonly name: string }): string {
  return `${shorten(module)}.${shorten(name)}`;
}

function nameOf({ name }: { readonly name: string }): string {
  return shorten(name);
}

const MOST_SHOWN = 4;
const LONGEST_SHOWN = 48;

/** A text of the module, cut so that it cannot fill the screen. */
export function shorten(text: string): string {
  const letters = [...text.slice(0, 2 * LONGEST_SHOWN)];
  if (letters.length <= LONGEST_SHOWN && text.length <= 2 * LONGEST_SHOWN) return text;
  return `${letters.slice(0, LONGEST_SHOWN).join('')}…`;
}

function list(texts: readonly string[]): string {
  const rest = texts.length - MOST_SHOWN;
  const shown = texts.slice(0, MOST_SHOWN).join(', ');
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
