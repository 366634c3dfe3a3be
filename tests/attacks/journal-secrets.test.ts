import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalize, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  bodyOf,
  type CallWishes,
  callTool,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  ringOf,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { verified } from '../../packages/gateway/test/journal/sample.ts';

/* A secret of the machine finds its way into a call: nothing that the gateway keeps may hold it, in any spelling. */

const SECRET = 'sk-live-7Hq2mZ9xW4';
const SPELLINGS = [
  SECRET,
  Buffer.from(SECRET).toString('hex'),
  Buffer.from(SECRET).toString('base64').replace(/=+$/, ''),
  Buffer.from(` ${SECRET}`).toString('base64').slice(2, -2),
  Buffer.from(`  ${SECRET}`).toString('base64').slice(3, -2),
];

/** Every file below a directory that holds the secret. */
function leaks(directory: string): string[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return files.filter((name) => {
    const path = join(directory, name);
    if (!statSync(path).isFile()) return false;
    const bytes = readFileSync(path);
    return SPELLINGS.some((spelling) => bytes.includes(spelling));
  });
}

const CALLS: readonly [string, string, CallWishes][] = [
  ['in the input of a call that runs', 'palisade.echo', { input: { message: SECRET } }],
  ['as a key of the input', 'palisade.echo', { input: { [SECRET]: 1 } }],
  ['in an input that is no JSON', 'palisade.echo', { rawInput: `{"message":"${SECRET}` }],
  ['in the input of a call that a person is asked about', 'test.ask', { input: { with: `token ${SECRET}` } }],
  ['in the error of a tool', 'test.fail', {}],
  ['as the name of a tool', SECRET, {}],
  ['as the name of a run', 'palisade.echo', { run: SECRET }],
  ['as a part of the name of a tenant', 'palisade.echo', { tenant: `t-${SECRET}` }],
  ['as the name of a principal', 'palisade.echo', { principal: { kind: 'agent', name: SECRET } }],
];

const POLICIES = `${PERMIT_ALL}@id("ask") forbid(principal, action == Action::"call", resource == Tool::"test.ask") unless { context.approved };\n`;

async function open(name: string) {
  const stateDir = mkdtempSync(join(tmpdir(), 'palisade-secret-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const fails = makeTool('test.fail', async () => {
    throw new Error(`cannot log in with ${SECRET}`);
  });
  const tools = [fails, makeTool('test.ask', async () => null)];
  return openTestGateway({ stateDir, tools, policies: POLICIES, env: { [name]: SECRET } });
}

describe('a secret', () => {
  test.each(CALLS)('%s is in no file of the state directory', async (_, tool, wishes) => {
    const gateway = await open('DEPLOY_TOKEN');
    const { receipt } = await callTool(gateway, tool, wishes);
    expect(leaks(gateway.stateDir)).toEqual([]);
    const ring = await ringOf(gateway);
    expect(await verifyReceipt(receipt ?? '', ring, {}, webPrimitives)).toMatchObject({ ok: true });
    // What is kept is what was given: redaction has not spoiled the signed bytes.
    const kept = recordsOf(gateway).findLast(({ kind }) => kind === 'ended' || kind === 'refused');
    expect(canonicalize(bodyOf(kept).envelope)).toBe(receipt);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  test.each(['executor', 'outputBytes', 'principal', 'palisade', 'invalid-name', 'receivedAt'])(
    'that is a word of ours ("%s") spoils no receipt and no record',
    async (value) => {
      const gateway = await openTestGateway({ policies: PERMIT_ALL, env: { DB_PASSWORD: value } });
      const { outcome, receipt } = await callTool(gateway, 'palisade.echo', { input: { message: value } });
      expect(outcome.code).toBe('ok');
      expect(await verifyReceipt(receipt ?? '', await ringOf(gateway), {}, webPrimitives)).toMatchObject({
        ok: true,
      });
      const kept = recordsOf(gateway).find(({ kind }) => kind === 'ended');
      expect(canonicalize(bodyOf(kept).envelope)).toBe(receipt);
    },
  );

  test('that nobody declared as one is found by the same search', async () => {
    const gateway = await open('DEPLOY_NOTE');
    await callTool(gateway, 'test.ask', { input: { with: SECRET } });
    expect(leaks(gateway.stateDir)).not.toEqual([]);
  });
});
