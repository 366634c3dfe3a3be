import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PROTECTED_NAMES } from '../../packages/gateway/src/core/protected.table.ts';
import { ANSWERS_CALLS, type PersonGateway, personGateway } from '../fixtures/commands/as-person.ts';
import { heldGateway } from '../fixtures/commands/held.ts';
import { runScript } from '../fixtures/jail/index.ts';
import { PEOPLE } from '../fixtures/workspaces/machine.ts';
import { sample } from '../volume/volume.ts';

/** Everyday commands of git on the host, each of which springs some trap. */
const STATUS = ['status'];
const COMMIT = ['commit', '--quiet', '--allow-empty', '--message=x'];
const LOG = ['-c', 'core.pager=cat', 'log', '-p', '--ext-diff'];

type Trap = {
  readonly name: string;
  /** What the user has there before the run. */
  readonly before?: string;
  /** What the command does; `$TRAP` is a program that touches a file of the host. */
  readonly script: string;
  /** The workspace of the call, where it is not the one that the user works in. */
  readonly workspace?: string;
  /** Where the user is afterwards, and what the user types. */
  readonly at?: string;
  readonly types: readonly string[];
  readonly typesNext?: readonly string[];
};

const INIT = 'git init --quiet . && git commit --quiet --allow-empty --message=first';
const HOOK = (file: string) => `printf '#!/bin/sh\\n%s\\n' "$TRAP" > ${file}; chmod +x ${file}`;
const BARE = (at: string) =>
  `mkdir -p ${at}/objects ${at}/refs ${at}/hooks; echo 'ref: refs/heads/main' > ${at}/HEAD`;
const EVIL_CONFIG = (file: string) =>
  `printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = "%s; false"\\n' "$TRAP" > ${file}`;

/** Puts an entry into the index that git would not add: one of a harmless name is added and then renamed in place. */
const INDEX_ENTRY = (path: string, file: string, options = '') =>
  `printf '#!/bin/sh\\n%s\\n' "$TRAP" > x; git update-index --add --cacheinfo 100755,$(git hash-object -w x),${'x'.repeat(path.length)}
  git update-index ${options}; chmod u+w .git/*index*; sed -i s:${'x'.repeat(path.length)}:${path}: ${file}`;

