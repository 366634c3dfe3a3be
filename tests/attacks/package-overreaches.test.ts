import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startServer } from '../fixtures/egress/index.ts';
import { nodeInJail } from '../fixtures/egress/node-in-jail.ts';
import { ELSEWHERE, flagsOf, makeOperator, npmRegistry, serverPackage } from '../fixtures/packages/index.ts';

const COMMAND = ['npx', '-y', 'files-server'];
const run = promisify(execFile);
const { npm } = nodeInJail();

describe('a package that is fetched', () => {
  test('is fetched for no agent, and runs no script; the same package does where scripts are on', async () => {
    const scripts = { postinstall: 'echo ran > ran.txt' };
    const registry = npmRegistry([serverPackage('files-server', '1.0.0', { scripts })]);
    const operator = makeOperator();
    const { flags, port } = await flagsOf(registry);
    const byAgent = await operator.palisade(
      'package',
      'add',
      ...flags,
      '--as',
      'agent:ada',
      '--',
      ...COMMAND,
    );
    expect(byAgent.err).toContain('policy/denied');
    expect(existsSync(operator.store)).toBe(false);
    const { status, err } = await operator.palisade('package', 'add', ...flags, '--', ...COMMAND);
    expect(status, err).toBe(0);
    const [digest = ''] = readdirSync(operator.store);
    const kept = join(operator.store, digest, 'node_modules/files-server');
    expect(readdirSync(kept).sort()).toEqual(['bin', 'package.json']);
    const outside = mkdtempSync(join(tmpdir(), 'palisade-scripts-'));
    onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
    const [program = '', ...words] = npm.split(' ');
    const install = ['install', '--no-audit', '--no-fund', '--foreground-scripts'];
    const flag = `--registry=http://127.0.0.1:${port}/`;
    await run(program, [
      ...words,
      ...install,
      flag,
      '--cache',
      join(outside, 'cache'),
      '--prefix',
      outside,
      'files-server',
    ]);
    expect(existsSync(join(outside, 'node_modules/files-server/ran.txt'))).toBe(true);
  });

  test('comes from the registry alone, and from another host only where the operator allows that', async () => {
    const packages = [serverPackage('files-server', '1.0.0')];
    const other = await startServer(npmRegistry(packages));
    const at = `${ELSEWHERE}:${other.port}`;
    const { flags } = await flagsOf(npmRegistry(packages, () => `http://${at}`));
    const operator = makeOperator();
    const refused = await operator.palisade('package', 'add', ...flags, '--', ...COMMAND);
    expect(refused.status).toBe(1);
    expect(refused.err).toContain(`Cannot reach "${at}"`);
    expect(refused.err).toContain('--allow-host');
    expect(other.asked).toEqual([]);
    const hosts = ['--allow-host', at, '--allow-host', `127.0.0.1:${other.port}`];
    const allowed = await operator.palisade('package', 'add', ...flags, ...hosts, '--', ...COMMAND);
    expect(allowed.status, allowed.err).toBe(0);
    expect(other.asked.map(({ url }) => url)).toEqual(['/files-server/-/files-server-1.0.0.tgz']);
  });
});
