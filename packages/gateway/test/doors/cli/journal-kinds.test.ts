import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RECORD_KINDS } from '../../../src/doors/cli/nouns/journal.ts';
import { makeScratchHome } from './connect/scratch-home.ts';

test('the kinds that journal search knows are those that docs/journal.md describes', () => {
  const page = readFileSync(new URL('../../../../../docs/journal.md', import.meta.url), 'utf8');
  const [, table = ''] = /^\| kind \| written when \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '');
  const described = cells.flatMap((cell) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, kind]) => kind));
  expect(RECORD_KINDS.toSorted()).toEqual(described.toSorted());
});

test('journal search suggests the kind that was meant, and says nothing of one that only has no records', async () => {
  const { run } = makeScratchHome();
  await run(['call', 'palisade.echo', '--input', '{"message":"hi"}']);
  const wrong = await run(['journal', 'search', '--kind', 'refuse']);
  expect([wrong.status, wrong.err]).toEqual([64, expect.stringContaining('did you mean "refused"?')]);
  expect((await run(['journal', 'search', '--kind', 'nonsense'])).status).toBe(64);
  expect((await run(['journal', 'search', '--kind', 'refused'])).out).toContain('No record matches.');
  expect((await run(['journal', 'search', '--kind', 'ended'])).out).toContain('palisade.echo');
});
