import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensurePrograms } from '../../tools/programs.mjs';
import { setUpCompilers } from '../../tools/setup.mjs';
import { palisade, scratch } from '../fixtures/cli.ts';
import { ROOT } from '../fixtures/skills/build.ts';
import { BUILD_MS } from '../fixtures/skills/example-skills.ts';

/* The folder of a skill is hostile, and its author's machine is what it wants: what `skill dev` reads, runs and prints. */

const home = scratch();
const say = (step: string) => console.error(`skills: ${step}`);

beforeAll(async () => {
  await ensurePrograms(say);
  await setUpCompilers(ROOT, say);
}, BUILD_MS);

async function make(name: string, language: string): Promise<string> {
  const folder = join(home, name);
  await palisade(['skill', 'new', folder, '--language', language, '--id', 'acme.text']);
  return folder;
}

const round = (folder: string) =>
  palisade(['skill', 'dev', folder, '--once', '--state', join(home, 'state')]);

describe('a hostile folder', () => {
  test(
    'reads nothing of this machine by links, neither as a source nor as a fixture',
    async () => {
      const folder = await make('links', 'assemblyscript');
      expect((await round(folder)).status).toBe(0);
      const secret = join(home, 'secret.ts');
      writeFileSync(secret, 'export const STOLEN = "stolen-text"; stolen-text');
      const link = join(folder, 'src/other.ts');
      symlinkSync(secret, link);
      const linked = await round(folder);
      expect(linked.err).toContain('Cannot use "src/other.ts": it is a link');
      expect(`${linked.out}${linked.err}`).not.toContain('stolen-text');
      rmSync(link);
      // Past the folder, by a path: the jail of the compiler does not show it.
      writeFileSync(
        join(folder, 'src/skill.ts'),
        `export * from '../../secret';\nexport * from '${home}/secret';\n`,
      );
      const imported = await round(folder);
      expect(imported.err).toContain('not found');
      expect(`${imported.out}${imported.err}`).not.toContain('stolen-text');
      mkdirSync(join(home, 'outside'));
      writeFileSync(join(home, 'outside/http.json'), 'stolen-text');
      symlinkSync(join(home, 'outside'), join(folder, 'fixtures'));
      const fixture = await round(folder);
      expect(`${fixture.out}${fixture.err}`).not.toContain('stolen-text');
      expect(fixture.status).not.toBe(0);
    },
    BUILD_MS,
  );

  test(
    'does not reach the terminal by what a compiler prints of its source',
    async () => {
      for (const [language, source, shown] of [
        ['c', 'src/skill.c', '<U+001B>[2J'],
        ['assemblyscript', 'src/skill.ts', '\\u{1b}[2J'],
      ] as const) {
        const folder = await make(`escapes-${language}`, language);
        writeFileSync(join(folder, source), `int a = "\u001b[2J\u001b]0;owned\u0007"; oops\u202e;\n`);
        const { out, err, status } = await round(folder);
        expect(err).toContain(shown);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there.
        expect(`${out}${err}`).not.toMatch(/[\u001b\u0007\u202e]/);
        expect(status).toBe(1);
      }
    },
    BUILD_MS,
  );

  test(
    'is refused with a fixture file that is huge or deep, in the time of any other',
    async () => {
      const folder = await make('huge', 'c');
      mkdirSync(join(folder, 'fixtures'));
      const file = join(folder, 'fixtures/http.json');
      writeFileSync(file, Buffer.alloc(40 * 1024 * 1024, 0x20));
      const huge = await round(folder);
      expect(`${huge.out}${huge.err}`).toContain('fixtures/http.json');
      expect(huge.status).not.toBe(0);
      writeFileSync(file, `{"fixtures":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
      const deep = await round(folder);
      expect(deep.out).toMatch(/fixtures\/http\.json/);
      expect(deep.status).not.toBe(0);
      rmSync(file);
      expect((await round(folder)).status).toBe(0);
    },
    BUILD_MS,
  );
});
