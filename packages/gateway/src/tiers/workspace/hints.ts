/**
 * What git configuration from before a run makes dangerous: the directory of hooks, the files that are included, and
 * the programs that git runs. It is read from the workspace, from the repository that the workspace lies in, and from
 * the settings of the user. A relative path counts at the top of every work tree, as linked ones share the configuration.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, posix } from 'node:path';
import { ancestorsOf, isWithin } from '../../core/paths.ts';
import type { ProtectedName } from '../../core/protected.table.ts';
import { orElse } from '../../core/result.ts';
import { parseGitConfig } from './git-config.ts';
import { nameText, pathIn } from './names.ts';
import { EVERY_TOP, type ProtectedHints } from './protected.ts';
import type { Snapshot } from './snapshot.ts';

/** A configuration, the directory it is in, and the work tree whose paths it has; null: those of every repository. */
export type ConfigSource = {
  readonly bytes: Buffer;
  readonly directory: string;
  readonly top: string | null;
};

/** What git runs by itself, for a command that people use every day. */
const PROGRAMS = new RegExp(
  `^(?:${[
    'core\\.(?:fsmonitor|editor|pager|askpass|sshcommand|gitproxy|alternaterefscommand)',
    'sequence\\.editor',
    'filter\\..+\\.(?:clean|smudge|process)',
    'diff\\.external',
    'diff\\..+\\.(?:command|textconv)',
    'merge\\..+\\.driver',
    'credential\\.(?:.+\\.)?helper',
    'gpg\\.(?:.+\\.)?(?:program|defaultkeycommand)',
    'pager\\..+',
    'interactive\\.difffilter',
    'hook\\..+\\.command',
    'trailer\\..+\\.(?:cmd|command)',
    'remote\\..+\\.(?:uploadpack|receivepack)',
    'submodule\\..+\\.update',
    'uploadpack\\.packobjectshook',
  ].join('|')})$`,
);
const INCLUDES = /^include(?:if\..*)?\.path$/s;

/** The names that git gives hooks, for a hooks directory that is a work tree as a whole. */
export const HOOKS: readonly string[] =
  `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
  pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
  reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman
  p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change`.split(/\s+/);