const TRAPS: readonly Trap[] = [
  { name: 'a hook', before: INIT, script: HOOK('.git/hooks/pre-commit'), types: COMMIT },
  {
    name: 'a hook of a repository it made',
    script: `${INIT}; ${HOOK('.git/hooks/post-commit')}`,
    types: COMMIT,
  },
  { name: 'core.fsmonitor', before: INIT, script: 'git config core.fsmonitor "$TRAP; false"', types: STATUS },
  {
    name: 'core.hooksPath',
    before: INIT,
    script: `mkdir h; ${HOOK('h/pre-commit')}; git config core.hooksPath h`,
    types: COMMIT,
  },
  {
    name: 'a directory that core.hooksPath names already',
    before: `${INIT}; mkdir h; git config core.hooksPath h`,
    script: HOOK('h/pre-commit'),
    types: COMMIT,
  },
  {
    name: 'a repository it makes of the directory of hooks',
    before: `${INIT}; git config core.hooksPath .githooks`,
    script: `git init --quiet .githooks; ${HOOK('.githooks/pre-commit')}`,
    types: COMMIT,
  },
  {
    name: 'the directory of hooks in a linked worktree',
    before: `${INIT}; git config core.hooksPath tools/h; git worktree add --quiet wt`,
    script: `mkdir -p wt/tools/h; ${HOOK('wt/tools/h/pre-commit')}`,
    at: 'wt',
    types: COMMIT,
  },
  {
    name: 'the directory of hooks that an included file names',
    before: `${INIT}; mkdir h; git config include.path ../shared.config; git config --file shared.config core.hooksPath h`,
    script: HOOK('h/pre-commit'),
    types: COMMIT,
  },
  {
    name: 'a work tree that is the directory of hooks',
    before: `${INIT}; git config core.hooksPath "$PWD"`,
    script: HOOK('pre-commit'),
    types: COMMIT,
  },
  {
    name: 'a workspace below the repository that has the hooks there',
    before: `${INIT}; mkdir -p tools/h; git config core.hooksPath tools/h`,
    workspace: 'tools',
    script: HOOK('h/pre-commit'),
    types: COMMIT,
  },
  {
    name: 'a program that the configuration names already',
    before: `${INIT}; mkdir tools; printf '#!/bin/sh\\nexit 1\\n' > tools/watch; chmod +x tools/watch; git config core.fsmonitor ./tools/watch`,
    script: HOOK('tools/watch'),
    types: STATUS,
  },
  {
    name: 'the configuration of another repository',
    before: `${INIT}; git init --quiet --bare fixture.git; git config --file fixture.git/config core.fsmonitor "$TRAP; false"`,
    script: 'sed s/bare.*// fixture.git/config > .git/config',
    types: STATUS,
  },
  {
    name: 'a hook of another repository that was not executable',
    before: `${INIT}; git init --quiet other; ${HOOK('other/.git/hooks/pre-commit')}; chmod 644 other/.git/hooks/pre-commit`,
    script: 'cp other/.git/hooks/pre-commit .git/hooks; chmod 755 .git/hooks/pre-commit',
    types: COMMIT,
  },
  {
    name: 'a hook that it moves from another repository',
    before: `${INIT}; git init --quiet other; ${HOOK('other/.git/hooks/pre-commit')}`,
    script: 'mv other/.git/hooks/pre-commit .git/hooks',
    types: COMMIT,
  },
  {
    name: 'the target of a link, among very many links to it',
    before: `${INIT}; mkdir -p tools/h; rm -r .git/hooks; ln -s ../tools/h .git/hooks`,
    script: `for i in $(seq 40); do ln -s tools/h l$i; done; ${HOOK('tools/h/pre-commit')}`,
    types: COMMIT,
  },
  {
    name: 'a file that is included already',
    before: `${INIT}; git config include.path ../shared.config; touch shared.config`,
    script: 'git config --file shared.config core.fsmonitor "$TRAP; false"',
    types: STATUS,
  },
  {
    name: 'an include',
    before: INIT,
    script: 'git config --file x core.fsmonitor "$TRAP; false"; git config include.path ../x',
    types: STATUS,
  },
  {
    name: 'a filter',
    before: INIT,
    script: 'echo "* filter=x" > .gitattributes; echo y > y; git config filter.x.clean "$TRAP"',
    types: ['add', '--all'],
  },
  {
    name: 'diff.external',
    before: `${INIT}; echo 1 > f; git add f; git commit --quiet --message=f`,
    script: 'git config diff.external "$TRAP"',
    types: LOG,
  },
  {
    name: 'an alias',
    before: INIT,
    script: 'git config alias.st "!$TRAP"',
    types: ['st'],
  },
  {
    name: 'an address of a remote',
    before: INIT,
    script:
      'git config protocol.ext.allow always; git remote add o "ext::sh -c $(echo $TRAP | tr " " +)"; git config remote.o.url "ext::$TRAP"',
    types: ['fetch', 'o'],
  },
  {
    name: 'a file .git that leads to a repository of another name',
    script: `${BARE('store')}; ${EVIL_CONFIG('store/config')}; echo 'gitdir: store' > .git`,
    types: STATUS,
  },
  {
    name: 'a link .git',
    script: `${BARE('store')}; ${EVIL_CONFIG('store/config')}; ln -s store .git`,
    types: STATUS,
  },
  {
    name: 'a repository without a name, in a subdirectory',
    script: `${BARE('docs/assets')}; ${EVIL_CONFIG('docs/assets/config')}`,
    at: 'docs/assets',
    types: STATUS,
  },
  {
    name: 'a directory that commondir leads to',
    before: INIT,
    script: `mkdir -p c w; cp -r .git/objects .git/refs c; cp .git/HEAD w; ${EVIL_CONFIG('c/config')}; echo ../c > w/commondir; rm -rf .git; echo 'gitdir: w' > .git`,
    types: STATUS,
  },
  {
    name: 'the configuration of a worktree',
    before: `${INIT}; git config extensions.worktreeConfig true; git worktree add --quiet wt`,
    script: 'git -C wt config --worktree core.fsmonitor "$TRAP; false"',
    at: 'wt',
    types: STATUS,
  },
  {
    name: 'a repository of a submodule',
    before: `${INIT}; mkdir -p .git/modules/m sub; git init --quiet --bare .git/modules/m; echo 'gitdir: ../.git/modules/m' > sub/.git; git -C sub config core.bare false; git -C sub config core.worktree ../../../sub`,
    script: HOOK('.git/modules/m/hooks/pre-commit'),
    at: 'sub',
    types: COMMIT,
  },
  {
    name: 'a repository that was made elsewhere and moved',
    before: INIT,
    script: `cp -r .git copy; ${HOOK('copy/hooks/pre-commit')}; git config --file copy/config core.fsmonitor "$TRAP; false"; mv .git old; mv copy .git; rm -rf old`,
    types: COMMIT,
  },
  {
    name: 'a parent directory that was swapped',
    before: `mkdir p; cd p; ${INIT}; cd ..`,
    script: `cp -r p q; ${HOOK('q/.git/hooks/pre-commit')}; mv p r; mv q p`,
    at: 'p',
    types: COMMIT,
  },
  {
    name: 'an exec line of a rebase',
    before: `${INIT}; git commit --quiet --allow-empty --message=second`,
    script: `GIT_SEQUENCE_EDITOR='sed -i 1s/.*/break/' git rebase --quiet --interactive HEAD~1; printf 'exec %s\\n' "$TRAP" >> .git/rebase-merge/git-rebase-todo`,
    types: ['rebase', '--continue'],
  },
  {
    name: 'an exec line from the format of a rebase',
    before: `${INIT}; git switch --quiet --create b; echo 1 > f; git add f; git commit --quiet --message=b; git switch --quiet -; echo 1 > g; git add g; git commit --quiet --message=m; git switch --quiet b`,
    script: 'git config rebase.instructionFormat "%s%nexec $TRAP"',
    types: ['rebase', '-'],
  },
  {
    name: 'a work tree in the repository',
    before: INIT,
    script: `mkdir hooks; ${HOOK('hooks/post-checkout')}; git add hooks; git commit --quiet --message=h; rm -rf hooks; git config core.worktree ../.git`,
    types: ['checkout', '.'],
  },
  {
    name: 'an entry of the index',
    before: INIT,
    script: INDEX_ENTRY('.git/hooks/post-checkout', '.git/index'),
    types: ['checkout', '.'],
  },
  {
    name: 'an entry of an index with prefixes',
    before: INIT,
    script: INDEX_ENTRY('.git/hooks/post-checkout', '.git/index', '--index-version=4'),
    types: ['checkout', '.'],
  },
  {
    name: 'an entry of a shared index',
    before: INIT,
    script: INDEX_ENTRY('.git/hooks/post-checkout', '.git/sharedindex.*', '--split-index'),
    types: ['checkout', '.'],
  },
  {
    name: 'the name of a remote that is an option',
    before: `${INIT}; git init --quiet --bare ../b$$.git; git remote add origin ../b$$.git; git push --quiet origin HEAD`,
    script: 'git config "remote.--upload-pack=$TRAP;x.url" .',
    types: ['fetch', '--all'],
  },
  {
    name: 'an alias that answers for a helper',
    before: INIT,
    script: `touch o; git add o; git commit --quiet --message="$(printf '[core]\\n\\tfsmonitor = "%s; false"\\n\\trepositoryformatversion = 0\\n' "$TRAP")"; git config remote.o.url foo://x; git config remote.o.fetch "+refs/heads/*:refs/remotes/o/*"; git config alias.remote-foo "log -1 --format=%B --output=.git/config --"`,
    types: ['fetch', 'o'],
    typesNext: STATUS,
  },
];

