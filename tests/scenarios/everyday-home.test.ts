import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';

/* What a command sees of the operator's home: an identity for commits and, where they are granted, tools. */

const home = mkdtempSync('/var/tmp/palisade-home-');
chmodSync(home, 0o755);
afterAll(() => rmSync(home, { recursive: true, force: true }));

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text, { mode });
}

put('.gitconfig', '[user]\nname = Grace Hopper\nemail = grace@example.com\n[credential]\nhelper = store\n');
put('.nvm/versions/node/v18.0.0/bin/greet', '#!/bin/sh\necho greetings from 18\n', 0o755);
put('.nvm/versions/node/v20.0.0/bin/greet', '#!/bin/sh\necho greetings from 20\n', 0o755);
put('.nvm/versions/node/v20.0.0/etc/npmrc', 'token=hunter2\n');
put('.cargo/bin/crate', '#!/bin/sh\necho "crates in $CARGO_HOME"\n', 0o755);
put('.cargo/credentials.toml', 'token = "hunter2"\n');

const TOOLS = '[process]\ntool_homes = ["nvm", "rust"]\n';
const granted = sharedGateway(TOOLS, { HOME: home });
const plain = sharedGateway('[process]\ngit_identity = "none"\n', { HOME: home });

const sh = (line: string) => ({ command: 'sh', args: ['-c', line] });

describe('the tools of a home', () => {
  test('run by their names, from a shell as well, in the version that comes first', async () => {
    const direct = await granted.run({ command: 'greet' });
    expect(direct.output?.stdout).toBe('greetings from 20\n');
    const { output } = await granted.run(sh('greet; crate; greet > out.txt; cat out.txt'));
    expect(output?.stdout).toBe(`greetings from 20\ncrates in ${home}/.cargo\ngreetings from 20\n`);
  });

  test('come without the credentials beside them, and cannot be changed', async () => {
    const secrets = [`${home}/.cargo/credentials.toml`, `${home}/.nvm/versions/node/v20.0.0/etc/npmrc`];
    const line = `cat ${secrets.join(' ')}; echo x > ${home}/.cargo/bin/crate; touch ${home}/.cargo/bin/new; ls -A ${home}`;
    const { output } = await granted.run(sh(line));
    expect(output?.stdout).toBe('.cargo\n.nvm\n');
    expect(output?.stderr.match(/No such file/g)).toHaveLength(2);
    expect(output?.stderr.match(/Read-only file system/g)).toHaveLength(2);
  });

  test('are absent where they are not granted, and the refusal says how to grant them', async () => {
    const { code, remedy } = await plain.run({ command: 'greet' });
    expect([code, remedy]).toEqual(['runner/not-found', expect.stringContaining('tool_homes = ["nvm"]')]);
    expect((await plain.run(sh(`ls ${home}`))).output?.stderr).toContain('No such file');
  });
});

describe('the identity of the operator', () => {
  const COMMIT =
    'git init -q -b main r && cd r && git commit -q --allow-empty -m first && git log -1 --format="%an <%ae>"';

  test('is that of commits, and nothing else of its git settings is there', async () => {
    const { output } = await granted.run(sh(`${COMMIT}; git config --list --system`));
    const settings = 'user.name=Grace Hopper\nuser.email=grace@example.com\n';
    expect(output?.stdout).toBe(`Grace Hopper <grace@example.com>\n${settings}`);
  });

  test('gives way to that of a repository and of a command', async () => {
    const line = `git init -q -b main s && cd s && git config user.name Ada && git config user.email ada@example.com &&
      git commit -q --allow-empty -m a && git -c user.name=Eve commit -q --allow-empty -m b && git log --format=%an`;
    expect((await granted.run(sh(line))).output?.stdout).toBe('Eve\nAda\n');
  });

  test('is not shown where process.git_identity is "none"', async () => {
    const { output } = await plain.run(sh(COMMIT));
    expect(output?.stderr).toContain('Please tell me who you are');
    expect(output?.stdout).toBe('');
  });
});
