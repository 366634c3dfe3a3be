import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { ANSWERS_CALLS, personGateway } from '../fixtures/commands/as-person.ts';
import { heldGateway } from '../fixtures/commands/held.ts';
import { openCommandGateway } from '../fixtures/commands/index.ts';
import { runScript } from '../fixtures/jail/index.ts';
import { PEOPLE } from '../fixtures/workspaces/machine.ts';
import { sample } from '../volume/volume.ts';

const MINE = 'export MINE=1\n';
const program = heldGateway(ANSWERS_CALLS);

describe.each(PEOPLE)('a command of %s that reaches a protected file by a side way', (_, uid) => {
  const jail = personGateway(uid, program);
  /** All rows for the user of the tests, some of them for the other one. */
  const rows = <T>(all: readonly T[]) => (uid === PEOPLE[0]?.[1] ? all : sample(all, 3));
  let here = '';
  let number = 0;
  beforeEach(() => {
    number += 1;
    here = join(jail.workspace, `f${number}`);
    mkdirSync(here);
  });
  const run = (script: string) => runScript(jail, `cd f${number}\n${script}\n`);
  const put = (path: string, text = MINE) => {
    mkdirSync(dirname(join(here, path)), { recursive: true });
    writeFileSync(join(here, path), text);
  };
  const text = (path: string) => readFileSync(join(here, path), 'utf8');
  const isThere = (path: string) => lstatSync(join(here, path), { throwIfNoEntry: false }) !== undefined;

  test.each(
    rows([
      ['a link of that name to a file', 'echo evil > x; ln -s x .envrc'],
      ['a link of that name out of the workspace', 'ln -s ../../outside .envrc'],
      ['a link of that name to nothing', 'ln -s later .envrc'],
      ['a second name of a file', 'echo evil > x; ln x .envrc'],
      ['a file that was renamed', 'echo evil > x; mv x .envrc'],
      ['a pipe', 'mkfifo .envrc'],
      ['a file that no one may read', 'echo evil > .envrc; chmod 0 .envrc'],
      ['a file that is larger than any copy', 'truncate -s 3G .envrc 2>&- || truncate -s 200M .envrc'],
      ['a directory that it closes', 'echo evil > .envrc; chmod 555 .'],
    ]),
  )('is kept from %s', async (_, script) => {
    const end = await run(script);
    expect(isThere('.envrc'), end.message).toBe(false);
    expect(end.output?.findings).toMatchObject([{ path: `f${number}/.envrc`, why: 'set-aside' }]);
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'held', set_aside: 1 });
  });

  const WORKFLOW = 'mkdir -p .github/workflows; echo on $PWD > .github/workflows/x.yml';

  test.each(
    rows([
      ['as it is', `cd r; ${WORKFLOW}`, 'r'],
      ['after it was copied over itself', `cd r; cp -a .git g; rm -rf .git; mv g .git; ${WORKFLOW}`, 'r'],
      ['after it was moved', `mv r s; cd s; ${WORKFLOW}`, 's'],
      ['after it was copied and removed', `cp -a r s; rm -rf r; cd s; ${WORKFLOW}`, 's'],
      ['that it sends to another place', `cd r; mv .git ../g; echo gitdir: ../g > .git; ${WORKFLOW}`, 'r'],
    ]),
  )('cannot leave a CI file in a repository of before %s', async (_, script, folder) => {
    await run('git init -q r');
    const end = await run(script);
    expect(isThere(folder), end.message).toBe(true);
    expect(isThere(`${folder}/.github/workflows/x.yml`)).toBe(false);
    const fresh = await run(`git init -q new; cd new; ${WORKFLOW}`);
    expect(fresh.output?.findings).toEqual([]);
    expect(text('new/.github/workflows/x.yml')).toMatch(/^on .*new\n$/);
  });

  test.each(
    rows([
      ['writes into it', 'echo evil >> .envrc'],
      ['writes, and sets back its times', 'touch -r .envrc t; echo evil > .envrc; touch -r t .envrc'],
      ['replaces it', 'rm .envrc; echo evil > .envrc'],
      ['makes it a link', 'echo evil > x; ln -sf x .envrc'],
      ['makes it a directory and back', 'rm .envrc; mkdir .envrc; rmdir .envrc; echo evil > .envrc'],
      ['makes it executable', 'chmod 755 .envrc'],
      ['writes through another name of it', 'echo evil > other'],
      ['moves its directory away and back', 'cd ..; mv f$N g; echo evil > g/.envrc; mv g f$N'],
    ]),
  )('has the file restored when it %s', async (_, script) => {
    put('.envrc');
    linkSync(join(here, '.envrc'), join(here, 'other'));
    const end = await run(`N=${number}\n${script}`);
    expect(text('.envrc'), end.message).toBe(MINE);
    expect(lstatSync(join(here, '.envrc')).mode & 0o777).toBe(0o644);
    expect(end.output?.findings).toContainEqual(
      expect.objectContaining({ path: `f${number}/.envrc`, why: 'set-aside' }),
    );
  });

  test('has a link restored as a link, and what it leads to', async () => {
    put('env/dev');
    symlinkSync('env/dev', join(here, '.envrc'));
    await run('rm .envrc; echo evil > .envrc; echo evil > env/dev');
    expect(readlinkSync(join(here, '.envrc'))).toBe('env/dev');
    expect(text('env/dev')).toBe(MINE);
  });

  test('is kept from the directory that a protected name leads to', async () => {
    put('conf/settings.json', '{}');
    symlinkSync('conf', join(here, '.vscode'));
    await run(
      `echo '{"git.path":"./evil"}' > conf/settings.json; echo '{"tasks":[{"runOn":"folderOpen"}]}' > conf/tasks.json`,
    );
    expect(text('conf/settings.json')).toBe('{}');
    expect(isThere('conf/tasks.json')).toBe(false);
  });

  test('is not led out of the workspace by it: what links lead to stays as it is', async () => {
    const outside = join(dirname(jail.workspace), `outside-${number}`);
    mkdirSync(outside);
    writeFileSync(join(outside, 'settings.json'), MINE);
    put('.claude/settings.json');
    await run(`rm -r .claude; ln -s ../../outside-${number} .claude`);
    expect(isThere('.claude')).toBe(false);
    expect(readFileSync(join(outside, 'settings.json'), 'utf8')).toBe(MINE);
    expect(readdirSync(outside)).toEqual(['settings.json']);
  });

  test('may move a project and remove what was there, and leaves no second one', async () => {
    put('p/.envrc');
    put('p/.git/hooks/pre-commit');
    put('q/.envrc');
    const end = await run('mv p r; rm q/.envrc');
    expect(end.output?.findings).toEqual([]);
    for (const path of ['r/.envrc', 'r/.git/hooks/pre-commit']) expect(text(path)).toBe(MINE);
    expect(isThere('q/.envrc')).toBe(false);
    const copied = await run('cp -r r s');
    expect(copied.execution?.isolation).toMatchObject({ protected_files: 'held', set_aside: 2 });
    expect([isThere('s'), isThere('s/.envrc'), isThere('s/.git/hooks/pre-commit')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('leaves nothing by a process that writes until it is killed', async () => {
    const script = `for i in 1 2 3; do
      setsid bash -c 'trap "" HUP TERM; while :; do echo evil > .envrc; mkdir -p .git/hooks; echo evil > .git/hooks/pre-push; done' &
    done
    while ! [ -s .git/hooks/pre-push ]; do sleep 0.01; done`;
    const end = await run(script);
    expect(end, end.message).toMatchObject({
      code: 'ok',
      output: { processesKilledAtEnd: expect.any(Number) },
    });
    await sleep(200);
    expect(isThere('.envrc')).toBe(false);
    expect(isThere('.git/hooks/pre-push')).toBe(false);
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'held' });
  });

  test.each(
    rows([
      ['its time is over', { limits: { wall_ms: 1_500 } }, 'tier/timed-out'],
      [
        'it prints too much',
        { limits: { output_bytes: 10_000 }, output_overflow: 'kill' },
        'tier/output-exceeded',
      ],
    ]),
  )('leaves nothing when %s', async (_, more, code) => {
    const script = `cd f${number}; while :; do echo evil > .envrc; echo ${'x'.repeat(90)}; [ -n "$SLOW" ] && sleep 0.05; done`;
    const slow = code === 'tier/timed-out' ? 'SLOW=1;' : '';
    const end = await runScript(jail, `${slow}${script}`, more);
    expect(end.code).toBe(code);
    expect(isThere('.envrc')).toBe(false);
    expect(end.output?.findings).toMatchObject([{ path: `f${number}/.envrc`, why: 'set-aside' }]);
  });

  test.each([
    ['the inner', '.', 'sub'],
    ['the outer', 'sub', '.'],
  ])('gains nothing by a second command whose workspace overlaps: %s one', async (_, first, second) => {
    put('sub/.envrc');
    const inside = (workspace: string, script: string) =>
      runScript(jail, `cd ${workspace === '.' ? 'sub' : '.'}\n${script}\n`, {
        workspace: join(here, workspace),
      });
    const planting = inside(
      first,
      'echo evil > .envrc; touch planted; while ! [ -e begun ]; do sleep 0.01; done',
    );
    while (!isThere('sub/planted')) await sleep(5);
    const keeping = inside(
      second,
      'cp .envrc $TMPDIR/x; touch begun; while ! [ -e go ]; do sleep 0.01; done; cp $TMPDIR/x .envrc; cp $TMPDIR/x copied',
    );
    await planting;
    writeFileSync(join(here, 'sub/go'), '');
    const end = await keeping;
    // The control: it did put back what the other one had planted.
    expect(text('sub/copied'), end.message).toBe('evil\n');
    expect(end.output?.findings).toMatchObject([{ why: 'set-aside' }]);
    expect(text('sub/.envrc')).toBe(MINE);
  });

  test('gains nothing by a second command that begins in between', async () => {
    put('.envrc');
    const first = run('echo evil > .envrc; touch planted; while ! [ -e go ]; do sleep 0.01; done');
    while (!isThere('planted')) await sleep(5);
    const second = run('touch begun; while ! [ -e gone ]; do sleep 0.01; done');
    while (!isThere('begun')) await sleep(5);
    writeFileSync(join(here, 'go'), '');
    await first;
    expect(text('.envrc')).toBe(MINE);
    writeFileSync(join(here, 'gone'), '');
    expect((await second).output?.findings).toEqual([]);
    expect(text('.envrc')).toBe(MINE);
  });
});

