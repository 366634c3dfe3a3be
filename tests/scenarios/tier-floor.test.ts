import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { receiptOf } from '../../packages/gateway/src/invoke/finish.ts';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { openTestDaemon } from '../fixtures/door/daemon.ts';
import { callMcp } from '../fixtures/door/mcp.ts';

/*
 * An operator keeps commands in the jail. Whoever asks for less, on the command line, over HTTP or over MCP, is refused and
 * told what to ask for, and nothing runs; whoever asks for nothing or for more gets the jail, and the receipt says so.
 */

const TOOL = 'palisade.process.run';
const WRITE = { command: 'touch', args: ['ran'] };

type Seen = { readonly text: string; readonly tier: string | null };

/** The same three doors to one daemon; each answers with all that its caller sees, and the tier of the receipt. */
async function openDoors(toml: string, policies = '') {
  const place = makeDirectories('');
  writeFileSync(
    join(place.stateDir, 'policies/all.cedar'),
    '@id("calls")\npermit (principal, action == Action::"call", resource);\n',
  );
  const daemon = await openTestDaemon({ place, toml, policies });
  const token = await daemon.token({ principal: 'agent:ada', scopes: ['call', 'read'] });
  /** The tier that the receipt of the call says it ran in; null: it did not run. */
  const tierOf = (text: string): string | null => {
    const [callId = ''] = /call_[0-9a-z]+/.exec(text) ?? [];
    const { payload } = JSON.parse(receiptOf(daemon.gateway, callId) ?? '');
    const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
    return predicate.execution?.tier ?? null;
  };
  const seen = (text: string): Seen => ({ text, tier: tierOf(text) });
  return {
    ...place,
    doors: {
      'the command line': async (tier: string | null) => {
        const words = [
          'exec',
          '--state',
          place.stateDir,
          '--workspace',
          place.workspace,
          '--as',
          'agent:ada',
          '--json',
        ];
        const flags = tier === null ? [] : ['--tier', tier];
        const { out, err } = await palisade([...words, ...flags, '--', WRITE.command, ...WRITE.args]);
        return seen(out + err);
      },
      HTTP: async (tier: string | null) => {
        const input = tier === null ? WRITE : { ...WRITE, tier };
        return seen((await daemon.call(token, TOOL, { input })).text);
      },
      MCP: async (tier: string | null) => {
        const input = tier === null ? WRITE : { ...WRITE, tier };
        return seen(JSON.stringify((await callMcp(daemon, token, TOOL, input)).message));
      },
    },
  };
}

const BY_POLICY =
  '@id("jail") forbid (principal is Agent, action == Action::"call", resource) when { context.tier == "b" };\n';

const DOORS = ['the command line', 'HTTP', 'MCP'] as const;

describe('a floor by configuration', () => {
  test.each(DOORS)('holds over %s', async (name) => {
    const { doors, workspace } = await openDoors('[process]\ntier_floor = "c"\n');
    const weak = await doors[name]('b');
    expect(weak.text).toContain('process.tier_floor sets');
    expect(weak.text).toContain('(--tier c), or set process.tier_floor');
    expect(weak.tier).toBe(null);
    expect(existsSync(join(workspace, 'ran'))).toBe(false);
    expect((await doors[name](null)).tier).toBe('c');
    expect((await doors[name]('c')).tier).toBe('c');
    expect(existsSync(join(workspace, 'ran'))).toBe(true);
  });
});

describe('a floor by policy', () => {
  test.each(DOORS)('holds over %s, and names the tier that would be allowed', async (name) => {
    const { doors, workspace } = await openDoors('', BY_POLICY);
    const weak = await doors[name]('b');
    expect(weak.text).toMatch(/policy \\*"jail\\*" forbids it/);
    expect(weak.text).toMatch(/Tier \\*"c\\*" would be allowed: ask for it/);
    expect(weak.tier).toBe(null);
    expect(existsSync(join(workspace, 'ran'))).toBe(false);
    expect((await doors[name]('c')).tier).toBe('c');
  });
});

describe('a default below the jail', () => {
  test.each(DOORS)('is that of a call over %s which names none; a stronger one is given', async (name) => {
    const { doors } = await openDoors('[process]\ntier_default = "b"\n');
    expect((await doors[name](null)).tier).toBe('b');
    expect((await doors[name]('c')).tier).toBe('c');
  });
});
