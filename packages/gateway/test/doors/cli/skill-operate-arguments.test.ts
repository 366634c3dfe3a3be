import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { encodeKey } from '../../../src/attest/key-files.ts';
import { narrowingOf } from '../../../src/doors/cli/nouns/skill-operate.ts';
import { parseReference } from '../../../src/doors/cli/skill/package-file.ts';
import { SKILL_VERBS } from '../../../src/doors/cli/tables/skill-verbs.table.ts';
import type { Invocation } from '../../../src/doors/cli/verb.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { KEY, writeKey } from './skill-sample.ts';
import { orWrongUsage } from './wrong-usage.ts';

const scratch = makeScratch();
const key = writeKey(scratch, 'acme', KEY);
const YEAR_2026 = { nowMs: () => Date.parse('2026-06-01T00:00:00Z'), monotonicMs: () => 0 };

describe('the words of operators', () => {
  test.each([
    ['a path as a skill', ['skill', 'show', '../acme.text'], 'expected one like acme.text'],
    ['an id without a publisher', ['skill', 'enable', 'text'], 'is not a valid id'],
    ['an id in upper case', ['skill', 'disable', 'Acme.text'], 'is not a valid id'],
    ['an id with a NUL', ['skill', 'show', 'acme.te\0xt'], 'is not a valid id'],
    ['a version that is none', ['skill', 'show', 'acme.text@1.0'], 'Cannot use the version "1.0"'],
    ['a version with a v', ['skill', 'enable', 'acme.text@v1.0.0'], 'Cannot use the version "v1.0.0"'],
    ['two versions', ['skill', 'show', 'acme.text@1.0.0@2.0.0'], 'Cannot use the version'],
    ['a version for a rollback', ['skill', 'rollback', 'acme.text@1.0.0'], 'it names a version'],
    ['a state that is none', ['skill', 'list', '--only', 'running'], 'expected one of ingested'],
    ['a cursor that is none', ['skill', 'list', '--cursor', '7'], 'expected the cursor'],
    ['a limit of zero', ['skill', 'list', '--limit', '0'], 'expected a whole number'],
    ['nothing to audit', ['skill', 'audit'], 'no skill is named, expected a skill, a package or --due'],
    [
      'two things to audit',
      ['skill', 'audit', 'acme.text', '--due'],
      '"acme.text" is named together with --due',
    ],
    [
      'a version and a package',
      ['skill', 'diff', 'acme.text', 'x.skill', '--to', '1.0.0'],
      'expected one of them',
    ],
    ['a package that is not there', ['skill', 'install', join(scratch, 'none.skill')], 'no such file'],
    ['a folder as a package', ['skill', 'install', scratch], `palisade skill pack ${scratch}`],
    ['a folder to audit', ['skill', 'audit', `${scratch}/`], 'it is a folder, expected a package'],
    ['a folder to compare with', ['skill', 'inspect', scratch], 'it is a folder, expected a package'],
    ['an approval without a terminal', ['skill', 'approve', 'acme.text'], '--yes and --reason TEXT'],
    ['an approval without a reason', ['skill', 'approve', 'acme.text', '--yes'], 'expected --reason TEXT'],
    [
      'an approval for no reason',
      ['skill', 'approve', 'acme.text', '--yes', '--reason', ' '],
      '--reason TEXT',
    ],
    ['fuel that is none', ['skill', 'approve', 'acme.text', '--fuel', '1e3'], 'Cannot use --fuel'],
    ['memory in words', ['skill', 'approve', 'acme.text', '--memory', 'lots'], 'Cannot use --memory'],
    ['a time without end', ['skill', 'approve', 'acme.text', '--timeout', '99999m'], 'Cannot use --timeout'],
    ['a value without a key', ['skill', 'approve', 'acme.text', '--config', '=x'], 'expected KEY=VALUE'],
    [
      'a key twice',
      ['skill', 'approve', 'acme.text', '--config', 'a=1', '--config', 'a=2'],
      '"a" is given twice',
    ],
    ['a revocation without a terminal', ['skill', 'revoke', 'acme.text'], 'expected --yes'],
    ['a removal without a terminal', ['skill', 'remove', 'acme.text'], 'expected --yes'],
    ['trust without a terminal', ['trust', 'add', 'acme', key], 'expected --yes'],
    ['a rotation without a terminal', ['trust', 'rotate', 'acme', key], 'expected --yes'],
    ['a publisher that is none', ['trust', 'add', 'Acme', key, '--yes'], 'Cannot use the publisher "Acme"'],
    ['a publisher that is none', ['trust', 'list', 'a--b'], 'Cannot use the publisher "a--b"'],
    ['a revocation of trust for no reason', ['trust', 'revoke', '0123456789'], 'expected --reason TEXT'],
    [
      'a time that is past',
      ['trust', 'add', 'acme', key, '--yes', '--expires', '2025-01-31'],
      'it is in the past',
    ],
    ['a day that is none', ['trust', 'add', 'acme', key, '--yes', '--expires', '2027-02-30'], 'a date as'],
    ['a time in words', ['trust', 'add', 'acme', key, '--yes', '--expires', 'soon'], 'a date as'],
    ['a time without end', ['trust', 'add', 'acme', key, '--yes', '--expires', '99999w'], 'a hundred years'],
  ])('refuse %s before anything is opened', async (_, argv, why) => {
    const { status, out, err } = await runInside(argv, { clock: YEAR_2026 });
    expect(err).toContain(why);
    expect(err).not.toContain('\0');
    expect([status, out]).toEqual([64, '']);
  });

  test.each([
    ['a private key', encodeKey(KEY), 'it is a private key'],
    ['no key', '{}', 'Cannot use'],
    ['nothing', '', 'Cannot use'],
    ['two keys', 'x'.repeat(70_000), 'more than 65536 bytes'],
  ])('refuse %s as the key of a publisher, and repeat nothing of it', async (name, text, why) => {
    const path = join(scratch, `${name}.json`);
    writeFileSync(path, text);
    const { status, err } = await runInside(['trust', 'add', 'acme', path, '--yes'], { clock: YEAR_2026 });
    expect(err).toContain(why);
    expect(err).not.toMatch(/[A-Za-z0-9+/]{40}/);
    expect([2, 64]).toContain(status);
  });

  test.each([
    ['a document is wanted', ['--json']],
    ['nobody sees what is printed', []],
  ])('want --yes where %s, although a person is at the terminal', async (_, words) => {
    const stdin = Object.assign(Readable.from(['acme.text\n']), { isTTY: true });
    const { status, out, err } = await runInside(['skill', 'revoke', 'acme.text', ...words], { stdin });
    expect([status, out + err]).toEqual([64, expect.stringContaining('expected --yes')]);
  });

  test('have a sentence each, and no word twice', () => {
    const words = SKILL_VERBS.map((verb) => verb.words);
    expect(new Set(words).size).toBe(words.length);
    expect(new Set(SKILL_VERBS.map(({ sentence }) => sentence)).size).toBe(words.length);
  });
});

