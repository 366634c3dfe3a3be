/** Programs in a strict run whose TLS is opened on the way: none is told, all trust it, and lists hold inside. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeRepository } from '../fixtures/egress/git-site.ts';
import { openEgressWorld, startSecureServer } from '../fixtures/egress/index.ts';
import { nodeInJail } from '../fixtures/egress/node-in-jail.ts';
import { PYTHON, REQUESTS } from '../fixtures/egress/python-requests.ts';
import { makeRegistry } from '../fixtures/egress/registry-site.ts';
import { AUTHORITY_FILE, openSites, told, WITHOUT_PROXY } from '../fixtures/egress/sites.ts';
import { sample } from '../volume/volume.ts';

const { node, npm, config } = nodeInJail();
const CURL = 'curl -sS --max-time 20';

/** Each prints what it is answered, whatever the status. */
const PROGRAMS = {
  'with-urllib.py': `
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=20).read().decode(), end="")
    except urllib.error.HTTPError as error: print(error.read().decode(), end="")
`,
  'with-requests.py': `
import sys, ${REQUESTS[0]} as requests
for url in sys.argv[1:]: print(requests.get(url, timeout=20).text, end="")
`,
  'fetch.mjs': `
for (const url of process.argv.slice(2)) process.stdout.write(await (await fetch(url)).text());
`,
  'https.mjs': `
import { get } from 'node:https';
for (const url of process.argv.slice(2)) {
  await new Promise((resolve, reject) => {
    get(url, (response) => response.on('end', resolve).pipe(process.stdout)).on('error', reject);
  });
}
`,
};

const CLIENTS = [
  { client: 'curl', words: CURL },
  { client: 'urllib', words: `${PYTHON} with-urllib.py` },
  ...REQUESTS.map((client) => ({ client, words: `${PYTHON} with-requests.py` })),
  { client: 'fetch', words: `${node} fetch.mjs` },
  { client: 'node:https', words: `${node} https.mjs` },
];

