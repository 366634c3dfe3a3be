import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { readHead } from '../../../src/journal/head.ts';
import { type OpenOptions, openGateway, systemClock, systemRandom } from '../../../src/open.ts';
import { runInside } from './fake-edge.ts';

/* The command inside the test, on one real gateway with real sandboxes: opening one costs more than most commands. */

const POLICIES = `@id("all")
permit (principal, action, resource);

@id("no-programs-in-arguments")
forbid (principal == Agent::"ada", action == Action::"call", resource == Tool::"palisade.process.run")
when { context has process && ["shell", "interpreter"].contains(context.process.kind) };
`;

// Not below /tmp: a jail has its own.
const base = mkdtempSync('/var/tmp/palisade-exec-');
// The user of commands, another one where the tests are root, walks through it.
chmodSync(base, 0o711);
const stateDir = join(base, 'state');
const secret = join(base, 'secret');
let workspace = '';
let runs = 0;
let gateway: Awaited<ReturnType<typeof openGateway>>;

beforeAll(async () => {
  mkdirSync(join(stateDir, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(stateDir, 'policies/all.cedar'), POLICIES);
  writeFileSync(secret, 'the secret');
  gateway = await openGateway({ stateDir, env: readEnvironment(), version: '0.0.0', workspaces: [base] });
});

beforeEach(() => {
  runs += 1;
  workspace = join(base, `work-${runs}`);
  mkdirSync(workspace);
});

afterAll(async () => {
  await gateway.close();
  rmSync(base, { recursive: true, force: true });
});

class Bytes extends Writable {
  readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(Buffer.from(chunk));
    done();
  }

  get all(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

/** Runs a command in a workspace of its own: flags, `--`, and the words of the command. */
async function exec(
  flags: readonly string[],
  words: readonly string[],
  stdin: readonly Uint8Array[] = [],
  // What the command opens it would close; this one is closed after the tests.
  open: typeof openGateway = async () => ({ ...gateway, close: async () => undefined }),
) {
  const [out, err] = [new Bytes(), new Bytes()];
  const { status } = await runInside(['exec', '--workspace', workspace, ...flags, '--', ...words], {
    cwd: base,
    clock: systemClock,
    random: systemRandom,
    stdin: Readable.from(stdin),
    stdout: out,
    stderr: err,
    openGateway: (options) => open({ ...options, stateDir, env: readEnvironment() }),
  });
  return { status, bytes: out.all, out: out.all.toString(), err: err.all.toString() };
}

const sh = (flags: readonly string[], script: string) => exec(flags, ['sh', '-c', script]);

describe('palisade exec', () => {
  test.each([
    ['of a command that ends well', 'exit 0', 0],
    ['of a command that fails', 'exit 3', 3],
    ['of the largest number', 'exit 255', 255],
  ])('passes on the exit status %s, without a word', async (_, script, expected) => {
    expect(await sh([], script)).toMatchObject({ status: expected, out: '', err: '' });
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGKILL', 137],
    ['SIGSEGV', 139],
  ])('exits as a shell does after %s, and says so', async (signal, expected) => {
    const { status, out, err } = await sh([], `kill -${signal.slice(3)} $$`);
    expect(err).toContain(`the command was killed by ${signal}`);
    expect(out).toBe('');
    expect(status).toBe(expected);
  });

  test('keeps the streams apart and adds nothing to them', async () => {
    expect(await sh([], 'echo result; echo trouble >&2; echo more')).toEqual(
      expect.objectContaining({ status: 0, out: 'result\nmore\n', err: 'trouble\n' }),
    );
  });

  test('passes on every byte as it is', async () => {
    writeFileSync(join(workspace, 'bytes'), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
    const { bytes, status } = await exec([], ['cat', 'bytes', 'bytes']);
    expect(bytes).toEqual(Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256)));
    expect(status).toBe(0);
  });

  test('hands over the words after -- as they are, though they look like flags of ours', async () => {
    const words = ['--json', '--help', '--state', '--', '', 'a b', '$HOME', '*'];
    const { out } = await exec([], ['printf', '[%s]', ...words]);
    expect(out).toBe(words.map((word) => `[${word}]`).join(''));
  });

  test('gives the command standard input only with --stdin', async () => {
    const input = [Buffer.from('ünder'), Buffer.from(' way')];
    expect((await exec(['--stdin'], ['cat'], input)).out).toBe('ünder way');
    expect(await exec([], ['cat'], input)).toMatchObject({ out: '', status: 0 });
  });

  test.each([
    ['is too long', [Buffer.alloc(131_073, 'x')], 'it has more than 131072 bytes'],
    ['is not text', [Buffer.from([0xff])], 'it is not UTF-8'],
  ])('refuses standard input that %s', async (_, input, why) => {
    const { status, out, err } = await exec(['--stdin'], ['cat'], input);
    expect(err).toContain(why);
    expect({ status, out }).toEqual({ status: 64, out: '' });
  });

  test('sets variables and starts where it is told to', async () => {
    mkdirSync(join(workspace, 'deep'));
    const flags = ['--env', 'LANG=C', '--env', 'CI=a=b c', '--cwd', 'deep'];
    const { out } = await sh(flags, 'echo "$LANG, $CI"; pwd');
    expect(out).toBe(`C, a=b c\n${workspace}/deep\n`);
  });

  test('runs in tier b when it is asked to', async () => {
    const { out } = await exec(['--tier', 'b', '--json'], ['true']);
    const { payload } = JSON.parse(out).receipt;
    expect(JSON.parse(Buffer.from(payload, 'base64').toString()).predicate.execution.tier).toBe('b');
  });

  test('ends a command at its time limit, with what it had printed and the status of the code', async () => {
    const { status, out, err } = await sh(['--timeout', '400ms'], 'printf begun; printf half >&2; sleep 60');
    expect(out).toBe('begun');
    // Ours begins on a line of its own.
    expect(err).toMatch(/^half\nfailed {2}tier\/timed-out {2}call_\w+\nCannot .*400 ms\n→ /);
    expect(status).toBe(1);
  });

  test('passes --limit on', async () => {
    const limits = ['--limit', 'open_files=17', '--limit', 'output_bytes=1k'];
    expect((await sh(limits, 'ulimit -n')).out).toBe('17\n');
    const killed = [...limits, '--output-overflow', 'kill'];
    const { bytes, err, status } = await sh(killed, 'while :; do echo 1234567; done');
    expect(bytes.length).toBe(1024);
    expect(err).toContain('tier/output-exceeded');
    expect(status).toBe(1);
  });

  test('prints the beginning and the end of too much output, with one note between them', async () => {
    const { out, err, status } = await sh(['--limit', 'output_bytes=1k'], 'seq 100000; echo done; exit 3');
    expect(out).toMatch(
      /^1\n2\n3\n[\d\n]+\n\[palisade: \d+ bytes of stdout left out here;.*\]\n[\d\n]+\n100000\ndone\n$/,
    );
    expect([err, status]).toEqual(['', 3]);
  });

  test('writes the receipt of a command that failed, and keeps its status', async () => {
    const file = join(base, 'receipt.json');
    expect((await sh(['--receipt', file], 'exit 9')).status).toBe(9);
    expect(JSON.parse(readFileSync(file, 'utf8')).signatures).toHaveLength(1);
  });
});

describe('palisade exec and what is outside the sandbox', () => {
  test('shows none of it to a command that names it, and says how to allow it', async () => {
    const { status, out, err } = await exec([], ['cat', secret]);
    expect(err).toBe(
      `cat: ${secret}: No such file or directory\n→ ${secret} is outside the sandbox. Allow it with --read-only ${secret} of palisade exec, or with process.read_only in palisade.toml.\n`,
    );
    expect({ status, out }).toEqual({ status: 1, out: '' });
  });

  test('says the same of a path that does not exist, and nothing of one that could not be allowed', async () => {
    const absent = `${secret}-not`;
    expect((await exec([], ['cat', absent])).err).toContain(`${absent} is outside the sandbox.`);
    expect((await sh([], 'cat /etc/passwd; echo /etc/passwd >&2; exit 1')).err).toBe('/etc/passwd\n');
    expect((await sh([], `echo ${secret} >&2`)).err).toBe(`${secret}\n`);
  });

  test('names the host that a strict run cannot reach', async () => {
    const { err } = await sh([], 'echo "curl: (6) Could not resolve host: api.example.com" >&2; exit 6');
    expect(err).toContain(
      'api.example.com is not an allowed host. Allow it with --allow-host api.example.com',
    );
  });

  test('lets a command read what --read-only names, and nothing else', async () => {
    const library = join(base, 'library');
    mkdirSync(library, { recursive: true });
    chmodSync(library, 0o755);
    writeFileSync(join(library, 'file'), 'readable', { mode: 0o644 });
    const opened: OpenOptions[] = [];
    const run = (flags: readonly string[]) =>
      exec(flags, ['cat', join(library, 'file')], [], async (options) => {
        opened.push(options);
        return openGateway(options);
      });
    expect(await run(['--read-only', 'library'])).toMatchObject({ status: 0, out: 'readable' });
    expect(await run([])).toMatchObject({ status: 1, out: '' });
    expect(opened.map(({ readOnly }) => readOnly)).toEqual([[library], []]);
  });
});

describe('palisade exec refuses', () => {
  test('a shell that a policy forbids, and lets the same principal run a plain program', async () => {
    const { status, out, err } = await sh(['--as', 'agent:ada'], 'touch canary');
    expect(err).toMatch(/^refused {2}policy\/denied {2}call_\w+\nCannot .*\n→ /);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(existsSync(join(workspace, 'canary'))).toBe(false);
    expect((await exec(['--as', 'agent:ada'], ['touch', 'canary'])).status).toBe(0);
    expect(existsSync(join(workspace, 'canary'))).toBe(true);
  });

  test.each([
    ['by its absolute path', () => secret],
    ['by a way up', () => '../secret'],
    ['behind a flag', () => `--files0-from=${secret}`],
    ['behind a link', () => 'link'],
  ])('an argument outside of the workspace %s in tier B', async (_, argument) => {
    symlinkSync(secret, join(workspace, 'link'));
    const { status, out, err } = await exec(['--tier', 'b'], ['wc', argument()]);
    expect(err).toContain('refused  runner/outside-workspace');
    expect({ status, out }).toEqual({ status: 2, out: '' });
  });

  test('a program that is not there', async () => {
    const { status, err } = await exec([], ['no-such-program']);
    expect(err).toContain('refused  runner/not-found');
    expect(status).toBe(2);
  });

  test('a workspace that holds the state of the gateway', async () => {
    workspace = base;
    const { status, err } = await exec([], ['true']);
    expect(err).toContain('refused  runner/invalid-workspace');
    expect(status).toBe(2);
  });

  test('a variable of the loader', async () => {
    const { status, err } = await exec(['--env', 'LD_PRELOAD=x.so'], ['true']);
    expect(err).toContain('refused  runner/environment');
    expect(status).toBe(2);
  });
});

describe('palisade exec --json', () => {
  test('prints the one document of a call and nothing else, and keeps the exit status', async () => {
    const { status, out, err } = await sh(['--json'], 'echo result; echo trouble >&2; touch new; exit 3');
    const document = JSON.parse(out);
    expect(Object.keys(document)).toEqual(
      'callId status code message remedy output usage receipt'.split(' '),
    );
    expect(document).toMatchObject({
      status: 'failed',
      code: 'tier/exited',
      output: {
        exitCode: 3,
        signal: null,
        stdout: 'result\n',
        stderr: 'trouble\n',
        changes: [{ path: 'new', change: 'added', kind: 'file' }],
      },
    });
    expect(err).toBe('');
    expect(status).toBe(3);
  });

  test('prints a refusal as a document, too', async () => {
    const { status, out } = await exec(['--json'], ['no-such-program']);
    expect(JSON.parse(out)).toMatchObject({ status: 'refused', code: 'runner/not-found', output: null });
    expect(status).toBe(2);
  });
});

describe('palisade exec --diff', () => {
  test('lists on standard error what was added, changed and removed', async () => {
    for (const name of ['kept', 'grown', 'gone']) writeFileSync(join(workspace, name), name);
    const { out, err } = await sh(['--diff'], 'cat kept; echo more >> grown; rm gone; echo new > fresh');
    expect(out).toBe('kept');
    expect(err).toBe('added   fresh\nremoved gone\nchanged grown\n');
  });

  test('is silent without the flag, but for what is dangerous', async () => {
    const { out, err } = await sh([], 'echo fine > fresh; mkfifo trap');
    expect(out).toBe('');
    expect(err).toBe('! trap: A program that opens it without care waits for ever.\n');
  });

  test('cannot be made to print a line or an escape of its own by a name', async () => {
    const { err } = await sh(['--diff'], `mkfifo "$(printf 'a\\n! b\\033[31m')"`);
    expect(err).not.toContain('\x1b');
    expect(err.match(/^added /gm)).toHaveLength(1);
    for (const line of err.trimEnd().split('\n')) expect(line).toMatch(/^(added {3}|! )a/);
  });
});

describe('palisade exec --dry-run', () => {
  test('shows the program, the sandbox and the verdict; nothing runs and nothing is recorded', async () => {
    const before = readHead(gateway.store).seq;
    const { status, out, err } = await sh(['--dry-run', '--limit', 'processes=5'], 'touch canary');
    expect(out).toMatch(/^program {5}\/\S+ \(shell\)$/m);
    expect(out).toMatch(/^sha256 {6}[0-9a-f]{64}$/m);
    expect(out).toContain("arguments   sh -c 'touch canary'\n");
    expect(out).toMatch(/^tier {8}c \(bubblewrap@/m);
    expect(out).toContain(`workspace   ${workspace}\n`);
    expect(out).toContain('limit       processes=5\n');
    expect(out).toMatch(/^launcher .* bwrap --args 3 -- /m);
    expect(out).toMatch(/^setup {7}mode=run .*'touch canary'$/m);
    expect(out).toContain('option      --unshare-net\n');
    expect(out).toMatch(/^allowed {2}user:ada runs \//m);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(existsSync(join(workspace, 'canary'))).toBe(false);
    expect(readHead(gateway.store).seq).toBe(before);
    // The same words without the flag do run.
    await sh(['--limit', 'processes=5'], 'touch canary');
    expect(existsSync(join(workspace, 'canary'))).toBe(true);
    expect(readHead(gateway.store).seq).toBeGreaterThan(before);
  });

  test('shows the launcher of tier b', async () => {
    const { out } = await exec(['--dry-run', '--tier', 'b', '--timeout', '7s'], ['true']);
    expect(out).toMatch(/^setup {7}.* wallms=7000 /m);
    expect(out).not.toContain('bwrap');
  });

  test('is one document with --json, of what a policy forbids as well', async () => {
    const flags = ['--dry-run', '--json', '--as', 'agent:ada', '--env', 'LANG=C'];
    const { status, out } = await sh(flags, 'touch canary');
    expect(JSON.parse(out)).toMatchObject({
      principal: 'agent:ada',
      kind: 'shell',
      argv: ['sh', '-c', 'touch canary'],
      tier: 'c',
      workspace,
      env: { LANG: 'C' },
      egress: 'strict',
      stdinBytes: null,
      limits: { processes: 512, wall_ms: 600_000 },
      launch: { args: expect.arrayContaining(['--cap-drop', 'ALL']) },
      policy: { verdict: 'deny', decidedBy: [{ id: 'no-programs-in-arguments' }] },
    });
    expect(status).toBe(2);
    expect(existsSync(join(workspace, 'canary'))).toBe(false);
  });

  test('refuses what a call would be refused for', async () => {
    const { status, out, err } = await exec(['--tier', 'b', '--dry-run'], ['cat', secret]);
    expect(err).toContain('refused  runner/outside-workspace');
    expect({ status, out }).toEqual({ status: 2, out: '' });
  });
});
