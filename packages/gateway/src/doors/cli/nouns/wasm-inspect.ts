import { type Facts, FEATURES, isSupported } from '@palisade/wasm';
import { MODULE_CHECKS } from '../../../skills/audit/module/checks.table.ts';
import { lookWhole, PAGE_BYTES } from '../../../skills/audit/module/look.ts';
import { shorten } from '../../../skills/audit/module/words.ts';
import { linkedModule } from '../module/abi.ts';
import { type ModuleFile, readModuleFile, withModuleErrors } from '../module/file.ts';
import type { FactRow, Printer } from '../printer.ts';
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
    return audit.ok ? 0 : 2;
  });
}

function documentOf({ name, sha256 }: ModuleFile, { ok, facts, metered, needs, findings }: Audit) {
  const { features, memory, table, largestDense, names, bodies, ...plain } = facts;
  return {
    ok,
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
  const { imports, exports, customs, data } = audit.facts;
  print.styled('bold', file.name);
  for (const [name, text] of summarise(file, audit)) print.line(`${name.padEnd(12)}${text}`);
  printPart(print, 'imports', imports, ['module', 'name', 'type']);
  printPart(print, 'exports', exports, ['name', 'type']);
  printPart(print, 'custom sections', customs, ['name', 'bytes']);
  const largestFirst = [...data].sort((a, b) => b.bytes - a.bytes);
  printPart(print, 'data segments', largestFirst, ['bytes', 'bitsPerByte', 'mode']);
  printLimits(print, audit);
  printFindings(print, audit);
}

function printPart<Row>(
  print: Printer,
  title: string,
  rows: readonly Row[],
  fields: readonly (keyof Row & string)[],
): void {
  if (rows.length === 0) return;
  print.heading(`${rows.length} ${rows.length === 1 ? title.slice(0, -1) : title}`);
  const shown = rows.slice(0, rows.length > MOST_ROWS ? SOME_ROWS : MOST_ROWS);
  print.table(
    fields.map((field) => field.replace(/[A-Z]/g, ' $&').toUpperCase()),
    // Types are shortened like names: a function may have hundreds of parameters.
    shown.map((row) => fields.map((field) => shorten(String(row[field])))),
  );
  if (rows.length > shown.length)
    print.line(`… and ${rows.length - shown.length} more; --json lists them all`);
}

function printLimits(print: Printer, { needs }: Audit): void {
  print.heading('limits');
  print.table(
    ['LIMIT', 'FOUND', 'MOST'],
    needs.flatMap(({ limit, found, most }) => (found === null ? [] : [[limit, found, most]])),
  );
  const others = needs.filter(({ found }) => found === null).map(({ limit, most }) => `${limit} ${most}`);
  print.line(`also enforced: ${others.join(', ')}`);
}

function summarise({ bytes, sha256 }: ModuleFile, { facts, metered }: Audit): readonly FactRow[] {
  const { counts, bodies, features, names, producers } = facts;
  const { codeBytes, dataBytes, customBytes, definedFunctions, importedFunctions } = counts;
  const instructions = `${bodies?.instructions ?? 0} instructions`;
  const made = producers.map(({ name, version }) => `${name} ${version}`.trim()).join(', ');
  const used =
    features.length === 0 ? 'only those of WebAssembly 1.0' : `${features.join(', ')} (all allowed)`;
  const growth = metered === null ? '' : (metered.bytes.length / facts.bytes).toFixed(2);
  return [
    ['size', `${bytes.length} bytes: code ${codeBytes}, data ${dataBytes}, custom sections ${customBytes}`],
    ['sha256', sha256],
    ['functions', `${definedFunctions} defined with ${instructions}, ${importedFunctions} imported`],
    ['memory', extent(facts.memory, counts.memories, 'page', PAGE_BYTES)],
    ['table', extent(facts.table, counts.tables, 'element', 0)],
    ['start', facts.hasStart ? 'a function runs at instantiation' : 'none'],
    ['features', used],
    [
      'metered',
      metered === null ? 'no' : `${metered.bytes.length} bytes, ${growth} times, form ${metered.form}`,
    ],
    ['names', namesOf(names)],
    ...(made === '' ? [] : [['made with', `${made} (as declared)`] as const]),
  ];
}

function extent({ min, max }: Facts['memory'], count: number, unit: string, unitBytes: number): string {
  if (count === 0) return 'none';
  const several = count === 1 ? '' : `${count}, in total `;
  const size = unitBytes === 0 ? '' : ` (${writeBytes(min * unitBytes)})`;
  const most = max === undefined ? 'with no maximum' : `at most ${max}`;
  return `${several}${min} ${unit}${min === 1 ? '' : 's'} initially${size}, ${most}`;
}

function namesOf({ state, module, functions }: Facts['names']): string {
  if (state === 'absent') return 'none';
  const own = module === undefined ? '' : `, the module is named "${shorten(module)}"`;
  return `of ${functions} functions${own}${state === 'malformed' ? ', the rest is malformed' : ''}`;
}

function printFindings(print: Printer, { findings }: Audit): void {
  print.heading('Findings of an audit');
  if (findings.length === 0) print.styled('green', '✓ ', 'none');
  for (const { severity, sentence, remedy } of findings) {
    const [style, mark] = MARKS[severity];
    print.styled(style, mark, sentence);
    print.styled('cyan', '  → ', remedy);
  }
}

type Audit = ReturnType<typeof auditModule>;

/** Inspects a module. Throws a WasmError for bytes that are not a module within the limits and features. */
function auditModule(bytes: Uint8Array) {
  const seen = lookWhole(bytes);
  const findings = MODULE_CHECKS.flatMap(({ severity, look, remedy }) => {
    const sentence = look(seen);
    if (sentence === null) return [];
    return [{ severity, sentence, remedy: typeof remedy === 'string' ? remedy : remedy(seen) }];
  });
  return { ...seen, findings, ok: findings.every(({ severity }) => severity !== 'refusal') };
}
