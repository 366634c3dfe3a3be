import { DEFAULT_LIMITS } from '../../../core/limits.ts';
import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import { denseBytes, isDense, programAt, programIn } from '../files.table.ts';
import { KNOWN_SECTIONS } from '../module/checks.table.ts';
import { type Looked, PAGE_BYTES, remedyOf } from '../module/look.ts';
import type { CustomSection, ModuleSubject } from '../module/module-subject.ts';
import { count, importName, list, shorten } from '../module/words.ts';
import { declaredNeeds, keyOf, SHARED_MODULE_CHECKS, unusedNeeds } from './declared.ts';

const TOOL_TYPE = '(i32, i32) -> i64';
const ALLOC_TYPE = '(i32) -> i32';
const READ_ABI = 'Have the author build it for the ABI of docs/abi.md.';
/** What the sections that only describe a module have at most; more is a load. */
const DESCRIBING_BYTES = 1024;
const ALL_DESCRIBING_BYTES = 16 * 1024;
const DESCRIBING =
  /^(?:producers|target_features|build_id|sourceMappingURL|external_debug_info|dylink(?:\.0)?|version|revision|source|homepage|licenses|authors|description)$/;
/** What is dense in a module is a payload where it is more than this part of it; engines and codecs have tables. */
const PAYLOAD_PART = 1 / 16;

/** What compilers export beside what they were told to: Clang and its linker, AssemblyScript, Emscripten, TinyGo, Rust. */
const COMPILER_EXPORTS =
  /^(?:_start|_initialize|__wasm_call_ctors|__(?:new|pin|unpin|collect|rtti_base)|malloc|free|realloc|calloc|cabi_realloc|table|__indirect_function_table|__(?:heap_base|heap_end|data_end|stack_pointer|stack_low|stack_high|global_base|memory_base|table_base|dso_handle|tls_base|tls_size|tls_align))$/;
const COMPONENT_SECTIONS = /^(?:component-name|component-type(?::.*)?|package-docs)$/;

/** What cannot be withheld, since modules are linked with it. */
const HARMLESS: ReadonlySet<string> = new Set(['log', 'clock', 'random', 'config']);

