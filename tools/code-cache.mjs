/**
 * Makes V8's code cache for the gateway that was built, by running what people wait for with it: the first start of a clone
 * is then as fast as the second. It is of this machine's Node alone, so it is not published; where a package was installed,
 * the first start of each command makes its own in the state directory.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILDS, readStamp } from './stamp.mjs';

const clientInfo = { name: 'setup', version: '1' };
const MESSAGES = [
  { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list', params: {} },
].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** One start for each profile of the cache, and what it reads. */
const STARTS = [
  { words: ['tools', 'list'] },
  { words: ['call', 'palisade.echo', '--input', '{"message":"hi"}'] },
  { words: ['exec', '--workspace', '.', '--', 'true'] },
  { words: ['mcp'], input: MESSAGES.join('') },
];

const PROGRAM = `const [directory, ...words] = process.argv.slice(1);
process.argv.splice(1, 1, directory);
require(directory + '/start.cjs').start({ directory, words, keepIn: directory + '/code' });`;

/** Makes the cache of a build unless it has one of this Node. */
export async function makeCodeCache(root, say) {
  const built = join(root, BUILDS.gateway.stamp);
  const folder = join(built, '../code');
  const stamp = join(folder, '.made');
  const wanted = `${readStamp(built)} ${process.version}-${process.arch}`;
  if (!existsSync(built) || readStamp(stamp) === wanted) return;
  say('making the code cache of the gateway');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o755 });
  const scratch = mkdtempSync(join(tmpdir(), 'palisade-code-'));
  // No command may work where the state is.
  mkdirSync(join(scratch, 'work'));
  try {
    // What fails here leaves a smaller cache, or none: that is slower, and nothing else.
    for (const each of STARTS) await start(each, { directory: join(folder, '..'), scratch });
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    writeFileSync(stamp, `${wanted}\n`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function start({ words, input = '' }, { directory, scratch }) {
  const end = words.indexOf('--');
  const state = ['--state', join(scratch, 'state')];
  const all = end === -1 ? [...words, ...state] : words.toSpliced(end, 0, ...state);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', PROGRAM, directory, ...all], {
      cwd: join(scratch, 'work'),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.once('error', resolve).once('close', resolve);
    child.stdin.on('error', () => undefined).end(input);
  });
}
