import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';

/*
 * The code cache of a command is code. Here the package is installed where its user cannot write, so that its cache is in
 * the state directory; and someone plants a cache there that V8 itself would accept.
 */

const ROOT = join(import.meta.dirname, '../..');
const base = scratch();
const installed = join(base, 'lib/palisade');
const state = join(base, 'state');
const code = join(state, 'code');
const SAID = 'PLANTED';

beforeAll(() => {
  mkdirSync(join(base, 'lib'));
  for (const part of ['bin', 'package.json', 'schema', 'dist'])
    cpSync(join(ROOT, 'packages/gateway', part), join(installed, part), { recursive: true });
  rmSync(join(installed, 'dist/code'), { recursive: true, force: true });
  symlinkSync(join(ROOT, 'node_modules'), join(base, 'node_modules'));
});

beforeEach(() => {
  rmSync(state, { recursive: true, force: true });
  call();
});

function call(): string {
  const words = ['call', 'palisade.echo', '--input', '{"message":"hi"}', '--state', state];
  const program = join(installed, 'bin/palisade.js');
  return execFileSync(process.execPath, [program, ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** The cache of the client, which every command loads first. */
function cacheFile(): string {
  const name = readdirSync(code).find((each) => each.startsWith('client-call-')) ?? '';
  return join(code, name);
}

/** A cache for the text of the client, made of another text: V8 compares no more than the length. */
function plant(path: string): void {
  const real = readFileSync(join(installed, 'dist/client.cjs'), 'latin1');
  const planted = `(function(){process.stdout.write("${SAID}");process.exit(0)})`.padEnd(real.length);
  const script = `const { setFlagsFromString } = require('node:v8');
    setFlagsFromString('--no-turbo-inline-js-wasm-calls');
    setFlagsFromString('--wasm-tiering-budget=300000000');
    setFlagsFromString('--interrupt-budget=1500000');
    setFlagsFromString('--no-sparkplug');
    const { Script } = require('node:vm');
    const script = new Script(require('node:fs').readFileSync(0, 'latin1'), { filename: 'x', produceCachedData: false });
    script.runInThisContext();
    process.stdout.write(script.createCachedData());`;
  const data = execFileSync(process.execPath, ['-e', script], { input: planted });
  const name = path.slice(path.lastIndexOf('/') + 1);
  const index = JSON.parse(readFileSync(join(installed, 'dist/packs.json'), 'utf8')) as {
    readonly packs: Readonly<Record<string, string>>;
  };
  const digest = createHash('sha256').update(`${name}\n${index.packs.client}\n`).update(data).digest('hex');
  rmSync(path);
  writeFileSync(
    path,
    Buffer.concat([Buffer.from(`palisade code 1 ${digest}`.padEnd(87).concat('\n')), data]),
    {
      mode: 0o600,
    },
  );
}

describe('code that is planted in the cache of a command', () => {
  test('would run if its user had planted it: the file is all that the loader asks for', () => {
    plant(cacheFile());
    expect(call()).toBe(SAID);
  });

  test.each([
    ['in a file that others can write', (path: string) => chmodSync(path, 0o646)],
    ['in a folder that others can write', () => chmodSync(code, 0o777)],
    [
      'behind a link',
      (path: string) => {
        cpSync(path, join(base, 'planted'));
        rmSync(path);
        symlinkSync(join(base, 'planted'), path);
      },
    ],
  ])('does not run %s', (_, doubtful) => {
    const path = cacheFile();
    plant(path);
    doubtful(path);
    expect(JSON.parse(call())).toEqual({ message: 'hi' });
  });

  test('does not run without the digest of these very bytes, and is replaced', () => {
    const path = cacheFile();
    plant(path);
    const bytes = readFileSync(path);
    bytes[16] = bytes[16] === 0x30 ? 0x31 : 0x30;
    writeFileSync(path, bytes);
    expect(JSON.parse(call())).toEqual({ message: 'hi' });
    expect(readFileSync(path).equals(bytes)).toBe(false);
    expect(JSON.parse(call())).toEqual({ message: 'hi' });
  });
});

test('a package that nobody can write keeps its code cache in the state directory alone', () => {
  expect(existsSync(join(installed, 'dist/code'))).toBe(false);
  expect(readdirSync(code).some((name) => name.startsWith('gateway-call-'))).toBe(true);
  const before = readdirSync(code);
  expect(JSON.parse(call())).toEqual({ message: 'hi' });
  expect(readdirSync(code)).toEqual(before);
});

test('without a place for a code cache every command works', () => {
  rmSync(code, { recursive: true });
  writeFileSync(code, 'not a folder');
  expect(JSON.parse(call())).toEqual({ message: 'hi' });
});
