import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { CLIENTS } from '../../packages/gateway/src/doors/cli/connect/clients.table.ts';
import { argvOf } from '../../packages/gateway/src/doors/cli/connect/entry.ts';
import { serverNamed } from '../../packages/gateway/src/doors/cli/connect/servers.ts';
import {
  type OpenOptions,
  openGateway,
  openRecords,
  systemClock,
  systemRandom,
} from '../../packages/gateway/src/open.ts';
import { packagesIn } from '../../packages/gateway/src/packages/store.ts';
import { runInside } from '../../packages/gateway/test/doors/cli/fake-edge.ts';
import { BIN } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { CHECKED } from '../../packages/gateway/test/fixture/checked.ts';
import { startServer } from '../fixtures/egress/index.ts';
import { npmRegistry, serverPackage } from '../fixtures/packages/index.ts';
import { npmMirror } from '../fixtures/packages/mirror.ts';
import { SERVERS, type ServerRow } from '../fixtures/servers/servers.table.ts';
import { makeDirectories } from '../fixtures/upstreams/index.ts';
import { asking, type Message, wrappedClient } from '../fixtures/upstreams/wrapped-client.ts';
import { VOLUME } from '../volume/volume.ts';

/*
 * Well-known MCP servers of npm, each wrapped by the command line of its README on a machine whose npm is configured with
 * a mirror: the package is fetched, the server starts in a jail, and a tool does what it is for, all in `npm run prove`.
 * `npm test` has the question at the terminal.
 */

const folderOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const [PEERS, ALL] = [folderOf('conformance/peers'), folderOf('servers')];
const isWhole = VOLUME === 1;

/** A person whose `.npmrc` names a mirror on loopback. */
async function makeUser(mirror = npmMirror([isWhole ? ALL : PEERS])) {
  const directories = makeDirectories();
  const { base, stateDir, workspace } = directories;
  const { port } = await startServer(mirror);
  const home = join(base, 'home');
  mkdirSync(home);
  writeFileSync(join(home, '.npmrc'), `registry=http://127.0.0.1:${port}/\n`);
  onTestFinished(() => rmSync(packagesIn(stateDir), { recursive: true, force: true }));
  const env = readEnvironment({}, { username: 'grace', homedir: home });
  const edge = {
    ...{ env, cwd: workspace, clock: systemClock, random: systemRandom, openRecords },
    openGateway: (options: OpenOptions) => openGateway({ ...options, checked: CHECKED }),
  };
  return { ...directories, home, edge };
}

type User = Awaited<ReturnType<typeof makeUser>>;

/** The command line of the README, with the version that is tested. */
function lineOf(row: ServerRow, args: readonly string[] = []): readonly string[] {
  return ['npx', '-y', `${row.package}@${row.version}`, ...args];
}

function namesIn({ result }: Message): readonly string[] {
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
}

/** Makes the calls of a row and compares what they answer. */
async function makeCalls({ ask }: Pick<ReturnType<typeof asking>, 'ask'>, row: ServerRow, workspace: string) {
  for (const { tool, input, answer } of row.calls) {
    const own = JSON.parse(JSON.stringify(input).replaceAll('WORKSPACE', workspace));
    const { result, error } = await ask('tools/call', { name: tool, arguments: own });
    expect(JSON.stringify(result?.content ?? error).replaceAll('\\"', '"'), tool).toMatch(answer);
    expect(result?.isError ?? false, tool).toBe(false);
  }
}

/** Accepts the texts of a server that were found odd, as its operator does after reading them. */
async function accept({ edge, stateDir }: User, name: string): Promise<void> {
  const approved = await runInside(['upstream', 'approve', name, '--yes', '--state', stateDir], edge);
  expect(approved.status, approved.err).toBe(0);
}

describe('palisade mcp wrap', () => {
  test.for(isWhole ? SERVERS : [])('serves $package', async (row) => {
    const user = await makeUser();
    const { stateDir, workspace, edge } = user;
    const { args = [], flags = [] } = await row.prepare(workspace);
    const words = ['--state', stateDir, '--name', 'tried', '--risk', 'low', ...flags];
    const argv = [...words, '--fetch', '--', ...lineOf(row, args)];
    const first = wrappedClient(argv, edge);
    await first.greet();
    const listed = namesIn(await first.ask('tools/list'));
    if (row.needsApproval === true) {
      expect(listed).toEqual(['palisade_upstreams']);
      expect((await first.end()).err).toContain('its texts have findings that a person must judge');
      await accept(user, 'tried');
      const second = wrappedClient(argv, edge);
      await second.greet();
      return makeCalls(second, row, workspace);
    }
    expect(listed).toEqual(expect.arrayContaining(row.calls.map(({ tool }) => tool)));
    await makeCalls(first, row, workspace);
    const { err, status } = await first.end();
    expect(status, err).toBe(0);
    expect(err).toContain(`fetched  npm:${row.package}@${row.version}  version ${row.version}`);
  });

  test('asks at a terminal, says what would be fetched, and takes only a yes for one', async () => {
    const files = serverPackage('@acme/files', '1.0.0', { dependencies: { unbuilt: '2.0.0' } });
    const unbuilt = serverPackage('unbuilt', '2.0.0', { scripts: { install: 'exit 1' } });
    const { stateDir, edge } = await makeUser(npmRegistry([files, unbuilt]));
    const question =
      /Fetch @acme\/files \(version 1\.0\.0\) from 127\.0\.0\.1:\d+: 2 packages, the install scripts of unbuilt do not run\? \[y\/N\]/;
    const argv = ['mcp', 'wrap', '--state', stateDir, '--', 'npx', '-y', '@acme/files'];
    const atTerminal = async (typed: string) => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      const stdout = Object.assign(new PassThrough().resume(), { isTTY: true });
      let err = '';
      const stderr = new Writable({
        write: (chunk, _encoding, done) => {
          err += chunk;
          if (`${chunk}`.endsWith('[y/N] ')) stdin.write(typed);
          // A client that leaves.
          if (`${chunk}`.startsWith('fetched ')) stdin.end();
          done();
        },
      });
      const { status } = await runInside(argv, { ...edge, stdin, stdout, stderr });
      return { status, err };
    };
    const refused = await atTerminal('n\n');
    expect(refused.err).toMatch(question);
    expect(refused.err).toContain('its package was not fetched');
    expect(refused.status).toBe(2);
    expect(refused.err).not.toContain('fetched  npm:');
    const agreed = await atTerminal('y\n');
    expect(agreed.err).toMatch(question);
    expect(agreed.err).toContain('fetched  npm:');
    expect(agreed.err).not.toContain('was not fetched');
  });
});

