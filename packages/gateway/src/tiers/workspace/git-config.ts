/**
 * Git configuration as hostile text: which of its entries could run a program or lead git elsewhere. It is an allow-list:
 * a key that is not known to run nothing counts as dangerous, so a key that a later git adds is not overlooked.
 */

export type GitEntry = {
  /** Section and key in lower case, with the subsection as it is written: `remote.origin.url`. */
  readonly name: string;
  readonly value: string;
  /** Where its text begins and ends. */
  readonly from: number;
  readonly to: number;
};

/** Keys that run nothing, by the part before and after the subsection; their values do not matter. */
const HARMLESS = new RegExp(
  `^(?:${[
    'core\\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|sparsecheckout|sparsecheckoutcone|untrackedcache|preloadindex|abbrev|compression|loosecompression|bigfilethreshold|sharedrepository|protecthfs|protectntfs|checkstat|trustctime|commitgraph|multipackindex|whitespace|commentchar|longpaths|fscache)',
    'extensions\\.(?:objectformat|compatobjectformat|worktreeconfig|partialclone|refstorage|preciousobjects|relativeworktrees|noop)',
    '(?:user|author|committer)\\.(?:name|email|signingkey|useconfigonly)',
    'remote\\.(?:.+\\.)?(?:fetch|push|mirror|prune|prunetags|tagopt|skipdefaultupdate|skipfetchall|promisor|partialclonefilter|followremotehead|pushdefault|gh-resolved)',
    'branch\\.(?:.+\\.)?(?:merge|rebase|description|mergeoptions|autosetupmerge|autosetuprebase|sort|vscode-merge-base|github-pr-[a-z-]+)',
    'submodule\\.(?:.+\\.)?(?:active|branch|ignore|fetchrecursesubmodules|shallow|recurse|fetchjobs|propagatebranches)',
    '(?:pull|push|rebase|merge|fetch|status|log|gc|pack|index|feature|column|advice|rerere|transfer|receive|stash|checkout|commitgraph|lsrefs)\\.(?!.*(?:hook|helper|tool|driver|program|command|cmd|template|exec))[a-z]+',
    'commit\\.(?:gpgsign|verbose|status|cleanup)',
    'tag\\.(?:gpgsign|sort|forcesignannotated)',
    'init\\.defaultbranch',
    'maintenance\\.(?:auto|strategy)',
    'color\\.(?:[a-z-]+\\.)?[a-z]+',
    'diff\\.(?:algorithm|renames|renamelimit|colormoved|mnemonicprefix|noprefix|submodule|context|wserrorhighlight)',
    'i18n\\.[a-z]+',
    'lfs\\.repositoryformatversion',
  ].join('|')})$`,
);

/** Keys whose value is an address: a plain one runs nothing, `helper::` and options of a program do. */
const ADDRESSES = /^(?:remote\..+\.(?:url|pushurl)|submodule\..+\.url|branch\..+\.(?:remote|pushremote))$/;
const PLAIN_ADDRESS = /^(?!-)(?![A-Za-z0-9][A-Za-z0-9+.-]*::)[^\p{Cc}]*$/u;

/** Aliases of commands that run nothing by themselves. */
const PLAIN_ALIAS =
  /^(?:add|blame|branch|checkout|cherry-pick|commit|describe|diff|log|merge|remote|reset|restore|rev-parse|shortlog|show|stash|status|switch|tag)(?: [^!;|&`$()]*)?$/;

/**
 * Whether an entry could run a program, or take settings or files from elsewhere; `isInside` says whether a path that
 * is relative to the configuration stays in the workspace.
 */
export function isDangerous(
  { name, value }: Pick<GitEntry, 'name' | 'value'>,
  isInside: (path: string) => boolean,
): boolean {
  if (HARMLESS.test(name)) return false;
  if (ADDRESSES.test(name)) return !PLAIN_ADDRESS.test(value);
  if (/^submodule\..+\.update$/.test(name)) return !/^(?:checkout|rebase|merge|none)$/.test(value);
  if (/^alias\./.test(name)) return !PLAIN_ALIAS.test(value);
  // A checkout overwrites the work tree, which for a submodule is beside its repository.
  if (name === 'core.worktree') return !isInside(value);
  return true;
}

/** The text without these entries; null where the rest would not be read as before. */
export function without(text: string, dropped: readonly GitEntry[]): string | null {
  let rest = text;
  for (const { from, to } of [...dropped].sort((a, b) => b.from - a.from)) {
    rest = rest.slice(0, from) + rest.slice(to);
  }
  const left = (parseGitConfig(text) ?? []).filter(({ from }) => !dropped.some((each) => each.from === from));
  const read = parseGitConfig(rest);
  const spell = (entries: readonly GitEntry[]) =>
    entries.map(({ name, value }) => `${name}\0${value}`).join('\0\0');
  return read !== null && spell(read) === spell(left) ? rest : null;
}

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
      at += whole.length;
      continue;
    }
    const key = matchAt(/([A-Za-z][A-Za-z0-9-]*)[ \t]*/y, text, at);
    if (key === null || section === '') return null;
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
