import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { readSource, same } from '../../../../src/doors/cli/connect/servers.ts';
import { existingFor } from './samples.ts';
import { backupsOf, besides, makeScratchHome, textOf } from './scratch-home.ts';

const FILE = '.cursor/mcp.json';
const OWN = '{\n  "mcpServers": {\n    "mine": {"command": "npx"} // mine\n  }\n}\n';

describe.each(CLIENTS.map((client) => [client.id, client] as const))('palisade connect %s', (id, client) => {
  test('makes the file where the client has it, and disconnect takes it away again', async () => {
    const { run, json, home } = makeScratchHome();
    const done = await json(['connect', id]);
    expect(done).toMatchObject({
      client: id,
      status: 'connected',
      server: 'palisade',
      as: `agent:${id}`,
      backup: null,
    });
    const file = String(done.file);
    expect(file.startsWith(`${home}/`)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(textOf(file)).toContain('palisade.js');
    expect(textOf(file)).toContain(`agent:${id}`);
    expect(await json(['connect'])).toMatchObject({
      clients: expect.arrayContaining([expect.objectContaining({ id, connected: ['palisade'], file })]),
    });
    const { status, out } = await run(['disconnect', id]);
    expect(out).toContain(`disconnected  ${client.name}: ${file}\n  removed the entry palisade\n`);
    expect(status).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  test('keeps what is in the file, says so the second time, and gives the same bytes back', async () => {
    const { run, json, write } = makeScratchHome();
    const path = String((await json(['connect', id, '--dry-run'])).file);
    const before = existingFor(client);
    write(path.slice(path.indexOf('/home/') + '/home/'.length), before);
    const done = await json(['connect', id]);
    expect(done).toMatchObject({
      status: 'connected',
      backup: `${path}.palisade-backup-20260501T120000000Z`,
    });
    expect(textOf(String(done.backup))).toBe(before);
    const [connected, inode] = [textOf(path), statSync(path).ino];
    const again = await run(['connect', id]);
    expect(again.out).toContain('already connected');
    expect(again.status).toBe(0);
    expect([textOf(path), statSync(path).ino]).toEqual([connected, inode]);
    expect(backupsOf(path)).toHaveLength(1);
    expect(await json(['disconnect', id])).toMatchObject({ status: 'disconnected' });
    expect(textOf(path)).toBe(before);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  test.each([
    ['connect, then --wrap', [[], ['--wrap', 'files']]],
    ['--wrap, then connect', [['--wrap', 'files'], []]],
  ])('gives the same bytes back after %s', async (_, flags) => {
    const { run, json, write } = makeScratchHome();
    const path = String((await json(['connect', id, '--dry-run'])).file);
    const before = existingFor(client);
    write(path.slice(path.indexOf('/home/') + '/home/'.length), before);
    for (const each of flags) expect((await run(['connect', id, ...each])).status).toBe(0);
    expect(textOf(path)).toContain('wrap');
    const { out } = await run(['disconnect', id]);
    expect(out).toContain(
      '  removed the entry palisade\n  files is started by its own command again\n  the file is as it was before, byte for byte\n',
    );
    expect(textOf(path)).toBe(before);
  });

  test('undoes everything where the file was edited by hand since, and keeps that edit', async () => {
    const { run, json, write } = makeScratchHome();
    const path = String((await json(['connect', id, '--dry-run'])).file);
    const before = existingFor(client);
    write(path.slice(path.indexOf('/home/') + '/home/'.length), before);
    await run(['connect', id]);
    await run(['connect', id, '--wrap', 'files']);
    const edit = (text: string) => text.replace(/dark/, 'light');
    writeFileSync(path, edit(textOf(path)));
    const { out, status } = await run(['disconnect', id]);
    expect(out).toContain(
      '  removed the entry palisade\n  files is started by its own command again\n  all other content of the file was left as it is\n',
    );
    expect(status).toBe(0);
    const source = { client, name: path, text: textOf(path) };
    expect(same(readSource(source), readSource({ ...source, text: edit(before) }))).toBe(true);
    // Comments and layout outside of the two keys of the wrapped server are the same bytes.
    const others = (text: string) =>
      text.split('\n').filter((line) => !/args|command|cmd|-y|srv|^ *\]/.test(line));
    expect(others(source.text)).toEqual(others(edit(before)));
  });

  test('refuses a damaged file and changes nothing', async () => {
    const { json, write } = makeScratchHome();
    const path = String((await json(['connect', id, '--dry-run'])).file);
    const damaged = '\n{ "a": [1, = \n';
    write(path.slice(path.indexOf('/home/') + '/home/'.length), damaged);
    for (const args of [
      ['connect', id],
      ['disconnect', id],
    ])
      expect(await json(args)).toMatchObject({
        status: 'refused',
        code: 'door/wrong-usage',
        message: expect.stringMatching(new RegExp(`^Cannot read "${path}:\\d+:\\d+": `)),
        remedy: expect.stringContaining('Nothing was changed'),
      });
    expect(textOf(path)).toBe(damaged);
    expect(besides(path)).toEqual([]);
  });
});

describe('palisade connect', () => {
  test('leaves a read-only file as it is', async () => {
    const { run, write } = makeScratchHome();
    const path = write(FILE, OWN);
    chmodSync(path, 0o444);
    for (const args of [
      ['connect', 'cursor'],
      ['connect', 'cursor', '--http'],
    ]) {
      const { status, err } = await run(args);
      expect(err).toContain(`Cannot use "${path}": it is read-only`);
      expect(status).toBe(64);
    }
    expect([textOf(path), besides(path)]).toEqual([OWN, []]);
  });

  test('follows a link and leaves it a link', async () => {
    const { home, run, write } = makeScratchHome();
    const target = write('dotfiles/mcp.json', OWN);
    mkdirSync(join(home, '.cursor'));
    symlinkSync(target, join(home, FILE));
    expect((await run(['connect', 'cursor'])).status).toBe(0);
    expect(lstatSync(join(home, FILE)).isSymbolicLink()).toBe(true);
    expect(textOf(target)).toContain('agent:cursor');
    expect(readdirSync(dirname(target))).toEqual(['mcp.json']);
    await run(['disconnect', 'cursor']);
    expect(textOf(target)).toBe(OWN);
  });

  test.each([
    [
      'a link that leads nowhere',
      (path: string) => symlinkSync('/no/such/file', path),
      'a link to a file that does not exist',
    ],
    ['a folder', (path: string) => mkdirSync(path), 'not a regular file'],
    ['a pipe', (path: string) => execFileSync('mkfifo', [path]), 'not a regular file'],
    [
      'other bytes than UTF-8',
      (path: string) => writeFileSync(path, Buffer.from('7b0aff7d', 'hex')),
      'mcp.json:2:1',
    ],
    [
      'a huge file',
      (path: string) => {
        writeFileSync(path, '{}');
        truncateSync(path, 17 * 1024 * 1024);
      },
      'expected at most 16777216',
    ],
  ])('refuses %s', async (_, make, why) => {
    const { home, run } = makeScratchHome();
    mkdirSync(join(home, '.cursor'));
    make(join(home, FILE));
    const { status, err } = await run(['connect', 'cursor']);
    expect(err).toContain(why);
    expect(status).toBe(64);
    expect(readdirSync(join(home, '.cursor'))).toEqual(['mcp.json']);
  });

  test.each([
    ['a byte order mark', '\ufeff{\n  "a": 1\n}\n'],
    ['lines that end with CR LF', '{\r\n  "a": 1\r\n}\r\n'],
    ['tabs', '{\n\t"a": 1\n}\n'],
    ['nothing in it', ''],
    ['no line end', '{"a": 1}'],
  ])('keeps a file with %s so', async (_, before) => {
    const { run, json, write } = makeScratchHome();
    const path = write(FILE, before);
    expect(await json(['connect', 'cursor'])).toMatchObject({
      status: 'connected',
      notes: [expect.stringContaining('Name directories with --workspace DIR.')],
    });
    expect(textOf(path).startsWith(before.slice(0, 4).trimEnd())).toBe(true);
    expect(/[^\r]\n/.test(textOf(path))).toBe(!before.includes('\r') && before !== '{"a": 1}');
    expect((await run(['connect', 'cursor'])).out).toContain('already connected');
    await run(['disconnect', 'cursor']);
    expect(textOf(path)).toBe(before);
  });

  test('shows what would change with --dry-run, as patch takes it, and writes nothing', async () => {
    const { run, write } = makeScratchHome();
    const path = write(FILE, OWN);
    const { status, out, err } = await run(['connect', 'cursor', '--dry-run']);
    expect(status).toBe(0);
    expect(err).toContain('Nothing was written.');
    expect([textOf(path), besides(path)]).toEqual([OWN, []]);
    writeFileSync(join(dirname(path), 'patch'), out);
    execFileSync('patch', ['-s', path, join(dirname(path), 'patch')]);
    expect((await run(['connect', 'cursor'])).out).toContain('already connected');
  });

  test('never lets the terminal obey what a file says', async () => {
    const { run, write } = makeScratchHome();
    write(FILE, '{\n  // \u001b[2J\u202e\n  "a": 1\n}\n');
    const { out } = await run(['connect', 'cursor', '--dry-run']);
    expect(out).toContain('\\u{1b}[2J\\u{202e}');
    expect(out).not.toContain('\u001b');
  });

  test('keeps every backup, and each text once', async () => {
    const { run, write } = makeScratchHome();
    const path = write(FILE, OWN);
    for (const text of [OWN, OWN, OWN.replace('mine', 'yours')]) {
      writeFileSync(path, text);
      await run(['connect', 'cursor']);
      await run(['disconnect', 'cursor']);
    }
    const stamp = 'mcp.json.palisade-backup-20260501T120000000Z';
    expect(backupsOf(path)).toEqual([stamp, `${stamp}-2`]);
    expect(textOf(join(dirname(path), stamp))).toBe(OWN);
    expect(statSync(join(dirname(path), stamp)).mode & 0o777).toBe(0o600);
  });

  test('writes the file of the project with --project, and any file with --file', async () => {
    const { run, json, home, project } = makeScratchHome();
    expect(await json(['connect', 'vscode', '--project'])).toMatchObject({
      file: join(project, '.vscode/mcp.json'),
      scope: 'project',
    });
    expect(readdirSync(home)).toEqual([]);
    expect(
      await json(['connect', 'zed', '--file', 'some.json', '--name', 'fence', '--as', 'agent:zoe']),
    ).toMatchObject({
      file: join(project, 'some.json'),
      server: 'fence',
      as: 'agent:zoe',
    });
    expect(JSON.parse(textOf(join(project, 'some.json')))).toMatchObject({ context_servers: { fence: {} } });
    expect((await run(['connect', 'windsurf', '--project'])).err).toContain('has no file for a project');
  });

  test('refuses a link by which a project reaches for a file of the user', async () => {
    const { run, home, project, write } = makeScratchHome();
    const path = write('.claude.json', '{}\n');
    symlinkSync(path, join(project, '.mcp.json'));
    symlinkSync(home, join(project, '.cursor'));
    for (const id of ['claude-code', 'cursor']) {
      const { status, err } = await run(['connect', id, '--project']);
      expect(err).toContain('a link leads out of the project');
      expect(status).toBe(64);
    }
    expect(textOf(path)).toBe('{}\n');
    expect(readdirSync(home)).toEqual(['.claude.json']);
  });

  test.each([
    [['connect', 'claud-code'], 'did you mean "claude-code"?'],
    [['connect', 'roo'], 'did you mean "roo-code"?'],
    [['connect', 'claude'], 'did you mean "claude-desktop" or "claude-code"?'],
    [['connect', 'nope'], 'expected one of the list\n'],
    [['connect', 'emacs'], 'Choose one of: claude-desktop, claude-code, cursor,'],
    [['connect', 'cursor', '--as', 'user:grace'], 'expected agent:NAME'],
    [['connect', 'cursor', '--name', 'a b'], 'expected up to 64 letters'],
    [['connect', 'claude-desktop', '--http'], 'has no key for an address'],
    [['connect', 'cursor', '--http', '--project'], 'the token would be in a shared file'],
    [['connect', 'cursor', '--http', '--wrap', 'x'], 'expected one of them'],
    [['connect', 'cursor', '--project', '--file', 'x'], 'expected one of them'],
    [['connect', 'cursor', '--workspace', '../home'], 'it is a home directory, expected the directory of'],
    [
      ['connect', 'cursor', '--workspace', '.', '--http'],
      'Name them with process.workspaces in palisade.toml',
    ],
    [['connect', 'cursor', '--wrap', 'x', '--workspace', '.', '--workspace', '/x'], 'a server writes to one'],
    [['connect', '--http'], 'expected a CLIENT or --list'],
    [['disconnect', 'emacs'], 'it is unknown'],
  ])('refuses %j', async (args, why) => {
    const { run, home, project } = makeScratchHome();
    const { status, err } = await run(args);
    expect(err).toContain(why);
    expect(status).toBe(64);
    expect([...readdirSync(home), ...readdirSync(project)]).toEqual([]);
  });

  test('lists which clients are found, connected, wrapped and unreadable', async () => {
    const { run, json, write } = makeScratchHome();
    write(FILE, OWN);
    write('.codex/config.toml', '[broken');
    await run(['connect', 'cursor']);
    await run(['connect', 'cursor', '--wrap', 'mine']);
    const { clients } = (await json(['connect', '--list'])) as { clients: readonly { id: string }[] };
    expect(clients).toHaveLength(20);
    const of = (id: string) => clients.find((each) => each.id === id);
    expect(of('cursor')).toMatchObject({
      found: true,
      connected: ['palisade'],
      wrapped: ['mine'],
      problem: null,
    });
    expect(of('codex')).toMatchObject({
      found: true,
      connected: [],
      problem: expect.stringContaining('config.toml:1:'),
    });
    expect(of('zed')).toMatchObject({ found: false, connected: [], wrapped: [], problem: null });
    const { out } = await run(['connect']);
    expect(out).toMatch(/^cursor +Cursor +yes +palisade, mine \(wrapped\) +\//m);
  });

  test('creates no file that would hide the settings of Continue, and removes one that it created', async () => {
    const { run, json, write, home } = makeScratchHome();
    const old = write('.continue/config.json', '{"models": []}');
    const refused = await run(['connect', 'continue']);
    expect(refused.err).toContain(`Continue would no longer read "${old}"`);
    expect(refused.status).toBe(64);
    expect(existsSync(`${home}/.continue/config.yaml`)).toBe(false);
    expect(await json(['disconnect', 'continue'])).toMatchObject({ status: 'not connected' });
    rmSync(old);
    await run(['connect', 'continue']);
    expect(textOf(`${home}/.continue/config.yaml`)).toMatch(
      /^name: .+\nversion: .+\nschema: v1\nmcpServers:\n {2}- name: palisade\n/,
    );
    expect(await json(['disconnect', 'continue'])).toMatchObject({ status: 'disconnected', deleted: true });
    expect(existsSync(`${home}/.continue/config.yaml`)).toBe(false);
  });

  test('says to the user of a desktop application which flag its commands need', async () => {
    const { json, project } = makeScratchHome();
    const notesOf = async (...args: string[]) => (await json(['connect', ...args, '--dry-run'])).notes;
    const needed = expect.stringContaining('palisade connect claude-desktop --workspace DIR');
    expect(await notesOf('claude-desktop')).toContainEqual(needed);
    expect(await notesOf('claude-desktop', '--workspace', project)).not.toContainEqual(needed);
  });

  test('says how a script has the client call tools where no one can be asked', async () => {
    const { run } = makeScratchHome();
    const { err } = await run(['connect', 'claude-code', '--name', 'fence']);
    expect(err).toContain('claude -p PROMPT --allowedTools mcp__fence\n');
    expect((await run(['connect', 'codex'])).err).toContain(
      `'mcp_servers.palisade.default_tools_approval_mode="approve"'`,
    );
    expect((await run(['disconnect', 'codex'])).err).not.toContain('In a script');
  });

  test('wraps a server, and disconnect starts it as before', async () => {
    const { run, json, write, project } = makeScratchHome();
    const path = write(FILE, OWN);
    const args = ['connect', 'cursor', '--wrap', 'mine'];
    expect(await json([...args, '--workspace', 'w', '--dry-run'])).toMatchObject({
      diff: expect.stringContaining(`"--workspace","${join(project, 'w')}","--","npx"`),
    });
    expect(await json(args)).toMatchObject({
      status: 'wrapped',
      server: 'mine',
    });
    expect(textOf(path)).toContain('"mcp","wrap","--name","mine","--as","agent:cursor"');
    expect(await json(['connect', 'cursor', '--wrap', 'mine'])).toMatchObject({ status: 'already wrapped' });
    expect(await json(['disconnect', 'cursor'])).toMatchObject({ restored: ['mine'] });
    expect(textOf(path)).toBe(OWN);
    expect((await run(['disconnect', 'cursor'])).out).toContain('not connected');
  });

  test('says what it could not undo, with the keys to change by hand, and ends with a status of its own', async () => {
    const { run, json, write } = makeScratchHome();
    const path = write(
      '.config/goose/config.yaml',
      'extensions:\n  a:\n    cmd: npx\n    args: [y]\n  b: 1\n',
    );
    await run(['connect', 'goose']);
    await run(['connect', 'goose', '--wrap', 'a']);
    writeFileSync(path, textOf(path).replace('  a:', '  a: &x').replace('b: 1', 'b: *x'));
    expect(await json(['disconnect', 'goose', '--dry-run'])).toMatchObject({ status: 'partly disconnected' });
    const { status, out, err } = await run(['disconnect', 'goose']);
    expect(out).toContain('partly disconnected  Goose: ');
    expect(err).toContain(`✗ Cannot edit "a" in "${path}": more would change than the entry`);
    expect(err).toContain('→ Change these keys of "a" in extensions by hand: a: {"cmd":"npx","args":["y"]}');
    expect(status).toBe(64);
    expect(textOf(path)).not.toContain('palisade:');
    expect(await run(['disconnect', 'goose'])).toMatchObject({ status: 64 });
  });

  test('says how to undo it, and names entries of ours that stay', async () => {
    const { run, write } = makeScratchHome();
    const path = write(FILE, OWN);
    const { err } = await run(['connect', 'cursor', '--name', 'fence', '--file', path]);
    expect(err).toContain(
      `→ To undo all changes to this file: palisade disconnect cursor --file ${path} --name fence`,
    );
    const { out, err: hint } = await run(['disconnect', 'cursor']);
    expect(out).toContain('not connected');
    expect(hint).toContain('"fence" leads to palisade as well. Remove it with --name fence.');
  });

  test('says what a wrapped server can no longer do, and passes on its variables but no tokens', async () => {
    const { json, write } = makeScratchHome();
    const entry =
      '{"command": "npx", "args": ["-y", "@acme/files"], "env": {"ACME_API_KEY": "k", "B": "1", "PATH": "/"}}';
    const path = write(FILE, `{"mcpServers": {"mine": ${entry}}}`);
    const { notes } = await json(['connect', 'cursor', '--wrap', 'mine']);
    expect(notes).toEqual([
      'mine may write to the folder in which Cursor starts it, which must be a project. Name another folder with --workspace DIR.',
      expect.stringContaining('it has no network, and its tool calls need your approval'),
      expect.stringMatching(
        /fetched once, by you: `palisade package add --state \S+ -- npx -y @acme\/files`\.$/,
      ),
      'These variables are not passed on: "ACME_API_KEY", "PATH". For a token or a password, define a secret in palisade.toml and name it with --secret.',
    ]);
    expect(textOf(path)).toContain('"env": {"ACME_API_KEY": "k", "B": "1", "PATH": "/"}');
    const argsIn = () => JSON.parse(textOf(path)).mcpServers.mine.args as string[];
    expect(argsIn().slice(-6)).toEqual(['--env', 'B', '--', 'npx', '-y', '@acme/files']);
    // One that was wrapped before gets what was added since; what a person wrote there stays.
    writeFileSync(path, textOf(path).replace('"B": "1"', '"B": "1", "C": "2"').replace('"B",', '"B=3",'));
    await json(['connect', 'cursor', '--wrap', 'mine']);
    expect(argsIn().slice(-8)).toEqual(['--env', 'B=3', '--env', 'C', '--', 'npx', '-y', '@acme/files']);
  });

  test('finds files where XDG_CONFIG_HOME says', async () => {
    const scratch = makeScratchHome();
    const elsewhere = join(scratch.home, 'xdg');
    const { json } = makeScratchHome({ XDG_CONFIG_HOME: elsewhere });
    expect(await json(['connect', 'goose', '--dry-run'])).toMatchObject({
      file: join(elsewhere, 'goose/config.yaml'),
    });
    expect(existsSync(elsewhere)).toBe(false);
  });

  test('says where a file of strict JSON has more than that', async () => {
    const { json, write } = makeScratchHome();
    write('.claude.json', '{ "a": 1, /* odd */ }');
    expect(await json(['connect', 'claude-code'])).toMatchObject({
      notes: [
        expect.stringContaining('Name directories with --workspace DIR.'),
        'The file has comments or trailing commas, which Claude Code may not accept.',
      ],
    });
  });
});