describe('a command that hides its trap among very many files', () => {
  const MANY = `import os
for i in range(600):
    os.makedirs(f'd/{i}')
    for j in range(100):
        open(f'd/{i}/{j}', 'w').close()
`;
  test('is kept from it all the same; only the list of changes has an end', async () => {
    const jail = await openCommandGateway('[process]\nfile_bytes = 1048576\n');
    // What only configuration or a link makes dangerous is found among them, too.
    const config = '[core]\n\thooksPath = d/0/hooks.d\n';
    mkdirSync(join(jail.workspace, '.git'));
    writeFileSync(join(jail.workspace, '.git/config'), config);
    symlinkSync('d/1/scripts', join(jail.workspace, '.husky'));
    const script = `python3 -B - <<'END'\n${MANY}END\nfor i in 0/hooks.d 1/scripts; do mkdir d/$i; echo evil > d/$i/pre-push; done; mkdir -p d/599/x/.git/hooks; echo evil > d/599/x/.git/hooks/pre-commit; echo evil > .envrc`;
    const end = await runScript(jail, script, { limits: { wall_ms: 100_000 } });
    expect(end.output, end.message).toMatchObject({ workspaceSeen: 'in part' });
    expect(end.output?.findings.map(({ path, why }) => `${why} ${path}`).sort()).toEqual([
      'set-aside .envrc',
      'set-aside d/0/hooks.d/pre-push',
      'set-aside d/1/scripts/pre-push',
      'set-aside d/599/x/.git/hooks/pre-commit',
    ]);
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'held', set_aside: 4 });
    expect(existsSync(join(jail.workspace, '.envrc'))).toBe(false);
    const again = await runScript(jail, 'echo evil > d/1/.envrc; echo x > d/2/3');
    expect(again.output?.findings).toMatchObject([{ path: 'd/1/.envrc', why: 'set-aside' }]);
  });
});
