import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Asked, openEgressWorld, startSecureServer, startServer } from '../fixtures/egress/index.ts';
import {
  askInside,
  connectTo,
  getAt,
  getFrom,
  PATIENT,
  runScript,
  tryInside,
} from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';
const BEARER = 'Authorization: Bearer <placeholder>\r\n';
const PLACEHOLDER = /palisade-secret-[0-9a-f]{36}/;
const USES = { secrets: ['token'] };

/** Gives back in a header what it was shown. */
const repeat: RequestListener = ({ headers }, response) => {
  response.setHeader('x-shown', headers.authorization ?? '');
  response.end('ok\n');
};

/** A value in a file, and what makes it a secret for a host. */
function makeSecret() {
  const value = `sk-live-${randomUUID()}`;
  const place = mkdtempSync('/var/tmp/palisade-secret-');
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const file = join(place, 'token');
  writeFileSync(file, `${value}\n`, { mode: 0o600 });
  const configFor = (host: string) =>
    `[[secret]]\nname = "token"\nvariable = "SECRET_TOKEN"\nhosts = ["${host}"]\nfile = "${file}"\n`;
  return { value, file, configFor };
}

/** A secret for one host and port, beside others that the run may reach as well. */
async function openWithSecret() {
  const { value, file, configFor } = makeSecret();
  const [server, other] = [await startServer(repeat), await startServer(repeat)];
  const ports = [server.port, other.port];
  const world = await openEgressWorld({
    entries: ['bound.test', 'other.test', 'sub.bound.test', HOME].flatMap((host) =>
      ports.map((port) => `${host}:${port}`),
    ),
    names: Object.fromEntries(['bound.test', 'other.test', 'sub.bound.test'].map((name) => [name, [HOME]])),
    config: configFor(`bound.test:${server.port}`),
  });
  return { world, value, file, server, other, url: `http://bound.test:${server.port}` };
}

function allOf({ method, url, headers, body }: Asked): string {
  return `${method} ${url} ${JSON.stringify(headers)} ${body}`;
}

/** All that lies in a directory. */
function textsIn(directory: string): string {
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(directory, name),
  );
  return paths
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

