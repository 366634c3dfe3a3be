import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { flagsOf, makeOperator, npmRegistry, pypiIndex, serverPackage } from '../fixtures/packages/index.ts';
import { ADA, openUpstream } from '../fixtures/upstreams/index.ts';

test('a server of npm is fetched once, runs offline, and another version of it needs an approval', async () => {
  const operator = makeOperator();
  const { palisade } = operator;
  const command = ['npx', '-y', '@acme/files@latest'];
  const packages = [serverPackage('@acme/files', '1.0.0')];
  const { flags, port } = await flagsOf(npmRegistry(packages));
  const before = await palisade('mcp', 'wrap', '--', ...command);
  const fetch = `palisade package add --state ${operator.stateDir} -- npx -y @acme/files@latest`;
  expect(before.err).toContain(`Run \`${fetch}\`.`);
  expect(before.status).toBe(2);

  const added = await palisade('package', 'add', ...flags, '--json', '--', ...command);
  expect(added.status, added.err).toBe(0);
  const pin = JSON.parse(added.out);
  expect(pin).toMatchObject({
    source: 'npm:@acme/files',
    version: '1.0.0',
    integrity: expect.stringMatching(/^sha512-/),
  });
  expect(await palisade('package', 'verify')).toMatchObject({ status: 0, out: '✓ npm:@acme/files\n' });

  const first = await openUpstream({ place: operator, rule: { command } });
  expect((await first.call('files.echo', { message: 'hello' })).text).toBe('hello');
  // The registry answered the operator, and the server cannot reach it.
  expect(await first.call('files.dials', { port })).toMatchObject({
    code: 'tier/tool-error',
    text: 'ECONNREFUSED',
  });

  packages.push(serverPackage('@acme/files', '1.1.0'));
  expect((await first.call('files.echo', { message: 'still' })).text).toBe('still');
  const updated = await palisade('package', 'update', 'npm:@acme/files', ...flags);
  expect(updated.out).toContain(`version 1.1.0 (was 1.0.0, ${pin.digest.slice(0, 12)})`);
  const second = await openUpstream({ place: operator, rule: { command } });
  expect((await second.call('files.echo')).code).toBe('upstream/quarantined');
  const requester = { principal: ADA, tenant: 'default' };
  expect(await second.gateway.upstreams.reconnect('files', requester)).toMatchObject({ kind: 'quarantined' });
  expect((await palisade('upstream', 'approve', 'files', '--yes')).status).toBe(0);
  expect((await second.call('files.echo', { message: 'again' })).text).toBe('again');
});

test('a package whose files were changed in the store does not start, until it is fetched again', async () => {
  const operator = makeOperator();
  const { palisade, store } = operator;
  const { flags } = await flagsOf(npmRegistry([serverPackage('files-server', '1.0.0')]));
  const command = ['npx', 'files-server'];
  expect((await palisade('package', 'add', ...flags, '--', ...command)).status).toBe(0);
  const up = await openUpstream({ place: operator, rule: { command } });
  expect((await up.call('files.echo', { message: 'whole' })).text).toBe('whole');
  const other = await palisade('package', 'add', ...flags, '--', 'npx', '-p', 'files-server', 'no-such');
  expect(other.err).toContain('it has no program "no-such", expected one of "files-server"');
  const [digest = ''] = readdirSync(store);
  const file = join(store, digest, 'node_modules/files-server/bin/server.mjs');
  chmodSync(file, 0o644);
  writeFileSync(file, 'process.exit();');
  await up.gateway.upstreams.sessions.close();
  const wrapped = await palisade('mcp', 'wrap', '--', ...command);
  expect(wrapped.err).toMatch(/Cannot wrap "files": .*Cannot use the package at .*expected what was fetched/);
  expect(await palisade('package', 'verify')).toMatchObject({
    status: 2,
    out: expect.stringMatching(/^✗ npm:files-server/),
  });
  expect((await palisade('doctor')).out).toContain('✗ packages: Cannot use the package at');
  const again = await palisade('package', 'add', ...flags, '--json', '--', ...command);
  expect(JSON.parse(again.out)).toMatchObject({ version: '1.0.0', digest });
  expect(await palisade('package', 'verify')).toMatchObject({ status: 0 });
  expect((await palisade('package', 'remove', 'npm:files-server')).status).toBe(0);
  expect(readdirSync(store)).toEqual([]);
});

const PYTHON_SERVER = `
import json, sys

def answer(method, params):
    if method == 'initialize':
        return {'protocolVersion': params['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'python', 'version': '1'}}
    if method == 'tools/list':
        return {'tools': [{'name': 'echo', 'description': 'Repeats it.', 'inputSchema': {'type': 'object'}}]}
    return {'content': [{'type': 'text', 'text': params['arguments']['message'] + ' ' + ' '.join(sys.argv)}]}

def main():
    for line in sys.stdin:
        message = json.loads(line)
        if 'id' in message:
            result = answer(message['method'], message.get('params') or {})
            print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
`;

test('a server of PyPI is fetched as a wheel and called', async () => {
  const operator = makeOperator();
  const { flags } = await flagsOf(pypiIndex('acme_files', '2.0', PYTHON_SERVER));
  const command = ['uvx', 'acme_files@2.0', '--quick'];
  const added = await operator.palisade('package', 'add', ...flags, '--json', '--', ...command);
  expect(added.status, added.out).toBe(0);
  expect(JSON.parse(added.out)).toMatchObject({
    source: 'pypi:acme_files==2.0',
    version: '2.0',
    integrity: expect.stringMatching(/^sha256:/),
    main: 'acme_files',
  });
  const up = await openUpstream({ place: operator, rule: { command } });
  expect((await up.call('files.echo', { message: 'hello' })).text).toBe('hello acme_files --quick');
});
