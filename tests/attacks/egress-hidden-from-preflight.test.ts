import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type EgressWorld, openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { PYTHON } from '../fixtures/egress/inside.ts';

const OPEN =
  'import sys, urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open(sys.argv[1], timeout=9).read())';
/** Asks for what it finds in a place that no look at the arguments comes to. */
const FETCH = (found: string) =>
  `import base64, os, sys, urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open(${found}, timeout=9).read())`;

type Hiding = { readonly args: (url: string) => readonly string[]; readonly more?: (url: string) => object };

/** Ways to reach a host without naming it in an argument. */
const HIDDEN: Readonly<Record<string, Hiding>> = {
  'standard input': { args: () => ['-c', FETCH('sys.stdin.read()')], more: (url) => ({ stdin: url }) },
  'a file': { args: () => ['-c', FETCH("open('url').read()")] },
  'a variable': {
    args: () => ['-c', FETCH("bytes.fromhex(os.environ['TARGET']).decode()")],
    more: (url) => ({ env: { TARGET: hexOf(url) } }),
  },
  base64: {
    args: (url) => [
      '-c',
      FETCH('base64.b64decode(sys.argv[1]).decode()'),
      Buffer.from(url).toString('base64'),
    ],
  },
  'another base': { args: (url) => ['-c', FETCH('bytes.fromhex(sys.argv[1]).decode()'), hexOf(url)] },
};
/** Spellings of which the look may think what it likes. */
const SPELLED: Readonly<Record<string, Hiding>> = {
  'no scheme': { args: (url) => ['-c', FETCH("'http:' + sys.argv[1]"), url.replace('http:', '')] },
  'the address as a number': { args: (url) => ['-c', OPEN, url.replace('127.0.0.2', '2130706434')] },
  'two halves': { args: (url) => ['-c', FETCH('sys.argv[1] + sys.argv[2]'), url.slice(0, 9), url.slice(9)] },
};

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex');
}

async function openWorld(egress: string) {
  const [hidden, listed] = [await startServer(undefined, '127.0.0.2'), await startServer()];
  const world = await openEgressWorld({
    entries: [`127.0.0.1:${listed.port}`],
    config: `egress = "${egress}"\nenv = ["TARGET"]\n`,
  });
  const url = `http://127.0.0.2:${hidden.port}/`;
  writeFileSync(join(world.workspace, 'url'), url);
  return { world, hidden, listed, url };
}

function runHidden(world: EgressWorld, hiding: Hiding, url: string, egress: string) {
  return world.run({ command: PYTHON, args: hiding.args(url), egress, ...hiding.more?.(url) });
}

describe('a command that hides its host from the look at its arguments', () => {
  test('gets through preflight, which is a look and no guard, and whose receipt claims nothing', async () => {
    const { world, hidden, url } = await openWorld('preflight');
    for (const [name, hiding] of Object.entries(HIDDEN)) {
      const end = await runHidden(world, hiding, url, 'preflight');
      expect(end, `${name} ${end.message} ${end.output?.stderr}`).toMatchObject({ code: 'ok' });
      expect(end.execution?.isolation, name).toMatchObject({ egress: 'preflight', network: 'host' });
      expect(
        Object.keys(end.execution?.isolation ?? {}).filter((key) => /^egress./.test(key)),
        name,
      ).toEqual([]);
    }
    expect(hidden.asked).toHaveLength(Object.keys(HIDDEN).length);
  });

  test('reaches nothing in a strict run, by none of these ways', async () => {
    const { world, hidden, listed, url } = await openWorld('none');
    for (const [name, hiding] of Object.entries(HIDDEN)) {
      const end = await runHidden(world, hiding, url, 'strict');
      expect([end.code, end.output?.stderr.includes('refused')], name).toEqual(['tier/exited', true]);
      expect(end.execution?.isolation, name).toMatchObject({ egress: 'strict', network: 'listed hosts' });
    }
    for (const [name, hiding] of Object.entries(SPELLED))
      expect((await runHidden(world, hiding, url, 'strict')).code, name).toMatch(
        /^(tier\/exited|runner\/.*)$/,
      );
    expect(hidden.asked).toEqual([]);
    const control = await world.run({
      command: PYTHON,
      args: ['-c', OPEN, `http://127.0.0.1:${listed.port}/`],
    });
    expect([control.code, listed.asked.length]).toEqual(['ok', 1]);
  });

  test('does not get through preflight when an argument names the host', async () => {
    const { world, hidden, listed, url } = await openWorld('preflight');
    const named = await world.run({ command: PYTHON, args: ['-c', OPEN, url], egress: 'preflight' });
    expect(named).toMatchObject({ code: 'runner/egress-denied', output: null });
    expect(hidden.asked).toEqual([]);
    const allowed = {
      command: PYTHON,
      args: ['-c', OPEN, `http://127.0.0.1:${listed.port}/`],
      egress: 'preflight',
    };
    expect([(await world.run(allowed)).code, listed.asked.length]).toEqual(['ok', 1]);
  });
});

describe('a call that asks for a looser network', () => {
  test('than the operator gives is refused, and not run in strict instead', async () => {
    const { world } = await openWorld('strict');
    for (const egress of ['preflight', 'none'])
      expect(await world.shell('touch ran', { egress })).toMatchObject({
        code: 'runner/egress-denied',
        output: null,
      });
    expect(existsSync(join(world.workspace, 'ran'))).toBe(false);
    expect(await world.shell('touch ran')).toMatchObject({ code: 'ok' });
    expect(existsSync(join(world.workspace, 'ran'))).toBe(true);
  });

  test('cannot have hosts or secrets with it, where nobody would hold them', async () => {
    const { world } = await openWorld('none');
    for (const egress of ['preflight', 'none']) {
      for (const wish of [{ egress_hosts: ['ok.test'] }, { secrets: ['token'] }])
        expect(await world.shell('touch ran', { egress, ...wish })).toMatchObject({
          code: 'registry/invalid-input',
        });
      const free = await world.shell('true', { egress });
      expect([free.code, free.execution?.isolation]).toEqual([
        'ok',
        expect.objectContaining({ egress, network: 'host' }),
      ]);
    }
    expect(existsSync(join(world.workspace, 'ran'))).toBe(false);
  });
});
