import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { writeWhole } from '../../store/whole-file.ts';
import { completionScript } from './completion.ts';
import { textOf, wrongUsage } from './input.ts';
import { manPage } from './man.ts';
import { marked, ownerOf } from './marks.ts';
import type { Invocation } from './verb.ts';

/* Where shells and `man` look for what a program brings: in the home of a user, or below --root for packages. */

export type ShellFile = { readonly what: string; readonly path: string; readonly text: string };
export type FoundShellFile = ShellFile & { readonly state: 'missing' | 'ours' | 'edited' | 'other' };

/** The place of each in the home of a user, and in a package. */
const PLACES = {
  bash: ['bash-completion/completions/palisade', 'usr/share/bash-completion/completions/palisade'],
  zsh: ['zsh/site-functions/_palisade', 'usr/share/zsh/vendor-completions/_palisade'],
  fish: ['fish/vendor_completions.d/palisade.fish', 'usr/share/fish/vendor_completions.d/palisade.fish'],
  man: ['man/man1/palisade.1', 'usr/share/man/man1/palisade.1'],
} as const;

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const BY = 'completion install';

/** What each is, and where it goes; `what` narrows it to some of them. */
export function shellFiles(invocation: Invocation, what: readonly string[]): readonly ShellFile[] {
  const root = textOf(invocation, 'root');
  const base = root === undefined ? dataHome(invocation) : resolve(invocation.edge.cwd, root);
  return what.flatMap((name) => {
    const text = textFor(name, invocation.edge.version);
    const place = PLACES[name as keyof typeof PLACES];
    return text === null ? [] : [{ what: name, path: join(base, place[root === undefined ? 0 : 1]), text }];
  });
}

function textFor(what: string, version: string): string | null {
  if (what === 'man') return marked(manPage(version), { by: BY, open: '.\\" ' });
  const script = completionScript(what);
  // The first line of a function of zsh names the command that it completes.
  return script === null ? null : marked(script, { by: BY, open: '# ', after: what === 'zsh' ? 1 : 0 });
}

function dataHome({ edge: { env } }: Invocation): string {
  const named = env.entries().find(([name]) => name === 'XDG_DATA_HOME')?.[1];
  if (named !== undefined && isAbsolute(named)) return named;
  if (env.home !== null) return join(env.home, '.local/share');
  throw wrongUsage(
    'Cannot find the folder of completions: there is no home directory, expected HOME or --root DIR',
  );
}

/** What is installed in the home of the user, or below --root. */
export function findShellFiles(invocation: Invocation): readonly FoundShellFile[] {
  return shellFiles(invocation, [...SHELLS, 'man']).map((file) => ({ ...file, state: stateOf(file.path) }));
}

function stateOf(path: string): FoundShellFile['state'] {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return 'missing';
  return status.isFile() ? ownerOf(readFileSync(path, 'utf8')) : 'other';
}

export function removeShellFile({ path }: ShellFile): void {
  rmSync(path, { force: true });
}

/** `palisade completion install [SHELL]`: for the shells of this machine, or one; with the manual page. */
export async function install(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const [shell] = args;
  if (shell !== undefined && !(SHELLS as readonly string[]).includes(shell))
    throw wrongUsage(`Cannot install the completion of "${shell}": expected bash, zsh or fish`);
  const isPackage = textOf(invocation, 'root') !== undefined;
  const found = SHELLS.filter((each) => isPackage || isOnPath(each, edge.env.entries()));
  const files = shellFiles(invocation, [...(shell === undefined ? found : [shell]), 'man']);
  const refused = files.find(({ path }) => ['edited', 'other'].includes(stateOf(path)));
  if (refused !== undefined)
    throw wrongUsage(
      `Cannot write "${refused.path}": palisade did not make it, or it was edited, expected a free path`,
      'Move the file away, and run the command again.',
    );
  for (const { path, text } of files) write(path, text);
  const document = { files: files.map(({ what, path }) => ({ what, path })) };
  return print.result(document, () => {
    for (const { what, path } of document.files) print.styled('green', 'wrote', `  ${what}: ${path}`);
    const zsh = files.find(({ what }) => what === 'zsh');
    if (zsh !== undefined && !isPackage)
      print.next(`for zsh, add to ~/.zshrc before compinit: fpath=(${dirname(zsh.path)} $fpath)`);
    print.next('start a new shell, and try `palisade <Tab>` and `man palisade`');
  });
}

function write(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeWhole(dirname(path), basename(path), text, 0o644);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== 'string') throw error;
    throw wrongUsage(
      `Cannot write "${path}": it gives ${code}, expected a folder that this user may write to`,
    );
  }
}

function isOnPath(program: string, entries: readonly (readonly [string, string])[]): boolean {
  const path = entries.find(([name]) => name === 'PATH')?.[1] ?? '';
  return path.split(delimiter).some((folder) => isAbsolute(folder) && existsSync(join(folder, program)));
}
