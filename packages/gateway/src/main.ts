import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CODES } from '@palisade/sdk';
import { readEnvironment } from './config/environment.ts';
import { runCommandLine } from './doors/cli/cli.ts';
import type { MessageId } from './doors/mcp/message.ts';
import { VERSION } from './version.ts';

/* The entry of the `palisade` command: hands the process to the command line, and carries its exit status out. */

const cancel = new AbortController();

/** The first Ctrl-C cancels the call, which is then recorded and settled; the second one leaves at once. */
function onSignal(): void {
  if (cancel.signal.aborted) process.exit(130);
  cancel.abort(new Error('cancelled by the user'));
}
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);
/** A reader that closed the pipe (a pager, head) has seen enough. */
const unread: { act: () => void } = { act: () => process.exit(0) };
/** Output that could not be written, as on a full disk, ends with a status of its own. */
const unwritten: { status: number | null } = { status: null };
process.stdout.on('error', (error: Error & { code?: string }) => {
  if (error.code === 'EPIPE') return unread.act();
  if (unwritten.status === null) process.stderr.write(`Cannot write the output: ${error.code}\n`);
  unwritten.status = CODES['gateway/fault'].exitStatus;
});

/** To open standard input takes longer than most of what a command does with it. */
const input = { isOpen: false };

/** Of a clone, with the compilers of its examples first; or where this package was installed: its own, then those beside it. */
const PACKAGE_FOLDERS = [
  '../../guest/tools/node_modules',
  '../../../node_modules',
  '../node_modules',
  '../..',
].map((path) => fileURLToPath(new URL(path, import.meta.url)));

const opening = () => import('./open.ts');

/** Runs the command line of this process; `answered` is the id of the request that an MCP client has an answer to already. */
export async function start(answered: MessageId | null): Promise<void> {
  const status = await runCommandLine({
    argv: process.argv.slice(2),
    env: readEnvironment(),
    cwd: process.cwd(),
    version: VERSION,
    // Node loads much more for `performance.now()`, which is the same clock.
    clock: { nowMs: () => Date.now(), monotonicMs: () => Number(process.hrtime.bigint()) / 1e6 },
    random: { bytes: (count) => randomBytes(count) },
    // Opened when it is read: most commands do not.
    get stdin() {
      input.isOpen = true;
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    signal: cancel.signal,
    answered,
    whenUnread: (act) => {
      unread.act = act;
    },
    packageFolders: PACKAGE_FOLDERS,
    openRecords: async (options) => (await opening()).openRecords(options),
    openGateway: async (options) => (await opening()).openGateway(options),
  });
  // An MCP client that was refused waits for this process to end, and keeps standard input open until then.
  if (input.isOpen || process.argv[2] === 'mcp') process.stdin.unref?.();
  process.exitCode = unwritten.status ?? status;
  process.once('beforeExit', () => {
    process.exitCode = unwritten.status ?? status;
  });
}
