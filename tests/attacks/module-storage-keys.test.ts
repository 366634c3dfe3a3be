import { describe, expect, test } from 'vitest';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest spells keys so that they might lead out of its prefix, or be another key than they look like. */

const [DENIED, CONFLICT, INVALID] = [-1, -5, -6];
const NOT_UTF8 = {
  'a byte that begins nothing': Buffer.from([...Buffer.from('notes/'), 0xff]),
  'a character in more bytes than it needs': Buffer.from([...Buffer.from('notes/'), 0xc0, 0xae, 0xc0, 0xae]),
  'half of a pair': Buffer.from([...Buffer.from('notes/'), 0xed, 0xa0, 0x80]),
  'a character that is cut off': Buffer.from([...Buffer.from('notes/'), 0xe2, 0x82]),
};

const KEYS: Readonly<Record<string, string | Uint8Array>> = {
  'climbs above': '../x',
  'climbs above from inside': 'notes/../x',
  'climbs above the root': 'a/../../b',
  'is absolute': '/etc/passwd',
  'is absolute to the prefix': '/notes/a',
  'has a NUL': 'notes/a\0b',
  'ends with a NUL': 'notes/a\0',
  'climbs with backslashes': 'notes\\..\\x',
  'ends in dots and a backslash': 'notes/..\\',
  'has one-dot leaders': 'notes/\u2024\u2024/x',
  'has full-width dots': 'notes/\uff0e\uff0e/x',
  'has a full-width slash': 'notes\uff0fa',
  'has a division slash': 'notes/\u2215a',
  'has a fraction slash': 'notes\u2044a',
  'is only dots': '..',
  'has a segment of one dot': 'notes/./a',
  'has an empty segment': 'notes//a',
  'ends with a slash': 'notes/a/',
  'is empty': '',
  'is very long': `notes/${'a'.repeat(10_240)}`,
  'is a byte too long': `notes/${'a'.repeat(507)}`,
  'has a line feed': 'notes/a\nb',
  'turns its direction': 'notes/\u202ea',
  'is not in normal form': 'notes/e\u0301',
  'is another prefix': 'other/a',
  'begins like the prefix': 'notes-of-others/a',
  'is the prefix in capitals': 'NOTES/a',
  ...NOT_UTF8,
};

/** As the text format spells them. */
const VERSIONS = {
  'no number': 'nan',
  'a part of one': '1.5',
  negative: '-2',
  endless: 'inf',
  'larger than any that there can be': '1152921504606846976',
} as const;

const GRANTS = { storage: [{ read: ['notes/'], write: ['notes/'] }] };
const attempts = (key: string | Uint8Array) =>
  guest(({ bytes }) =>
    listOf(
      `(call $storage_put (i32.const 30000) ${bytes(key)} ${bytes('"planted"')} (f64.const -1))`,
      `(call $storage_put (i32.const 30000) ${bytes(key)} ${bytes('"planted"')} (f64.const 0))`,
      `(call $storage_get (i32.const 30000) ${bytes(key)})`,
      `(call $storage_delete (i32.const 30000) ${bytes(key)} (f64.const -1))`,
    ),
  );
const LISTS = (prefix: string | Uint8Array) =>
  guest(
    ({ bytes }) =>
      `(call $told (call $storage_list (i32.const 30000) ${bytes(prefix)} ${bytes('')} (i32.const 100)) (i32.const 0))`,
  );

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const { call } = sharedModules(() => ({
  tools: [
    ...Object.entries(KEYS).flatMap(([what, key]) => [
      moduleTool(nameOf(what), attempts(key), { grants: GRANTS, skill: 'keys' }),
      moduleTool(nameOf(`lists ${what}`), LISTS(key), { grants: GRANTS, skill: 'keys' }),
    ]),
    moduleTool('test.good', attempts('notes/a'), { grants: GRANTS, skill: 'keys' }),
    moduleTool('test.longest', attempts(`notes/${'a'.repeat(506)}`), { grants: GRANTS, skill: 'keys' }),
    // The operator's own look at all of the space.
    moduleTool('test.all', LISTS('/'), {
      grants: { storage: [{ read: ['/'], write: ['/'] }] },
      skill: 'keys',
    }),
    moduleTool(
      'test.plants',
      guest(({ bytes }) =>
        listOf(
          ...['notes/mine', 'other/theirs', 'notes-of-others/theirs'].map(
            (key) => `(call $storage_put (i32.const 30000) ${bytes(key)} ${bytes('1')} (f64.const -1))`,
          ),
        ),
      ),
      { grants: { storage: [{ read: ['/'], write: ['/'] }] }, skill: 'keys' },
    ),
    moduleTool('test.lists', LISTS('notes'), { grants: GRANTS, skill: 'keys' }),
    ...Object.entries(VERSIONS).map(([what, version]) =>
      moduleTool(
        nameOf(`version ${what}`),
        guest(({ bytes }) =>
          listOf(
            `(call $storage_put (i32.const 30000) ${bytes('notes/v')} ${bytes('1')} (f64.const ${version}))`,
            `(call $storage_delete (i32.const 30000) ${bytes('notes/v')} (f64.const ${version}))`,
          ),
        ),
        { grants: GRANTS, skill: 'keys' },
      ),
    ),
  ],
}));

describe('a key that', () => {
  test.each(Object.keys(KEYS))(
    '%s is refused in every way to use one, and nothing is stored',
    async (what) => {
      const { code, output } = await call(nameOf(what));
      expect(code).toBe('ok');
      const refusals = output as number[];
      expect(refusals).toHaveLength(4);
      for (const each of refusals) expect([DENIED, INVALID]).toContain(each);
      const [listed] = (await call(nameOf(`lists ${what}`))).output as number[];
      // A list of what is beneath a place that is its own but odd is refused or empty; it never has what lies elsewhere.
      expect([DENIED, INVALID, undefined]).toContain(listed);
      expect((await call('test.all')).output).toEqual([]);
    },
  );

  test('is right is stored once, read and deleted', async () => {
    expect((await call('test.good')).output).toEqual([0, CONFLICT, 8 + '"planted"'.length, 0]);
    expect((await call('test.longest')).output).toEqual([0, CONFLICT, 8 + '"planted"'.length, 0]);
  });
});

test('a list shows what lies beneath the prefix, and nothing beside it', async () => {
  expect((await call('test.plants')).output).toEqual([0, 0, 0]);
  expect((await call('test.lists')).output).toEqual(['notes/mine']);
  expect((await call('test.all')).output).toEqual(['notes-of-others/theirs', 'notes/mine', 'other/theirs']);
});

test.each(Object.keys(VERSIONS))('a version that is %s is refused, and nothing is stored', async (what) => {
  const { code, output } = await call(nameOf(`version ${what}`));
  expect(code).toBe('ok');
  for (const refusal of output as number[]) expect([INVALID, CONFLICT]).toContain(refusal);
  expect((await call('test.lists')).output).not.toContain('notes/v');
});