const ME = {
  GIT_AUTHOR_NAME: 'n',
  GIT_AUTHOR_EMAIL: 'n@example.com',
  GIT_COMMITTER_NAME: 'n',
  GIT_COMMITTER_EMAIL: 'n@example.com',
};
const HOST_ENV = {
  ...{ PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_GLOBAL: '/dev/null', GIT_EDITOR: 'true' },
  ...ME,
};
const IDENTITY = Object.entries(ME)
  .map(([name, value]) => `export ${name}=${value}`)
  .join('\n');

let number = 0;
/** Plants a trap in a folder of its own, or in the workspace itself, and acts as the user afterwards. */
async function spring(
  jail: PersonGateway,
  trap: Trap,
  { isRoot = false, ...more }: { isRoot?: boolean; allow_writes?: readonly string[] },
) {
  number += 1;
  const folder = isRoot ? '.' : `f${number}`;
  const here = join(jail.workspace, folder);
  const sprung = join(dirname(jail.workspace), `sprung-${number}`);
  makeFolder(here, jail);
  // What other traps left would be looked at in every run to come.
  if (!isRoot) onTestFinished(() => rmSync(here, { recursive: true, force: true }));
  if (trap.before !== undefined) {
    const env = { ...HOST_ENV, TRAP: `touch ${sprung}` };
    const where = { cwd: here, env, ...jail.ids };
    const made = spawnSync('bash', ['-ec', trap.before], { ...where, encoding: 'utf8' });
    expect(made.status, made.stderr).toBe(0);
  }
  const workspace = trap.workspace === undefined ? {} : { workspace: join(here, trap.workspace) };
  const script = `cd ${trap.workspace === undefined ? folder : '.'}\n${IDENTITY}\nexport TRAP="touch ${sprung}"\n${trap.script}\n`;
  const end = await runScript(jail, script, { ...workspace, ...more });
  expect(end.output?.stderr, end.message).not.toMatch(/fatal|syntax error/);
  const where = { cwd: join(here, trap.at ?? '.'), env: HOST_ENV, input: '', ...jail.ids };
  for (const types of [trap.types, trap.typesNext ?? []])
    if (types.length > 0) spawnSync('git', [...types], where);
  return { end, isSprung: existsSync(sprung), here };
}

