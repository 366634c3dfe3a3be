import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';
import {
  BLOB_PATH,
  HONEST,
  LAYER,
  MANIFEST_PATH,
  PACKAGE,
  type Reply,
  type Routes,
  startFake,
} from '../fixtures/registry/fake.ts';
import { palisade } from '../fixtures/skills/commands.ts';

/*
 * A registry that wants the log-in of another place, or wants its own log-in to be seen by others: by the realm of its
 * challenge, by redirects, by echoing it. The value goes to the registry, or to a host for tokens that the operator named.
 */

const folder = scratch();
const STATE_DIR = join(folder, 'state');
const STATE = ['--state', STATE_DIR];
const PASSWORD = 'correct-horse-battery';
const BASIC = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString('base64')}`;
const [registry, elsewhere] = [await startFake({}), await startFake({})];
const REF = `${registry.host}/acme/sample:1.0.0`;
const SECRET = `oci.${registry.host.replace(':', '-')}`;

beforeAll(async () => {
  const { status } = await palisade(['secrets', 'set', SECRET, ...STATE], { stdin: `ada:${PASSWORD}\n` });
  expect(status).toBe(0);
});

function configure(toml: string): void {
  writeFileSync(join(STATE_DIR, 'palisade.toml'), toml);
}

const asksFor = (challenge: string): Reply => ({ status: 401, headers: { 'www-authenticate': challenge } });

/** What an honest registry answers to those who have this. */
function behind(authorization: string, challenge: string): Routes {
  return Object.fromEntries(
    Object.entries(HONEST).map(([line, reply]) => [
      line,
      (request: { headers: { authorization?: string | undefined } }) =>
        request.headers.authorization === authorization ? (reply as Reply) : asksFor(challenge),
    ]),
  );
}

async function pull(...words: readonly string[]) {
  for (const each of [registry, elsewhere]) each.asked.length = 0;
  const out = ['--out', join(folder, 'out.skill')];
  const finished = await palisade(['skill', 'pull', REF, ...out, '--json', ...words, ...STATE]);
  const seen = [registry, elsewhere].map(({ asked }) => asked.map(({ authorization }) => authorization));
  const document = JSON.parse(finished.out) as { code?: string; message?: string; remedy?: string };
  expect(`${finished.out}${finished.err}`).not.toContain(PASSWORD);
  expect(`${finished.out}${finished.err}`).not.toContain(BASIC.slice(6));
  return { ...document, toRegistry: seen[0] ?? [], elsewhere: seen[1] ?? [] };
}

describe('a registry that wants a log-in', () => {
  test('gets its own by Basic, only after it asked for it', async () => {
    registry.serve(behind(BASIC, 'Basic realm="r"'));
    const pulled = await pull();
    expect(pulled).toMatchObject({ skill: 'acme.sample' });
    expect(pulled.toRegistry).toEqual([undefined, BASIC, BASIC]);
  });

  test('gets a token from itself, and the log-in only for that', async () => {
    const realm = `Bearer realm="http://${registry.host}/token",service="s"`;
    registry.serve({ ...behind('Bearer abc.def', realm), 'GET /token': { body: '{"token":"abc.def"}' } });
    const pulled = await pull();
    expect(pulled).toMatchObject({ skill: 'acme.sample' });
    expect(pulled.toRegistry).toEqual([undefined, BASIC, 'Bearer abc.def', 'Bearer abc.def']);
    const token = registry.asked.find(({ line }) => line.startsWith('GET /token'));
    expect(token?.line).toBe('GET /token?service=s&scope=repository%3Aacme%2Fsample%3Apull');
  });

  test('gets a new token when the first one has expired in between', async () => {
    let tokens = 0;
    const realm = asksFor(`Bearer realm="http://${registry.host}/token"`);
    const good = (line: string) => (request: { headers: { authorization?: string | undefined } }) =>
      request.headers.authorization === `Bearer t${line === BLOB_PATH ? 2 : 1}`
        ? (HONEST[line] as Reply)
        : realm;
    registry.serve({
      [MANIFEST_PATH]: good(MANIFEST_PATH),
      [BLOB_PATH]: good(BLOB_PATH),
      'GET /token': () => {
        tokens += 1;
        return { body: JSON.stringify({ access_token: `t${tokens}` }) };
      },
    });
    expect(await pull()).toMatchObject({ skill: 'acme.sample' });
    expect(tokens).toBe(2);
  });

  test('that refuses its token again and again is asked twice, not for ever', async () => {
    const realm = `Bearer realm="http://${registry.host}/token"`;
    registry.serve({ ...behind('Bearer never', realm), 'GET /token': { body: '{"token":"expired"}' } });
    const { code, message, remedy, toRegistry } = await pull();
    expect(code).toBe('oci/denied');
    expect(message).toContain('refuses the log-in');
    expect(remedy).toMatch(/^Set another log-in with `palisade secrets set oci\./);
    expect(toRegistry).toHaveLength(3);
  });

  test.each([
    ['another host', () => `Bearer realm="http://${elsewhere.host}/token"`],
    ['another host by https', () => `Bearer realm="https://${elsewhere.host}/token"`],
    ['the same name on another port', () => `Bearer realm="http://localhost:${elsewhere.host.slice(10)}/"`],
  ])('cannot have it sent to %s', async (_, challenge) => {
    registry.serve(behind('Bearer x', challenge()));
    elsewhere.serve({ 'GET /token': { body: '{"token":"x"}' } });
    const refused = await pull();
    expect(refused.code).toBe('oci/not-allowed');
    expect(refused.remedy).toContain('token_hosts = [');
    expect(refused.elsewhere).toEqual([]);
    expect(refused.toRegistry).toEqual([undefined]);
  });

  test('may have it sent to the host for tokens that the operator named', async () => {
    configure(`[[registry]]\nname = "${registry.host}"\ntoken_hosts = ["${elsewhere.host}"]\n`);
    registry.serve(behind('Bearer x', `Bearer realm="http://${elsewhere.host}/token"`));
    elsewhere.serve({ 'GET /token': { body: '{"token":"x"}' } });
    const pulled = await pull();
    configure('');
    expect(pulled).toMatchObject({ skill: 'acme.sample' });
    expect(pulled.elsewhere).toEqual([BASIC]);
  });

  test('that redirects a download has neither log-in nor token go along', async () => {
    configure(`[[registry]]\nname = "${registry.host}"\nblob_hosts = ["${elsewhere.host}"]\n`);
    const location = `http://${elsewhere.host}/blob?signature=1`;
    const routes = behind(BASIC, 'Basic realm="r"');
    registry.serve({ ...routes, [BLOB_PATH]: { status: 307, headers: { location } } });
    elsewhere.serve({ 'GET /blob': { body: PACKAGE } });
    const pulled = await pull();
    configure('');
    expect(pulled).toMatchObject({ skill: 'acme.sample' });
    expect(pulled.elsewhere).toEqual([undefined]);
  });

  test('cannot have an upload sent to another host', async () => {
    const file = join(folder, 'push.skill');
    writeFileSync(file, PACKAGE);
    registry.serve({
      'POST /v2/acme/other/blobs/uploads/': {
        status: 202,
        headers: { location: `http://${elsewhere.host}/upload` },
      },
    });
    elsewhere.asked.length = 0;
    const { out } = await palisade([
      'skill',
      'push',
      file,
      `${registry.host}/acme/other`,
      '--json',
      ...STATE,
    ]);
    expect(JSON.parse(out)).toMatchObject({ code: 'oci/not-allowed' });
    expect(elsewhere.asked).toEqual([]);
  });

  test('that repeats it in all it answers does not get it shown or kept', async () => {
    const echo = {
      'www-authenticate': `Basic realm="${BASIC} ada:${PASSWORD}"`,
      'x-note': PASSWORD,
      location: `http://${PASSWORD}.invalid/`,
    };
    registry.serve({
      [MANIFEST_PATH]: (request) => ({
        status: request.headers.authorization === undefined ? 401 : 403,
        headers: echo,
        body: JSON.stringify({ errors: [{ code: PASSWORD, message: BASIC }] }),
      }),
    });
    expect(await pull()).toMatchObject({ code: 'oci/denied' });
    for (const name of readdirSync(STATE_DIR, { recursive: true, encoding: 'utf8' })) {
      const path = join(STATE_DIR, name);
      if (!statSync(path).isFile()) continue;
      expect(readFileSync(path).includes(PASSWORD), name).toBe(false);
    }
    const { out } = await palisade(['journal', 'search', '--json', '--limit', '1000', ...STATE]);
    expect(out).toContain('secret-used');
    expect(out).not.toContain(PASSWORD);
  });

  test('is not sent the log-in of another registry, nor a secret of another purpose', async () => {
    await palisade(['secrets', 'set', elsewhere.host.replace(':', '-'), ...STATE], {
      stdin: `eve:${PASSWORD}`,
    });
    elsewhere.serve(behind('Basic x', 'Basic realm="r"'));
    elsewhere.asked.length = 0;
    const { out } = await palisade([
      'skill',
      'pull',
      `${elsewhere.host}/acme/sample:1.0.0`,
      '--json',
      ...STATE,
    ]);
    const { code, remedy } = JSON.parse(out) as { code: string; remedy: string };
    expect(code).toBe('oci/denied');
    expect(remedy).toContain(`palisade secrets set oci.${elsewhere.host.replace(':', '-')}`);
    expect(elsewhere.asked.map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(LAYER.size).toBe(PACKAGE.length);
  });

  test('takes one from standard input, and says what is wrong with a malformed one without repeating it', async () => {
    registry.serve(behind(BASIC, 'Basic realm="r"'));
    const given = (stdin: string) =>
      palisade(['skill', 'search', registry.host, '--login', '--json', ...STATE], { stdin });
    expect(JSON.parse((await given(`ada:${PASSWORD}\n`)).out)).toMatchObject({
      skills: [{ id: 'acme.sample' }],
    });
    const { out } = await given(`no-colon-${PASSWORD}`);
    expect(JSON.parse(out)).toMatchObject({ code: 'oci/denied' });
    expect(out).toContain('USER:PASSWORD');
    expect(out).not.toContain(PASSWORD);
  });

  test('is never reached by an agent, whose policies do not let it administer', async () => {
    registry.serve(HONEST);
    registry.asked.length = 0;
    for (const words of [
      ['pull', REF],
      ['install', REF],
      ['search', registry.host],
      ['push', join(folder, 'push.skill'), REF],
    ]) {
      const { out } = await palisade(['skill', ...words, '--as', 'agent:ada', '--json', ...STATE]);
      expect(JSON.parse(out)).toMatchObject({ code: 'policy/denied' });
    }
    expect(registry.asked).toEqual([]);
  });
});
