import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type GroupFiles, machineFiles } from '../../../src/tiers/cgroup/group-files.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

const PAGE_BYTES = 4096;
const V1_FILES: Record<string, Record<string, string>> = {
  memory: {
    'memory.limit_in_bytes': '9223372036854771712\n',
    'memory.memsw.limit_in_bytes': '9223372036854771712\n',
    'memory.swappiness': '60\n',
    'memory.max_usage_in_bytes': '0\n',
    'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 0\n',
  },
  pids: { 'pids.max': 'max\n', 'pids.events': 'max 0\n' },
  cpuacct: { 'cpuacct.usage': '0\n' },
};
const V2_FILES: Record<string, Record<string, string>> = {
  memory: {
    'memory.max': 'max\n',
    'memory.swap.max': 'max\n',
    'memory.peak': '0\n',
    'memory.events': 'low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n',
  },
  pids: { 'pids.max': 'max\n', 'pids.events': 'max 0\n' },
};

/** An error as the file system throws it. */
function fails(errno: string): never {
  throw Object.assign(new Error(`${errno}: refused by the test`), { code: errno });
}

function wordsIn(...path: string[]): string[] {
  return readFileSync(join(...path), 'utf8')
    .split(/\s+/)
    .filter((word) => word !== '');
}

type Tree = { readonly mount: string; readonly version: 1 | 2; readonly controllers: readonly string[] };
type Refusal = { readonly operation: keyof GroupFiles; readonly pattern: RegExp; readonly errno: string };

/** Trees of groups made of plain files, which do what the kernel does as far as it matters here. */
export class FakeTrees {
  readonly top = tempDir();
  readonly #trees: Tree[] = [];
  readonly #refusals: Refusal[] = [];
  readonly #kept: RegExp[] = [];

  readonly files: GroupFiles = {
    ...machineFiles,
    write: (path, content) => this.#write(path, content),
    open: (path) => {
      this.#guard('open', path);
      return machineFiles.open(path);
    },
    makeDirectory: (path) => {
      this.#guard('makeDirectory', path);
      machineFiles.makeDirectory(path);
      this.#fill(path);
    },
    removeDirectory: (path) => {
      this.#guard('removeDirectory', path);
      const busy = machineFiles.directories(path).length > 0 || wordsIn(path, 'cgroup.procs').length > 0;
      if (busy) fails('EBUSY');
      rmSync(path, { recursive: true });
    },
  };

  /** Adds a tree of version 1 with these controllers, or of version 2 with the controllers that it has. */
  mount(path: string, version: 1 | 2, controllers: readonly string[]): void {
    const mount = join(this.top, path);
    this.#trees.push({ mount, version, controllers });
    mkdirSync(mount, { recursive: true });
    this.#fill(mount);
  }

  /** Makes a group, as others than us do. */
  group(path: string, processes: readonly number[] = []): void {
    const directory = join(this.top, path);
    mkdirSync(directory);
    this.#fill(directory);
    writeFileSync(join(directory, 'cgroup.procs'), processes.map((pid) => `${pid}\n`).join(''));
  }

  processesIn(path: string): string[] {
    return wordsIn(this.top, path, 'cgroup.procs');
  }

  /** Makes an operation on every path that matches fail with this errno. */
  refuse(operation: keyof GroupFiles, pattern: RegExp, errno: string): void {
    this.#refusals.push({ operation, pattern, errno });
  }

  /** Makes a file that matches keep what it has, whatever is written. */
  keep(pattern: RegExp): void {
    this.#kept.push(pattern);
  }

  #guard(operation: keyof GroupFiles, path: string): void {
    const found = this.#refusals.find((each) => each.operation === operation && each.pattern.test(path));
    if (found !== undefined) fails(found.errno);
  }

  #treeOf(path: string): Tree {
    const tree = this.#trees.find(({ mount }) => path === mount || path.startsWith(`${mount}/`));
    return tree ?? fails('ENOENT');
  }

  /** Puts the files there that a new group has by itself. */
  #fill(path: string): void {
    const { version, controllers, mount } = this.#treeOf(path);
    const isTop = path === mount;
    const limited = isTop || version === 1 ? controllers : wordsIn(dirname(path), 'cgroup.subtree_control');
    const content: Record<string, string> = { 'cgroup.procs': '' };
    if (version === 2) {
      content['cgroup.controllers'] = `${limited.join(' ')}\n`;
      content['cgroup.subtree_control'] = '\n';
      content['cpu.stat'] = 'usage_usec 0\nuser_usec 0\n';
      if (!isTop) content['cgroup.kill'] = '';
    }
    const known = version === 1 ? V1_FILES : V2_FILES;
    if (version === 1 || !isTop) for (const name of limited) Object.assign(content, known[name]);
    for (const [name, text] of Object.entries(content)) writeFileSync(join(path, name), text);
  }

  #write(path: string, content: string): void {
    this.#guard('write', path);
    if (machineFiles.read(path) === null) fails('ENOENT');
    if (this.#kept.some((pattern) => pattern.test(path))) return;
    const [name, directory] = [basename(path), dirname(path)];
    if (name === 'cgroup.procs') this.#move(content, path);
    else if (name === 'cgroup.kill') {
      if (content !== '1') fails('ERANGE');
      writeFileSync(join(directory, 'cgroup.procs'), '');
    } else if (name === 'cgroup.subtree_control') {
      if (wordsIn(directory, 'cgroup.procs').length > 0) fails('EBUSY');
      writeFileSync(path, content.replaceAll('+', ''));
    } else {
      const number = Number(content);
      writeFileSync(path, `${name.startsWith('memory.') ? number - (number % PAGE_BYTES) : number}\n`);
    }
  }

  /** A process is in one group of a tree. */
  #move(pid: string, into: string): void {
    const { mount } = this.#treeOf(into);
    for (const name of readdirSync(mount, { recursive: true, encoding: 'utf8' })) {
      if (basename(name) !== 'cgroup.procs') continue;
      const path = join(mount, name);
      const rest = wordsIn(path).filter((each) => each !== pid);
      writeFileSync(path, (path === into ? [...rest, pid] : rest).map((each) => `${each}\n`).join(''));
    }
  }
}
