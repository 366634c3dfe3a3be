import { describe, expect, test } from 'vitest';
import { check } from '../outside.mjs';
import { OUTSIDE } from '../outside.table.mjs';
import { violations } from './plant.ts';

const core = 'packages/gateway/src/core/a.ts';
const at = (place: string) => (place.startsWith('packages/') ? place : `packages/gateway/src/${place}`);
const inside = (place: string) => (place.endsWith('.ts') ? at(place) : `${at(place)}/a.ts`);

const modules = OUTSIDE.flatMap((row) => row.modules.map((name) => [name, Object.keys(row.hands)] as const));
const members = OUTSIDE.flatMap((row) => row.members.map((name) => [name, Object.keys(row.hands)] as const));

/** Spellings of a use; each must be seen. */
const spellings: readonly (readonly [text: string, named: string])[] = [
  ['const { env } = process;', 'process.env'],
  ['const { env: e } = process;', 'process.env'],
  ['const { env: { HOME } } = process;', 'process.env'],
  ['const { ["env"]: e } = process;', 'process.env'],
  ['const { pid, ...rest } = process;', 'process as a value'],
  ['let env; ({ env } = process);', 'process.env'],
  ['function f({ env } = process) {}', 'process.env'],
  ['globalThis.process.env.HOME;', 'process.env'],
  ["globalThis['process']['env'];", 'process.env'],
  ['global.process?.env;', 'process.env'],
  ["process['env'];", 'process.env'],
  ['process[`env`];', 'process.env'],
  ['process[name];', 'process as a value'],
  ['const p = process;', 'process as a value'],
  ['f({ process });', 'process as a value'],
  ['(process as any).env;', 'process.env'],
  ['(process!).env;', 'process.env'],
  ['if (process.env.A === "1") f();', 'process.env'],
  ['typeof process.env.A;', 'process.env'],
  ["import { env } from 'node:process';", 'process.env'],
  ["import p from 'node:process'; p.env;", 'process.env'],
  ["import * as p from 'node:process'; p.default.env;", 'process.env'],
  ["export { env } from 'node:process';", 'process.env'],
  ["export * from 'node:process';", 'process as a value'],
  ["(await import('node:process')).env;", 'process.env'],
  ["const { env } = await import('node:process');", 'process.env'],
  ["require('node:process').env;", 'process.env'],
  ['new Date();', 'Date()'],
  ['new Date;', 'Date()'],
  ['new Date(...parts);', 'Date()'],
  ['new globalThis.Date();', 'Date()'],
  ['Date();', 'Date()'],
  ['const D = Date;', 'Date as a value'],
  ['const { now } = Date;', 'Date.now'],
  ['const f = Date.now;', 'Date.now'],
  ['const { random } = Math;', 'Math.random'],
  ["import { randomBytes as r } from 'node:crypto'; r(1);", 'crypto.randomBytes'],
  ["import { webcrypto } from 'node:crypto'; webcrypto.getRandomValues(x);", 'crypto.getRandomValues'],
  ["import { performance as p } from 'node:perf_hooks'; p.now();", 'performance.now'],
  ['const f = fetch;', 'fetch'],
  ["globalThis.fetch('x');", 'fetch'],
  ['const { fetch } = globalThis;', 'fetch'],
  ['new WebSocket(x);', 'WebSocket'],
  ['declare const fetch: any; fetch(1);', 'fetch'],
  ['{ const fetch = 1; } fetch(1);', 'fetch'],
  ['f(globalThis);', 'globalThis as a value'],
  ["import {} from 'node:net';", '"node:net"'],
  ["import 'net';", '"net"'],
  ["await import('node:dns/promises');", '"node:dns/promises"'],
  ["export { connect } from 'node:net';", '"node:net"'],
  ["new Function('x');", 'Function()'],
  ["Function('x');", 'Function()'],
  ["(() => {}).constructor('x');", 'Function()'],
  ["(0, eval)('x');", 'eval'],
  ['/* a */ process /* b */ . /* c */ env', 'process.env'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the planted text is a template itself.
  ['`${process.env.HOME}`;', 'process.env'],
];

/** Things that look like a use and are none. */
const innocent: readonly string[] = [
  '// process.env\n/* fetch(1) */',
  'const s = "process.env"; const t = `eval(1)`; const r = /fetch\\(1\\)/;',
  'function f(fetch: (x: string) => void) { fetch("x"); }',
  'function f({ process }: any) { return process.env; }',
  'const clock = { now() { return 1; } }; clock.now();',
  'const o = { fetch: 1, eval: 2, process: 3 }; o.fetch;',
  'class A { fetch() {} process = 1; }',
  'new Date(0); new Date(text); Date.parse(text); x instanceof Date;',
  'Math.max(1, 2); process.pid; crypto.subtle; performance.mark;',
  "import { createHash } from 'node:crypto'; createHash('sha256');",
  "import type { Server } from 'node:http'; type S = import('node:net').Socket;",
  'type E = typeof process.env; interface F { fetch: typeof fetch }',
  'typeof fetch; typeof process === "undefined";',
  'import { fetch } from "./own.ts"; fetch("x");',
  'function f() { var fetch = 1; return fetch; }',
  'try {} catch (process) { process.env; }',
  'x instanceof Function; Function.prototype;',
];

describe('outside', () => {
  test.each(modules)('refuses the module %s', async (name) => {
    const found = await violations(check, { [core]: `\nimport '${name}';` });
    expect(found).toEqual([expect.stringContaining(`${core}:2 Cannot use "${name}" here`)]);
  });

  test.each(members)('refuses the global %s', async (name) => {
    const found = await violations(check, { [core]: `\nx(${name});` });
    expect(found).toEqual([expect.stringContaining(`${core}:2 Cannot use ${name}`)]);
  });

  test.each([...modules, ...members].filter(([, hands]) => hands.length > 0))(
    'allows %s where the table says so',
    async (name, hands) => {
      const text = name.startsWith('node:') ? `import '${name}';` : `x(${name});`;
      const files = Object.fromEntries(hands.map((hand) => [inside(hand), text]));
      expect(await violations(check, files)).toEqual([]);
    },
  );

  test.each(spellings)('sees %s', async (text, named) => {
    const found = await violations(check, { [core]: text });
    expect(found.join('\n')).toContain(`Cannot use ${named}`);
  });

  test.each(innocent)('leaves alone %s', async (text) => {
    expect(await violations(check, { [core]: text })).toEqual([]);
  });

  test('allows a hand and not its neighbours', async () => {
    const files = Object.fromEntries(
      ['tiers/child', 'tiers/children', 'tiers'].map((room) => [
        `${at(room)}/a.ts`,
        "import 'node:child_process';",
      ]),
    );
    const found = await violations(check, files);
    expect(found.map((each) => each.split(':')[0])).toEqual([
      `${at('tiers')}/a.ts`,
      `${at('tiers/children')}/a.ts`,
    ]);
  });

  test('gives a reason for every power and every hand', () => {
    for (const { why, hands } of OUTSIDE)
      for (const reason of [why, ...Object.values(hands)]) expect(reason).toMatch(/^[A-Z].*\.$/);
  });
});
