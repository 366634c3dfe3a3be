/** curl and wget in a strict run with an allow-list: what they get, and what their user is told of what they do not. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Answer, openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { AUTHORITY_FILE, NO_ENTRY, openSites, told, WITHOUT_PROXY } from '../fixtures/egress/sites.ts';

const CURL = 'curl -sS --max-time 20';
const TRUSTING = `${CURL} --cacert ${AUTHORITY_FILE}`;
const MIB = 1024 * 1024;

/** Answers conditions, redirects and everything else as servers do. */
const answerAsSite: Answer = ({ method, url = '', headers }, response, body) => {
  const moved = /^\/moved-to\/(.*)$/.exec(url)?.[1];
  if (moved !== undefined) response.writeHead(302, { location: moved }).end();
  else if (headers['if-none-match'] === '"one"') response.writeHead(304, { etag: '"one"' }).end();
  else response.writeHead(200, { etag: '"one"' }).end(`${method} ${url} with ${body.length} bytes\n`);
};

describe('curl', () => {
  test('reaches a site in the open through the proxy, and by a door when it knows of none', async () => {
    const { plain, script } = await openSites();
    const { code, output, egress } = await script([
      `${CURL} ${plain.url}/proxy`,
      `${CURL} --noproxy '*' ${plain.url}/door`,
      `${WITHOUT_PROXY} ${CURL} ${plain.url}/unset`,
    ]);
    expect(code).toBe('ok');
    const paths = ['/proxy', '/door', '/unset'];
    const host = `${plain.host}:${plain.port}`;
    expect(output?.stdout).toBe(paths.map((path) => `served GET ${path} for ${host}\n`).join(''));
    expect(plain.asked.map(({ url }) => url)).toEqual(paths);
    // What the run shows to its proxy is for nobody else.
    expect(plain.asked.flatMap(({ headers }) => Object.keys(headers))).not.toContain('proxy-authorization');
    const methods = ['GET', 'CONNECT', 'CONNECT'];
    expect(told(egress)).toEqual(methods.map((method) => `allow ${method} ${host} by ${plain.entry}`));
  });

  test('is read by a door where the list has nothing but HTTP in the open', async () => {
    const { plain, script } = await openSites({ entries: ['GET http://plain.test:PLAIN/v1/'] });
    const direct = `${WITHOUT_PROXY} ${CURL} --fail-with-body`;
    const { output, egress } = await script([`${direct} ${plain.url}/v1/a`, `${direct} ${plain.url}/v2/b`]);
    const at = `${plain.host}:${plain.port}`;
    expect(output).toMatchObject({
      exitCode: 22,
      stdout: [
        `served GET /v1/a for ${at}\n`,
        `Cannot reach "${at}": its path is not allowed by the entry "${plain.entry}", expected an entry of process.egress_hosts in palisade.toml that allows it\n`,
      ].join(''),
    });
    expect(told(egress)).toEqual([`allow GET ${at} by ${plain.entry}`, `deny GET ${at} by null`]);
  });

  test('speaks TLS with a site itself, through the proxy and by a door', async () => {
    const { secure, script } = await openSites();
    const { output, egress } = await script([
      `${TRUSTING} ${secure.url}/proxy`,
      `${TRUSTING} --noproxy '*' ${secure.url}/door`,
      `${WITHOUT_PROXY} ${TRUSTING} ${secure.url}/unset`,
      `${CURL} ${secure.url}/untrusted`,
    ]);
    expect(secure.asked.map(({ url }) => url)).toEqual(['/proxy', '/door', '/unset']);
    expect(output?.exitCode).toBe(60);
    const { host, port, entry } = secure;
    expect(told(egress)).toEqual(Array(4).fill(`allow CONNECT ${host}:${port} by ${entry}`));
  });

  test('is told in one sentence what the list denies, and fails', async () => {
    const { world, plain, secure, script } = await openSites();
    const open = await script([
      `${CURL} --fail-with-body http://${plain.host}:1/`,
      `${CURL} --fail-with-body http://denied.test/`,
    ]);
    expect(open.output).toMatchObject({
      exitCode: 22,
      stdout: [
        `Cannot reach "${plain.host}:1": its port is not allowed by the entry "${plain.entry}", expected an entry of process.egress_hosts in palisade.toml that allows it\n`,
        `Cannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"\n`,
      ].join(''),
    });
    expect(told(open.egress)).toEqual([
      `deny GET ${plain.host}:1 by null`,
      'deny GET denied.test:80 by null',
    ]);
    // Without -i or -v it says no more than "CONNECT tunnel failed, response 403".
    const tunnel = await script([`${CURL} -i https://denied.test/`]);
    expect(tunnel.output).toMatchObject({ exitCode: 56, stderr: expect.stringContaining('403') });
    expect(tunnel.output?.stdout).toContain(
      `403 Cannot reach "denied.test:443": ${NO_ENTRY} "denied.test:443"`,
    );
    expect(told(tunnel.egress)).toEqual(['deny CONNECT denied.test:443 by null']);
    expect([plain.asked, secure.asked, world.lookedUp]).toEqual([[], [], []]);
  });

  test('finds no door that the list does not have', async () => {
    const { plain, script } = await openSites();
    const direct = `${CURL} --noproxy '*'`;
    const { output, egress } = await script([
      `${direct} https://denied.test/`,
      `${direct} http://${plain.host}:1/`,
      `${direct} http://192.0.2.1/`,
    ]);
    const failures = [/^curl: \(6\) Could not resolve host: denied\.test/, /^curl: \(7\) /, /^curl: \(7\) /];
    const lines = output?.stderr.trimEnd().split('\n');
    expect(lines).toEqual(failures.map((failure) => expect.stringMatching(failure)));
    expect(output?.exitCode).toBe(7);
    expect(told(egress)).toEqual([]);
  });

  test('asks in every way that servers know', async () => {
    const { plain, script } = await openSites({ answer: answerAsSite });
    const { code, output } = await script([
      `head -c 300000 /dev/zero > /tmp/body`,
      `${CURL} -I ${plain.url}/head | head -n 1`,
      `${CURL} -o /dev/null -w '%{http_code}\\n' -H 'If-None-Match: "one"' ${plain.url}/same`,
      `${CURL} -0 ${plain.url}/old`,
      `${CURL} -d 'a=b' ${plain.url}/form`,
      `${CURL} -H 'Expect: 100-continue' --data-binary @/tmp/body ${plain.url}/expecting`,
      `${CURL} -T - ${plain.url}/chunked < /tmp/body`,
      `${CURL} -X DELETE ${plain.url}/gone`,
    ]);
    expect(code).toBe('ok');
    expect(output?.stdout.split(/\r?\n/)).toEqual([
      'HTTP/1.1 200 OK',
      '304',
      'GET /old with 0 bytes',
      'POST /form with 3 bytes',
      'POST /expecting with 300000 bytes',
      'PUT /chunked with 300000 bytes',
      'DELETE /gone with 0 bytes',
      '',
    ]);
    expect(plain.asked[0]?.method).toBe('HEAD');
    expect(plain.asked[5]?.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });

  test('follows a redirect inside the site, and hears of one that leads out', async () => {
    const { plain, script } = await openSites({ answer: answerAsSite });
    const { output, egress } = await script([
      `${CURL} -L ${plain.url}/moved-to//there`,
      `${CURL} -L --fail-with-body ${plain.url}/moved-to/http://denied.test/`,
    ]);
    expect(output).toMatchObject({
      exitCode: 22,
      stdout: `GET /there with 0 bytes\nCannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"\n`,
    });
    const allowed = `allow GET ${plain.host}:${plain.port} by ${plain.entry}`;
    expect(told(egress)).toEqual([allowed, allowed, allowed, 'deny GET denied.test:80 by null']);
  });

  test('makes several requests in one call, inside one tunnel or with connections of their own', async () => {
    const { plain, secure, script } = await openSites();
    const through = await script([`${CURL} ${plain.url}/1 ${plain.url}/2 ${plain.url}/3`]);
    expect(through.output?.stdout.match(/served GET \/[123] /g)).toHaveLength(3);
    expect(through.egress).toMatchObject({ connections: 3, requests: 3 });
    const inside = await script([`${TRUSTING} ${secure.url}/1 ${secure.url}/2 ${secure.url}/3`]);
    expect(inside.output?.stdout.match(/served GET \/[123] /g)).toHaveLength(3);
    expect(inside.egress).toMatchObject({ connections: 1, requests: 1 });
    const byDoor = await script([`${CURL} --noproxy '*' ${plain.url}/1 ${plain.url}/2`]);
    expect(byDoor.output?.stdout.match(/served GET \/[12] /g)).toHaveLength(2);
    expect(byDoor.egress).toMatchObject({ connections: 1, requests: 1 });
  });

  test('makes thirty requests at once, in the open and inside TLS', async () => {
    const { plain, secure, script } = await openSites();
    const parallel = `${TRUSTING} --parallel --parallel-immediate --parallel-max 30`;
    const { code, egress } = await script([
      `${parallel} '${plain.url}/[1-30]' && ${parallel} '${secure.url}/[1-30]'`,
    ]);
    expect(code).toBe('ok');
    const all = Array.from({ length: 30 }, (_, index) => `/${index + 1}`).sort();
    for (const site of [plain, secure]) expect(site.asked.map(({ url }) => url).sort()).toEqual(all);
    expect(egress).toMatchObject({ denied: 0, cut: 0, malformed: 0, unauthorized: 0 });
    expect(egress.decisions.filter(({ method }) => method === 'GET')).toHaveLength(30);
  });

  test('reaches an address of IPv6 that the list names', async () => {
    const server = await startServer(undefined, '::1');
    const entry = `[::1]:${server.port}`;
    const world = await openEgressWorld({ entries: [entry] });
    const { code, egress } = await world.shell(
      `${CURL} --noproxy '' http://${entry}/proxy && ${CURL} http://${entry}/door`,
    );
    expect(code).toBe('ok');
    expect(server.asked.map(({ url }) => url)).toEqual(['/proxy', '/door']);
    const at = `::1:${server.port} by ${entry}`;
    expect(told(egress)).toEqual([`allow GET ${at}`, `allow CONNECT ${at}`]);
  });

  test('carries 64 MiB each way through a tunnel without a changed byte, and all of them are counted', async () => {
    const large = randomBytes(64 * MIB);
    const { secure, script } = await openSites({
      config: '[limits]\negress_bytes = 200000000\n',
      answer: ({ method }, response, body) => response.end(method === 'GET' ? large : digestOf(body)),
    });
    const { code, output, usage, egress } = await script([
      `${TRUSTING} -o /tmp/large ${secure.url}/large`,
      `sha256sum < /tmp/large | cut -d' ' -f1`,
      `${TRUSTING} -T /tmp/large ${secure.url}/up`,
    ]);
    expect(code).toBe('ok');
    expect(output?.stdout).toBe(`${digestOf(large)}\n${digestOf(large)}`);
    expect(egress.bytesIn).toBeGreaterThan(large.length);
    expect(egress.bytesOut).toBeGreaterThan(large.length);
    expect(usage.egressBytes).toBe(egress.bytesIn + egress.bytesOut);
  });

  test('is cut off where the bytes of the call end, and the record says so', async () => {
    const { plain, script } = await openSites({
      config: '[limits]\negress_bytes = 100000\n[ceilings]\negress_bytes = 100000\n',
      answer: (_request, response) => response.end(Buffer.alloc(MIB)),
    });
    const { output, usage, egress } = await script([`${CURL} -o /dev/null ${plain.url}/`]);
    expect(output?.exitCode).not.toBe(0);
    const cut = 'Cannot go on: the run has used up its bytes in and out together, expected at most 100000';
    expect(egress.decisions).toMatchObject([{ verdict: 'allow', cut }]);
    expect(usage.egressBytes).toBeLessThanOrEqual(100_000);
  });
});

// Where it is installed; the other programs are there wherever the set-up was run.
describe.each(['/usr/bin/wget'].filter((path) => existsSync(path)))('%s', (wget) => {
  test('gets what is allowed in the open and inside TLS, and prints the sentence on what is not', async () => {
    const { plain, secure, script } = await openSites();
    const get = `${wget} -nv -O - --tries=1 --timeout=20 --ca-certificate=${AUTHORITY_FILE}`;
    const allowed = await script([
      `${get} ${plain.url}/a`,
      `${get} ${secure.url}/b`,
      `${WITHOUT_PROXY} ${get} ${secure.url}/c`,
    ]);
    expect(allowed.output?.stdout.match(/served GET \/[abc] for/g)).toHaveLength(3);
    const denied = await script([`${get} http://denied.test/`, `${get} https://denied.test/`]);
    expect(denied.output?.exitCode).not.toBe(0);
    expect(denied.output?.stderr).toContain(
      `403: Cannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"`,
    );
    expect(denied.output?.stderr).toContain(
      `failed: Cannot reach "denied.test:443": ${NO_ENTRY} "denied.test:443"`,
    );
    expect(told(denied.egress)).toEqual([
      'deny GET denied.test:80 by null',
      'deny CONNECT denied.test:443 by null',
    ]);
  });
});

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
