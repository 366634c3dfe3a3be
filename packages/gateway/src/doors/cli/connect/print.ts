import { safeText, shellWord } from '../../../core/hostile-text.ts';
import { stepsOf } from '../../../skills/line-difference.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import type { FileScope, McpClient } from './clients.table.ts';
import type { ListedClient } from './connect.ts';

/* What `connect` and `disconnect` print: the outcome as text or JSON, the diff of two texts, the list of clients. */

export type Status =
  | 'connected'
  | 'updated'
  | 'already connected'
  | 'wrapped'
  | 'already wrapped'
  | 'disconnected'
  | 'partly disconnected'
  | 'not connected';

/** What was done, as `--json` shows it. */
export type ConnectOutcome = {
  readonly client: string;
  readonly status: Status;
  /** Nothing was written. */
  readonly dryRun: boolean;
  readonly server: string;
  readonly as: string;
  readonly scope: FileScope;
  readonly file: string;
  /** The file as it was before; null: it did not exist, or it was not changed. */
  readonly backup: string | null;
  readonly diff: string;
  readonly token: { readonly id: string; readonly expiresAt: string | null } | null;
  /** Of `disconnect`: our entry, and the servers that are started by their own command again. */
  readonly removed: string | null;
  readonly restored: readonly string[];
  /** Every byte of the file is as it was before `connect`. */
  readonly identical: boolean;
  /** The file held nothing else and did not exist before `connect`, so it was removed. */
  readonly deleted: boolean;
  /** Servers that `disconnect` could not undo. */
  readonly kept: readonly { readonly server: string; readonly message: string; readonly remedy: string }[];
  readonly notes: readonly string[];
};

/** The outcome where nothing was done. */
export const UNCHANGED = {
  backup: null,
  diff: '',
  token: null,
  removed: null,
  restored: [],
  identical: false,
  deleted: false,
  kept: [],
  notes: [],
} as const;

const TOKEN_TEXT = /pls_[0-9a-z]{8}[\w-]*/gi;
const MAX_DIFF_CHARS = 64 * 1024 * 1024;

/** Says what was done to the file of a client, and what to do next. */
export async function printOutcome(
  invocation: Invocation,
  client: McpClient,
  outcome: ConnectOutcome,
): Promise<void> {
  const { print } = invocation;
  // Boundary: a token is in the file, and neither on the screen nor in what is logged of it.
  const diff = outcome.diff.replace(TOKEN_TEXT, 'pls_…');
  const { status, dryRun, kept, notes } = outcome;
  if (print.json) return print.document({ ...outcome, diff });
  if (dryRun) {
    await print.exact(shown(diff));
    print.note('Nothing was written.', 'yellow', diff === '' ? ` ${client.name}: ${status}.` : '');
  } else printDone(print, client, outcome);
  for (const { message, remedy } of kept) {
    print.note('✗', 'red', ` ${message}`);
    print.next(remedy);
  }
  for (const note of notes) print.note('!', 'yellow', ` ${note}`);
  if (dryRun || diff === '') return;
  print.next(`${client.name}: ${client.next}`);
  const { unattended } = client;
  if (unattended !== null && (status === 'connected' || status === 'updated'))
    print.next(`In a script, where it cannot ask you: ${unattended.replaceAll('NAME', outcome.server)}`);
  if (status === 'connected' || status === 'wrapped')
    print.next(`To undo all changes to this file: ${undoCommand(invocation, client)}`);
}

function printDone(print: Printer, client: McpClient, outcome: ConnectOutcome): void {
  const { status, server, file, diff, backup, token, removed, restored, kept } = outcome;
  const isUndone = status === 'disconnected' || status === 'partly disconnected';
  const style = diff === '' ? 'dim' : kept.length > 0 ? 'yellow' : 'green';
  const where =
    status === 'not connected'
      ? `${file} has neither an entry "${server}" nor a wrapped server`
      : isUndone
        ? file
        : `${server} in ${file}`;
  print.styled(style, status, `  ${client.name}: ${where}`);
  if (removed !== null) print.line(`  removed the entry ${removed}`);
  for (const each of restored) print.line(`  ${each} is started by its own command again`);
  const content = outcome.identical
    ? 'the file is as it was before, byte for byte'
    : 'all other content of the file was left as it is';
  if (isUndone) print.line(`  ${outcome.deleted ? 'removed the file, which held nothing else' : content}`);
  if (backup !== null) print.line(`  backup of the file before this change: ${backup}`);
  if (token === null) return;
  const { id, expiresAt } = token;
  print.line(
    expiresAt === null ? `  revoked the token ${id}` : `  made the token ${id}, valid until ${expiresAt}`,
  );
}

/** The command that undoes this one, with the flags that name the same entry. */
function undoCommand({ flags }: Invocation, { id }: McpClient): string {
  const named = ['file', 'name'].flatMap((name) =>
    typeof flags[name] === 'string' ? [`--${name}`, shellWord(flags[name])] : [],
  );
  return ['palisade disconnect', id, ...(flags.project === true ? ['--project'] : []), ...named].join(' ');
}

/** Boundary: a file of another author's project is shown, and the terminal obeys none of it. Line ends stay, for `patch`. */
function shown(diff: string): string {
  return diff
    .split('\r\n')
    .map((part) => safeText(part, MAX_DIFF_CHARS))
    .join('\r\n');
}

export function printClients(print: Printer, clients: readonly ListedClient[]): void {
  const rows = clients.map(({ id, name, found, connected, wrapped, problem, file }) => {
    const entries = [...connected, ...wrapped.map((each) => `${each} (wrapped)`)].join(', ') || '-';
    return [id, name, found ? 'yes' : '-', problem === null ? entries : 'unreadable', file];
  });
  print.table(['CLIENT', 'NAME', 'FOUND', 'CONNECTED', 'FILE'], rows);
  for (const { problem } of clients) if (problem !== null) print.note('!', 'yellow', ` ${problem}`);
  print.next('To connect one: palisade connect CLIENT');
}

const CONTEXT = 3;

/** The difference of two texts in the form of `diff -u`; empty where they are equal. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return '';
  const steps = stepsOf(linesOf(before), linesOf(after));
  const isChange = ({ sign }: (typeof steps)[number]) => sign !== ' ';
  const from = Math.max(0, steps.findIndex(isChange) - CONTEXT);
  const lines = steps.slice(from, steps.findLastIndex(isChange) + 1 + CONTEXT);
  const spanWithout = (left: '-' | '+') => {
    const size = lines.filter(({ sign }) => sign !== left).length;
    return `${size === 0 ? from : from + 1},${size}`;
  };
  const head = `--- ${path}\n+++ ${path}\n@@ -${spanWithout('+')} +${spanWithout('-')} @@\n`;
  const marked = (text: string) => (text.endsWith('\n') ? text : `${text}\n\\ No newline at end of file\n`);
  return head + lines.map(({ sign, text }) => `${sign}${marked(text)}`).join('');
}

/** Each line with its end, so that a file whose last line has none differs from one where it has. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
