/** What a written file would do, judged by its content. The content is hostile; what cannot be read counts as dangerous. */
import { type ParseError, parse } from 'jsonc-parser/lib/esm/main.js';
import type { ProtectedRow } from '../../core/protected.table.ts';
import { isDangerous, parseGitConfig, without } from './git-config.ts';
import { hashBytesOf, isHarmlessIndex } from './git-index.ts';
import type { Entry } from './names.ts';
import { baseOf, foldName, parentOf, pathIn } from './names.ts';

/** `harmless`, `dangerous`, or what remains when the dangerous part is removed, one character for each byte. */
export type Judged = 'harmless' | 'dangerous' | { readonly rest: string };

/** Where the file is, and which directories git takes for repositories. */
export type JudgedPlace = {
  readonly path: string;
  readonly workspace: string;
  readonly repositories: ReadonlySet<string>;
  /** The content before the run; null where there was none. */
  readonly before: Buffer | null;
  /** What a name of the workspace is; undefined where there is none. */
  readonly kindOf: (path: string) => Entry['kind'] | undefined;
  /** The contents that a name has now and had before the run, as far as it had any. */
  readonly contentsOf: (path: string) => readonly Buffer[];
};

type Judge = (text: string, place: JudgedPlace) => Judged;

const JUDGES: Readonly<Record<Exclude<ProtectedRow['judged'], 'git-index'>, Judge>> = {
  any: () => 'dangerous',
  'git-config': judgeGitConfig,
  'git-pointer': judgePointer,
  'git-todo': judgeTodo,
  'hg-config': judgeHgConfig,
  'jj-config': judgeJjConfig,
  'tool-versions': judgeToolVersions,
  'vs-code': judgeSettings,
  idea: judgeIdea,
};

/** Judges the content of a file. */
export function judgeText(judged: ProtectedRow['judged'], bytes: Buffer, place: JudgedPlace): Judged {
  if (judged === 'git-index') return judgeIndex(bytes, place);
  // Every byte of a configuration that is cut down has to stay as it is.
  return JUDGES[judged](bytes.toString(judged === 'git-config' ? 'latin1' : 'utf8'), place);
}

/** What is there now may still be restored: the index has to be harmless by every configuration that git may read. */
function judgeIndex(bytes: Buffer, { path, workspace, contentsOf }: JudgedPlace): Judged {
  const directory = parentOf(path);
  const pointers = contentsOf(pathIn(directory, 'commondir'));
  const common = pointers.map((each) => resolveInside(directory, each.toString().trimEnd(), workspace));
  const configs = [directory, ...common].flatMap((each) =>
    each === null ? [] : contentsOf(pathIn(each, 'config')),
  );
  const sizes = new Set(configs.length === 0 ? [hashBytesOf(null)] : configs.map(hashBytesOf));
  const isHarmless = !common.includes(null) && [...sizes].every((size) => isHarmlessIndex(bytes, size));
  return isHarmless ? 'harmless' : 'dangerous';
}

/** An entry that was there before the run is none of its. */
function judgeGitConfig(text: string, place: JudgedPlace): Judged {
  const { before } = place;
  const entries = parseGitConfig(text);
  if (entries === null) return 'dangerous';
  const isWorkTree = (target: string) => isSubmodule(target, place);
  const known = new Set(
    (before === null ? [] : (parseGitConfig(before.toString('latin1')) ?? [])).map(spell),
  );
  const added = entries.filter((each) => isDangerous(each, isWorkTree) && !known.has(spell(each)));
  if (added.length === 0) return 'harmless';
  const rest = without(text, added);
  return rest === null ? 'dangerous' : { rest };
}

