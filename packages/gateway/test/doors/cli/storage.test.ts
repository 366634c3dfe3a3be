import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parsePrefix } from '../../../src/core/storage-key.ts';
import { Space } from '../../../src/storage/space.ts';
import { openTestGateway } from '../../fixture/gateway.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { palisade } from './palisade.ts';

const KEY = 'notes/ü "quoted"  two spaces ';
const VALUE = 'first\u001b[2Jline\nACME.NOTES  1  forged row\u202e';

/** A state directory in which a skill has stored texts that try to pass for something else. */
async function stateWithNotes(): Promise<string> {
  const gateway = await openTestGateway();
  const all = parsePrefix('/');
  const prefixes = all.ok ? [all.value] : [];
  const grants = { read: prefixes, write: prefixes };
  const space = new Space(gateway.store, { tenant: 'default', skill: 'acme.notes', grants });
  for (const [key, value] of [
    [KEY, VALUE],
    ['other', 'x'],
  ] as const)
    expect(await space.put(key, Buffer.from(value))).toMatchObject({ ok: true });
  await gateway.close();
  return gateway.stateDir;
}

it('shows what is stored, with nothing active in it, and deletes it only when it is told to', async () => {
  const state = await stateWithNotes();
  const storage = (...words: string[]) => palisade(['storage', ...words, '--state', state]);
  expect((await storage('list')).out).toMatch(/default +acme\.notes +2 +\d+ +no/);
  const keys = (await storage('show', 'acme.notes')).out;
  expect(keys).toContain(JSON.stringify(KEY));
  const shown = (await storage('show', 'acme.notes', KEY)).out;
  expect(shown).toContain('first\\u{1b}[2Jline\n');
  // A line of the value is indented, so that it is not taken for a line of the table.
  expect(shown).toContain('\n  ACME.NOTES  1  forged row\\u{202e}');
  expect(shown).not.toContain('\u001b');

  const unsure = await storage('delete', 'acme.notes', '--all');
  expect([unsure.status, unsure.err]).toEqual([64, expect.stringContaining('--yes')]);
  const vague = await storage('delete', 'acme.notes', '--yes');
  expect([vague.status, vague.err]).toEqual([64, expect.stringContaining('exactly one of KEY')]);
  expect((await storage('show', 'acme.notes', 'other')).status).toBe(0);
  expect((await storage('delete', 'acme.notes', 'other', '--yes')).err).toContain('1 key');
  expect((await storage('delete', 'acme.notes', 'other', '--yes')).status).not.toBe(0);
  expect((await storage('delete', 'acme.notes', '--all', '--yes', '--json')).out).toContain('"keys":1');
  expect((await storage('list')).out).toContain('Nothing is stored.');
});

it('has nothing in a new state directory', async () => {
  const { out, status } = await palisade(['storage', 'list', '--state', join(tempDir(), 'state')]);
  expect([status, out]).toEqual([0, 'Nothing is stored.\n']);
});
