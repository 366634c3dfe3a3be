import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ForbiddenPlaces, homesIn } from '../../src/runner/forbidden.ts';
import { PROJECT_MARKERS } from '../../src/runner/places.table.ts';
import { findRoots, type RootGrants } from '../../src/runner/roots.ts';
import { tempDir } from '../fixture/temp-dir.ts';

/** A home with a project, a folder without one and a state directory, and another account beside it. */
function makeMachine() {
  const base = realpathSync(tempDir());
  const [home, other] = [join(base, 'ada'), join(base, 'bob')];
  const [project, folder, stateDir] = [join(home, 'project'), join(home, 'folder'), join(home, 'state')];
  for (const path of [join(project, 'src'), folder, stateDir, join(home, '.ssh'), join(other, '.ssh')])
    mkdirSync(path, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{}');
  const passwd = () => `root:x:0:0::/root:/bin/sh\nbob:x:7:7::${other}:/bin/sh\nbroken\nnet:x:8:8:::\n`;
  const forbidden = () => new ForbiddenPlaces({ stateDir, home }, { passwd, mounts: () => '' });
  const roots = (grants: Partial<RootGrants>) =>
    findRoots({ granted: [], configured: [], cwd: null, ...grants }, forbidden());
  return { base, home, other, project, folder, stateDir, roots, forbidden };
}

describe('findRoots()', () => {
  it('takes the directory that palisade was started in where it is in a project, and only that', () => {
    const { project, roots } = makeMachine();
    expect(roots({ cwd: project })).toEqual({
      ...{ roots: [project], defaultWorkspace: project },
      grantedBy: 'the project that palisade was started in',
      startedIn: `"${project}" is the root: "package.json" in "${project}" makes it a project`,
    });
    const inner = join(project, 'src');
    expect(roots({ cwd: inner })).toMatchObject({ roots: [inner], defaultWorkspace: inner });
  });

  it.each(PROJECT_MARKERS)('knows a project by %s', (marker) => {
    const { folder, roots } = makeMachine();
    expect(roots({ cwd: folder }).roots).toEqual([]);
    mkdirSync(join(folder, marker));
    expect(roots({ cwd: folder }).roots).toEqual([folder]);
  });

  it('takes no other directory, and says why', () => {
    const { folder, home, other, stateDir, roots } = makeMachine();
    const why = (cwd: string) => {
      const { roots: found, defaultWorkspace, startedIn } = roots({ cwd });
      expect([found, defaultWorkspace], cwd).toEqual([[], null]);
      return startedIn;
    };
    expect(why(folder)).toContain('neither it nor a directory above it has the mark of a project');
    // A marker makes no project of a forbidden directory, nor of what lies below it.
    for (const path of [home, other, join(home, '.ssh'), stateDir]) mkdirSync(join(path, '.git'));
    expect(why(folder)).toContain('neither it nor a directory above it');
    expect(why(home)).toContain('is not a root: it is a home directory');
    expect(why(other)).toContain('it is a home directory');
    expect(why(join(home, '.ssh'))).toContain(`it is in "${home}", a home directory`);
    expect(why(stateDir)).toContain('it is the state directory of palisade');
    expect(why('/')).toContain('it is the top of the file system');
    expect(why('/tmp')).toContain('it is a directory for many programs or users');
    expect(roots({ cwd: null })).toMatchObject({ roots: [], startedIn: null });
  });

  it('takes what the command line names, else what the configuration names, and never both', () => {
    const { project, folder, roots } = makeMachine();
    expect(roots({ granted: [folder], configured: [project], cwd: project })).toEqual({
      ...{ roots: [folder], grantedBy: '--workspace', defaultWorkspace: folder },
      startedIn: `"${project}" is not in a root: --workspace names others`,
    });
    expect(roots({ configured: [folder, project], cwd: join(project, 'src') })).toMatchObject({
      ...{
        roots: [folder, project],
        grantedBy: 'process.workspaces',
        defaultWorkspace: join(project, 'src'),
      },
    });
  });

  it.each<[string, (machine: ReturnType<typeof makeMachine>) => string]>([
    ['the home', ({ home }) => home],
    ['what contains it', ({ base }) => base],
    ['the home of another account', ({ other }) => other],
    ['a dot-directory', ({ home }) => join(home, '.ssh')],
    ['one that does not exist yet', ({ other }) => join(other, '.config/x')],
    ['the state directory', ({ stateDir }) => stateDir],
    ['a part of it', ({ stateDir }) => join(stateDir, 'keys')],
    ['a link to it', ({ folder }) => join(folder, 'link')],
    ['a way up', ({ folder }) => join(folder, '..')],
    ['the root', () => '/'],
    ['a directory of the system', () => '/etc/ssh'],
  ])('refuses %s as a grant, with the remedy', (_, choose) => {
    const machine = makeMachine();
    symlinkSync(machine.stateDir, join(machine.folder, 'link'));
    const path = choose(machine);
    const remedy = expect.stringMatching(
      /process\.workspaces = .*palisade connect CLIENT --workspace DIR.*--workspace DIR of/,
    );
    expect(thrownBy(() => machine.roots({ configured: [path] }))).toMatchObject({
      code: 'config/invalid',
      remedy,
    });
    expect(thrownBy(() => machine.roots({ granted: [path] }))).toMatchObject({
      code: 'door/wrong-usage',
      remedy,
    });
  });
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return null;
}

describe('ForbiddenPlaces', () => {
  it('reaches where dot-directories of homes lead, but not all that lies beside it', () => {
    const { home, project, folder, forbidden } = makeMachine();
    mkdirSync(join(folder, 'ssh'));
    symlinkSync(join(folder, 'ssh'), join(home, '.keys'));
    symlinkSync(home, join(home, '.self'));
    symlinkSync('/', join(home, '.all'));
    const against = (path: string) => forbidden().againstWorkspace({ path, mountId: null });
    expect(against(join(folder, 'ssh'))).toContain(`what "${join(home, '.keys')}" leads to`);
    expect(against(folder)).toContain(`contains "${join(folder, 'ssh')}"`);
    expect(against(project)).toBeNull();
  });

  it('lets a service work below its own home in /var/lib, and in no other there', () => {
    const files = {
      passwd: () => 'ci:x:9:9::/var/lib/ci:/bin/sh\npg:x:8:8::/var/lib/pg:/bin/sh\n',
      mounts: () => '',
    };
    const places = new ForbiddenPlaces({ stateDir: '/state', home: '/var/lib/ci' }, files);
    expect(places.againstRoot('/var/lib/ci/checkout')).toBeNull();
    for (const path of ['/var/lib/ci', '/var/lib/ci/.ssh', '/var/lib/pg/data', '/var/lib/x', '/var/lib'])
      expect(places.againstRoot(path), path).not.toBeNull();
  });

  it('accepts nothing where the mounts of the machine cannot be read', () => {
    const mounts = () => {
      throw new Error('EACCES');
    };
    const places = new ForbiddenPlaces({ stateDir: '/state', home: null }, { passwd: () => '', mounts });
    expect(places.againstWorkspace({ path: '/work', mountId: null })).toContain('cannot be compared');
    const readable = new ForbiddenPlaces(
      { stateDir: '/state', home: null },
      { passwd: () => '', mounts: () => '' },
    );
    expect(readable.againstWorkspace({ path: '/work', mountId: null })).toBeNull();
  });

  it('reads the homes of a passwd text, whatever else is in it', () => {
    expect(
      homesIn('a:x:1:1:A,B:/home/a:/bin/sh\nb:x:2:2::/home/a:\n\n#c\nd:x:3:3::relative:\ne:::::/e'),
    ).toEqual(['/home/a', '/e']);
  });
});