/** Boundary: git writes core.worktree for submodules alone; elsewhere it makes a checkout overwrite any directory. */
function isSubmodule(target: string, { path, workspace, repositories, kindOf }: JudgedPlace): boolean {
  const inside = resolveInside(parentOf(path), target, workspace);
  if (inside === null || !/(?:^|\/)\.git\/(?:worktrees\/[^/]+\/)?modules\//.test(path)) return false;
  for (let at = inside; at !== ''; at = parentOf(at)) {
    if (kindOf(at) !== 'directory' || foldName(baseOf(at)) === '.git' || repositories.has(at)) return false;
  }
  return kindOf(pathIn(inside, '.git')) === 'file';
}

function spell({ name, value }: { readonly name: string; readonly value: string }): string {
  return `${name}\0${value}`;
}

/** A clone writes the addresses of its source; every other section can run something. */
function judgeHgConfig(text: string): Judged {
  const isPlain = (line: string) => /^(?:[#;].*|\[paths\]|[\w-]+\s*=(?!.*::).*|)$/.test(line.trim());
  return text.split('\n').every(isPlain) ? 'harmless' : 'dangerous';
}

/** A clone writes which branch is the trunk; people write who commits. */
function judgeJjConfig(text: string): Judged {
  const isPlain = (line: string) =>
    /^(?:#.*|\[(?:revset-aliases|user)\]|(?:"trunk\(\)"|'trunk\(\)'|name|email) *= *"[^"\\]*"|)$/.test(
      line.trim(),
    );
  return text.split('\n').every(isPlain) ? 'harmless' : 'dangerous';
}

/** Names and versions, but neither directories nor sources. */
function judgeToolVersions(text: string): Judged {
  const isPlain = (line: string) => /^(?:#.*|[\w-]+(?:[ \t]+[\w.+-]+)+(?:[ \t]+#.*)?|)$/.test(line.trim());
  return text.split('\n').every(isPlain) ? 'harmless' : 'dangerous';
}

/** Every line leads to a repository of the workspace, or to its objects: that one is protected as well. */
function judgePointer(text: string, { path, workspace, repositories }: JudgedPlace): Judged {
  const isAlternates = /\/info\/alternates$/i.test(path);
  const from = isAlternates ? parentOf(parentOf(path)) : parentOf(path);
  const lines = text
    .replace(/^gitdir: ?/, '')
    .replace(/\r?\n$/, '')
    .split('\n');
  const leadsInside = lines.every((line) => {
    const target = resolveInside(from, line, workspace);
    return target !== null && repositories.has(isAlternates ? parentOf(target) : target);
  });
  return leadsInside ? 'harmless' : 'dangerous';
}

/** The path inside the workspace, resolved as text; null outside. A link on the way is not in the list of repositories. */
export function resolveInside(directory: string, target: string, workspace: string): string | null {
  const isAbsolute = target.startsWith('/');
  if (isAbsolute && !`${target}/`.startsWith(`${workspace}/`)) return null;
  const names = isAbsolute ? [] : directory.split('/').filter((name) => name !== '');
  for (const name of (isAbsolute ? target.slice(workspace.length) : target).split('/')) {
    if (name === '..' && names.pop() === undefined) return null;
    if (name !== '' && name !== '.' && name !== '..') names.push(name);
  }
  return names.join('/');
}

/** Settings of an extension that choose a program, or switch a safeguard off, have such a word in their name. */
const TELLING_WORDS = new Set(
  `path paths command commands cmd exec executable shell profile profiles env environment arg args arguments interpreter
  tool tools server servers sdk tsdk runtime binary program script scripts launch task tasks automatic trust approve
  approval allow mcp plugin plugins lsp url urls proxy host hook hooks agent configure`.split(/\s+/),
);
const PLAIN_KEY =
  /^(?:editor|files|search|workbench|window|explorer|breadcrumbs|problems|diffEditor|outline|cSpell)\./;

function judgeSettings(text: string): Judged {
  const errors: ParseError[] = [];
  const read: unknown = parse(text, errors, { allowTrailingComma: true, disallowComments: false });
  if (errors.length > 0) return text.trim() === '' ? 'harmless' : 'dangerous';
  return holdsProgram(read, 0) ? 'dangerous' : 'harmless';
}

const MAX_DEPTH = 16;
/** Parts of a workspace file that only name things, or that a person has to start. */
const SKIPPED_KEYS = new Set(['folders', 'launch', 'extensions', 'inputs', 'label']);

function holdsProgram(value: unknown, depth: number): boolean {
  // A path, or a variable that may hold one.
  if (typeof value === 'string') return /[/\\$]/.test(value);
  if (typeof value !== 'object' || value === null) return false;
  // Boundary: nesting that no editor writes is not followed.
  if (depth > MAX_DEPTH) return true;
  return Object.entries(value).some(([key, inner]) => {
    if (SKIPPED_KEYS.has(key) || PLAIN_KEY.test(key)) return false;
    if (key === 'json.schemas' && Array.isArray(inner)) return !inner.every(isOwnSchema);
    if (key === 'tasks' && Array.isArray(inner)) return inner.some(startsItself);
    return wordsOf(key).some((word) => TELLING_WORDS.has(word)) || holdsProgram(inner, depth + 1);
  });
}

function wordsOf(key: string): string[] {
  return key.split(/[^A-Za-z]+|(?=[A-Z])/).map((word) => word.toLowerCase());
}

/** A schema in the workspace describes files; one from elsewhere is fetched. */
function isOwnSchema(schema: unknown): boolean {
  const { url = '', fileMatch = [], ...others } = (schema ?? {}) as { url?: unknown; fileMatch?: unknown };
  const isOwn = typeof url === 'string' && /^(?:\.\/(?!.*\.\.)[\w./-]+|)$/.test(url);
  return isOwn && Array.isArray(fileMatch) && !holdsProgram(others, 0);
}

function startsItself(task: unknown): boolean {
  return /"runon":(?!"default")/i.test(JSON.stringify(task));
}

/** The steps of a rebase that was not finished; it goes on with a command of git. */
function judgeTodo(text: string): Judged {
  return /^\s*(?:x|exec)\s/m.test(text) ? 'dangerous' : 'harmless';
}

/** Components that start something when the project is opened or a file is saved, or say which git that is. */
const IDEA_STARTS = /ProjectStartup|TaskOptions|PATH_TO_|RunOnSave|&#|\0|<!DOCTYPE|<!ENTITY/i;

function judgeIdea(text: string, { path }: JudgedPlace): Judged {
  return IDEA_STARTS.test(text) || /(?:startup|watchertasks)\.xml$/i.test(path) ? 'dangerous' : 'harmless';
}
