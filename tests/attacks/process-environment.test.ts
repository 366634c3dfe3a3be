import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf } from '../fixtures/commands/probe.ts';

/* A command reads the gateway's variables, and a caller sets those that make programs load code. */

const gateway = sharedGateway();
const probe = proberOf(gateway);
const CANARY = 'host-canary-4f1c';

beforeAll(() => {
  process.env.PALISADE_TEST_CANARY = CANARY;
});
afterAll(() => {
  delete process.env.PALISADE_TEST_CANARY;
});

describe('what a command is given (B14)', () => {
  const SHOW =
    'import json, os\nprint(json.dumps({"env": dict(os.environ), "raw": open("/proc/self/environ").read()}))';

  test('is our own base and nothing of the gateway’s', async () => {
    const { env, raw } = printedBy(await probe(SHOW)) as { env: Record<string, string>; raw: string };
    // Python itself adds LC_CTYPE where the locale is the plain one.
    expect(
      Object.keys(env)
        .filter((name) => name !== 'LC_CTYPE')
        .sort(),
    ).toEqual(['HOME', 'LANG', 'PATH', 'PIP_RETRIES', 'TERM', 'TMPDIR', 'npm_config_fetch_retries']);
    expect(env.HOME).toBe(gateway.workspace);
    expect(raw).not.toContain(CANARY);
    const bare = spawnSync('/usr/bin/python3', ['-c', SHOW], { encoding: 'utf8' });
    expect(JSON.parse(bare.stdout).env.PALISADE_TEST_CANARY).toBe(CANARY);
  });

  test('is what the caller may set, and that alone', async () => {
    const { env } = printedBy(await probe(SHOW, { env: { TZ: 'Europe/Prague', NO_COLOR: '1' } })) as {
      env: Record<string, string>;
    };
    expect(env).toMatchObject({ TZ: 'Europe/Prague', NO_COLOR: '1' });
  });

  test.each([
    ...[
      'LD_PRELOAD',
      'LD_LIBRARY_PATH',
      'LD_AUDIT',
      'NODE_OPTIONS',
      'PYTHONSTARTUP',
      'PYTHONPATH',
      'BASH_ENV',
      'ENV',
    ],
    ...[
      'GIT_SSH_COMMAND',
      'GIT_CONFIG_COUNT',
      'PERL5OPT',
      'PERL5LIB',
      'RUBYOPT',
      'JAVA_TOOL_OPTIONS',
      'PATH',
      'HOME',
    ],
    ...[
      'ld_preload',
      'GCONV_PATH',
      'SHELLOPTS',
      'PS4',
      'IFS',
      'EDITOR',
      'PAGER',
      'http_proxy',
      'SSH_AUTH_SOCK',
    ],
    ...[
      'BASH_FUNC_x%%',
      'A=B',
      '',
      'LD_PRELOAD\n',
      'NOT_ON_THE_LIST',
      'PALISADE_STATE_DIR',
      '__proto__',
      'toString',
    ],
  ])('the variable %j is not the caller’s to set', async (name) => {
    const env = Object.fromEntries([[name, 'x']]);
    const end = await gateway.run({ command: 'true', tier: 'b', env });
    expect(end).toMatchObject({
      code: expect.stringMatching(/^(runner\/environment|registry\/invalid-input)$/),
      output: null,
    });
  });

  test('a variable of a shell that names a file would have run it', () => {
    const script = join(gateway.workspace, 'rc.sh');
    writeFileSync(script, 'echo loaded\n');
    const { stdout } = spawnSync('bash', ['-c', ':'], {
      env: { PATH: '/usr/bin:/bin', BASH_ENV: script },
      // With a socket there, bash takes itself for a remote shell and reads another file.
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
    });
    expect(stdout).toBe('loaded\n');
  });
});

describe('what others on the machine can read of a run (B15)', () => {
  test('is neither its input nor its variables, and of its words only those that the command has', async () => {
    const [said, given, set] = ['told-by-stdin-77', 'an-argument-77', 'of-a-variable-77'];
    const program = "import os, time\nopen('up', 'w')\nwhile not os.path.exists('seen'): time.sleep(0.02)";
    writeFileSync(join(gateway.workspace, 'wait.py'), program);
    const running = gateway.run({
      ...{ command: '/usr/bin/python3', args: ['wait.py', given], tier: 'b' },
      ...{ stdin: said, env: { LANGUAGE: set } },
    });
    await Promise.race([running, appearance('up')]);
    const lines = commandLines();
    writeFileSync(join(gateway.workspace, 'seen'), '');
    expect(await running).toMatchObject({ code: 'ok' });
    expect(lines.filter((line) => line.includes(said) || line.includes(set))).toEqual([]);
    // The command itself, and neither the launcher nor anybody else.
    expect(lines.filter((line) => line.includes(given))).toEqual([`/usr/bin/python3\0wait.py\0${given}\0`]);
  });
});

async function appearance(name: string): Promise<void> {
  while (!readdirSync(gateway.workspace).includes(name)) await sleep(20);
}

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'latin1')];
      } catch {
        return [];
      }
    });
}
