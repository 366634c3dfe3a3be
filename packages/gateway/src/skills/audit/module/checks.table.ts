import { DEFAULT_LIMITS, type Facts, type WasmError } from '@palisade/wasm';
import { type AuditSeverity, severities } from '../check.ts';
import { LARGE_FUNCTION_BYTES, type Need, PAGE_BYTES, RESERVED, RESERVED_REMEDY, remedyOf } from './look.ts';
import { count, importName, list, shorten } from './words.ts';

/** What the checks look at: the facts, what the limits leave, and why the meter refused, if it did. */
export type Seen = {
  readonly facts: Facts;
  readonly needs: readonly Need[];
  readonly refusal: WasmError | null;
};

/** One thing that is looked for in a module: what the finding says when it is there, null when it is not. */
export type ModuleCheck = {
  readonly id: `module/${string}`;
  readonly severity: AuditSeverity;
  /** How the audit of a skill weighs it, where that differs; null: checks of skills say it more exactly. */
  readonly inSkills?: AuditSeverity | null;
  /** What it looks for. */
  readonly sentence: string;
  readonly look: (seen: Seen) => string | null;
  readonly remedy: string | ((seen: Seen) => string);
};

const ENGINE_MODULE = 'palisade';
const MANY_LOCALS = 1_000;

/** What compilers and their tools write beside the code; anything else is a payload that no check has inspected. */
export const KNOWN_SECTIONS =
  /^(name|producers|target_features|sourceMappingURL|external_debug_info|build_id|dylink(\.0)?|linking|reloc\..*|\.debug_.*|metadata\.code\.(branch_hint|trace_inst))$/;
const DEBUG_SECTIONS = /^(name|sourceMappingURL|external_debug_info|\.debug_.*)$/;
const OBJECT_SECTIONS = /^(linking|reloc\..*)$/;

const { refusal, warning, note } = severities<ModuleCheck>();

