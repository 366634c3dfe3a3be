import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openGateway, openRecords, systemClock, systemRandom } from '../../packages/gateway/src/open.ts';
import { type Ran, runInside } from '../../packages/gateway/test/doors/cli/fake-edge.ts';
import { moduleOf, name, section } from '../../packages/wasm/test/fixture/builder.ts';
import { scratch } from '../fixtures/cli.ts';
import { guest, packed, saying } from '../fixtures/modules/guest.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* What a guest says ends on the terminal of a person: as text that is seen, never as something that is obeyed. */

/** Clears the screen, sets the title, hides what follows, forges a line, and turns the direction of reading. */
const ATTACK = '\x1b[2J\x1b]0;owned\x07\x9b8m\rok  call_forged\n\u202etxt.exe\u2066\u200b\u2028\u{e0041}';
/** What a terminal or an eye obeys; line feeds are left out before, since our own lines end with them. */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const text = (value: unknown) => Buffer.from(JSON.stringify(value));
const MODULES = {
  returns: saying(text({ said: ATTACK, [`${ATTACK} as a key`]: 1 })),
  fails: guest(
    ({ bytes }) =>
      `(call $fail ${bytes(text({ code: `code${ATTACK}`, message: `because ${ATTACK}` }))}) (i64.const 0)`,
  ),
  logs: guest(
    ({ bytes }) =>
      `(call $log (i32.const 1) ${bytes(`so ${ATTACK}`)}) ${packed('(i32.const 0)', '(i32.const 0)')}`,
  ),
} as const;

const directory = scratch();
const state = join(directory, 'state');

// The assembler takes no such names.
const STRANGE = moduleOf([
  section(1, [1, 0x60, 0, 0]),
  section(2, [1, ...name('env'), ...name(ATTACK), 0, 0]),
]);
const tools = [
  moduleTool('test.returns', MODULES.returns),
  moduleTool('test.fails', MODULES.fails),
  moduleTool('test.imports', STRANGE),
];

const standing: { gateway?: Awaited<ReturnType<typeof openGateway>> } = {};
type Open = Parameters<typeof openGateway>[0];

/** What brings no module of its own has the gateway of the file. */
async function openFor(options: Open): ReturnType<typeof openGateway> {
  if (options.tools !== undefined) return openGateway(options);
  standing.gateway ??= await openGateway({ ...options, tools });
  return { ...standing.gateway, close: async () => undefined };
}

function palisade(...words: readonly string[]): Promise<Ran> {
  const parts = { clock: systemClock, random: systemRandom, cwd: directory, openRecords };
  return runInside([...words, '--state', state], { ...parts, openGateway: openFor });
}

afterAll(() => standing.gateway?.close());

beforeAll(() => {
  mkdirSync(join(state, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, 'policies/all.cedar'), '@id("all") permit (principal, action, resource);\n');
  for (const [each, bytes] of Object.entries(MODULES)) writeFileSync(join(directory, `${each}.wasm`), bytes);
  writeFileSync(join(directory, 'strange.wasm'), STRANGE);
});

/** The words of a command, and a part of the attack that shows that it was said at all. */
const COMMANDS: Readonly<Record<string, readonly [words: readonly string[], seen: string]>> = {
  'the output of a call': [['call', 'test.returns', '--input', '{}'], 'txt.exe'],
  'the same as a document': [['call', 'test.returns', '--input', '{}', '--json'], 'txt.exe'],
  'the failure that a tool reports': [['call', 'test.fails', '--input', '{}'], 'because'],
  'the name of an import': [['call', 'test.imports', '--input', '{}'], 'txt.exe'],
  'the output of a file': [['wasm', 'run', 'returns.wasm', '--tool', 'tool', '--input', '{}'], 'txt.exe'],
  'the log of a file': [
    ['wasm', 'run', 'logs.wasm', '--tool', 'tool', '--input', '{}', '--grant', 'log'],
    'txt.exe',
  ],
  'the imports of a file': [['wasm', 'inspect', 'strange.wasm'], 'owned'],
};

describe('on the terminal,', () => {
  test.each(Object.entries(COMMANDS))('%s is seen and not obeyed', async (_what, [words, seen]) => {
    const { out, err } = await palisade(
      ...words.map((word) => (word.endsWith('.wasm') ? join(directory, word) : word)),
    );
    const all = `${out}${err}`;
    expect(all).toContain(seen);
    expect(all.replaceAll('\n', '')).not.toMatch(ACTIVE);
    // A line that looks like ours begins no line.
    expect(all).not.toMatch(/^ok {2}call_forged/m);
  });
});

test('the attack would be obeyed as it is', () => {
  expect(ATTACK).toMatch(ACTIVE);
  expect(`x\n${ATTACK}`.replaceAll('\r', '\n')).toMatch(/^ok {2}call_forged/m);
});
