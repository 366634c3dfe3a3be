import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import { expect, test } from 'vitest';
import { balances } from '../../packages/gateway/src/budget/balances.ts';
import { receiptOf } from '../../packages/gateway/src/invoke/finish.ts';
import { ringOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openBackground, python } from '../fixtures/commands/background.ts';

/** Serves one page, asks for it itself, and says so; ends in order when it is asked to. */
const SERVER = `
import http.server, signal, sys, threading, urllib.request
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
    def log_message(self, *_): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
signal.signal(signal.SIGTERM, lambda *_: (print('ending in order'), sys.exit(0)))
print('listening')
print(urllib.request.urlopen('http://127.0.0.1:%d/' % server.server_port).read().decode(), file=sys.stderr)
while True: signal.pause()
`;

const BUDGET = `
[[budget]]
name = "commands"
per = "tool"
match = "palisade.process.run"
window = "1d"
wall_ms = 10_000_000
`;

test('a server is started, read, listed and stopped, and all of it is on record', async () => {
  const { gateway, facts } = await openBackground(BUDGET);
  const account = () => {
    const [found] = balances(gateway.store, {
      ...{ rules: gateway.config.budgets, nowMs: gateway.clock.nowMs(), tenant: 'default', limit: 10 },
    });
    return found?.units.find(({ unit }) => unit === 'wallMs');
  };
  const started = await facts('start', python(SERVER));
  expect(started).toMatchObject({ running: true, command: expect.stringContaining('/usr/bin/python3 -u') });
  const { id } = started;
  expect(gateway.running.get(id)).toMatchObject({ tool: 'palisade.process.run', door: 'background' });
  expect(account()).toMatchObject({ spent: 0, reserved: gateway.config.ceilings.wallMs });
  let read = await facts('logs', { id, since: 0 });
  while (!read.text.includes('hello')) read = await facts('logs', { id, since: 0 });
  expect(read.text).toBe('listening\nhello\n');
  expect(await facts('logs', { id, since: read.cursor })).toMatchObject({ text: '', cursor: read.cursor });
  expect((await facts('logs', {})).runs).toMatchObject([{ id, running: true }]);

  expect(await facts('stop', { id })).toMatchObject({ id, running: false, code: 'ok' });
  expect(await facts('stop', { id })).toMatchObject({ id, running: false, code: 'ok' });
  expect(await facts('logs', { id, since: read.cursor })).toMatchObject({
    text: 'ending in order\n',
    running: false,
  });
  expect(gateway.running.size).toBe(0);
  expect(account()).toMatchObject({ spent: expect.toSatisfy((ms) => ms > 0), reserved: 0 });
  const envelope = receiptOf(gateway, id) ?? '';
  expect((await verifyReceipt(envelope, await ringOf(gateway), {}, webPrimitives)).ok).toBe(true);
  const { predicate } = JSON.parse(Buffer.from(JSON.parse(envelope).payload, 'base64').toString());
  expect(predicate).toMatchObject({
    call: { door: 'background' },
    principal: 'agent:ada',
    tool: { id: 'palisade.process.run' },
    outcome: { status: 'ok' },
    execution: { tier: 'c', isolation: { boundary: 'bubblewrap' } },
  });
});
