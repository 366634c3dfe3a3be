import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { parseKeyRing, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { configOf } from '../../../../src/config/load.ts';
import { starterConfig } from '../../../../src/doors/cli/connect/init.ts';
import { makeScratchHome, type ScratchHome, textOf } from './scratch-home.ts';

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

async function init({ json }: ScratchHome, ...args: readonly string[]): Promise<Document> {
  return (await json(['init', ...args])) as Document;
}

/** A terminal at which a person types these lines. */
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
    const scratch = makeScratchHome();
    install(scratch.home, '.cursor');
    const { ok, clients, call, next } = await init(scratch, '--yes');
    expect(ok).toBe(true);
    const file = join(scratch.home, '.cursor/mcp.json');
    expect(clients).toMatchObject([{ client: 'cursor', status: 'connected', file }]);
    expect(textOf(file)).toContain(scratch.state);
    expect(call).toMatchObject({ as: 'agent:cursor', status: 'ok', verified: true });
    expect(next.join('\n')).toContain('Cursor: ');
    const receipt = join(scratch.project, 'receipt.json');
    await scratch.run(['receipt', call.callId, '--out', receipt]);
    const ring = await parseKeyRing((await scratch.run(['keys', 'export'])).out, webPrimitives);
    const keys = ring.ok ? ring.keys : [];
    expect(await verifyReceipt(textOf(receipt), keys as never, {}, webPrimitives)).toMatchObject({
      ok: true,
    });
  });

  test('says what it did in every step, and ends with what to do next', async () => {
    const scratch = makeScratchHome();
    const { status, out } = await scratch.run(['init', '--yes', '--client', 'codex']);
    expect(out).toContain(`✓ made ${scratch.state}, readable by you only`);
    expect(out).toContain(`✓ made ${join(scratch.state, 'palisade.toml')}`);
    expect(out).toContain('permit agents-call-low-risk-tools (10-calls.cedar)');
    expect(out).toMatch(/✓ \d+ of \d+ checks passed/);
    expect(out).toContain('✓ Codex CLI: connected');
    expect(out).toContain('✓ agent:codex called palisade.echo: call_');
    expect(out).toContain('✓ its receipt verifies');
    expect(out).toMatch(/Ready\. What to do next:\n {2}→ Codex CLI: /);
    expect(status).toBe(0);
  });

  test('changes nothing of what is there when it is run again', async () => {
    const scratch = makeScratchHome();
    await init(scratch, '--client', 'codex');
    const file = join(scratch.home, '.codex/config.toml');
    writeFileSync(join(scratch.state, 'palisade.toml'), '# mine\n');
    writeFileSync(join(scratch.state, 'policies/90-recipes.cedar'), '// mine\n');
    const before = textOf(file);
    expect(await init(scratch, '--client', 'codex')).toMatchObject({
      ok: true,
      stateDir: { made: false },
      config: { made: false },
      policies: { made: false },
      clients: [{ client: 'codex', status: 'already connected' }],
    });
    expect(textOf(join(scratch.state, 'palisade.toml'))).toBe('# mine\n');
    expect(textOf(join(scratch.state, 'policies/90-recipes.cedar'))).toBe('// mine\n');
    expect([textOf(file), readdirSync(join(scratch.home, '.codex'))]).toEqual([before, ['config.toml']]);
  });

  test('asks at a terminal about each client that is found, and takes only a yes for one', async () => {
    const scratch = makeScratchHome();
    for (const folder of ['.cursor', '.codex', '.kiro']) install(scratch.home, folder);
    const { parts, shown } = terminal('y\nwell\nYES\n');
    const { err } = await scratch.run(['init'], parts);
    expect(err).toContain('Connect Cursor to palisade? [y/N] ');
    expect(shown()).toContain('✓ Cursor: connected');
    expect(shown()).toContain('- Codex CLI was skipped. To connect it later: palisade connect codex');
    expect(existsSync(join(scratch.home, '.codex/config.toml'))).toBe(false);
    expect(existsSync(join(scratch.home, '.kiro/settings/mcp.json'))).toBe(true);
  });

  test('connects nothing without a terminal and without --yes', async () => {
    const scratch = makeScratchHome();
    install(scratch.home, '.cursor');
    const { status, out } = await scratch.run(['init']);
    expect(out).toContain('No terminal to ask at: connect all of them with --yes');
    expect(out).toContain('agent:newcomer called palisade.echo');
    expect(readdirSync(join(scratch.home, '.cursor'))).toEqual(['history']);
    expect(status).toBe(0);
  });

  test('reports a file that cannot be used, connects the others, and exits with its status', async () => {
    const scratch = makeScratchHome();
    scratch.write('.cursor/mcp.json', '{ broken');
    install(scratch.home, '.codex');
    const { status, out } = await scratch.run(['init', '--yes']);
    expect(out).toContain(`✗ Cursor: Cannot read "${join(scratch.home, '.cursor/mcp.json')}:1:3"`);
    expect(out).toContain('✓ Codex CLI: connected');
    expect(out).toContain('Something failed; see above.');
    expect(status).toBe(64);
  });

  test('makes nothing when a client is unknown or the state directory is open to others', async () => {
    const scratch = makeScratchHome();
    expect(await scratch.run(['init', '--client', 'emacs'])).toMatchObject({ status: 64 });
    expect(existsSync(scratch.state)).toBe(false);
    mkdirSync(scratch.state);
    chmodSync(scratch.state, 0o755);
    expect(await scratch.run(['init', '--yes'])).toMatchObject({ status: 2 });
    expect(readdirSync(scratch.state)).toEqual([]);
  });

  test('ends with the status of a first call that the policies refuse', async () => {
    const scratch = makeScratchHome();
    await init(scratch);
    for (const name of readdirSync(join(scratch.state, 'policies')))
      writeFileSync(
        join(scratch.state, 'policies', name),
        '@id("none") forbid(principal, action, resource);\n'.replace('none', name),
      );
    const { status, out } = await scratch.run(['init', '--client', 'zed']);
    expect(out).toContain('✗ agent:zed called palisade.echo: policy/denied');
    expect(out).toContain('✓ its receipt verifies');
    expect(status).toBe(2);
  });

  test('shows the demo where it is asked for, and is one document with --json', async () => {
    const scratch = makeScratchHome();
    expect((await scratch.run(['init', '--demo'])).out).toContain('The demo succeeded.');
    expect(await init(scratch, '--demo')).toMatchObject({ ok: true, demo: 0 });
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
    const scratch = makeScratchHome();
    await scratch.run(['init']);
    expect(statSync(join(scratch.state, 'palisade.toml')).mode & 0o777).toBe(0o600);
  });
});