/** The protected paths of these configurations. */
export function hintsIn(
  sources: readonly ConfigSource[],
  snapshot: Snapshot,
  workspace: string,
): ProtectedHints {
  const root = textOf(workspace);
  const hints = new Map<string, ProtectedName>();
  for (const { bytes, directory, top } of sources) {
    for (const { name, value } of parseGitConfig(bytes.toString('latin1')) ?? []) {
      // One character for each byte, as in the configuration.
      const target = expandHome(nameText(Buffer.from(value, 'latin1')));
      const resolve = (from: string | null, path = target) =>
        from === null ? null : insideOf(posix.resolve(textOf(from), path), root);
      const places = [...new Set([resolve(top), everyTop(target)])].filter((place) => place !== null);
      if (INCLUDES.test(name)) note(hints, resolve(directory), 'git-config');
      if (name === 'core.hookspath')
        for (const place of places.flatMap((each) => hooksIn(each, resolve(top, '.'))))
          note(hints, place, 'git-hooks');
      if (!PROGRAMS.test(name)) continue;
      for (const word of target.split(/[\s"'`;|&<>()=$]+/).filter((each) => each !== '')) {
        const named = [
          top === null ? null : insideOf(posix.resolve(textOf(top), word), root),
          everyTop(word),
        ];
        for (const place of named) if (namesFile(place, word, snapshot)) note(hints, place, 'git-hooks');
      }
    }
  }
  return hints;
}

function note(hints: Map<string, ProtectedName>, place: string | null, row: ProtectedName): void {
  if (place !== null && place !== '' && !hints.has(place)) hints.set(place, row);
}

/** A word of a command that may be a file: it has a slash, or there is such a file; a directory is not run. */
function namesFile(place: string | null, word: string, { entries }: Snapshot): boolean {
  if (place === null || place === '') return false;
  const kind = entries.get(place.startsWith(EVERY_TOP) ? place.slice(EVERY_TOP.length) : place)?.kind;
  return kind === undefined ? word.includes('/') : kind !== 'directory';
}

/** Of a directory of hooks that is a work tree, or the workspace, only the hooks count. */
function hooksIn(place: string, top: string | null): string[] {
  if (place === EVERY_TOP) return HOOKS.map((hook) => `${EVERY_TOP}${hook}`);
  return place === '' || place === top ? HOOKS.map((hook) => pathIn(place, hook)) : [place];
}

/** The form of a relative path that counts at every top; null where it leads elsewhere. */
function everyTop(target: string): string | null {
  if (posix.isAbsolute(target)) return null;
  const path = posix.normalize(target).replace(/\/$/, '');
  if (path === '.') return EVERY_TOP;
  return path === '..' || path.startsWith('../') ? null : `${EVERY_TOP}${path}`;
}

function insideOf(path: string, root: string): string | null {
  return isWithin(path, root) ? path.slice(root.length + 1) : null;
}

function expandHome(target: string): string {
  const home = target.startsWith('~/') ? ownHome() : null;
  return home === null ? target : `${textOf(home)}${target.slice(1)}`;
}

/** Null for a user without an account. */
function ownHome(): string | null {
  return orElse(homedir, null);
}

function textOf(path: string): string {
  return nameText(Buffer.from(path));
}

/** The configuration of the user, and of the repository that a directory is a part of, wherever it lies. */
export function outerSources(directory: string): readonly ConfigSource[] {
  const home = ownHome();
  const atHome = home === null ? [] : [`${home}/.gitconfig`, `${home}/.config/git/config`];
  const own = ['/etc/gitconfig', ...atHome];
  return [...own.flatMap((path) => sourceAt(path, null)), ...repositorySources(directory)];
}

/** The configuration of the repository that a directory is a part of. */
export function repositorySources(directory: string): readonly ConfigSource[] {
  for (let top = directory; ; top = dirname(top)) {
    const repository = repositoryOf(top);
    if (repository !== null) {
      const common = readText(`${repository}/commondir`)?.trim();
      const shared = common === undefined ? repository : posix.resolve(repository, common);
      return [...sourceAt(`${shared}/config`, top), ...sourceAt(`${repository}/config.worktree`, top)];
    }
    if (top === dirname(top)) return [];
  }
}

/** Whether a directory above this one is a work tree. */
export function isBelowRepository(directory: string): boolean {
  return ancestorsOf(directory).some((top) => repositoryOf(top) !== null);
}

/** The repository of a work tree, by its `.git`, a directory or a file that names one. */
function repositoryOf(top: string): string | null {
  const name = `${top}/.git`;
  const path = isThere(name) ? orElse(() => realpathSync.native(name), null) : null;
  if (path === null) return null;
  const pointer = readText(path);
  return pointer === null ? path : posix.resolve(top, pointer.replace(/^gitdir: ?/, '').trim());
}

function sourceAt(path: string, top: string | null): ConfigSource[] {
  const bytes = readBounded(path);
  return bytes === null ? [] : [{ bytes, directory: dirname(path), top }];
}

function readText(path: string): string | null {
  return readBounded(path)?.toString() ?? null;
}

const MAX_CONFIG_BYTES = 1024 * 1024;

/** Boundary: what an earlier run put there is read as data, neither for ever nor without end. */
function readBounded(path: string): Buffer | null {
  if (!isThere(path)) return null;
  return orElse(() => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const facts = fstatSync(fd);
      return facts.isFile() && facts.size <= MAX_CONFIG_BYTES ? readFileSync(fd) : null;
    } finally {
      closeSync(fd);
    }
  }, null);
}

/** Most of the files that are looked for are missing, and an error costs more than a look. */
function isThere(path: string): boolean {
  return orElse(() => statSync(path, { throwIfNoEntry: false }), undefined) !== undefined;
}
