import { DEFAULT_LIMITS } from '../../../core/limits.ts';
import { type Asks, hasGrant } from '../../../core/wasm.ts';
import { CAPABILITIES, grantAll, isGrantKind } from '../../capabilities/kinds.ts';
import { type AuditCheck, each, ifAny, note, refusal, warning } from '../check.ts';
import { denseBytes, isDense, programAt, programIn } from '../files.table.ts';
import { KNOWN_SECTIONS, MODULE_CHECKS } from '../module/checks.table.ts';
import { PAGE_BYTES, remedyOf } from '../module/look.ts';
import type { CustomSection, ModuleSubject } from '../module/module-subject.ts';
import { count, importName, list, shorten } from '../module/words.ts';

const TOOL_TYPE = '(i32, i32) -> i64';
const ALLOC_TYPE = '(i32) -> i32';
const READ_ABI = 'Have the author build it for the ABI of docs/abi.md.';
/** The largest size of descriptive sections of a module; more is a payload. */
const DESCRIBING_BYTES = 1024;
const ALL_DESCRIBING_BYTES = 16 * 1024;
const DESCRIBING =
  /^(?:producers|target_features|build_id|sourceMappingURL|external_debug_info|dylink(?:\.0)?|version|revision|source|homepage|licenses|authors|description)$/;
/** What is dense in a module is a payload where it is more than this part of it; engines and codecs have tables. */
const PAYLOAD_PART = 1 / 16;

/** What compilers export besides what was requested: Clang, LLD, AssemblyScript, Emscripten, TinyGo, Rust. */
const COMPILER_EXPORTS =
  /^(?:_start|_initialize|__wasm_call_ctors|__(?:new|pin|unpin|collect|rtti_base)|malloc|free|realloc|calloc|cabi_realloc|table|__indirect_function_table|__(?:heap_base|heap_end|data_end|stack_pointer|stack_low|stack_high|global_base|memory_base|table_base|dso_handle|tls_base|tls_size|tls_align))$/;
const COMPONENT_SECTIONS = /^(?:component-name|component-type(?::.*)?|package-docs)$/;

/** What cannot be withheld, since modules are linked with it. */
const HARMLESS: ReadonlySet<string> = new Set(['log', 'clock', 'random', 'config']);

const eachModule = each(({ modules }) => modules.map((module) => [module.path, module] as const));

/** The modules of the ABI, with what they export that is not a tool; what a component exports is of its world. */
const eachCore = each(({ modules }) =>
  modules.flatMap(({ path, isComponent, looked, tools }) => {
    if (isComponent || looked === null) return [];
    const { exports } = looked.facts;
    const others = exports.filter(({ name }) => !tools.some((tool) => tool.export === name));
    return [[path, { tools, exports, others }] as const];
  }),
);