/** What is looked for in every module, by itself or in a skill. */
export const MODULE_CHECKS: readonly ModuleCheck[] = [
  refusal('module/refused', {
    sentence:
      'Cannot be accepted by the engine: malformed, invalid, past a limit, or with a feature that is refused.',
    look: ({ refusal }) => (refusal === null ? null : `It would be refused. ${refusal.message}`),
    remedy: ({ refusal, facts }) => {
      if (facts.exports.some(({ name }) => name.startsWith(RESERVED))) return RESERVED_REMEDY;
      return refusal === null ? '' : remedyOf(refusal);
    },
  }),
  refusal('module/engine-name', {
    inSkills: null,
    sentence: "Imports from the engine's own module.",
    look: ({ facts }) => {
      const taken = facts.imports.filter(({ module }) => module === ENGINE_MODULE);
      return taken.length === 0
        ? null
        : `It would be refused. It imports ${list(taken.map(importName))}; the name "${ENGINE_MODULE}" is the engine's own.`;
    },
    remedy: 'Import from a module of another name.',
  }),
  refusal('module/imported-object', {
    inSkills: null,
    sentence: 'Imports a table or a global.',
    look: ({ facts }) => {
      const others = facts.imports.filter(({ kind }) => kind === 'table' || kind === 'global');
      return others.length === 0
        ? null
        : `It would be refused. It imports ${list(others.map(importName))}; the engine gives functions and memories only.`;
    },
    remedy: 'Link it statically, so that it defines its own tables and globals.',
  }),
  warning('module/wasi', {
    inSkills: null,
    sentence: 'Imports functions of WASI.',
    look: ({ facts }) => {
      const wasi = functionsOf(facts).filter(isWasi);
      return wasi.length === 0
        ? null
        : `It imports ${count(wasi.length, 'function')} of WASI, which guests do not get.`;
    },
    remedy: 'Build it without WASI, for instance for wasm32-unknown-unknown.',
  }),
  warning('module/host-functions', {
    inSkills: null,
    sentence: 'Imports functions that only some hosts provide.',
    look: ({ facts }) => {
      const wanted = functionsOf(facts).filter((each) => !isWasi(each));
      return wanted.length === 0
        ? null
        : `It imports ${count(wanted.length, 'function')} of ${list(modulesOf(wanted))}: it runs only where a host has ${wanted.length === 1 ? 'it' : 'them'}.`;
    },
    remedy: 'Find out what each does before allowing calls.',
  }),
  warning('module/start', {
    inSkills: 'note',
    sentence: 'Runs code before anything is called.',
    look: ({ facts }) =>
      facts.hasStart ? 'It has a start function: code that runs before anything is called.' : null,
    remedy: 'It is metered like a call. Expect a new instance to cost fuel, and to be able to fail.',
  }),
  warning('module/dense-data', {
    inSkills: 'note',
    sentence: 'Has data that looks compressed or encrypted.',
    look: ({ facts: { largestDense } }) =>
      largestDense === undefined
        ? null
        : `A data segment of ${largestDense.bytes} bytes has ${largestDense.bitsPerByte} bits in a byte: it looks compressed or encrypted.`,
    remedy: 'Ask the author what it contains; the audit cannot look inside.',
  }),
  warning('module/large-function', {
    sentence: 'Has a function with 256 KiB of code or more.',
    look: ({ needs }) => {
      const bytes = foundOf(needs, 'functionBytes');
      return bytes < LARGE_FUNCTION_BYTES ? null : `Its largest function has ${bytes} bytes of code.`;
    },
    remedy:
      'V8 compiles a function as a whole when it is first called: bound the time of that, in a process.',
  }),
  warning('module/many-locals', {
    sentence: 'Has a function with 1,000 locals or more.',
    look: ({ needs }) => {
      const locals = foundOf(needs, 'locals');
      return locals < MANY_LOCALS ? null : `A function of it has ${locals} locals, its parameters included.`;
    },
    remedy: 'Many locals make V8 compile slowly: bound the time of the first call, in a process.',
  }),
  warning('module/near-limit', {
    sentence: 'Takes more than half of a limit of the engine.',
    look: ({ needs }) => {
      const near = needs.filter(({ found, most }) => found !== null && found > most / 2);
      return near.length === 0
        ? null
        : `It takes more than half of ${list(near.map(({ limit, found, most }) => `${limit} (${found} of ${most})`))}.`;
    },
    remedy: 'It may pass a limit with its next version, or where limits are lower than here.',
  }),
  warning('module/object-file', {
    sentence: 'Has the sections of an object file that was not linked.',
    look: ({ facts }) => {
      const parts = facts.customs.filter(({ name }) => OBJECT_SECTIONS.test(name));
      return parts.length === 0 ? null : `It has the sections of an object file: ${list(parts.map(nameOf))}.`;
    },
    remedy: 'Link it first; an object file by itself does not run as it was meant.',
  }),
  warning('module/no-function', {
    inSkills: null,
    sentence: 'Exports no function.',
    look: ({ facts }) =>
      facts.exports.some(({ kind }) => kind === 'function') ? null : 'It exports no function.',
    remedy: 'Export what is to be called; compilers drop the rest.',
  }),
  note('module/foreign-type', {
    sentence: 'Exports a function whose type cannot cross to the host.',
    look: ({ facts }) => {
      const foreign = facts.exports.filter(({ kind, type }) => kind === 'function' && /v128|ref/.test(type));
      return foreign.length === 0
        ? null
        : `It exports ${list(foreign.map(nameOf))} with a type that cannot cross to the host.`;
    },
    remedy: 'Only i32, i64, f32 and f64 cross. Wrap the function, or do not export it.',
  }),
  note('module/memory-name', {
    inSkills: null,
    sentence: 'Has no memory, or one that is not exported as "memory".',
    look: ({ facts }) => {
      if (facts.counts.memories === 0) return 'It has no memory.';
      const isShown = facts.exports.some(({ name, kind }) => kind === 'memory' && name === 'memory');
      return isShown ? null : 'It does not export its memory as "memory".';
    },
    remedy: 'Host functions see the memory that is exported as "memory", else the first, else none.',
  }),
  note('module/open-memory', {
    inSkills: null,
    sentence: 'Has a memory that may grow past its limit.',
    look: ({ facts: { memory, counts } }) => {
      if (counts.memories === 0 || memory.min * PAGE_BYTES > DEFAULT_LIMITS.memoryBytes) return null;
      const most = DEFAULT_LIMITS.memoryBytes / PAGE_BYTES;
      if (memory.max === undefined) return `Its memory has no maximum: it can grow to ${most} pages here.`;
      return memory.max <= most
        ? null
        : `Its memory asks for up to ${memory.max} pages: it can grow to ${most} here.`;
    },
    remedy: 'Growing past that returns -1, as the specification says; a program has to handle that.',
  }),
  note('module/debug', {
    sentence: 'Carries sections for debuggers.',
    look: ({ facts }) => {
      const debug = facts.customs.filter(({ name }) => DEBUG_SECTIONS.test(name));
      const bytes = debug.reduce((sum, each) => sum + each.bytes, 0);
      return debug.length === 0
        ? null
        : `It carries ${bytes} bytes for debuggers: ${list(debug.map(nameOf))}.`;
    },
    remedy:
      'Names of functions are good to have: a trap is told with them. The rest reveals the source; `palisade skill pack` leaves it out.',
  }),
  note('module/other-section', {
    inSkills: null,
    sentence: 'Carries custom sections of unknown tools.',
    look: ({ facts }) => {
      const unknown = facts.customs.filter(({ name }) => !KNOWN_SECTIONS.test(name));
      return unknown.length === 0
        ? null
        : `It carries custom sections of other tools: ${list(unknown.map(({ name, bytes }) => `${shorten(name)} (${bytes} bytes)`))}.`;
    },
    remedy: 'V8 ignores them and the audit does not look inside. Ask what they are for, or strip them.',
  }),
  note('module/malformed-names', {
    inSkills: 'warning',
    sentence: 'Has a section of names that cannot be read.',
    look: ({ facts }) => (facts.names.state === 'malformed' ? 'Its section of names is malformed.' : null),
    remedy: 'It changes nothing about what runs; names in stack traces may be missing.',
  }),
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

function nameOf({ name }: { readonly name: string }): string {
  return shorten(name);
}
