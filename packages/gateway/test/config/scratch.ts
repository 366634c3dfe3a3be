import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { CodedError } from '../../src/core/coded-error.ts';

/** A directory of its own for one test file, with a way to load a text as its palisade.toml. */
export function makeScratch() {
  const directory = mkdtempSync(join(tmpdir(), 'palisade-config-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const load = (content: string | Uint8Array): Promise<Config> => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'palisade.toml'), content);
    return loadConfig({ stateDir: directory });
  };
  return { directory, load, refusal: (content: string | Uint8Array) => refusalOf(load(content)) };
}

/** The message of a refused configuration; anything but `config/invalid` fails the test. */
export async function refusalOf(loading: Promise<unknown>): Promise<string> {
  const ending = await loading.then(
    () => null,
    (error: unknown) => error,
  );
  if (ending === null) return 'loaded';
  if (!(ending instanceof CodedError) || ending.code !== 'config/invalid') throw ending;
  return ending.message;
}
