import { commandReference } from './command-reference.mjs';
import { assemblyScriptOfHandles, assemblyScriptOfOthers, c, go, rust } from './guest-imports.mjs';

const ABI = { file: 'docs/abi.md', table: 'packages/gateway/src/tiers/a-wasm/engine/abi.table.ts' };
const IMPORTS = { ...ABI, mark: 'imports', names: ['ABI_FUNCTIONS'] };

/**
 * The documents and guest libraries that repeat a table of the code: where, under which markers, and how a row is
 * written, or all of it as `text`.
 */
export const MIRRORS = [
  {
    file: 'docs/errors.md',
    mark: 'codes',
    table: 'packages/sdk/src/codes.table.ts',
    names: ['CODES'],
    head: ['Code', 'Kind', 'HTTP', 'Exit', 'What happened', 'What to do'],
    rows: (codes) =>
      Object.entries(codes).map(([code, row]) => [
        `\`${code}\``,
        row.kind,
        String(row.httpStatus),
        String(row.exitStatus),
        row.sentence,
        row.remedy,
      ]),
  },
  {
    file: 'docs/config.md',
    mark: 'config',
    table: 'packages/gateway/src/config/config.table.ts',
    names: ['CONFIG_KEYS'],
    head: ['Key', 'Type', 'Default', 'What it does'],
    rows: (keys) =>
      keys.map((row) => [`\`${row.key}\``, `\`${row.type}\``, defaultCell(row.default), row.sentence]),
  },
  {
    file: 'docs/sandbox.md',
    mark: 'protected',
    table: 'packages/gateway/src/core/protected.table.ts',
    names: ['PROTECTED'],
    head: ['Row', 'Files, at any depth', 'Judged', 'What is done', 'Why'],
    rows: (rows) =>
      Object.entries(rows).map(([name, row]) => [
        `\`${name}\``,
        row.patterns
          .split(' ')
          .map((pattern) => `\`${pattern}\``)
          .join(' '),
        row.judged === 'any' ? 'every write' : 'by content',
        row.done,
        row.sentence,
      ]),
  },
  {
    file: 'docs/sandbox.md',
    mark: 'evasions',
    table: 'tests/fixtures/evasions/evasions.table.ts',
    names: ['EVASIONS'],
    head: ['Evasion', 'Why it is not seen'],
    rows: (evasions) =>
      evasions.filter(({ unseen }) => unseen !== undefined).map(({ name, unseen }) => [name, unseen]),
  },
  {
    file: 'docs/policy.md',
    mark: 'capabilities',
    table: 'packages/gateway/src/core/capability.ts',
    names: ['CAPABILITY_TAGS'],
    head: ['Word', 'What has it'],
    rows: (tags) => Object.entries(tags).map(([tag, sentence]) => [`\`${tag}\``, sentence]),
  },
  {
    file: 'docs/wasm.md',
    mark: 'features',
    table: 'packages/wasm/src/features.table.ts',
    names: ['FEATURES'],
    head: ['Feature', '', 'What it is'],
    rows: (features) =>
      features.map((row) => [`\`${row.name}\``, row.allowed ? 'allowed' : '**refused**', row.sentence]),
  },
  {
    file: 'docs/wasm.md',
    mark: 'limits',
    table: 'packages/wasm/src/limits.ts',
    names: ['DEFAULT_LIMITS', 'CEILINGS'],
    head: ['Limit', 'Default', 'Ceiling'],
    rows: (defaults, ceilings) =>
      Object.entries(defaults).map(([key, value]) => [`\`${key}\``, digits(value), digits(ceilings[key])]),
  },
  {
    file: 'docs/wasm.md',
    mark: 'costs',
    table: 'packages/wasm/src/costs.table.ts',
    names: ['ENTRY', 'OPERATOR', 'FREE', 'DEAR', 'BY_LENGTH'],
    head: ['What is done', 'Fuel'],
    rows: (...[entry, operator, free, dear, byLength]) => [
      ['entering a function', digits(entry)],
      [spans(free.split(' ')), '0'],
      ...Object.entries(dear).map(([name, cost]) => [`\`${name}\``, digits(cost)]),
      ...Object.entries(byLength).map(([name, cost]) => [`\`${name}\``, lengthCost(name, cost)]),
      ['every other operator', digits(operator)],
    ],
  },
  {
    ...ABI,
    mark: 'functions',
    names: ['ABI_FUNCTIONS'],
    head: ['Function', 'Takes', 'Gives', 'Needs', 'Fuel', 'What it does'],
    rows: (functions) =>
      functions.map((row) => [
        `\`${row.name}\``,
        row.params.map(([name, type]) => `\`${name}: ${type}\``).join(', ') || '–',
        row.result === null ? '–' : `\`${row.result}\``,
        row.needs === null ? '–' : `\`${row.needs}\``,
        digits(row.fuel),
        row.sentence,
      ]),
  },
  { ...IMPORTS, file: 'packages/guest/assembly/palisade_v1.ts', text: assemblyScriptOfHandles },
  { ...IMPORTS, file: 'packages/guest/assembly/beside/palisade_v1.ts', text: assemblyScriptOfOthers },
  { ...IMPORTS, file: 'packages/guest/include/palisade/host.h', text: c },
  { ...IMPORTS, file: 'packages/guest/rust/palisade.rs', text: rust },
  { ...IMPORTS, file: 'packages/guest/go/host/host.go', text: go },
  {
    ...ABI,
    table: 'packages/gateway/src/core/wasm.ts',
    mark: 'kinds',
    names: ['CAPABILITY_KINDS'],
    head: ['Kind', 'Number', 'First handle', 'What it is'],
    rows: (kinds) =>
      Object.entries(kinds).map(([kind, row]) => [
        `\`${kind}\``,
        String(row.number),
        digits(row.firstHandle),
        row.sentence,
      ]),
  },
  {
    ...ABI,
    mark: 'errors',
    names: ['ABI_ERRORS'],
    head: ['Number', 'Name', 'What it means'],
    rows: (errors) =>
      Object.entries(errors).map(([name, row]) => [`\`${row.code}\``, `\`${name}\``, row.sentence]),
  },
  {
    file: 'docs/cli.md',
    mark: 'grants',
    table: 'packages/gateway/src/skills/capabilities/kinds.ts',
    names: ['CAPABILITIES'],
    head: ['Kind', 'Written as', 'What it gives'],
    rows: (forms) => Object.entries(forms).map(([kind, row]) => [kind, `\`${row.form}\``, row.sentence]),
  },
  {
    file: 'docs/cli.md',
    mark: 'commands',
    table: 'packages/gateway/src/doors/cli/verbs.table.ts',
    names: ['VERB_GROUPS'],
    text: commandReference,
  },
  {
    file: 'docs/service.md',
    mark: 'directives',
    table: 'packages/gateway/src/doors/cli/service/directives.table.ts',
    names: ['LIFE', 'WALLS'],
    head: ['Directive', 'For', 'Why'],
    rows: (...tables) =>
      tables.flat().map(({ line, scopes, why }) => [`\`${line}\``, scopes.join(', '), why]),
  },
  {
    file: 'docs/service.md',
    mark: 'left-out',
    table: 'packages/gateway/src/doors/cli/service/directives.table.ts',
    names: ['LEFT_OUT'],
    head: ['Directive', 'What it breaks'],
    rows: (rows) => rows.map(({ directive, breaks }) => [`\`${directive}\``, breaks]),
  },
  {
    file: 'docs/skill-audit.md',
    mark: 'checks',
    table: 'packages/gateway/src/skills/audit/audit.ts',
    names: ['CHECKS'],
    head: ['Check', 'Severity', 'What it looks for'],
    rows: (checks) => checks.map((row) => [`\`${row.id}\``, row.severity, row.sentence]),
  },
];

function defaultCell(value) {
  if (value === undefined || value === null || value === '') return '–';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function digits(value) {
  return value.toLocaleString('en-US');
}

function spans(names) {
  return names.map((name) => `\`${name}\``).join(', ');
}

/** What an operator costs whose work grows with an operand: a base, and 2^shift for each thing it handles. */
function lengthCost(name, { base, shift }) {
  const thing = name === 'memory.grow' ? 'page' : name.startsWith('memory') ? 'byte' : 'element';
  const each = shift >= 0 ? `${2 ** shift} for each ${thing}` : `1 for each ${2 ** -shift} ${thing}s`;
  return `${digits(base)}, and ${each}`;
}