export const SKILL_MODULE_CHECKS: readonly AuditCheck[] = [
  refusal('module/unreadable', {
    sentence:
      'A module that is malformed, exceeds a limit, uses a disabled feature, or is a component of another world.',
    look: eachModule(({ fault }) =>
      fault === null ? null : { what: `It would be refused. ${fault.message}`, remedy: remedyOf(fault) },
    ),
  }),
  refusal('module/foreign-import', {
    sentence: 'An import that is not a function of the ABI, or whose type differs from the ABI.',
    remedy: READ_ABI,
    look: eachModule(({ imports }) =>
      imports
        .filter(({ misfit }) => misfit !== null)
        .map((each) => `It imports ${importName(each)} ${shorten(each.misfit ?? '')}.`),
    ),
  }),
  refusal('module/undeclared-import', {
    sentence: 'An import that needs a capability that the manifest does not ask for.',
    look: eachModule(({ imports }, { pkg: { manifest } }) => {
      const declared = declaredNeeds(manifest.asks);
      return imports.flatMap((each) => {
        const { need } = each;
        if (need === null || declared.has(need)) return [];
        const what = `It imports ${importName(each)}, and the manifest does not ask for ${need}.`;
        const remedy = `Do not use it. The author has to declare ${keyOf(need)}, or build the module without the import.`;
        return [{ what, remedy }];
      });
    }),
  }),
  warning('manifest/excess-capability', {
    sentence: 'A capability that is asked for but that no module imports.',
    look: ({ pkg: { manifest }, modules }) =>
      unusedNeeds(manifest.asks, modules).map((need) => ({
        where: `skill.toml ${keyOf(need)}`,
        what: `It asks for ${need}, but none of its modules can use it.`,
        remedy: HARMLESS.has(need)
          ? 'It is harmless; have the author remove it from the manifest.'
          : 'Withhold it when you approve, or have the author remove it from the manifest.',
      })),
  }),
  refusal('module/missing-entrypoint', {
    sentence: `A tool whose export is missing or is not a function of type ${TOOL_TYPE}.`,
    remedy: READ_ABI,
    look: eachCore(({ tools, exports }) =>
      tools.flatMap((tool) => {
        const found = exports.find(({ name }) => name === tool.export);
        if (found !== undefined && isTool(found)) return [];
        const is = found === undefined ? 'it does not export' : `it has as ${shorten(found.type)}`;
        return [
          `The tool "${tool.id}" is its "${shorten(tool.export)}", which ${is}, expected a function of type ${TOOL_TYPE}.`,
        ];
      }),
    ),
  }),
  refusal('module/no-place-for-input', {
    sentence: 'A module that does not export a memory or the allocator function of the ABI.',
    remedy: READ_ABI,
    look: eachCore(({ exports }, { bench: { abi } }) => {
      const given = exports.find(({ name }) => name === abi.alloc);
      const hasMemory = exports.some(({ name, kind }) => kind === 'memory' && name === 'memory');
      return [
        ...(given?.type === ALLOC_TYPE ? [] : [`It does not export ${abi.alloc} of type ${ALLOC_TYPE}.`]),
        ...(hasMemory ? [] : ['It does not export a memory as "memory".']),
      ];
    }),
  }),
  refusal('module/undeclared-entrypoint', {
    sentence: `An exported function of type ${TOOL_TYPE} that the manifest does not declare as a tool.`,
    remedy: 'Have the author declare it as a tool, or stop exporting it.',
    look: eachCore(({ others }) =>
      ifAny(
        others.filter(isTool).map(nameOf),
        (names) =>
          `It exports ${list(names)}, which could be called as a tool but is not declared in the manifest.`,
      ),
    ),
  }),
  note('module/extra-export', {
    sentence: 'An export that neither the ABI nor a known compiler uses.',
    remedy: 'Nothing has to be done; the author could remove it.',
    look: eachCore(({ others }, { bench: { abi } }) => {
      const isUsed = (name: string) => name === abi.alloc || name === 'memory' || COMPILER_EXPORTS.test(name);
      const extra = others.filter((each) => !isUsed(each.name) && !isTool(each));
      return ifAny(extra.map(nameOf), (names) => `It exports ${list(names)}, which nothing calls.`);
    }),
  }),
  refusal('module/memory-quota', {
    sentence: 'A module whose initial memory exceeds the quota of the skill.',
    remedy: 'Have the author raise capabilities.quotas.memory_bytes, or build it smaller.',
    look: eachModule(({ looked }, { pkg: { manifest } }) => {
      const most = manifest.quotas.memoryBytes ?? DEFAULT_LIMITS.memoryBytes;
      const needed = (looked?.facts.memory.min ?? 0) * PAGE_BYTES;
      if (needed <= most) return null;
      return `Its initial memory is ${needed} bytes, but the quota is ${most}: no call could start.`;
    }),
  }),
  warning('module/payload', {
    sentence: 'A module with a large share of compressed or encrypted data.',
    remedy: 'Ask the author what it contains, and accept it only with a good answer.',
    look: eachModule(({ looked, bytes }) => {
      if (looked === null) return null;
      const dense = Math.max(looked.facts.largestDense?.bytes ?? 0, denseBytes(bytes));
      if (dense === 0 || dense < bytes.length * PAYLOAD_PART) return null;
      return `${dense} of its ${bytes.length} bytes are data that looks compressed or encrypted.`;
    }),
  }),
  warning('module/embedded-program', {
    sentence: 'A program or an archive inside a module.',
    remedy: 'Ask the author what it is for; a module cannot run it, but can pass it on.',
    look: eachModule(({ bytes }) => {
      const found = programIn(bytes);
      return found === null ? null : `At byte ${found.at} there is what looks like ${found.name}.`;
    }),
  }),
  refusal('module/custom-payload', {
    sentence:
      'A custom section with a payload: a program, high-entropy data, or more than tools write there.',
    remedy: 'Have the author strip it; the engine never reads it.',
    look: eachModule(({ sections, isComponent }) => {
      const loads = sections.flatMap((section) => {
        const load = loadOf(section, isComponent);
        const { name, content } = section;
        return load === null
          ? []
          : [`Its custom section "${shorten(name)}" of ${content.length} bytes ${load}.`];
      });
      const all = sections
        .filter((section) => isDescribing(section, isComponent))
        .reduce((sum, { name, content }) => sum + name.length + content.length, 0);
      const isTooMuch = all > ALL_DESCRIBING_BYTES;
      return isTooMuch ? [...loads, `Its small custom sections have ${all} bytes in all.`] : loads;
    }),
  }),
  warning('module/custom-section', {
    sentence: 'A small custom section that no known tool writes.',
    remedy: 'Ask what they are for, or have the author strip them.',
    look: eachModule(({ sections, isComponent }) =>
      ifAny(
        sections.filter((each) => !isKnown(each, isComponent) && loadOf(each, isComponent) === null),
        (unknown) =>
          `It has ${count(unknown.length, 'custom section')} of other tools: ${list(unknown.map(nameOf))}.`,
      ),
    ),
  }),
  ...MODULE_CHECKS.flatMap(({ look, remedy, ...check }) => {
    const { inSkills = check.severity, ...row } = check;
    if (inSkills === null) return [];
    const lookInSkill = eachModule(({ looked }) => {
      if (looked === null) return null;
      // How much memory it may have is for the quota of the skill.
      const seen = { ...looked, needs: looked.needs.filter(({ limit }) => limit !== 'memoryBytes') };
      const what = look(seen);
      return what === null ? null : { what, remedy: typeof remedy === 'string' ? remedy : remedy(seen) };
    });
    return [{ ...row, severity: inSkills, look: lookInSkill }];
  }),
];