/** Runs the built command with a home, as a person does. */
async function palisade({ home, stateDir, workspace }: User, ...words: readonly string[]) {
  const env = { HOME: home, PATH: '/usr/bin:/bin', USER: 'grace', PALISADE_STATE: stateDir };
  const child = spawn(process.execPath, [BIN, ...words], {
    env,
    cwd: workspace,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const [status] = await once(child, 'close');
  return { status, out, err };
}

/** Starts a server as the client does: by the command and the variables in its file. */
function startAsClient(argv: readonly string[], cwd: string, variables: Variables) {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, {
    cwd,
    env: { PATH: '/usr/bin:/bin', ...variables },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.stdin.end();
    await ended;
  });
  return asking(child.stdin, child.stdout);
}

type Variables = Readonly<Record<string, string>>;

const jsonOf = (line: readonly string[]) =>
  `{\n  // mine\n  "mcpServers": {\n    "tried": { "command": "${line[0]}", "args": ${JSON.stringify(line.slice(1))} }\n  }\n}\n`;
const tomlOf = (line: readonly string[], env: Variables) =>
  [
    `# mine\n[mcp_servers.tried]\ncommand = "${line[0]}"\nargs = ${JSON.stringify(line.slice(1))}\n`,
    ...Object.entries(env).map(([name, value]) => `\n[mcp_servers.tried.env]\n${name} = "${value}"\n`),
  ].join('');

/** Settings as the clients have them, each with one server. */
const SETTINGS = [
  {
    client: 'cursor',
    path: '.cursor/mcp.json',
    write: jsonOf,
    package: '@modelcontextprotocol/server-everything',
    env: () => ({}),
  },
  {
    client: 'codex',
    path: '.codex/config.toml',
    write: tomlOf,
    package: '@modelcontextprotocol/server-memory',
    env: (workspace: string) => ({ MEMORY_FILE_PATH: join(workspace, 'memory.jsonl') }),
  },
];

test.for(isWhole ? SETTINGS : [])(
  'palisade connect --wrap --fetch wraps a server of $client',
  async (setting) => {
    const user = await makeUser();
    const { home, workspace } = user;
    const row = SERVERS.find((each) => each.package === setting.package);
    const client = CLIENTS.find(({ id }) => id === setting.client);
    if (row === undefined || client === undefined) throw new Error(`there is no ${setting.package}`);
    const path = join(home, setting.path);
    const variables = setting.env(workspace);
    const before = setting.write(lineOf(row), variables);
    mkdirSync(dirname(path));
    writeFileSync(path, before);
    const words = ['--wrap', 'tried', '--fetch', '--workspace', workspace];
    const wrapped = await palisade(user, 'connect', setting.client, ...words);
    expect(wrapped.status, wrapped.err).toBe(0);
    expect(wrapped.err).toContain(`fetched  npm:${row.package}@${row.version}`);
    expect(wrapped.out + wrapped.err).not.toContain('palisade package add');

    const text = readFileSync(path, 'utf8');
    const entry = serverNamed({ client, name: path, text }, 'tried')?.value;
    const argv = argvOf(client, entry) ?? [];
    // A client never fetches: the word of the operator was for this time.
    expect(argv).not.toContain('--fetch');
    const { greet, ask } = startAsClient(argv, workspace, variables);
    await greet();
    expect(namesIn(await ask('tools/list'))).toEqual(
      expect.arrayContaining(row.calls.map(({ tool }) => tool)),
    );
    const [call] = row.calls;
    const asked = { name: call?.tool ?? '', arguments: call?.input ?? {} };
    expect((await ask('tools/call', asked)).result).toMatchObject({ isError: true });
    const { out } = await palisade(user, 'approvals', 'list', '--json');
    const [{ id }] = JSON.parse(out).approvals;
    expect((await palisade(user, 'approvals', 'approve', id)).status).toBe(0);
    const { result } = await ask('tools/call', asked);
    expect(JSON.stringify(result?.content).replaceAll('\\"', '"')).toMatch(call?.answer ?? /never/);

    expect((await palisade(user, 'disconnect', setting.client)).status).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(before);
  },
);
