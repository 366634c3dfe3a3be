import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, getFrom, type Message, runScript } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';

/** A run that may read below /v1/ and post to /forms of one host, and do anything at another. */
async function openReader() {
  const server = await startServer();
  const { port } = server;
  const world = await openEgressWorld({
    entries: [
      `GET http://api.test:${port}/v1/`,
      `POST http://api.test:${port}/forms`,
      `any.test:${port}`,
      `${HOME}:${port}`,
    ],
    names: { 'api.test': [HOME], 'any.test': [HOME] },
  });
  const url = (path: string, host = 'api.test') => `http://${host}:${port}${path}`;
  return { world, server, url };
}

const OVERRIDES = [
  ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'x-http-method-override'].map(
    (name) => `${name}: DELETE`,
  ),
  ...['X-Original-URL', 'X-Rewrite-URL', 'X-Original-URI', 'X-Forwarded-Uri'].map(
    (name) => `${name}: /admin`,
  ),
];

function form(url: string, type: string, body: string): Message {
  const fields = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return { send: `${getFrom(url, fields, 'POST')}${body}` };
}

describe('a run whose entries name methods and paths', () => {
  test('cannot pass a server another method or path in a header, a query or a form', async () => {
    const { world, server, url } = await openReader();
    const tried: Record<string, Message> = {
      ...Object.fromEntries(OVERRIDES.map((line) => [line, { send: getFrom(url('/v1/a'), `${line}\r\n`) }])),
      'query of GET': { send: getFrom(url('/v1/a?_method=DELETE')) },
      'query of POST': { send: getFrom(url('/forms?%5fmethod=DELETE'), 'Content-Length: 0\r\n', 'POST') },
    };
    const { answers } = await askInside(world, tried);
    expect(Object.entries(answers).filter(([, answer]) => answer !== '403')).toEqual([]);
    expect(Object.keys(answers)).toHaveLength(OVERRIDES.length + 2);
    expect(server.asked).toEqual([]);
  });

  test('has a form with another method cut off before the server has read it', async () => {
    const { world, server, url } = await openReader();
    const boundary = 'Content-Disposition: form-data; name';
    const { answers } = await askInside(world, {
      'url-encoded': form(url('/forms'), 'application/x-www-form-urlencoded', 'a=1&_method=DELETE'),
      multipart: form(
        url('/forms'),
        'multipart/form-data; boundary=x',
        `--x\r\n${boundary}="_method"\r\n\r\nDELETE\r\n--x--\r\n`,
      ),
      control: form(url('/forms'), 'application/x-www-form-urlencoded', 'a=1&payment_method=card'),
    });
    expect(answers).toEqual({ 'url-encoded': '403', multipart: '403', control: '200' });
    expect(server.asked.map(({ body }) => body)).toEqual(['a=1&payment_method=card']);
  });

  test('cannot leave its path by overlong UTF-8 or look-alike characters', async () => {
    const { world, server, url } = await openReader();
    const paths = [
      '/v1/%c0%ae%c0%ae/admin',
      '/v1/%C0%AE./admin',
      '/v1/..%c0%afadmin',
      '/v1/%e0%80%ae%e0%80%ae/admin',
    ];
    const alike = ['/v1/%ef%bc%8e%ef%bc%8e/admin', '/v1/%e2%80%a5%ef%bc%8fadmin', '/v1/%ff/../admin'];
    const tried = [...paths, ...alike].map((path) => [path, { send: getFrom(url(path)) }]);
    const { answers } = await askInside(world, Object.fromEntries(tried));
    expect(Object.entries(answers).filter(([, answer]) => answer !== '403')).toEqual([]);
    expect(server.asked).toEqual([]);
  });

  test('makes every such request to a host without methods and paths in its entry, and plain ones to the other', async () => {
    const { world, server, url } = await openReader();
    const { answers } = await askInside(world, {
      plain: { send: getFrom(url('/v1/caf%c3%a9')) },
      ...Object.fromEntries(
        OVERRIDES.map((line) => [line, { send: getFrom(url('/v1/a', 'any.test'), `${line}\r\n`) }]),
      ),
      path: { send: getFrom(url('/v1/%c0%ae%c0%ae/admin', 'any.test')) },
    });
    expect([...new Set(Object.values(answers))]).toEqual(['200']);
    expect(server.asked).toHaveLength(OVERRIDES.length + 2);
  });
});

describe('a host that repeats a secret in another form', () => {
  test('gives it to the run neither in the name nor in the value of a header', async () => {
    const value = `sk-Live-${randomUUID()}`;
    const folder = mkdtempSync('/var/tmp/palisade-secret-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'token');
    writeFileSync(file, `${value}\n`, { mode: 0o600 });
    const bytes = Buffer.from(value);
    const server = await startServer((_, response) => {
      response.setHeader(`X-${value}`, 'name');
      response.setHeader('X-Upper', value.toUpperCase());
      response.setHeader('X-Hex', bytes.toString('hex'));
      response.setHeader('X-Base64', Buffer.from(`a${value}`).toString('base64'));
      response.setHeader('X-Percent', Array.from(bytes, (byte) => `%${byte.toString(16)}`).join(''));
      response.setHeader('X-Plain', 'kept');
      response.end('ok\n');
    });
    const world = await openEgressWorld({
      entries: [`bound.test:${server.port}`, `${HOME}:${server.port}`],
      names: { 'bound.test': [HOME] },
      config: `[[secret]]\nname = "token"\nvariable = "SECRET_TOKEN"\nhosts = ["bound.test:${server.port}"]\nfile = "${file}"\n`,
    });
    const end = await runScript(
      world,
      [`curl -si -H "Authorization: Bearer $SECRET_TOKEN" http://bound.test:${server.port}/`],
      { secrets: ['token'] },
    );
    const output = end.output?.stdout ?? '';
    expect(server.asked[0]?.headers.authorization).toBe(`Bearer ${value}`);
    const seen = output.toLowerCase();
    expect(seen).toContain('x-plain: kept');
    expect(seen).toContain('x-hex: palisade-secret-');
    const forms = [value, bytes.toString('hex'), encodeURIComponent(value)];
    for (const form of forms) expect(seen).not.toContain(form.toLowerCase());
    expect(output).not.toContain(Buffer.from(`a${value}`).toString('base64').slice(4, 30));
  });
});
