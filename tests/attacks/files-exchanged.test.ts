import { chmodSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { encodeKey, generateKey, readPrivate } from '../../packages/gateway/src/attest/key-files.ts';
import { findCompiler } from '../../packages/gateway/src/doors/cli/skill/find-compiler.ts';
import { readFolderFile, writeFolderFile } from '../../packages/gateway/src/doors/cli/skill/folder.ts';
import type { Invocation } from '../../packages/gateway/src/doors/cli/verb.ts';
import { tempDir } from '../../packages/gateway/test/fixture/temp-dir.ts';
import { beginExchanges } from '../fixtures/commands/exchanger.ts';
import { volume } from '../volume/volume.ts';

/* What is checked is what is used, although another process exchanges the file, or a folder on its way, all the time. */

const LOOKS = volume(40_000, 10_000);

/** What each look finds while two names are exchanged; a refusal counts as such. Goes on until one found something. */
async function found<T>(
  one: string,
  other: string,
  look: () => T,
  least = LOOKS,
): Promise<ReadonlySet<T | 'refused'>> {
  const seen = new Set<T | 'refused'>();
  const exchanger = await beginExchanges(one, other);
  const isDone = (looks: number) => looks >= least && [...seen].some((each) => each !== 'refused');
  for (let looks = 0; !isDone(looks); looks++) {
    try {
      seen.add(look());
    } catch {
      seen.add('refused');
    }
    // For the time limit of the test.
    if (looks % 100 === 0) await nextTurn();
  }
  await exchanger.untilBothSeen();
  await exchanger.stop();
  return seen;
}

describe('while it is exchanged', () => {
  test('a private key of mode 600 for one that others can read, only the first is read', async () => {
    const directory = tempDir();
    const [path, other] = [join(directory, 'current.pem'), join(directory, 'other.pem')];
    const [own, foreign] = [encodeKey(generateKey(0)), encodeKey(generateKey(0))];
    writeFileSync(path, own, { mode: 0o600 });
    writeFileSync(other, foreign, { mode: 0o640 });
    chmodSync(other, 0o640);
    const seen = await found(path, other, () => readPrivate(path));
    expect([...seen].sort()).toEqual([own, 'refused']);
  });

  /** A skill with a folder that is exchanged for a link to a folder elsewhere. */
  function skillWith(name: string) {
    const [folder, outside] = [realpathSync(tempDir()), realpathSync(tempDir())];
    const [own, link] = [join(folder, name), join(folder, 'link')];
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'package.json'), '"own"');
    writeFileSync(join(outside, 'package.json'), '"a secret"');
    symlinkSync(outside, link);
    return { folder, outside, own, link };
  }

  test('a folder of a skill for a link, nothing elsewhere is packed', async () => {
    const { folder, own, link } = skillWith('src');
    const read = () => String(Buffer.from(readFolderFile(folder, 'src/package.json') ?? []));
    const seen = await found(own, link, read);
    expect(seen).toContain('"own"');
    expect(seen).not.toContain('"a secret"');
  });

  test('a folder of a skill for a link, no built module is written elsewhere', async () => {
    const { folder, outside, own, link } = skillWith('out');
    const bytes = Buffer.from('\0asm');
    const write = () => {
      writeFolderFile(folder, 'out/module.wasm', bytes);
      return 'written';
    };
    expect(await found(own, link, write)).toContain('written');
    expect(existsSync(join(outside, 'module.wasm'))).toBe(false);
  });

  test('the library of a skill for a link, the compiler is shown nothing elsewhere', async () => {
    const { folder, outside, own, link } = skillWith('node_modules/@palisade/guest');
    const script = join(folder, 'node_modules/assemblyscript/bin');
    mkdirSync(script, { recursive: true });
    writeFileSync(join(script, 'asc.js'), '');
    const invocation = { flags: {}, edge: { cwd: folder, packageFolders: [] } } as unknown as Invocation;
    const where = { folder, searchPath: [] };
    const look = () => findCompiler(invocation, 'assemblyscript', where).readOnly.join(' ');
    const seen = await found(own, link, look, LOOKS / 10);
    for (const shown of seen) expect(shown).not.toContain(outside);
  });
});