describe('a run that has the placeholder of a secret', () => {
  test('has it filled in for no other host, port or name of the host', async () => {
    const { world, value, server, other } = await openWithSecret();
    const { port } = server;
    const { answers, egress } = await askInside(
      world,
      {
        'another host': { send: getFrom(`http://other.test:${port}/`, BEARER) },
        'another port': { send: getFrom(`http://bound.test:${other.port}/`, BEARER) },
        'a host below': { send: getFrom(`http://sub.bound.test:${port}/`, BEARER) },
        'the address': { send: getFrom(`http://${HOME}:${port}/`, BEARER) },
        'a door of another': { send: getAt('other.test', '/', BEARER), to: ['other.test', port] },
        'another in its name': {
          send: getFrom(`http://other.test:${port}/`, BEARER).replace('Host: other', 'Host: bound'),
        },
      },
      USES,
    );
    expect(Object.values(answers)).toEqual(['200', '200', '200', '200', '200', '400']);
    const received = [...server.asked, ...other.asked];
    expect(received).toHaveLength(5);
    for (const each of received) {
      expect(allOf(each)).not.toContain(value);
      expect(each.headers.authorization).toMatch(PLACEHOLDER);
    }
    expect(egress.decisions.flatMap(({ secrets }) => secrets)).toEqual([]);
  });

  test('has it filled in for its host in the value of a header and nowhere else', async () => {
    const { world, value, server, url } = await openWithSecret();
    const post = (path: string, fields: string, body: string) => ({
      send: `${getFrom(`${url}${path}`, fields, 'POST')}${body}`,
    });
    const { answers, output } = await askInside(
      world,
      {
        '/path': { send: getFrom(`${url}/path/<placeholder>`) },
        '/query': { send: getFrom(`${url}/query?token=<placeholder>`) },
        '/body': post('/body', 'Content-Length: <length>\r\n', 'token=<placeholder>'),
        '/gzip': post('/gzip', 'Content-Length: <length>\r\nContent-Encoding: gzip\r\n', '<gzip>'),
        '/base64': post('/base64', 'Content-Length: <length>\r\nX-Token: <base64>\r\n', '<base64>'),
        '/chunks': post(
          '/chunks',
          'Transfer-Encoding: chunked\r\n',
          '1a\r\n<first half>\r\n1a\r\n<second half>\r\n0\r\n\r\n',
        ),
        '/halves': { send: getFrom(`${url}/halves`, 'X-One: <first half>\r\nX-Two: <second half>\r\n') },
        '/logged': {
          send: getFrom(`${url}/logged`, 'Referer: <placeholder>\r\nUser-Agent: <placeholder>\r\n'),
        },
        '/tunnel': {
          send: connectTo(`bound.test:${server.port}`),
          inside: getAt('bound.test', '/tunnel', BEARER),
        },
        '/door': { send: getAt('bound.test', '/door', BEARER), to: ['bound.test', server.port] },
        '/bearer': { send: getFrom(`${url}/bearer`, BEARER) },
        '/basic': { send: getFrom(`${url}/basic`, 'Authorization: Basic <basic>\r\n') },
      },
      USES,
    );
    expect(new Set(Object.values(answers))).toEqual(new Set(['200']));
    const shown = (path: string) =>
      server.asked
        .filter(({ url: own }) => own.startsWith(path))
        .map(allOf)
        .join();
    for (const path of [
      '/path',
      '/query',
      '/body',
      '/gzip',
      '/base64',
      '/chunks',
      '/halves',
      '/logged',
      '/tunnel',
      '/door',
    ])
      expect(shown(path), path).not.toContain(value);
    expect(shown('/body')).toMatch(PLACEHOLDER);
    expect(shown('/bearer')).toContain(`Bearer ${value}`);
    expect(shown('/basic')).toContain(Buffer.from(`x:${value}`).toString('base64'));
    expect(output?.stdout).not.toContain(value);
  });

  test('has it filled in by the same rules inside TLS that is opened', async () => {
    const { value, configFor } = makeSecret();
    const [bound, other] = [await startSecureServer('bound.test'), await startSecureServer('other.test')];
    const [boundUrl, otherUrl] = [`https://bound.test:${bound.port}`, `https://other.test:${other.port}`];
    const world = await openEgressWorld({
      entries: [boundUrl, otherUrl, `${HOME}:${bound.port}`, `${HOME}:${other.port}`],
      names: { 'bound.test': [HOME], 'other.test': [HOME] },
      config: `egress_intercept = ["bound.test", "other.test"]\n${configFor(`bound.test:${bound.port}`)}`,
      trusted: `${bound.authorityPem}${other.authorityPem}`,
    });
    const { output } = await runScript(
      world,
      [
        `ask() { curl -s -o /dev/null -w '%{http_code} ' "$@"; }`,
        `ask -H "Authorization: Bearer $SECRET_TOKEN" ${boundUrl}/header`,
        `ask -H "Authorization: Bearer $SECRET_TOKEN" ${otherUrl}/other`,
        `ask -d "token=$SECRET_TOKEN" ${boundUrl}/path/$SECRET_TOKEN?token=$SECRET_TOKEN`,
      ],
      USES,
    );
    expect(output?.stdout).toBe('200 200 200 ');
    expect(bound.asked.map((each) => allOf(each).includes(value))).toEqual([true, false]);
    expect(other.asked.map((each) => [allOf(each).includes(value), PLACEHOLDER.test(allOf(each))])).toEqual([
      [false, true],
    ]);
  });

  test('is shown the placeholder where a header of the host repeats the value', async () => {
    const { world, value, server, url } = await openWithSecret();
    const ask = (fields: string) => `curl -s -D - -o /dev/null -x $HTTP_PROXY ${fields} ${url}/`;
    const { output } = await runScript(
      world,
      [ask('-H "Authorization: Bearer $SECRET_TOKEN"'), ask('-u "x:$SECRET_TOKEN"')],
      USES,
    );
    const shown = (output?.stdout ?? '').split('\n').filter((line) => /^x-shown/i.test(line));
    expect(shown).toHaveLength(2);
    expect(shown[0]).toMatch(PLACEHOLDER);
    expect(shown.join()).not.toContain(value);
    expect(shown.join()).not.toContain(Buffer.from(`x:${value}`).toString('base64'));
    expect(server.asked.map(({ headers }) => headers.authorization)[0]).toBe(`Bearer ${value}`);
  });

  test('gains nothing from the placeholder of another run, or without asking for the secret', async () => {
    const { world, value, server, url } = await openWithSecret();
    const own = `curl -s -o /dev/null -x $HTTP_PROXY -H "Authorization: Bearer $SECRET_TOKEN" ${url}/own`;
    const old = `curl -s -o /dev/null -x $HTTP_PROXY -H "Authorization: Bearer $(cat old)" ${url}/old`;
    const first = await runScript(world, ['echo $SECRET_TOKEN > old', own], USES);
    const second = await runScript(world, ['cat old', 'echo $SECRET_TOKEN', old, own], USES);
    const without = await runScript(world, ['echo "[$SECRET_TOKEN]"', old, own]);
    expect([first, second, without].map(({ code }) => code)).toEqual(['ok', 'ok', 'ok']);
    const [one, two] = (second.output?.stdout ?? '').split('\n');
    expect([PLACEHOLDER.test(one ?? ''), PLACEHOLDER.test(two ?? ''), one === two]).toEqual([
      true,
      true,
      false,
    ]);
    expect(without.output?.stdout).toBe('[]\n');
    const sent = server.asked.map(({ url: path, headers }) => [
      path,
      headers.authorization === `Bearer ${value}`,
    ]);
    expect(sent).toEqual([
      ['/own', true],
      ['/old', false],
      ['/own', true],
      ['/old', false],
      ['/own', false],
    ]);
    expect(await world.shell('true', { secrets: ['root'] })).toMatchObject({
      code: 'runner/egress-denied',
      output: null,
    });
  });
});