export const SKILL_MODULE_CHECKS: readonly AuditCheck[] = [
  {
    id: 'module/unreadable',
    severity: 'refusal',
    sentence:
      'A module that is none, is past a limit, uses a refused feature, or is a component of another world.',
    look: (subject) =>
      eachModule(subject, ({ fault }) =>
        fault === null ? [] : [{ what: `It would be refused. ${fault.message}`, remedy: remedyOf(fault) }],
      ),
  },
  {
    id: 'module/foreign-import',
    severity: 'refusal',
    sentence: 'An import that is no function of the ABI, or has another type than the ABI gives it.',
    look: (subject) =>
      eachImport(subject, (each) =>
        each.misfit === null
          ? null
          : { what: `It imports ${importName(each)} ${shorten(each.misfit)}.`, remedy: READ_ABI },
      ),
  },
  {
    id: 'module/undeclared-import',
    severity: 'refusal',
    sentence: 'An import that needs a capability which the manifest does not ask for.',
    look: (subject) => {
      const declared = declaredNeeds(subject.pkg.manifest.asks);
      return eachImport(subject, (each) =>
        each.need === null || declared.has(each.need)
          ? null
          : {
              what: `It imports ${importName(each)}, and the manifest does not ask for ${each.need}.`,
              remedy: `Do not use it. Its author has to ask for it with ${keyOf(each.need)}, or build the module without it.`,
            },
      );
    },
  },
  {
    id: 'manifest/excess-capability',
    severity: 'warning',
    sentence: 'A capability that is asked for and that no module imports.',
    look: ({ pkg: { manifest }, modules }) =>
      unusedNeeds(manifest.asks, modules).map((need) => ({
        where: `skill.toml ${keyOf(need)}`,
        what: `It asks for ${need}, and no module of it can use that.`,
        remedy: HARMLESS.has(need)
          ? 'It reaches nothing; have the author take it out of the manifest.'
          : 'Withhold it when you approve, or have the author take it out of the manifest.',
      })),
  },
  {
    id: 'module/missing-entrypoint',
    severity: 'refusal',
    sentence: `A tool whose export is not there, or is no function of type ${TOOL_TYPE}.`,
    look: (subject) =>
      eachCore(subject, ({ tools }, { exports }) =>
        tools.flatMap((tool) => {
          const found = exports.find(({ name }) => name === tool.export);
          if (found?.kind === 'function' && found.type === TOOL_TYPE) return [];
          const is = found === undefined ? 'it does not export' : `it has as ${shorten(found.type)}`;
          const what = `The tool "${tool.id}" is its "${shorten(tool.export)}", which ${is}, expected a function of type ${TOOL_TYPE}.`;
          return [{ what, remedy: READ_ABI }];
        }),
      ),
  },
  {
    id: 'module/no-place-for-input',
    severity: 'refusal',
    sentence:
      'A module without an exported memory, or without the function of the ABI that gives room in it.',
    look: (subject) =>
      eachCore(subject, (_, { exports }) => {
        const { alloc } = subject.bench.abi;
        const given = exports.find(({ name }) => name === alloc);
        const hasMemory = exports.some(({ name, kind }) => kind === 'memory' && name === 'memory');
        return [
          ...(given?.type === ALLOC_TYPE ? [] : [`It exports no ${alloc} of type ${ALLOC_TYPE}.`]),
          ...(hasMemory ? [] : ['It exports no memory as "memory".']),
        ].map((what) => ({ what, remedy: READ_ABI }));
      }),
  },
  {
    id: 'module/undeclared-entrypoint',
    severity: 'refusal',
    sentence: `An exported function of type ${TOOL_TYPE} that is no tool of the manifest.`,
    look: (subject) =>
      eachCore(subject, ({ tools }, { exports }) => {
        const extra = exports.filter(
          ({ name, kind, type }) =>
            kind === 'function' && type === TOOL_TYPE && !tools.some((tool) => tool.export === name),
        );
        if (extra.length === 0) return [];
        const what = `It exports ${list(extra.map(nameOf))}, which could be called as a tool and is none of the manifest.`;
        return [{ what, remedy: 'Have the author declare it as a tool, or not export it.' }];
      }),
  },
  {
    id: 'module/extra-export',
    severity: 'note',
    sentence: 'Another export that neither the ABI nor a compiler has.',
    look: (subject) =>
      eachCore(subject, ({ tools }, { exports }) => {
        const { alloc } = subject.bench.abi;
        const extra = exports.filter(
          ({ name, kind, type }) =>
            !(name === alloc || name === 'memory' || COMPILER_EXPORTS.test(name)) &&
            !(kind === 'function' && type === TOOL_TYPE) &&
            !tools.some((tool) => tool.export === name),
        );
        if (extra.length === 0) return [];
        const what = `It exports ${list(extra.map(nameOf))}, which nothing calls.`;
        return [{ what, remedy: 'Nothing has to be done; the author might leave it out.' }];
      }),
  },
  {
    id: 'module/memory-quota',
    severity: 'refusal',
    sentence: 'A module whose memory is larger at first than the quota of the skill.',
    look: (subject) =>
      eachModule(subject, ({ looked }) => {
        const most = subject.pkg.manifest.quotas.memoryBytes ?? DEFAULT_LIMITS.memoryBytes;
        const needed = (looked?.facts.memory.min ?? 0) * PAGE_BYTES;
        if (needed <= most) return [];
        const what = `Its memory has ${needed} bytes at first, and the quota is ${most}: no call of it could begin.`;
        return [
          { what, remedy: 'Have the author raise capabilities.quotas.memory_bytes, or build it smaller.' },
        ];
      }),
  },
  {
    id: 'module/payload',
    severity: 'warning',
    sentence: 'A good part of a module that is compressed or encrypted data.',
    look: (subject) =>
      eachModule(subject, ({ looked, bytes }) => {
        if (looked === null) return [];
        const dense = Math.max(looked.facts.largestDense?.bytes ?? 0, denseBytes(bytes));
        if (dense === 0 || dense < bytes.length * PAYLOAD_PART) return [];
        const what = `${dense} of its ${bytes.length} bytes are data that looks compressed or encrypted.`;
        return [{ what, remedy: 'Ask the author what it holds, and accept it only with an answer.' }];
      }),
  },
  {
    id: 'module/embedded-program',
    severity: 'warning',
    sentence: 'A program or an archive inside a module.',
    look: (subject) =>
      eachModule(subject, ({ bytes }) => {
        const found = programIn(bytes);
        if (found === null) return [];
        const what = `At byte ${found.at} it has what looks like ${found.name}.`;
        return [
          { what, remedy: 'Ask the author what it is for; a module cannot run it, and can hand it on.' },
        ];
      }),
  },
  {
    id: 'module/custom-payload',
    severity: 'refusal',
    sentence: 'A custom section that carries a load: a program, noise, or more than tools write there.',
    look: (subject) =>
      eachModule(subject, ({ sections, isComponent }) => {
        const loads = sections.flatMap((section) => {
          const load = loadOf(section, isComponent);
          if (load === null) return [];
          return [
            `Its custom section "${shorten(section.name)}" of ${section.content.length} bytes ${load}.`,
          ];
        });
        const all = sections
          .filter((section) => isDescribing(section, isComponent))
          .reduce((sum, { name, content }) => sum + name.length + content.length, 0);
        const whats =
          all <= ALL_DESCRIBING_BYTES
            ? loads
            : [...loads, `Its small custom sections have ${all} bytes in all.`];
        return whats.map((what) => ({
          what,
          remedy: 'Have the author strip it; nothing that runs the module reads it.',
        }));
      }),
  },
  {
    id: 'module/custom-section',
    severity: 'warning',
    sentence: 'A small custom section that no known tool writes.',
    look: (subject) =>
      eachModule(subject, ({ sections, isComponent }) => {
        const unknown = sections.filter(
          (section) => !isKnown(section, isComponent) && loadOf(section, isComponent) === null,
        );
        if (unknown.length === 0) return [];
        const what = `It has ${count(unknown.length, 'custom section')} of other tools: ${list(unknown.map(nameOf))}.`;
        return [{ what, remedy: 'Ask what they are for, or have the author strip them.' }];
      }),
  },
  ...SHARED_MODULE_CHECKS,
];

