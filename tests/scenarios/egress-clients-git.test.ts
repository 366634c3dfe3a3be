/** git in a strict run with an allow-list, against a server that speaks its protocol over HTTP. */
import { expect, test } from 'vitest';
import { makeRepository } from '../fixtures/egress/git-site.ts';
import { AUTHORITY_FILE, NO_ENTRY, openSites, told, WITHOUT_PROXY } from '../fixtures/egress/sites.ts';

const WAYS = [
  { way: 'in the open through the proxy', site: 'plain', before: '' },
  { way: 'in the open by a door', site: 'plain', before: WITHOUT_PROXY },
  { way: 'over TLS through the proxy', site: 'secure', before: '' },
  { way: 'over TLS by a door', site: 'secure', before: WITHOUT_PROXY },
] as const;

test.each(WAYS)('git clones, fetches and pushes $way', async ({ site, before }) => {
  const repository = makeRepository();
  const { answer, path } = repository;
  const { script, ...sites } = await openSites({ answer });
  const { url, host, port, entry } = sites[site];
  const git = `${before} git -c http.sslCAInfo="$PWD/${AUTHORITY_FILE}" -c user.name=Ada -c user.email=ada@example.com`;
  const first = await script([
    'set -e',
    `${git} clone -q ${url}${path} copy`,
    'git -C copy log --format=%s',
    'echo hello > copy/new.txt',
    'git -C copy add new.txt',
    `${git} -C copy commit -q -m 'the second'`,
    `${git} -C copy push -q origin main`,
  ]);
  expect(first.output?.stderr).toBe('');
  expect(first).toMatchObject({ code: 'ok', output: { stdout: 'the first\n' } });
  expect(repository.git('show', 'main:new.txt')).toBe('hello\n');
  repository.git('update-ref', 'refs/heads/side', 'main');
  const second = await script([`${git} -C copy fetch -q && git -C copy log -1 --format=%s origin/side`]);
  expect(second).toMatchObject({ code: 'ok', output: { stdout: 'the second\n' } });
  for (const { egress } of [first, second]) {
    expect(egress).toMatchObject({ denied: 0, cut: 0 });
    const lines = new Set(told(egress).map((line) => line.replace(/ (?:GET|POST) /, ' GET ')));
    const method = site === 'plain' && before === '' ? 'GET' : 'CONNECT';
    expect([...lines]).toEqual([`allow ${method} ${host}:${port} by ${entry}`]);
  }
});

test('git tells its user what the list denies in the open, and that a tunnel was refused', async () => {
  const { script } = await openSites();
  const open = await script(['git clone http://denied.test/repo.git']);
  expect(open.output?.exitCode).toBe(128);
  expect(open.output?.stderr).toContain(
    `remote: Cannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"\n`,
  );
  expect(told(open.egress)).toEqual(['deny GET denied.test:80 by null']);
  const tunnel = await script(['git clone https://denied.test/repo.git']);
  expect(tunnel.output?.exitCode).toBe(128);
  expect(tunnel.output?.stderr).toMatch(/CONNECT tunnel failed, response 403|HTTP code 403 from proxy/);
  expect(told(tunnel.egress)).toEqual(['deny CONNECT denied.test:443 by null']);
  const verbose = await script(['GIT_CURL_VERBOSE=1 git clone https://denied.test/repo.git']);
  expect(verbose.output?.stderr).toContain(
    `403 Cannot reach "denied.test:443": ${NO_ENTRY} "denied.test:443"`,
  );
  const direct = await script([`${WITHOUT_PROXY} git clone https://denied.test/repo.git`]);
  expect(direct.output).toMatchObject({
    exitCode: 128,
    stderr: expect.stringContaining('Could not resolve host: denied.test'),
  });
  // The commands that are no HTTP find nobody.
  const other = await script([
    'git clone git://denied.test/repo.git',
    'git clone ssh://git@denied.test/repo.git',
  ]);
  expect(other.output).toMatchObject({ exitCode: 128, stdout: '' });
  expect(told(other.egress)).toEqual([]);
});
