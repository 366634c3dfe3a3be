import { describe, expect, test } from 'vitest';
import type { McpClient } from '../../../../src/doors/cli/connect/clients.table.ts';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { entryFor, plain } from '../../../../src/doors/cli/connect/entry.ts';
import { planConnect, planDisconnect, planWrap } from '../../../../src/doors/cli/connect/plan.ts';
import { serverNamed, withServer } from '../../../../src/doors/cli/connect/servers.ts';
import { existingFor, HTTP, OWN_ENTRY, STDIO, WRAPPER } from './samples.ts';

/** Everything that a reviewer wants to see of one client, in one file. */
function shown(client: McpClient): string {
  const empty = { client, name: 'the file', text: '' };
  const existing = { ...empty, text: existingFor(client) };
  const parts = [
    ['a new file', planConnect(empty, OWN_ENTRY, STDIO)?.text],
    ['a new file, by address', client.http === null ? null : planConnect(empty, OWN_ENTRY, HTTP)?.text],
    ['a file before', existing.text],
    ['the same, connected', planConnect(existing, OWN_ENTRY, STDIO)?.text],
    ['the same, with its server wrapped', planWrap(existing, 'files', WRAPPER)?.text],
  ];
  return parts.map(([title, text]) => `=== ${title}\n${text ?? '(its file can name no address)\n'}`).join('');
}

describe.each(CLIENTS.map((client) => [client.id, client] as const))('the file of %s', (id, client) => {
  test('becomes what the golden file shows', async () => {
    await expect(shown(client)).toMatchFileSnapshot(`golden/${id}.txt`);
  });

  test('is as before, byte for byte, after it was connected, wrapped and disconnected', () => {
    const before = { client, name: 'the file', text: existingFor(client) };
    const connected = planConnect(before, OWN_ENTRY, STDIO)?.text ?? '';
    const both = planWrap({ ...before, text: connected }, 'files', WRAPPER)?.text ?? '';
    expect(both).not.toBe(connected);
    expect(planDisconnect({ ...before, text: both }, OWN_ENTRY, [connected, before.text])).toEqual({
      text: before.text,
      isRestored: true,
      removed: 'palisade',
      unwrapped: ['files'],
      kept: [],
      token: null,
    });
  });

  test.each([
    [['files', 'mine']],
    [['mine', 'files']],
    [['files', 'stdio', 'http', 'mine', 'files']],
    [['stdio', 'mine', 'http', 'files', 'stdio']],
  ])('is as before, byte for byte, after %j in this order and one disconnect', (order) => {
    const server = entryFor(client, 'mine', { kind: 'stdio', argv: ['node', '/my server.js'] });
    const empty = { client, name: 'the file', text: existingFor(client) };
    const before = { ...empty, text: withServer(empty, 'mine', server) };
    const earlier: string[] = [];
    let { text } = before;
    for (const [index, each] of order.entries()) {
      const source = { ...before, text };
      const flags = [...WRAPPER.flags, '--workspace', `/srv/${index}`];
      const planned =
        each === 'stdio' || (each === 'http' && client.http === null)
          ? planConnect(source, OWN_ENTRY, STDIO)
          : each === 'http'
            ? planConnect(source, OWN_ENTRY, HTTP)
            : planWrap(source, each, { ...WRAPPER, flags });
      earlier.unshift(text);
      text = planned?.text ?? text;
    }
    const undone = planDisconnect({ ...before, text }, OWN_ENTRY, earlier);
    expect(undone).toMatchObject({ text: before.text, isRestored: true, kept: [] });
    expect(undone?.unwrapped).toHaveLength(2);
  });

  test('is not changed a second time', () => {
    const before = { client, name: 'the file', text: existingFor(client) };
    const entries = client.http === null ? [STDIO] : [STDIO, HTTP];
    for (const entry of entries) {
      const text = planConnect(before, OWN_ENTRY, entry)?.text ?? '';
      expect(planConnect({ ...before, text }, OWN_ENTRY, entry)).toBeNull();
    }
    const text = planWrap(before, 'files', WRAPPER)?.text ?? '';
    expect(planWrap({ ...before, text }, 'files', WRAPPER)).toBeNull();
  });

  test('goes from one form to the other and back without leftovers', () => {
    if (client.http === null) expect(client.id).toBe('claude-desktop');
    const entries = client.http === null ? [STDIO] : [STDIO, HTTP, STDIO];
    let source = { client, name: 'the file', text: existingFor(client) };
    for (const entry of entries) {
      source = { ...source, text: planConnect(source, OWN_ENTRY, entry)?.text ?? '' };
      expect(plain(serverNamed(source, 'palisade')?.value)).toEqual(entryFor(client, 'palisade', entry));
    }
  });
});

test('there are golden files of all twenty clients', () => {
  expect(new Set(CLIENTS.map(({ id }) => id)).size).toBe(20);
});
