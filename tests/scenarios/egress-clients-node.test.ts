/** The HTTP clients of node, and npm, in a strict run with an allow-list. The node is the one that runs these tests. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeInJail } from '../fixtures/egress/node-in-jail.ts';
import { makeRegistry } from '../fixtures/egress/registry-site.ts';
import {
  AUTHORITY_FILE,
  NO_ENTRY,
  openSites,
  type Sites,
  type SitesOptions,
  told,
  WAYS,
  WITHOUT_PROXY,
} from '../fixtures/egress/sites.ts';
import { sample } from '../volume/volume.ts';

const { node, npm, config } = nodeInJail();
/** Older ones go by doors alone, whatever the variables say. */
const KNOWS_PROXIES = process.allowedNodeEnvironmentFlags.has('--use-env-proxy');
const READ_BY_DOORS = ['http://plain.test:PLAIN', 'secure.test:SECURE'];
const TRUSTING = `NODE_EXTRA_CA_CERTS=${AUTHORITY_FILE}`;

const FETCH = `
for (const url of process.argv.slice(2)) {
  for (const method of ['GET', 'POST']) {
    const response = await fetch(url, { method, ...(method === 'POST' ? { body: 'sent' } : {}) });
    process.stdout.write(await response.text());
  }
}
`;

const REQUEST = `
import http from 'node:http';
import https from 'node:https';
for (const url of process.argv.slice(2)) {
  await new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? https : http).request(url, { method: 'PUT' }, (response) => {
      response.on('data', (piece) => process.stdout.write(piece));
      response.once('end', () => (response.statusCode === 200 ? resolve() : reject(new Error('refused'))));
    });
    request.once('error', reject);
    request.end('sent');
  });
}
`;

async function openWith(program: string, options: SitesOptions = {}): Promise<Sites> {
  const sites = await openSites({ config, ...options });
  writeFileSync(join(sites.world.workspace, 'client.mjs'), program);
  return sites;
}

describe('fetch', () => {
  test.each(WAYS)('gets and posts in the open and over TLS $way', async ({ before }) => {
    const { plain, secure, script } = await openWith(FETCH, { entries: READ_BY_DOORS });
    const { code, output, egress } = await script([
      `${TRUSTING} ${before} ${node} client.mjs ${plain.url}/a ${secure.url}/b`,
    ]);
    expect(code, output?.stderr).toBe('ok');
    expect(output?.stdout.match(/served (GET|POST) \/[ab] for/g)).toHaveLength(4);
    for (const { asked } of [plain, secure]) expect(asked.map(({ body }) => body)).toEqual(['', 'sent']);
    const at = `${plain.host}:${plain.port} by ${plain.entry}`;
    expect(new Set(told(egress))).toEqual(
      new Set([
        ...[`allow GET ${at}`, `allow POST ${at}`],
        `allow CONNECT ${secure.host}:${secure.port} by ${secure.entry}`,
      ]),
    );
  });

  test('goes through a tunnel where a port may carry anything', async () => {
    const { plain, script } = await openWith(FETCH);
    const { code, output, egress } = await script([`${node} client.mjs ${plain.url}/a`]);
    expect(code, output?.stderr).toBe('ok');
    const at = `${plain.host}:${plain.port} by ${plain.entry}`;
    expect(new Set(told(egress))).toEqual(new Set([`allow CONNECT ${at}`]));
  });

  test('fails on what is denied, and the record says why', async () => {
    const { script } = await openWith(FETCH);
    const { output, egress } = await script([`${node} client.mjs https://denied.test/`]);
    expect(output?.exitCode).toBe(1);
    const shown = KNOWS_PROXIES ? 'Proxy response (403) !== 200' : 'getaddrinfo';
    expect(output?.stderr).toContain('TypeError: fetch failed');
    expect(output?.stderr).toContain(shown);
    expect(told(egress)).toEqual(KNOWS_PROXIES ? ['deny CONNECT denied.test:443 by null'] : []);
  });
});

describe('node:http and node:https', () => {
  test.each(WAYS)('send and receive $way', async ({ before }) => {
    const { plain, secure, script } = await openWith(REQUEST, { entries: READ_BY_DOORS });
    const { code, output, egress } = await script([
      `${TRUSTING} ${before} ${node} client.mjs ${plain.url}/a ${secure.url}/b`,
    ]);
    expect(code, output?.stderr).toBe('ok');
    for (const { asked } of [plain, secure]) expect(asked).toMatchObject([{ method: 'PUT', body: 'sent' }]);
    expect(told(egress)).toEqual([
      `allow PUT ${plain.host}:${plain.port} by ${plain.entry}`,
      `allow CONNECT ${secure.host}:${secure.port} by ${secure.entry}`,
    ]);
  });

  test('fail on what is denied, with the sentence where they know of the proxy', async () => {
    const { script } = await openWith(REQUEST);
    const { output, egress } = await script([`${node} client.mjs https://denied.test/`]);
    expect(output?.exitCode).toBe(1);
    expect(output?.stderr).toContain(
      KNOWS_PROXIES ? `403 Cannot reach "denied.test:443": ${NO_ENTRY} "denied.test:443"` : 'getaddrinfo',
    );
    expect(told(egress)).toEqual(KNOWS_PROXIES ? ['deny CONNECT denied.test:443 by null'] : []);
  });
});

describe('npm', () => {
  const install = `${npm} install --no-audit --no-fund --fetch-retries 0 greeting`;
  const greet = `${node} -p "require('greeting')"`;

  // Each starts npm, which takes longer than all else here.
  const sites = [
    { site: 'plain', scheme: 'http', methods: ['GET', 'CONNECT'] },
    { site: 'secure', scheme: 'https', methods: ['CONNECT'] },
  ] as const;
  test.each(sample(sites))(
    'installs a package over $scheme, through the proxy and by a door',
    async ({ site, scheme, methods }) => {
      const { script, ...sites } = await openSites({ config, answer: makeRegistry(scheme) });
      const { url, host, port, entry, asked } = sites[site];
      const variables = `npm_config_registry=${url} npm_config_cafile="$PWD/${AUTHORITY_FILE}"`;
      const { output, egress } = await script([
        `export ${variables}`,
        `mkdir proxy door`,
        `(cd proxy && ${install} > /dev/null && ${greet})`,
        `export npm_config_cache=/tmp/second`,
        `(cd door && ${WITHOUT_PROXY} ${install} > /dev/null && ${greet})`,
      ]);
      expect(output?.stderr).toBe('');
      expect(output?.stdout).toBe('hello from the registry\nhello from the registry\n');
      expect(asked.filter((each) => each.url.endsWith('.tgz')).length).toBeGreaterThanOrEqual(2);
      expect(new Set(told(egress))).toEqual(
        new Set(methods.map((method) => `allow ${method} ${host}:${port} by ${entry}`)),
      );
    },
  );

  const denied = [
    ['http', 80, 'GET'],
    ['https', 443, 'CONNECT'],
  ] as const;
  test.each(sample(denied))('tells its user what is denied over %s', async (scheme, port, method) => {
    const { script } = await openSites({ config });
    const { output, egress } = await script([`${install} --registry ${scheme}://denied.test`]);
    expect(output?.exitCode).toBe(1);
    expect(output?.stderr).toContain(
      `npm error 403 403 Cannot reach "denied.test:${port}": ${NO_ENTRY} "denied.test:${port}"`,
    );
    expect(new Set(told(egress))).toEqual(new Set([`deny ${method} denied.test:${port} by null`]));
  });
});
