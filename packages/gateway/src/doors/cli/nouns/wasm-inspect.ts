import { type Facts, FEATURES, isSupported } from '@palisade/wasm';
import { MODULE_CHECKS, type ModuleCheck } from '../../../skills/audit/module/checks.table.ts';
import { type Looked, lookWhole, PAGE_BYTES } from '../../../skills/audit/module/look.ts';
import { shorten } from '../../../skills/audit/module/words.ts';
import { linkedModule } from '../module/abi.ts';
import { type ModuleFile, readModuleFile, withModuleErrors } from '../module/file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { writeBytes } from './wasm-bench.ts';

const LINKED =
  'It is a component. All but the first lines describe the one core module that it is linked into.';

/** Inspects a module, or the module that a component is linked into, without compiling or running it. */
export function inspect(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return withModuleErrors(print, async () => {
    const file = await readModuleFile(invocation);
    const linked = linkedModule(file.bytes);
    const audit = auditModule(linked ?? file.bytes);
    print.result({ ...documentOf(file, audit), isComponent: linked !== null }, () => {
      printAudit(print, file, audit);
      if (linked !== null) print.line(LINKED);
    });
    return isAccepted(audit) ? 0 : 2;
  });
}

function isAccepted({ findings }: Audit): boolean {
  return findings.every(({ severity }) => severity !== 'refusal');
}

function documentOf({ name, sha256 }: ModuleFile, audit: Audit) {
  const { facts, metered, needs, findings } = audit;
  const { features, memory, table, largestDense, names, bodies, ...plain } = facts;
  return {
    ok: isAccepted(audit),
    file: name,
    sha256,
    ...plain,
    features: FEATURES.map(({ name: feature, allowed }) => ({
      name: feature,
      used: feature === 'mvp' || features.includes(feature),
      allowed,
      supported: isSupported(feature),
    })),
    memory: { minPages: memory.min, maxPages: memory.max ?? null },
    table: { minElements: table.min, maxElements: table.max ?? null },
    largestDense: largestDense ?? null,
    names: { ...names, module: names.module ?? null },
    bodies: bodies ?? null,
    metered: metered === null ? null : { bytes: metered.bytes.length, form: metered.form },
    limits: needs,
    findings,
  };
}

/** A list that is longer than the first is cut to the second. */
const MOST_ROWS = 16;
const SOME_ROWS = 12;
const MARKS = { refusal: ['red', '✗ '], warning: ['yellow', '! '], note: ['cyan', '· '] } as const;

function printAudit(print: Printer, file: ModuleFile, audit: Audit): void {
  print.styled('bold', file.name);
  for (const [name, text] of summarise(file, audit)) print.line(`${name.padEnd(12)}${text}`);
  for (const part of partsOf(audit.facts)) printPart(print, part);
  printLimits(print, audit);
  printFindings(print, audit);
}