describe('parseReference()', () => {
  test.each([
    ['acme.text', { id: 'acme.text', version: undefined }],
    ['acme.text@1.2.0-rc.1+build.5', { id: 'acme.text', version: '1.2.0-rc.1+build.5' }],
    ['a-b.c-d.e', { id: 'a-b.c-d.e', version: undefined }],
  ])('reads %s', (raw, read) => {
    expect(parseReference(raw)).toEqual(read);
  });

  test('reads any text or refuses it, and what it reads cannot be a path', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER }), (raw) => {
        const read = orWrongUsage(() => parseReference(raw));
        if (typeof read === 'string') return read.startsWith('Cannot use ');
        return !/[/\\\0]|\.\./.test(read.id);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});

describe('narrowingOf()', () => {
  test('reads every flag of an approval', () => {
    const flags = {
      withhold: ['storage', 'http=a.example'],
      ...{ fuel: '10', memory: '64k', timeout: '2s' },
      config: ['unit=a=b', '__proto__=x', 'empty='],
    };
    const read = narrowingOf({ flags } as unknown as Invocation);
    expect(read).toMatchObject({
      withhold: ['storage', 'http=a.example'],
      limits: { fuel: 10, memoryBytes: 65_536, wallMs: 2_000 },
    });
    expect(Object.entries(read.config)).toEqual([
      ['unit', 'a=b'],
      ['__proto__', 'x'],
      ['empty', ''],
    ]);
    expect(narrowingOf({ flags: {} } as unknown as Invocation)).toEqual({
      withhold: [],
      limits: {},
      config: {},
    });
  });
});
