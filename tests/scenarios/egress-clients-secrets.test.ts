/** Programs in a strict run that use a secret without having it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeRepository } from '../fixtures/egress/git-site.ts';
import type { Answer } from '../fixtures/egress/index.ts';
import { nodeInJail } from '../fixtures/egress/node-in-jail.ts';
import { makeRegistry } from '../fixtures/egress/registry-site.ts';
import { openSites } from '../fixtures/egress/sites.ts';
import { sample } from '../volume/volume.ts';

const { node, npm, config } = nodeInJail();
const VALUE = 'tok-6f1c2e-the-real-one';
const CURL = 'curl -sS --max-time 20';

/** One site of the two has the secret; the other sees what the run sees. */
async function openWithSecret(host: string, answer?: Answer) {
  const place = mkdtempSync('/var/tmp/palisade-secret-');
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const file = join(place, 'token');
  writeFileSync(file, `${VALUE}\n`, { mode: 0o600 });
  const secret = [
    '[[secret]]',
    'name = "token"',
    'variable = "TOKEN"',
    `hosts = ["${host}"]`,
    `file = "${file}"`,
  ];
  const sites = await openSites({
    entries: ['http://plain.test:PLAIN', 'https://secure.test:SECURE'],
    config: `${config}${secret.join('\n')}\n`,
    opensTls: true,
    ...(answer === undefined ? {} : { answer }),
  });
  return { ...sites, run: (lines: readonly string[]) => sites.script(lines, { secrets: ['token'] }) };
}

/** Every text that a run leaves behind. */
function leftIn(directory: string): string {
  return readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

const BASIC = `Basic ${Buffer.from(`x:${VALUE}`).toString('base64')}`;

const SITES = [
  { way: 'in the open', site: 'plain', host: 'plain.test:PLAIN' },
  { way: 'inside TLS that is opened', site: 'secure', host: 'secure.test:SECURE' },
] as const;

describe.each(SITES)('$way,', ({ site, host }) => {
  test('curl shows the real value to the site, as a bearer and as a password, and the run never has it', async () => {
    const { world, run, ...sites } = await openWithSecret(host);
    const { url, asked } = sites[site];
    const { code, output, egress } = await run([
      'env > environment.txt',
      `${CURL} -v -H "Authorization: Bearer $TOKEN" ${url}/bearer > bearer.txt 2>&1`,
      `${CURL} -v -u "x:$TOKEN" ${url}/basic > basic.txt 2>&1`,
      'echo "$TOKEN"',
    ]);
    expect(code).toBe('ok');
    expect(asked.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${VALUE}`, BASIC]);
    expect(output?.stdout).toMatch(/^palisade-secret-[0-9a-f]{36}\n$/);
    const left = leftIn(world.workspace);
    expect(left).toContain(`Authorization: Bearer ${output?.stdout.trimEnd()}`);
    expect(left).not.toContain(VALUE);
    expect(left).not.toContain(BASIC);
    expect(egress.decisions).toMatchObject([{ secrets: ['token'] }, { secrets: ['token'] }]);
    expect(JSON.stringify(egress)).not.toContain(VALUE);
  });

  test('the other site is shown what the run has', async () => {
    const { run, ...sites } = await openWithSecret(host);
    const other = site === 'plain' ? sites.secure : sites.plain;
    const { code, egress } = await run([`${CURL} -H "Authorization: Bearer $TOKEN" ${other.url}/`]);
    expect(code).toBe('ok');
    expect(other.asked[0]?.headers.authorization).toMatch(/^Bearer palisade-secret-/);
    expect(egress.decisions).toMatchObject([{ verdict: 'allow', secrets: [] }]);
  });
});

// Programs that take their time have one of the sites, others each time.
describe.each(sample(SITES))('$way,', ({ site, host }) => {
  test('git shows it in a header of its configuration', async () => {
    const repository = makeRepository();
    const { run, ...sites } = await openWithSecret(host, repository.answer);
    const { url, asked } = sites[site];
    const { code, output } = await run([
      `git -c "http.extraHeader=Authorization: Bearer $TOKEN" clone -q ${url}${repository.path} copy`,
    ]);
    expect(code, output?.stderr).toBe('ok');
    expect(new Set(asked.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${VALUE}`]));
  });

  test('git shows it as the password of a URL', async () => {
    const repository = makeRepository();
    const answer: Answer = (request, response, body) => {
      if (request.headers.authorization === BASIC) repository.answer(request, response, body);
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
    };
    const { run, ...sites } = await openWithSecret(host, answer);
    const url = sites[site].url.replace('://', '://x:$TOKEN@');
    const { code, output } = await run([`git clone -q "${url}${repository.path}" copy`]);
    expect(code, output?.stderr).toBe('ok');
    expect(sites[site].asked.at(-1)?.headers.authorization).toBe(BASIC);
  });

  test('npm shows it as its token', async () => {
    const { run, ...sites } = await openWithSecret(host, makeRegistry(site === 'plain' ? 'http' : 'https'));
    const { url, asked } = sites[site];
    const { code, output } = await run([
      `echo "registry=${url}/" > .npmrc`,
      `echo "${url.replace(/^https?:/, '')}/:_authToken=$TOKEN" >> .npmrc`,
      `${npm} install --no-audit --no-fund --fetch-retries 0 greeting > /dev/null`,
      `${node} -p "require('greeting')"`,
    ]);
    expect(code, output?.stderr).toBe('ok');
    expect(output?.stdout).toBe('hello from the registry\n');
    expect(new Set(asked.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${VALUE}`]));
  });
});
