import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { parseKeyRing, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { configOf } from '../../../../src/config/load.ts';
import { starterConfig } from '../../../../src/doors/cli/connect/init/starter-config.ts';
import { type House, makeHouse, textOf } from './house.ts';

type Document = {
  readonly ok: boolean;
  readonly clients: readonly {
    readonly client: string;
    readonly status: string;
    readonly file: string | null;
  }[];
  readonly call: {
    readonly callId: string;
    readonly as: string;
    readonly verified: boolean;
    readonly status: string;
  };
  readonly findings: readonly { readonly name: string }[];
  readonly next: readonly string[];
};

async function init({ json }: House, ...words: readonly string[]): Promise<Document> {
  return (await json(['init', ...words])) as Document;
}

/** A terminal at which somebody types these lines. */
function terminal(lines: string) {
  let shown = '';
  const out = new Writable({
    write: (chunk, _encoding, done) => {
      shown += chunk;
      done();
    },
  });
  return {
    parts: {
      stdin: Object.assign(Readable.from([lines]), { isTTY: true }) as NodeJS.ReadableStream,
      stdout: Object.assign(out, { isTTY: true }),
    },
    shown: () => shown,
  };
}

/** What a client leaves that was used once. */
function install(home: string, folder: string): void {
  mkdirSync(join(home, folder));
  writeFileSync(join(home, folder, 'history'), '');
}

describe('palisade init', () => {
  test('leads from nothing to a connected agent whose first call has a receipt that a stranger verifies', async () => {
    const house = makeHouse();
    install(house.home, '.cursor');
    const { ok, clients, call, next } = await init(house, '--yes');
    expect(ok).toBe(true);
    const file = join(house.home, '.cursor/mcp.json');
    expect(clients).toMatchObject([{ client: 'cursor', status: 'connected', file }]);
    expect(textOf(file)).toContain(house.state);
    expect(call).toMatchObject({ as: 'agent:cursor', status: 'ok', verified: true });
    expect(next.join('\n')).toContain('Cursor: ');
    const receipt = join(house.project, 'receipt.json');
    await house.run(['receipt', call.callId, '--out', receipt]);
    const ring = await parseKeyRing((await house.run(['keys', 'export'])).out, webPrimitives);
    const keys = ring.ok ? ring.keys : [];
    expect(await verifyReceipt(textOf(receipt), keys as never, {}, webPrimitives)).toMatchObject({
      ok: true,
    });
  });

  test('says what it did in every step, and ends with what to do next', async () => {
    const house = makeHouse();
    const { status, out } = await house.run(['init', '--yes', '--client', 'codex']);
    expect(out).toContain(`✓ made ${house.state}, for you alone`);
    expect(out).toContain(`✓ made ${join(house.state, 'palisade.toml')}`);
    expect(out).toContain('permit agents-call-low-risk-tools (10-calls.cedar)');
    expect(out).toMatch(/✓ \d+ of \d+ things are as they should be/);
    expect(out).toContain('✓ Codex CLI: connected');
    expect(out).toContain('✓ agent:codex called palisade.echo: call_');
    expect(out).toContain('✓ its receipt verifies');
    expect(out).toMatch(/All is ready\. What to do next:\n {2}→ Codex CLI: /);
    expect(status).toBe(0);
  });

  test('changes nothing of what is there when it is run again', async () => {
    const house = makeHouse();
    await init(house, '--client', 'codex');
    const file = join(house.home, '.codex/config.toml');
    writeFileSync(join(house.state, 'palisade.toml'), '# mine\n');
    writeFileSync(join(house.state, 'policies/90-recipes.cedar'), '// mine\n');
    const before = textOf(file);
    expect(await init(house, '--client', 'codex')).toMatchObject({
      ok: true,
      stateDir: { made: false },
      config: { made: false },
      policies: { made: false },
      clients: [{ client: 'codex', status: 'already connected' }],
    });
    expect(textOf(join(house.state, 'palisade.toml'))).toBe('# mine\n');
    expect(textOf(join(house.state, 'policies/90-recipes.cedar'))).toBe('// mine\n');
    expect([textOf(file), readdirSync(join(house.home, '.codex'))]).toEqual([before, ['config.toml']]);
  });

  test('asks at a terminal about each client that is found, and takes only a yes for one', async () => {
    const house = makeHouse();
    for (const folder of ['.cursor', '.codex', '.kiro']) install(house.home, folder);
    const { parts, shown } = terminal('y\nwell\nYES\n');
    const { err } = await house.run(['init'], parts);
    expect(err).toContain('Connect Cursor to palisade? [y/N] ');
    expect(shown()).toContain('✓ Cursor: connected');
    expect(shown()).toContain('- Codex CLI is left alone; later: palisade connect codex');
    expect(existsSync(join(house.home, '.codex/config.toml'))).toBe(false);
    expect(existsSync(join(house.home, '.kiro/settings/mcp.json'))).toBe(true);
  });

  test('connects nothing where nobody can be asked and nobody said yes', async () => {
    const house = makeHouse();
    install(house.home, '.cursor');
    const { status, out } = await house.run(['init']);
    expect(out).toContain('Nobody can be asked here: add --yes');
    expect(out).toContain('agent:newcomer called palisade.echo');
    expect(readdirSync(join(house.home, '.cursor'))).toEqual(['history']);
    expect(status).toBe(0);
  });

  test('tells of a file that cannot be used, connects the others, and ends with its status', async () => {
    const house = makeHouse();
    house.write('.cursor/mcp.json', '{ broken');
    install(house.home, '.codex');
    const { status, out } = await house.run(['init', '--yes']);
    expect(out).toContain(`✗ Cursor: Cannot read "${join(house.home, '.cursor/mcp.json')}:1:3"`);
    expect(out).toContain('✓ Codex CLI: connected');
    expect(out).toContain('Not all went well');
    expect(status).toBe(64);
  });

  test('makes nothing when a client is unknown or the state directory is open to others', async () => {
    const house = makeHouse();
    expect(await house.run(['init', '--client', 'emacs'])).toMatchObject({ status: 64 });
    expect(existsSync(house.state)).toBe(false);
    mkdirSync(house.state);
    chmodSync(house.state, 0o755);
    expect(await house.run(['init', '--yes'])).toMatchObject({ status: 2 });
    expect(readdirSync(house.state)).toEqual([]);
  });

  test('ends with the status of a first call that the policies refuse', async () => {
    const house = makeHouse();
    await init(house);
    for (const name of readdirSync(join(house.state, 'policies')))
      writeFileSync(
        join(house.state, 'policies', name),
        '@id("none") forbid(principal, action, resource);\n'.replace('none', name),
      );
    const { status, out } = await house.run(['init', '--client', 'zed']);
    expect(out).toContain('✗ agent:zed called palisade.echo: policy/denied');
    expect(out).toContain('✓ its receipt verifies');
    expect(status).toBe(2);
  });

  test('shows the demo where it is asked for, and is one document with --json', async () => {
    const house = makeHouse();
    expect((await house.run(['init', '--demo'])).out).toContain('The demo succeeded.');
    expect(await init(house, '--demo')).toMatchObject({ ok: true, demo: 0 });
  });
});

describe('starterConfig()', () => {
  const file = (text: string) => ({ name: 'palisade.toml', path: '/palisade.toml', text });

  test('changes nothing as it is, and shows true defaults', async () => {
    const { file: _, ...defaults } = await configOf(null);
    const { file: __, ...started } = await configOf(file(starterConfig()));
    expect(started).toEqual(defaults);
    const { file: ___, ...switchedOn } = await configOf(
      file(starterConfig().replace(/^#(?=[a-z_]+ = (?!""))/gm, '')),
    );
    expect(switchedOn).toEqual(defaults);
  });

  test('is for its owner alone', async () => {
    const house = makeHouse();
    await house.run(['init']);
    expect(statSync(join(house.state, 'palisade.toml')).mode & 0o777).toBe(0o600);
  });
});