/** A folder of the person whose gateway it is. */
function makeFolder(path: string, { ids: { uid, gid } }: PersonGateway): void {
  mkdirSync(path, { recursive: true });
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

const program = heldGateway(ANSWERS_CALLS);

describe.each(PEOPLE)('a command of %s that sets a trap for git', (_, uid) => {
  const jail = personGateway(uid, program, `[process]\nallow_writes = ${JSON.stringify(PROTECTED_NAMES)}\n`);
  const traps = uid === PEOPLE[0]?.[1] ? TRAPS : sample(TRAPS, 4);

  test.each(traps)('by $name: git on the host does not run it', async (trap) => {
    const { end, isSprung } = await spring(jail, trap, {});
    expect(isSprung).toBe(false);
    expect(end.output?.findings.map(({ why }) => why)).toContain('set-aside');
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'held' });
  });

  test.each(traps)('by $name: git runs it where the call was allowed to write it', async (trap) => {
    const { end, isSprung } = await spring(jail, trap, { allow_writes: PROTECTED_NAMES });
    expect(end.output?.findings.filter(({ why }) => why === 'set-aside')).toEqual([]);
    expect(isSprung).toBe(true);
  });

  test('in the workspace itself, in one run or in several', async () => {
    const whole: Trap = { name: 'whole', script: `${BARE('.')}; ${EVIL_CONFIG('config')}`, types: STATUS };
    const clean = () => {
      for (const part of ['HEAD', 'objects', 'refs', 'hooks', 'config'])
        rmSync(join(jail.workspace, part), { recursive: true, force: true });
    };
    onTestFinished(clean);
    expect((await spring(jail, whole, { isRoot: true, allow_writes: PROTECTED_NAMES })).isSprung).toBe(true);
    clean();
    expect((await spring(jail, whole, { isRoot: true })).isSprung).toBe(false);
    rmSync(join(jail.workspace, 'HEAD'));
    // Without a HEAD it is not a repository yet, and an ordinary file is not protected.
    const first = await runScript(jail, `export TRAP=x; ${EVIL_CONFIG('config')}`);
    expect(first.output?.findings).toEqual([]);
    const parts = { ...whole, script: `echo 'ref: refs/heads/main' > HEAD` };
    const { end, isSprung } = await spring(jail, parts, { isRoot: true });
    expect(isSprung).toBe(false);
    expect(end.output?.findings).toMatchObject([{ path: 'config', why: 'set-aside' }]);
    expect(readFileSync(join(jail.workspace, 'config'), 'utf8')).not.toContain('fsmonitor');
  });

  test('keeps what is harmless in a configuration, and what the user had there', async () => {
    const here = join(jail.workspace, 'mixed');
    makeFolder(here, jail);
    spawnSync('git', ['init', '--quiet', here], { env: HOST_ENV, ...jail.ids });
    const mine = '[core]\n\tpager = mine\n';
    writeFileSync(join(here, '.git/config'), mine);
    const script = 'git -C mixed remote add o https://x.example/y; git -C mixed config core.editor evil';
    await runScript(jail, script);
    const config = readFileSync(join(here, '.git/config'), 'utf8');
    expect(config).toContain('url = https://x.example/y');
    expect(config).toContain('pager = mine');
    expect(config).not.toContain('evil');
  });

  test('keeps what the user had staged, and files outside, from an index that names them', async () => {
    const outside = join(dirname(jail.workspace), 'outside');
    writeFileSync(outside, 'mine');
    const before = `${INIT}; echo 1 > staged; git add staged`;
    const script = INDEX_ENTRY('../../outside', '.git/index');
    const trap: Trap = { name: 'outside', before, script, types: ['checkout', '.'] };
    const { here } = await spring(jail, trap, {});
    expect(readFileSync(outside, 'utf8')).toBe('mine');
    const where = { cwd: here, env: HOST_ENV, ...jail.ids };
    const staged = spawnSync('git', ['diff', '--cached', '--name-only'], { ...where, encoding: 'utf8' });
    expect(staged.stdout).toBe('staged\n');
    await spring(jail, trap, { allow_writes: PROTECTED_NAMES });
    expect(readFileSync(outside, 'utf8')).toContain('touch');
  });
});
