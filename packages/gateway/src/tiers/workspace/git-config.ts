/**
 * Git configuration as hostile text: which of its entries could run a program or lead git elsewhere. It is an allow-list:
 * an entry that is not in the table of harmless keys, with a harmless value, counts as dangerous.
 */
import { ALIAS_ARGUMENT, ALIAS_COMMANDS, GIT_KEYS } from './git-keys.table.ts';

export type GitEntry = {
  /** Section and key in lower case, with the subsection as it is written: `remote.origin.url`. */
  readonly name: string;
  readonly value: string;
  /** Where its text begins and ends. */
  readonly from: number;
  readonly to: number;
};

/** What a value has to look like for the key to be harmless, by the key with `*` for its subsection. */
const VALUES: ReadonlyMap<string, RegExp> = new Map(
  GIT_KEYS.flatMap(({ keys, values }) => keys.split(/\s+/).map((key) => [key, values] as const)),
);

/**
 * Whether an entry could run a program, or take settings or files from elsewhere; `isWorkTree` says whether a path that
 * is relative to the configuration is that of a work tree, which a checkout overwrites.
 */
export function isDangerous(
  { name, value }: Pick<GitEntry, 'name' | 'value'>,
  isWorkTree: (path: string) => boolean,
): boolean {
  if (name === 'core.worktree') return !isWorkTree(value);
  const section = name.slice(0, name.indexOf('.'));
  const key = name.slice(name.lastIndexOf('.') + 1);
  const subsection = name.slice(section.length + 1, -key.length - 1);
  // Boundary: git passes the name of a remote to other commands, where it would be an option.
  if (!/^(?!-)[ -~\x80-\xff]*$/.test(subsection)) return true;
  if (section === 'alias') return subsection !== '' || !isPlainAlias(key, value);
  const patterns = subsection === '' ? [name, `${section}.*`] : [`${section}.*.${key}`, `${section}.*.*`];
  return !patterns.some((pattern) => VALUES.get(pattern)?.test(value));
}

const MAX_ALIAS_CHARS = 1_000;

/** Boundary: git looks for helpers such as `remote-foo` and `merge-foo` among the aliases. */
function isPlainAlias(name: string, value: string): boolean {
  if (!/^[a-z0-9]+$/.test(name) || value.length > MAX_ALIAS_CHARS || !/^[ -[\]-~]*$/.test(value))
    return false;
  const form = /(?:[^ "']|"[^"]*"|'[^']*')+/g;
  if (value.replace(form, '').trim() !== '') return false;
  const [command = '', ...others] = (value.match(form) ?? []).map((each) => each.replace(/["']/g, ''));
  return ALIAS_COMMANDS.has(command) && others.every((each) => ALIAS_ARGUMENT.test(each));
}

/** The text without these entries; null where the rest would not be read as before. */
export function without(text: string, dropped: readonly GitEntry[]): string | null {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to } of [...dropped].sort((a, b) => a.from - b.from)) {
    parts.push(text.slice(at, from));
    at = to;
  }
  const rest = `${parts.join('')}${text.slice(at)}`;
  const gone = new Set(dropped.map(({ from }) => from));
  const left = (parseGitConfig(text) ?? []).filter(({ from }) => !gone.has(from));
  const read = parseGitConfig(rest);
  const spell = (entries: readonly GitEntry[]) =>
    entries.map(({ name, value }) => `${name}\0${value}`).join('\0\0');
  return read !== null && spell(read) === spell(left) ? rest : null;
}

/** Boundary: no configuration that people keep comes near these; beyond them reading it would take long. */
const MAX_ENTRIES = 20_000;
const MAX_SECTION_CHARS = 1_024;

/** A byte order mark, one character for each byte. */
const BOM = '\u00ef\u00bb\u00bf';

/** Reads it as git does, one character for each byte; null where git would refuse it or something is unusual enough to be read differently. */
export function parseGitConfig(text: string): GitEntry[] | null {
  const entries: GitEntry[] = [];
  let section = '';
  let at = text.startsWith(BOM) ? BOM.length : 0;
  if (text.includes('\0')) return null;
  while (at < text.length) {
    const blank = matchAt(/[ \t\r\n\f\v]+|[#;][^\n]*/y, text, at);
    if (blank !== null) {
      at += blank[0].length;
      continue;
    }
    const header = matchAt(/\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?[ \t]*\]/y, text, at);
    if (header !== null) {
      const [whole, name = '', sub] = header;
      section =
        sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub.replace(/\\(.)/g, '$1')}`;
      if (whole.length > MAX_SECTION_CHARS) return null;
      at += whole.length;
      continue;
    }
    const key = matchAt(/([A-Za-z][A-Za-z0-9-]*)[ \t]*/y, text, at);
    if (key === null || section === '' || entries.length === MAX_ENTRIES) return null;
    const from = at;
    at += key[0].length;
    const value = text[at] === '=' ? readValue(text, at + 1) : readNothing(text, at);
    if (value === null) return null;
    entries.push({
      name: `${section}.${(key[1] ?? '').toLowerCase()}`,
      value: value.value,
      from,
      to: value.to,
    });
    at = value.to;
  }
  return entries;
}

type Value = { readonly value: string; readonly to: number };

/** A key without a value means true. */
function readNothing(text: string, at: number): Value | null {
  return /^(?:\r?\n|[#;]|$)/.test(text.slice(at, at + 2)) ? { value: 'true', to: at } : null;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '"': '"', '\\': '\\' };

function readValue(text: string, start: number): Value | null {
  let at = start;
  let value = '';
  // White space at the end counts only where something follows or it is quoted.
  let kept = 0;
  let isQuoted = false;
  for (; at < text.length && text[at] !== '\n'; at += 1) {
    const sign = text[at] ?? '';
    if (!isQuoted && (sign === '#' || sign === ';')) {
      at = text.indexOf('\n', at) === -1 ? text.length : text.indexOf('\n', at);
      break;
    }
    if (sign === '"') {
      isQuoted = !isQuoted;
      kept = value.length;
    } else if (sign === '\\') {
      at += 1;
      if (text[at] === '\r' && text[at + 1] === '\n') at += 1;
      if (text[at] === '\n') continue;
      const escaped = ESCAPES[text[at] ?? ''];
      if (escaped === undefined) return null;
      value += escaped;
      kept = value.length;
    } else if (!/[ \t\r]/.test(sign) || isQuoted) {
      value += sign;
      kept = value.length;
    } else if (value !== '') value += sign;
  }
  return isQuoted ? null : { value: value.slice(0, kept), to: at };
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  const found = form.exec(text);
  return found === null || found[0] === '' ? null : found;
}
