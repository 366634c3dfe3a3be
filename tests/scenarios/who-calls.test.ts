import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PALISADE, palisade, scratch } from '../fixtures/cli.ts';

/*
 * Two machines of one agent: at the desk it may do what it may not do in the lobby. Policies on device, channel and session
 * decide; they are tried out, explained and used with the built command.
 */

const POLICIES = `
@id("desk-calls") permit (principal == Agent::"ada", action == Action::"call", resource)
when { context has device && context.device == "desk" };
@id("nightly-waits") permit (principal == Agent::"ada", action == Action::"call", resource)
when { context has channel && context.channel == "nightly" && context.approved };
@id("owner") permit (principal is User, action, resource);
`;
const CASES = `
[[case]]
principal = "agent:ada"
tool = "palisade.echo"
device = "desk"
expected = "allow"
decided_by = ["desk-calls"]

[[case]]
principal = "agent:ada"
tool = "palisade.echo"
device = "lobby"
channel = "nightly"
expected = "ask"

[[case]]
principal = "agent:ada"
tool = "palisade.echo"
expected = "deny"
`;

function openState() {
  const state = scratch();
  mkdirSync(join(state, 'policies'), { mode: 0o700 });
  const write = (text: string) =>
    writeFileSync(join(state, 'policies', '10-own.cedar'), text, { mode: 0o600 });
  write(POLICIES);
  const run = (words: readonly string[]) => palisade([...words, '--state', state]);
  const echo = async (...from: readonly string[]) => {
    const words = ['call', 'palisade.echo', '--input', '{"message":"hi"}', '--as', 'agent:ada', '--json'];
    return JSON.parse((await run([...words, ...from])).out);
  };
  return { state, write, run, echo };
}

describe('an agent with a device and a channel', () => {
  test('is decided by them, as its policies were tested and are explained', async () => {
    const { state, run, echo } = openState();
    const file = join(state, 'cases.toml');
    writeFileSync(file, CASES);
    expect((await run(['policy', 'test', file])).out).toContain('3 passed, 0 failed');
    expect((await echo('--device', 'desk')).code).toBe('ok');
    expect((await echo('--device', 'lobby')).code).toBe('policy/denied');
    expect((await echo()).code).toBe('policy/denied');
    expect((await echo('--device', 'lobby', '--channel', 'nightly')).code).toBe('policy/approval-required');
    const explain = [
      'policy',
      'explain',
      'palisade.echo',
      '--input',
      '{"message":"hi"}',
      '--as',
      'agent:ada',
    ];
    const { out, status } = await run([...explain, '--device', 'lobby']);
    expect([status, out]).toEqual([
      2,
      expect.stringContaining('from device lobby, no channel, session ses_'),
    ]);
    expect(out).toContain('(its device is "lobby")');
    expect((await run([...explain, '--channel', 'http'])).err).toContain('not the name of a door');
  });

  test('is held back in one session by a policy about it, and goes on in the next', async () => {
    const { run, write, echo } = openState();
    expect((await echo('--device', 'desk')).code).toBe('ok');
    const { sessions } = JSON.parse((await run(['session', 'list', '--json'])).out);
    const [{ id, device, principal }] = sessions;
    expect([device, principal]).toEqual(['desk', 'agent:ada']);
    write(`${POLICIES}
@id("this-session-waits") forbid (principal, action == Action::"call", resource)
when { context has session && context.session == "${id}" };
`);
    const held = await echo('--device', 'desk');
    expect([held.code, held.message]).toEqual([
      'policy/denied',
      expect.stringContaining('this-session-waits'),
    ]);
    expect((await run(['session', 'end', id, '--as', 'agent:ada'])).err).toContain('policy/denied');
    expect((await run(['session', 'end', id])).status).toBe(0);
    expect((await echo('--device', 'desk')).code).toBe('ok');
    expect((await run(['session', 'show', id])).out).toMatch(/^ended +\S+ by user:/m);
  });
});

describe('an MCP client whose server cannot start', () => {
  test.each([
    ['names a door as its channel', ['--channel', 'cli'], 64],
    ['names a file as its state directory', ['--state', PALISADE], 2],
  ])('sees it end at once, not when the client gives up: it %s', async (_, words, expected) => {
    const child = spawn(process.execPath, [PALISADE, 'mcp', '--as', 'agent:ada', ...words], {
      stdio: 'pipe',
    });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    // Standard input stays open, as a client keeps it.
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const [status] = await once(child, 'exit');
    expect(status).toBe(expected);
  });
});
