import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { joinState, stateDir } from '../../packages/gateway/test/channels/processes.ts';
import { ADA, bytesOf, subscribe, textOf } from '../../packages/gateway/test/channels/sample.ts';

/* Something other than a process of the owner writes to the socket of a process, or a process of the owner writes nonsense. */

const NEVER = new AbortController().signal;
const GOOD = {
  ...{ kind: 'message', tenant: 'acme', channel: 'jobs', as: 'agent:ada', skill: null },
  ...{ missed: 0, ask: null, text: Buffer.from('forged').toString('base64') },
};

function listening() {
  const directory = stateDir();
  const process = joinState(directory, 'p_one');
  const subscription = subscribe(process.channels);
  return { directory, subscription, socket: join(directory, 'channels', 'p_one.sock') };
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`;

/** Writes to the socket and gives whether it was closed for that. */
function isCutOff(path: string, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(true));
    // A question that follows is answered on a connection that is still open.
    socket.on('data', () => {
      resolve(false);
      socket.destroy();
    });
    socket.write(`${text}${line({ kind: 'count', tenant: 'acme', ask: 1 })}`);
  });
}

const NONSENSE: Readonly<Record<string, string>> = {
  'no JSON': 'hello\n',
  'a list': line([GOOD]),
  'no kind': line({ ...GOOD, kind: undefined }),
  'another kind': line({ ...GOOD, kind: 'run' }),
  'no tenant': line({ ...GOOD, tenant: '' }),
  'a channel that is a path': line({ ...GOOD, channel: '../jobs' }),
  'no principal': line({ ...GOOD, as: 'root' }),
  'a principal with a line feed': line({ ...GOOD, as: 'user:a\nb' }),
  'a skill that is a number': line({ ...GOOD, skill: 1 }),
  'fewer than no missed ones': line({ ...GOOD, missed: -1 }),
  'a message that is a number': line({ ...GOOD, text: 1 }),
  'a message that is too long': line({ ...GOOD, text: Buffer.alloc(65_537).toString('base64') }),
  'a line that does not end': 'x'.repeat(1_000_000),
};

describe('a line that no process of ours writes', () => {
  test.each(Object.keys(NONSENSE))('with %s ends its connection, and nothing of it arrives', async (what) => {
    const { socket, subscription } = listening();
    expect(await isCutOff(socket, NONSENSE[what] ?? '')).toBe(true);
    expect(subscription.receive('jobs')).toBeNull();
  });

  test('is told from one of the owner, which arrives', async () => {
    const { socket, subscription } = listening();
    expect(await isCutOff(socket, line(GOOD))).toBe(false);
    expect(textOf(await subscription.wait('jobs', NEVER, 20_000))).toBe('forged');
  });

  test('leaves the process to hear the others', async () => {
    const { directory, socket, subscription } = listening();
    expect(await isCutOff(socket, 'hello\n')).toBe(true);
    joinState(directory, 'p_other').channels.publish('acme', 'jobs', bytesOf('x'), ADA);
    expect(textOf(await subscription.wait('jobs', NEVER, 20_000))).toBe('x');
  });
});

const CONNECT = `require('node:net').connect(process.argv[1])
  .once('connect', () => { console.log('connected'); process.exit(); })
  .once('error', (error) => { console.log(error.code); process.exit(); });`;

/** What another user gets who connects. */
async function connectAs(uid: number, path: string): Promise<string> {
  const child = spawn(process.execPath, ['-e', CONNECT, path], {
    uid,
    gid: uid,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await once(child, 'close');
  return said.trim();
}

/** Only root can act as someone else; for any other user, the modes are in the tests of the carrier. */
const STRANGERS = process.getuid?.() === 0 ? [65_534] : [];

describe('another user of the machine', () => {
  test.each(STRANGERS)('as %i cannot connect, and could if folder and socket were open', async (stranger) => {
    const { directory, socket } = listening();
    expect(await connectAs(0, socket)).toBe('connected');
    // Only what channels guard is tried: the folder above is opened.
    chmodSync(directory, 0o755);
    expect(await connectAs(stranger, socket)).toBe('EACCES');
    chmodSync(join(directory, 'channels'), 0o755);
    expect(await connectAs(stranger, socket)).toBe('EACCES');
    chmodSync(socket, 0o666);
    expect(await connectAs(stranger, socket)).toBe('connected');
  });
});