type Seen = Omit<Sighting, 'where'>;

function* eachModule(
  { modules }: AuditSubject,
  look: (module: ModuleSubject) => readonly Seen[],
): Iterable<Sighting> {
  for (const module of modules) for (const seen of look(module)) yield { where: module.path, ...seen };
}

/** The modules of the ABI; what a component exports is of its world. */
function eachCore(
  subject: AuditSubject,
  look: (module: ModuleSubject, facts: Looked['facts']) => readonly Seen[],
): Iterable<Sighting> {
  return eachModule(subject, (module) =>
    module.isComponent || module.looked === null ? [] : look(module, module.looked.facts),
  );
}

function eachImport(
  subject: AuditSubject,
  look: (each: ModuleSubject['imports'][number]) => Seen | null,
): Iterable<Sighting> {
  return eachModule(subject, ({ imports }) => imports.flatMap((each) => look(each) ?? []));
}

/** What only components have is a load in a module. */
function isKnown({ name }: CustomSection, isComponent: boolean): boolean {
  return KNOWN_SECTIONS.test(name) || DESCRIBING.test(name) || (isComponent && COMPONENT_SECTIONS.test(name));
}

function isDescribing(section: CustomSection, isComponent: boolean): boolean {
  return DESCRIBING.test(section.name) || !isKnown(section, isComponent);
}

function loadOf(section: CustomSection, isComponent: boolean): string | null {
  const { content } = section;
  const program = programAt(content);
  if (program !== null) return `begins like ${program}`;
  if (isDense(content)) return 'looks compressed or encrypted';
  return isDescribing(section, isComponent) && content.length > DESCRIBING_BYTES
    ? 'is more than tools write there'
    : null;
}

function nameOf({ name }: { readonly name: string }): string {
  return shorten(name);
}
