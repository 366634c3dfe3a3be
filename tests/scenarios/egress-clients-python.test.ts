/** The HTTP clients of python in a strict run with an allow-list. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PYTHON, REQUESTS } from '../fixtures/egress/python-requests.ts';
import { AUTHORITY_FILE, NO_ENTRY, openSites, type Sites, told } from '../fixtures/egress/sites.ts';

/** Runs a program in python, with addresses as its words. */
function run({ world }: Sites, program: string, ...words: readonly string[]) {
  writeFileSync(join(world.workspace, 'client.py'), program);
  return world.shell(`${PYTHON} client.py ${words.join(' ')}`);
}

const URLLIB = `
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile="${AUTHORITY_FILE}")
for url in sys.argv[2:]:
    handlers = [urllib.request.HTTPSHandler(context=context)]
    if sys.argv[1] == "direct": handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    print(opener.open(url, timeout=20).read().decode(), end="")
    print(opener.open(url, data=b"sent", timeout=20).read().decode(), end="")
`;

describe('urllib', () => {
  test.each(['proxy', 'direct'])('gets and posts in the open and over TLS, %s', async (way) => {
    const sites = await openSites();
    const { plain, secure } = sites;
    const { code, output, egress } = await run(sites, URLLIB, way, `${plain.url}/a`, `${secure.url}/b`);
    expect(code, output?.stderr).toBe('ok');
    const [open, inside] = [`${plain.host}:${plain.port}`, `${secure.host}:${secure.port}`];
    expect(output?.stdout.split('\n')).toEqual([
      ...[`served GET /a for ${open}`, `served POST /a for ${open}`],
      ...[`served GET /b for ${inside}`, `served POST /b for ${inside}`],
      '',
    ]);
    expect(plain.asked[1]?.body).toBe('sent');
    const methods = way === 'proxy' ? ['GET', 'POST'] : ['CONNECT', 'CONNECT'];
    expect(told(egress)).toEqual([
      ...methods.map((method) => `allow ${method} ${open} by ${plain.entry}`),
      ...Array(2).fill(`allow CONNECT ${inside} by ${secure.entry}`),
    ]);
  });

  test('raises an error with the sentence on what is denied', async () => {
    const sites = await openSites();
    const open = await run(sites, URLLIB, 'proxy', 'http://denied.test/');
    expect(open.output?.exitCode).toBe(1);
    expect(open.output?.stderr).toContain(
      `HTTP Error 403: Cannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"\n`,
    );
    expect(told(open.egress)).toEqual(['deny GET denied.test:80 by null']);
    const tunnel = await run(sites, URLLIB, 'proxy', 'https://denied.test/');
    expect(tunnel.output?.stderr).toContain(
      `Tunnel connection failed: 403 Cannot reach "denied.test:443": ${NO_ENTRY} "denied.test:443"`,
    );
    expect(told(tunnel.egress)).toEqual(['deny CONNECT denied.test:443 by null']);
    const direct = await run(sites, URLLIB, 'direct', 'https://denied.test/');
    expect(direct.output).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('gaierror') });
  });
});

/** Knows of no proxy, and asks twice on one connection where it can. */
const HTTP_CLIENT = `
import http.client, ssl, sys
for scheme, host in (word.split("://") for word in sys.argv[1:]):
    context = ssl.create_default_context(cafile="${AUTHORITY_FILE}")
    connection = http.client.HTTPConnection(host) if scheme == "http" else http.client.HTTPSConnection(host, context=context)
    for path in ("/1", "/2"):
        connection.request("POST", path, body=iter([b"in ", b"chunks"]), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        print(connection.getresponse().read().decode(), end="")
`;

test('http.client asks twice by a door, on one connection inside TLS and on two in the open', async () => {
  const entries = ['http://plain.test:PLAIN', 'secure.test:SECURE'];
  const sites = await openSites({ entries });
  const { plain, secure } = sites;
  const { code, output, egress } = await run(sites, HTTP_CLIENT, plain.url, secure.url);
  expect(code, output?.stderr).toBe('ok');
  for (const { asked } of [plain, secure]) {
    expect(asked.map(({ url, body }) => `${url} ${body}`)).toEqual(['/1 in chunks', '/2 in chunks']);
  }
  expect(told(egress)).toEqual([
    ...Array(2).fill(`allow POST ${plain.host}:${plain.port} by ${plain.entry}`),
    `allow CONNECT ${secure.host}:${secure.port} by ${secure.entry}`,
  ]);
  const denied = await run(sites, HTTP_CLIENT, 'http://denied.test');
  expect(denied.output).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('gaierror') });
});

describe.each(REQUESTS)('%s', (module) => {
  const program = `
import sys, ${module} as requests
session = requests.Session()
session.verify = "${AUTHORITY_FILE}"
for url in sys.argv[1:]:
    for path in ("/1", "/2"):
        response = session.post(url + path, data={"a": "b"}, timeout=20)
        print(response.text, end="")
        response.raise_for_status()
`;

  test('has a session in the open and over TLS', async () => {
    const sites = await openSites();
    const { plain, secure } = sites;
    const { code, output, egress } = await run(sites, program, plain.url, secure.url);
    expect(code, output?.stderr).toBe('ok');
    expect(output?.stdout.match(/served POST \/[12] for/g)).toHaveLength(4);
    expect(told(egress)).toEqual([
      ...Array(2).fill(`allow POST ${plain.host}:${plain.port} by ${plain.entry}`),
      `allow CONNECT ${secure.host}:${secure.port} by ${secure.entry}`,
    ]);
  });

  test('gives the sentence as the answer in the open, and in its error on a tunnel', async () => {
    const sites = await openSites();
    const open = await run(sites, program, 'http://denied.test');
    expect(open.output?.exitCode).toBe(1);
    expect(open.output?.stdout).toBe(`Cannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"\n`);
    expect(open.output?.stderr).toContain('HTTPError: 403 Client Error: Cannot reach "denied.test:80"');
    const tunnel = await run(sites, program, 'https://denied.test');
    expect(tunnel.output?.exitCode).toBe(1);
    expect(tunnel.output?.stderr).toContain(
      `Tunnel connection failed: 403 Cannot reach "denied.test:443": ${NO_ENTRY} "denied.test:443"`,
    );
    const [denied] = told(tunnel.egress);
    expect(denied).toBe('deny CONNECT denied.test:443 by null');
  });
});
