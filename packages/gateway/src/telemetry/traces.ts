import { setTimeout as sleep } from 'node:timers/promises';
import type { CallWatch, Observer, ToolCall } from '../core/call.ts';

/*
 * Traces for OpenTelemetry, loaded only where the operator configured a collector. A call is a span with a child for
 * each step of the line; the span that the caller was in is its parent. Inputs, outputs and callers are not exported.
 */

export type Traces = {
  readonly observer: Observer;
  readonly close: () => Promise<void>;
};

type Parent = { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Parses a W3C traceparent of the current version; anything else is null. */
export function parseTraceparent(text: string): Parent | null {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/** How long the gateway waits for the last spans when it closes. */
const CLOSE_AFTER_MS = 2_000;

export async function openTraces(endpoint: string, version: string): Promise<Traces> {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new OTLPTraceExporter({ url: endpoint, timeoutMillis: CLOSE_AFTER_MS });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'palisade', 'service.version': version }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, scheduledDelayMillis: 1_000 })],
  });
  const tracer = provider.getTracer('palisade', version);
  const contextOf = (trace: string | undefined) => {
    const parent = trace === undefined ? null : parseTraceparent(trace);
    if (parent === null) return api.ROOT_CONTEXT;
    return api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true });
  };
  const observer = (call: ToolCall): CallWatch => {
    const attributes = { 'palisade.call': call.id, 'palisade.tool': call.tool, 'palisade.door': call.door };
    const span = tracer.startSpan(
      'palisade.call',
      { attributes, kind: api.SpanKind.SERVER },
      contextOf(call.trace),
    );
    const inside = api.trace.setSpan(api.ROOT_CONTEXT, span);
    let step: ReturnType<typeof tracer.startSpan> | null = null;
    return {
      step: (name) => {
        step?.end();
        step = tracer.startSpan(`palisade.${name}`, {}, inside);
      },
      ended: ({ status, code }, usage) => {
        step?.end();
        span.setAttributes({
          'palisade.status': status,
          'palisade.code': code,
          'palisade.wall_ms': usage.wallMs,
        });
        if (status !== 'ok') span.setStatus({ code: api.SpanStatusCode.ERROR, message: code });
        span.end();
      },
    };
  };
  return { observer, close: () => closeIn(provider.shutdown()) };
}

/** An unresponsive collector does not keep the gateway from ending. */
async function closeIn(closing: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const late = sleep(CLOSE_AFTER_MS, undefined, timer).catch(() => undefined);
  await Promise.race([closing.catch(() => undefined), late]).finally(() => timer.abort());
}