describe('inside TLS that is opened', () => {
  test.each(sample(CLIENTS, 3))(
    '$client gets a path of the list without a flag, and reads why another is denied',
    async ({ words }) => {
      const entries = ['GET https://secure.test:SECURE/v1/'];
      const { world, secure, script } = await openSites({ config, entries, opensTls: true });
      for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(world.workspace, name), text);
      const urls = `${secure.url}/v1/a ${secure.url}/v2/b`;
      const { code, output, egress } = await script([
        `${words} ${urls}`,
        `${WITHOUT_PROXY} ${words} ${urls}`,
      ]);
      expect(code, output?.stderr).toBe('ok');
      const at = `${secure.host}:${secure.port}`;
      const served = `served GET /v1/a for ${at}\n`;
      const denied = `Cannot reach "${at}": its path is not allowed by the entry "${secure.entry}", expected an entry of process.egress_hosts in palisade.toml that allows it\n`;
      expect(output?.stdout).toBe(served + denied + served + denied);
      expect(secure.asked.map(({ url }) => url)).toEqual(['/v1/a', '/v1/a']);
      const lines = [`allow GET ${at} by ${secure.entry}`, `deny GET ${at} by null`];
      expect(told(egress)).toEqual([...lines, ...lines]);
    },
  );

  test('curl reads why a method is denied', async () => {
    const entries = ['GET https://secure.test:SECURE/v1/'];
    const { secure, script } = await openSites({ entries, opensTls: true });
    const { output, egress } = await script([`${CURL} --fail-with-body -d sent ${secure.url}/v1/a`]);
    expect(output).toMatchObject({
      exitCode: 22,
      stdout: expect.stringContaining(`its method is not allowed by the entry "${secure.entry}"`),
    });
    expect(secure.asked).toEqual([]);
    expect(told(egress)).toEqual([`deny POST ${secure.host}:${secure.port} by null`]);
  });

  test('git clones from a repository that it may not push to', async () => {
    const { answer, path, git } = makeRepository();
    const entries = [
      'GET https://secure.test:SECURE/repo.git/',
      'POST https://secure.test:SECURE/repo.git/git-upload-pack',
    ];
    const { secure, script } = await openSites({ answer, entries, opensTls: true });
    const as = '-c user.name=Ada -c user.email=ada@example.com';
    const { output, egress } = await script([
      `git clone -q ${secure.url}${path} copy && git -C copy log --format=%s`,
      `git -C copy ${as} commit -q --allow-empty -m 'the second' && git -C copy push origin main`,
    ]);
    expect(output?.stdout).toBe('the first\n');
    expect(output?.exitCode).not.toBe(0);
    expect(output?.stderr).toContain('HTTP 403');
    expect(git('log', '--format=%s', 'main')).toBe('the first\n');
    expect(told(egress).at(-1)).toBe(`deny POST ${secure.host}:${secure.port} by null`);
    const other = await script([`git clone ${secure.url}/other.git`]);
    expect(other.output?.stderr).toContain(`remote: Cannot reach "${secure.host}:${secure.port}": its path`);
  });

  test('npm installs what lies beneath a path of the list, and tells its user of what does not', async () => {
    const entries = ['GET https://secure.test:SECURE/greeting'];
    const { secure, script } = await openSites({
      ...{ config, entries, opensTls: true },
      answer: makeRegistry('https'),
    });
    const install = `${npm} install --no-audit --no-fund --fetch-retries 0 --registry ${secure.url}`;
    const { output } = await script([
      `${install} greeting > /dev/null && ${node} -p "require('greeting')"`,
      `${install} other`,
    ]);
    expect(output).toMatchObject({ exitCode: 1, stdout: 'hello from the registry\n' });
    expect(output?.stderr).toContain(
      `npm error 403 403 Cannot reach "${secure.host}:${secure.port}": its path is not allowed`,
    );
  });

  test('a program with certificates of its own refuses, and nothing is asked of the site', async () => {
    const { secure, script } = await openSites({ entries: ['https://secure.test:SECURE'], opensTls: true });
    const { output, egress } = await script([`${CURL} --cacert ${AUTHORITY_FILE} ${secure.url}/`]);
    expect(output).toMatchObject({ exitCode: 60, stderr: expect.stringContaining('certificate') });
    expect(secure.asked).toEqual([]);
    expect(egress.decisions).toMatchObject([
      { method: 'CONNECT', verdict: 'deny', why: expect.stringContaining('the client broke off TLS') },
    ]);
    const trusting = await script([`${CURL} --cacert "$SSL_CERT_FILE" ${secure.url}/`]);
    expect(trusting.code).toBe('ok');
  });

  // Where it is installed. It is often built with a library that reads no variable.
  test.each(['/usr/bin/wget'].filter((path) => existsSync(path)))(
    '%s is told what to trust',
    async (wget) => {
      const { secure, script } = await openSites({ entries: ['https://secure.test:SECURE'], opensTls: true });
      const { code, output } = await script([
        `${wget} -q -O - --tries=1 --ca-certificate="$SSL_CERT_FILE" ${secure.url}/a`,
      ]);
      expect(code, output?.stderr).toBe('ok');
      expect(output?.stdout).toBe(`served GET /a for ${secure.host}:${secure.port}\n`);
    },
  );

  test('a site whose certificate nobody vouches for is refused in a sentence', async () => {
    const secure = await startSecureServer('secure.test');
    const at = `secure.test:${secure.port}`;
    const world = await openEgressWorld({
      entries: [`https://${at}`, `127.0.0.1:${secure.port}`],
      names: { 'secure.test': ['127.0.0.1'] },
      config: 'egress_intercept = ["secure.test"]',
    });
    const { output, egress } = await world.shell(`${CURL} --fail-with-body https://${at}/`);
    expect(output?.exitCode).toBe(22);
    expect(output?.stdout).toMatch(/^Cannot trust target "secure\.test": its certificate is /);
    expect(secure.asked).toEqual([]);
    expect(egress.decisions).toMatchObject([{ verdict: 'allow', cut: output?.stdout.trimEnd() }]);
  });
});
