import { describe, expect, test } from 'vitest';

import { COMMON_FLAGS, FIRST_COMMANDS, VERB_GROUPS, VERBS } from '../../../src/doors/cli/verbs.table.ts';
import { runInside } from './fake-edge.ts';
import { palisade, useBuild } from './palisade.ts';

useBuild();

describe('palisade --help', () => {
  test('names every command with its sentence and opens nothing', async () => {
    const { status, out, err } = await runInside(['--help']);
    for (const { words, sentence } of VERBS) {
      expect(out).toContain(`  ${words} `);
      expect(out).toContain(sentence);
    }
    expect(err).toBe('');
    expect(status).toBe(0);
  });

  test('begins with what people do first, and each of these is a command', async () => {
    const { out } = await runInside(['--help']);
    const first = out.indexOf('Start here:');
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(out.indexOf(`${VERB_GROUPS[0]?.title}:`));
    for (const [command] of FIRST_COMMANDS)
      expect(VERBS.some(({ words }) => command === words || command.startsWith(`${words} `))).toBe(true);
  });

  test('of a group names the commands of that group alone', async () => {
    const { out } = await runInside(['approvals', '--help']);
    expect(out).toContain('approvals deny ID');
    expect(out).toContain('palisade approvals approve apr_01k');
    expect(out).not.toContain('journal');
  });

  test('works in the built command', async () => {
    expect(await palisade(['--help'])).toEqual({ ...(await runInside(['--help'])) });
  });
});

describe.each(VERBS.map((verb) => [verb.words, verb] as const))('palisade %s --help', (words, verb) => {
  test('mentions every flag, every argument and an example', async () => {
    const { status, out } = await runInside([...words.split(' '), '--help']);
    for (const { name, sentence } of [...verb.flags, ...COMMON_FLAGS]) {
      expect(out).toContain(`--${name}`);
      expect(out).toContain(sentence);
    }
    expect(out).toContain(['Usage: palisade', words, ...verb.args].join(' '));
    expect(out).toMatch(/Examples?:\n.*palisade /);
    expect(status).toBe(0);
  });

  test('is one document with --json', async () => {
    const { out } = await runInside([...words.split(' '), '--help', '--json']);
    expect(JSON.parse(out)).toMatchObject({ words, args: verb.args, sentence: verb.sentence });
  });

  test('gives examples that are commands of this very kind', () => {
    for (const example of verb.examples) expect(example).toMatch(new RegExp(`palisade ${words}( |\\)|$)`));
    expect(verb.examples.length).toBeGreaterThan(0);
  });
});