describe('a run that looks for the value of its secret', () => {
  test('finds it in no variable, no argument, no process and no file', async () => {
    const { world, value, file, url } = await openWithSecret();
    writeFileSync(join(world.workspace, 'canary'), `ca-nary-${randomUUID()}`);
    const { answers } = await tryInside(
      world,
      'looks-for.py',
      { value: 'sk-live-[0-9a-f]{8}', canary: 'ca-nary-[0-9a-f]{8}', placeholder: PLACEHOLDER.source },
      USES,
    );
    expect(answers.value).toBe('0');
    expect(Number(answers.canary)).toBeGreaterThan(0);
    expect(Number(answers.placeholder)).toBeGreaterThan(0);
    const { output } = await runScript(
      world,
      [`cat ${file} || echo no file`, `cat ${file}/../token || echo no file`],
      USES,
    );
    expect(output?.stdout).toBe('no file\nno file\n');
    const named = await world.run({ command: 'cat', args: [file], ...USES });
    expect([named.code, named.output?.stdout]).toEqual(['tier/exited', '']);
    expect(JSON.stringify([answers, output, named, url])).not.toContain(value);
  });

  test('leaves it in no process of the host, no output, no receipt and no journal', async () => {
    const { world, value, server, url } = await openWithSecret();
    const running = runScript(
      world,
      [
        `curl -s -o /dev/null -x $HTTP_PROXY -H "Authorization: Bearer $SECRET_TOKEN" ${url}/used-in-this-run`,
        'touch used; until [ -e done ]; do sleep 0.05; done',
      ],
      { ...USES, limits: { wall_ms: 30_000 } },
    );
    await expect.poll(() => existsSync(join(world.workspace, 'used')), PATIENT).toBe(true);
    expect(server.asked.map(allOf).join()).toContain(value);
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const words = processes.flatMap((pid) =>
      ['cmdline', 'environ'].map((name) => readIf(`/proc/${pid}/${name}`)),
    );
    expect(words.join('\n')).not.toContain(value);
    writeFileSync(join(world.workspace, 'done'), '');
    const end = await running;
    await world.close();
    expect(end.egress.decisions).toMatchObject([{ host: 'bound.test', secrets: ['token'] }]);
    expect(JSON.stringify(end)).not.toContain(value);
    const kept = textsIn(world.stateDir);
    // The journal tells where the run went, and with which secret.
    expect(kept).toContain('bound.test');
    for (const form of [value, Buffer.from(value).toString('base64').slice(0, -4), encodeURIComponent(value)])
      expect(kept).not.toContain(form);
    expect(textsIn(world.workspace)).not.toContain(value);
  });
});

function readIf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has ended, or is not ours to read.
    return '';
  }
}
