import { createHmac } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { desktopChannel } from '../../src/notify/desktop.ts';
import { type Channel, type Notice, Notifier, textOf } from '../../src/notify/notify.ts';
import { webhookChannel } from '../../src/notify/webhook.ts';
import { systemClock } from '../../src/open.ts';
import { callTool, makeTool, openTestGateway } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const SECRET = 'a secret of the operator';
const NOTICE: Notice = {
  ...{ id: 'apr_1', tenant: 'default', principal: 'agent:ada', tool: 'git.push', risk: 'medium', run: null },
  ...{ expiresAtMs: Date.UTC(2026, 4, 1, 12), approveWith: 'palisade approvals approve apr_1' },
};
const signal = new AbortController().signal;

function secretFile(mode = 0o600): string {
  const path = join(tempDir(), 'secret');
  writeFileSync(path, SECRET);
  chmodSync(path, mode);
  return path;
}

type Posted = { readonly headers: IncomingHttpHeaders; readonly body: string };

/** A server of this machine that answers with these statuses, one after the other, and keeps what it got. */
async function receiver(...statuses: readonly number[]) {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      posted.push({ headers: request.headers, body });
      const status = statuses[Math.min(posted.length, statuses.length) - 1] ?? 200;
      response.writeHead(status, { location: '/elsewhere', connection: 'close' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { posted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

const channelTo = (url: string) =>
  webhookChannel({ url, secretFile: secretFile() }, { clock: systemClock }, [1, 1]);

describe('webhookChannel()', () => {
  test('posts a signed document that has nothing of the input', async () => {
    const { posted, url } = await receiver(200);
    const notice = { ...NOTICE, inputText: '{"password":"hunter2"}' };
    await channelTo(url)(notice, signal);
    const [{ headers, body } = { headers: {}, body: '' }] = posted;
    expect(JSON.parse(body)).toEqual({
      ...{
        event: 'approval-asked',
        id: 'apr_1',
        tenant: 'default',
        principal: 'agent:ada',
        tool: 'git.push',
      },
      ...{ risk: 'medium', run: null, expiresAt: '2026-05-01T12:00:00.000Z' },
      approveWith: 'palisade approvals approve apr_1',
    });
    const [, time, sum] = /^t=([0-9]+),v1=([0-9a-f]{64})$/.exec(String(headers['palisade-signature'])) ?? [];
    expect(sum).toBe(createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex'));
  });

  test.each([
    ['is told again after a passing failure', [503, 429, 200], 3, null],
    ['gives up after three attempts', [500], 3, 'status 500'],
    ['does not repeat what was refused', [400], 1, 'status 400'],
    ['follows no redirect', [302], 1, 'status 302'],
  ])('%s', async (_, statuses, attempts, why) => {
    const { posted, url } = await receiver(...statuses);
    const sent = channelTo(url)(NOTICE, signal);
    await (why === null ? sent : expect(sent).rejects.toThrow(why));
    expect(posted).toHaveLength(attempts);
  });

  test.each([
    ['http to another machine', 'http://example.com/hook', 0o600, 'approval.notify_url'],
    ['a secret that others can read', 'https://example.com/hook', 0o644, 'approval.notify_secret_file'],
  ])('refuses %s', (_, url, mode, key) => {
    const make = () => webhookChannel({ url, secretFile: secretFile(mode) }, { clock: systemClock });
    expect(make).toThrow(key);
  });

  test('refuses to send anything unsigned', () => {
    const settings = { url: 'https://example.com/hook', secretFile: '' };
    expect(() => webhookChannel(settings, { clock: systemClock })).toThrow('it is not set');
  });
});

describe('desktopChannel()', () => {
  const HOSTILE = '--icon=/x"; rm -rf ~ $(id) `id` <b>&</b>\n\u001b[31m';

  test.each(['linux', 'darwin'] as const)(
    'gives hostile text on %s as arguments after the options',
    async (platform) => {
      const ran: [string, readonly string[]][] = [];
      const channel = desktopChannel(platform, async (program, args) => void ran.push([program, args]));
      await channel({ ...NOTICE, tool: HOSTILE, approveWith: HOSTILE }, signal);
      const [[program, args] = ['', []]] = ran;
      expect(program).toBe(platform === 'darwin' ? 'osascript' : 'notify-send');
      const texts = args.slice(args.indexOf('--') + 1);
      expect(texts).toHaveLength(2);
      expect(texts.join('')).not.toMatch(/\p{Cc}/u);
      expect(args.slice(0, args.indexOf('--')).join(' ')).not.toContain('rm -rf');
      if (platform === 'linux') expect(texts[1]).not.toMatch(/<b>/);
    },
  );

  test('fails with the name of a program that is missing', async () => {
    const channel = desktopChannel('linux', async () => Promise.reject(new Error('notify-send: ENOENT')));
    const logged: unknown[] = [];
    const notifier = new Notifier([channel], (_, event, facts) => void logged.push([event, facts]));
    notifier.notify(NOTICE);
    await notifier.close();
    expect(logged).toEqual([['notice-not-sent', { approval: 'apr_1', why: 'notify-send: ENOENT' }]]);
  });
});

describe('Notifier', () => {
  test('never waits for a channel, sends a bounded number at once, and breaks off at its end', async () => {
    let [running, aborted] = [0, 0];
    const stuck: Channel = (_, stop) =>
      new Promise((_resolve, reject) => {
        running += 1;
        stop.addEventListener('abort', () => {
          aborted += 1;
          reject(new Error('broken off'));
        });
      });
    const logged: string[] = [];
    const notifier = new Notifier([stuck], (_, event) => void logged.push(event));
    for (let i = 0; i < 100; i++) notifier.notify(NOTICE);
    await notifier.close();
    expect([running, aborted]).toEqual([16, 16]);
    expect(logged.filter((event) => event === 'notice-left-out')).toHaveLength(84);
  });

  test('shows one line of bounded text', () => {
    const { title, body } = textOf({ ...NOTICE, tool: 'x\n'.repeat(1_000) });
    expect(`${title}${body}`).not.toContain('\n');
    expect(title.length).toBeLessThan(300);
  });
});

test('a gateway posts each new request once, after it is recorded, and none for calls that need no approval', async () => {
  const { posted, url } = await receiver(200);
  const gateway = await openTestGateway({
    tools: [makeTool('test.launch', async () => null)],
    policies:
      '@id("a") permit(principal, action == Action::"call", resource == Tool::"test.launch") when { context.approved };',
    toml: `[approval]\nnotify_url = "${url}"\nnotify_secret_file = "${secretFile()}"\n`,
  });
  for (let i = 0; i < 3; i++) await callTool(gateway, 'test.launch', { input: { site: 'secret-place' } });
  await callTool(gateway, 'test.none');
  await expect.poll(() => posted.length).toBe(1);
  expect(posted[0]?.body).not.toContain('secret-place');
});
