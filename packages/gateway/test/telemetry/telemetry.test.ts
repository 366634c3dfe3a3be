import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ToolCall } from '../../src/core/call.ts';
import { NO_USAGE } from '../../src/core/limits.ts';
import { makeLog } from '../../src/telemetry/log.ts';
import { Metrics, together } from '../../src/telemetry/metrics.ts';
import { openTraces, parseTraceparent } from '../../src/telemetry/traces.ts';
import { ADA, testClock } from '../fixture/gateway.ts';

const CALL: ToolCall = {
  ...{ id: 'call_1', principal: ADA, tenant: 'default', run: null, door: 'http', tool: 'a.tool' },
  ...{ rawInput: '{"secret":"input"}', timeoutMs: null, source: null, receivedAtMs: 0 },
};

describe('the log', () => {
  const logOf = (level: 'debug' | 'warn') => {
    const lines: string[] = [];
    const redact = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('hush', '[gone]'));
    const log = makeLog({ level, clock: testClock(), redact, write: (line) => lines.push(line) });
    return { log, lines };
  };

  it('is a line of JSON for each event, whatever a fact has in it', () => {
    const { log, lines } = logOf('debug');
    log('info', 'listening', { url: 'http://x', odd: 'a\nb\u001b[31m', long: 'x'.repeat(5_000) });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.slice(0, -1)).not.toContain('\n');
    expect(lines[0]).not.toContain('\u001b');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'info',
      event: 'listening',
      odd: 'a\nb\u001b[31m',
    });
    expect(JSON.parse(lines[0] ?? '').long.length).toBeLessThan(2_100);
  });

  it('leaves out what is below its level, and every secret', () => {
    const { log, lines } = logOf('warn');
    log('info', 'unseen');
    log('error', 'seen', { why: 'hush' });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ event: 'seen', why: '[gone]' }]);
  });
});

describe('the metrics', () => {
  it('count calls by door and code and time the steps, with no label that a caller chooses', async () => {
    let now = 0;
    const metrics = new Metrics({ monotonicMs: () => now, version: '1.2.3' });
    const watch = metrics.observer(CALL);
    watch.step('admit');
    now += 2;
    watch.step('run');
    now += 100;
    watch.ended({ status: 'ok', code: 'ok' }, NO_USAGE);
    metrics
      .observer({ ...CALL, door: 'made-up', tool: 'made.up' })
      .ended({ status: 'refused', code: 'policy/denied' }, NO_USAGE);
    metrics.request('/v1/calls', 'POST', 200);
    metrics.turnedAway('door/rate-limited');
    metrics.read(() => [{ name: 'palisade_running_calls', help: 'Now.', kind: 'gauge', value: 3 }]);
    const text = await metrics.text();
    expect(text).toContain('palisade_info{version="1.2.3"} 1');
    expect(text).toContain('palisade_calls_total{door="http",status="ok",code="ok"} 1');
    expect(text).toContain('palisade_calls_total{door="other",status="refused",code="policy/denied"} 1');
    expect(text).toContain('palisade_call_seconds_sum{door="http",status="ok"} 0.102');
    expect(text).toContain('palisade_step_seconds_count{step="run"} 1');
    expect(text).toContain('palisade_http_requests_total{route="/v1/calls",method="POST",status="200"} 1');
    expect(text).toContain('palisade_running_calls 3');
    expect(text).not.toMatch(/made|a\.tool|ada/);
    // Every line is one that Prometheus reads.
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) |$|[a-z_]+(\{[^}]*\})? [0-9.e+-]+$)/);
  });
});

describe('the traces', () => {
  it('reach the collector as a span for the call and one for each step, below the caller’s own', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const traces = await openTraces(`http://127.0.0.1:${port}/v1/traces`, '1.2.3');
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const watch = together([traces.observer])({ ...CALL, trace });
    watch.step('admit');
    watch.step('run');
    watch.ended({ status: 'failed', code: 'tier/timed-out' }, { ...NO_USAGE, wallMs: 7 });
    await traces.close();
    type Sent = { resourceSpans: { scopeSpans: { spans: Record<string, unknown>[] }[] }[] };
    const spans = bodies.flatMap((body) =>
      (JSON.parse(body) as Sent).resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap((scope) => scope.spans),
      ),
    );
    const call = spans.find(({ name }) => name === 'palisade.call');
    expect(spans.map(({ name }) => name).sort()).toEqual(['palisade.admit', 'palisade.call', 'palisade.run']);
    expect(call).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
    });
    const parents = spans.filter((span) => span !== call).map(({ parentSpanId }) => parentSpanId);
    expect(parents).toEqual([call?.spanId, call?.spanId]);
    // Ids of spans are drawn by chance, and their digits can spell a name.
    const ids = /"(?:traceId|spanId|parentSpanId)":"[0-9a-f]*"/g;
    expect(bodies.join('').replaceAll(ids, '')).not.toMatch(/secret|ada/);
  });

  it('keep no gateway from ending when nobody listens', async () => {
    const traces = await openTraces('http://127.0.0.1:9/v1/traces', '1.2.3');
    traces.observer(CALL).ended({ status: 'ok', code: 'ok' }, NO_USAGE);
    await expect(traces.close()).resolves.toBeUndefined();
  });

  it.each([
    '',
    '00',
    '01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  ])('take no parent from %j', (text) => {
    expect(parseTraceparent(text)).toBeNull();
  });
});