function isTool({ kind, type }: { readonly kind: string; readonly type: string }): boolean {
  return kind === 'function' && type === TOOL_TYPE;
}

/** What only components have is a payload in a module. */
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

/** The capabilities that the manifest requests, as imports need them. */
export function declaredNeeds(asks: Asks): ReadonlySet<string> {
  const all = grantAll(asks);
  return new Set(Object.keys(CAPABILITIES).filter((need) => isGrantKind(need) && hasGrant(all, need)));
}

/** The key of the manifest that requests a capability. */
export function keyOf(need: string): string {
  return `capabilities.${isGrantKind(need) ? CAPABILITIES[need].manifestKey : need}`;
}

/** Needs declared but imported by no module. A secret that is only sent is used by modules that make requests. */
export function unusedNeeds(asks: Asks, modules: readonly ModuleSubject[]): readonly string[] {
  // An unreadable module is refused elsewhere; what it uses is unknown.
  if (modules.some(({ looked }) => looked === null)) return [];
  const used = new Set(modules.flatMap(({ imports }) => imports.map(({ need }) => need)));
  const isOnlySent = asks.secrets.every(({ mayReveal }) => !mayReveal);
  return [...declaredNeeds(asks)].filter(
    (need) => !used.has(need) && !(need === 'secret' && isOnlySent && used.has('http')),
  );
}