type Part = {
  readonly title: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

function partsOf({ imports, exports, customs, data }: Facts): readonly Part[] {
  return [
    {
      title: 'imports',
      headings: ['MODULE', 'NAME', 'TYPE'],
      rows: imports.map(({ module, name, type }) => [module, name, type]),
    },
    { title: 'exports', headings: ['NAME', 'TYPE'], rows: exports.map(({ name, type }) => [name, type]) },
    {
      title: 'custom sections',
      headings: ['NAME', 'BYTES'],
      rows: customs.map(({ name, bytes }) => [name, String(bytes)]),
    },
    {
      title: 'data segments',
      headings: ['BYTES', 'BITS PER BYTE', 'MODE'],
      rows: [...data]
        .sort((a, b) => b.bytes - a.bytes)
        .map(({ mode, bytes, bitsPerByte }) => [String(bytes), String(bitsPerByte), mode]),
    },
  ];
}

function printPart(print: Printer, { title, headings, rows }: Part): void {
  if (rows.length === 0) return;
  print.line();
  print.styled('bold', `${rows.length} ${rows.length === 1 ? title.slice(0, -1) : title}`);
  const shown = rows.slice(0, rows.length > MOST_ROWS ? SOME_ROWS : MOST_ROWS);
  print.table(
    headings,
    // Types are shortened like names: a function may have hundreds of parameters.
    shown.map((row) => row.map(shorten)),
  );
  if (rows.length > shown.length)
    print.line(`… and ${rows.length - shown.length} more; --json lists them all`);
}

function printLimits(print: Printer, { needs }: Audit): void {
  print.line();
  print.styled('bold', 'limits');
  print.table(
    ['LIMIT', 'FOUND', 'MOST'],
    needs.flatMap(({ limit, found, most }) => (found === null ? [] : [[limit, String(found), String(most)]])),
  );
  const others = needs.filter(({ found }) => found === null).map(({ limit, most }) => `${limit} ${most}`);
  print.line(`also enforced: ${others.join(', ')}`);
}

function summarise({ bytes, sha256 }: ModuleFile, { facts, metered }: Audit): [string, string][] {
  const { counts, bodies, features, names, producers } = facts;
  const rows: [string, string][] = [
    [
      'size',
      `${bytes.length} bytes: code ${counts.codeBytes}, data ${counts.dataBytes}, custom sections ${counts.customBytes}`,
    ],
    ['sha256', sha256],
    [
      'functions',
      `${counts.definedFunctions} defined with ${bodies?.instructions ?? 0} instructions, ${counts.importedFunctions} imported`,
    ],
    ['memory', extent(facts.memory, counts.memories, { unit: 'page', bytesEach: PAGE_BYTES })],
    ['table', extent(facts.table, counts.tables, { unit: 'element', bytesEach: 0 })],
    ['start', facts.hasStart ? 'a function runs at instantiation' : 'none'],
    [
      'features',
      features.length === 0 ? 'only those of WebAssembly 1.0' : `${features.join(', ')} (all allowed)`,
    ],
    ['metered', metered === null ? 'no' : growth(facts, metered.bytes.length, metered.form)],
    ['names', namesOf(names)],
  ];
  if (producers.length > 0)
    rows.push([
      'made with',
      `${producers.map(({ name, version }) => `${name} ${version}`.trim()).join(', ')} (as declared)`,
    ]);
  return rows;
}

type Unit = { readonly unit: string; readonly bytesEach: number };

function extent({ min, max }: Facts['memory'], count: number, { unit, bytesEach }: Unit): string {
  if (count === 0) return 'none';
  const several = count === 1 ? '' : `${count}, in total `;
  const size = bytesEach === 0 ? '' : ` (${writeBytes(min * bytesEach)})`;
  const most = max === undefined ? 'with no maximum' : `at most ${max}`;
  return `${several}${min} ${unit}${min === 1 ? '' : 's'} initially${size}, ${most}`;
}

function growth({ bytes }: Facts, metered: number, form: string): string {
  return `${metered} bytes, ${(metered / bytes).toFixed(2)} times, form ${form}`;
}

function namesOf({ state, module, functions }: Facts['names']): string {
  if (state === 'absent') return 'none';
  const own = module === undefined ? '' : `, the module is named "${shorten(module)}"`;
  return `of ${functions} functions${own}${state === 'malformed' ? ', the rest is malformed' : ''}`;
}

function printFindings(print: Printer, { findings }: Audit): void {
  print.line();
  print.styled('bold', 'Findings of an audit');
  if (findings.length === 0) print.styled('green', '✓ ', 'none');
  for (const { severity, sentence, remedy } of findings) {
    const [style, mark] = MARKS[severity];
    print.styled(style, mark, sentence);
    print.styled('cyan', '  → ', remedy);
  }
}

type ModuleFinding = {
  readonly severity: ModuleCheck['severity'];
  readonly sentence: string;
  readonly remedy: string;
};

type Audit = Omit<Looked, 'refusal'> & { readonly findings: readonly ModuleFinding[] };

/** Inspects a module. Throws a WasmError for bytes that are not a module within the limits and features. */
function auditModule(bytes: Uint8Array): Audit {
  const { refusal, ...looked } = lookWhole(bytes);
  const seen = { ...looked, refusal };
  const findings = MODULE_CHECKS.flatMap(({ severity, look, remedy }) => {
    const sentence = look(seen);
    if (sentence === null) return [];
    return [{ severity, sentence, remedy: typeof remedy === 'string' ? remedy : remedy(seen) }];
  });
  return { ...looked, findings };
}
