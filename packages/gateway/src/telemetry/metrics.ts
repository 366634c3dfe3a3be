import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CallWatch, LineStep, Observer } from '../core/call.ts';

/*
 * The metrics for Prometheus. No label has a value that a caller chooses: neither a tool that may not exist nor a
 * principal, so that no caller can fill the memory of the collector.
 */

type Reading = {
  readonly name: string;
  readonly help: string;
  readonly kind: 'counter' | 'gauge';
  readonly value: number;
};

type MetricsOptions = {
  readonly monotonicMs: () => number;
  readonly version: string;
};

const DOORS = new Set(['cli', 'http', 'mcp']);
/** From a tenth of a millisecond to the longest calls. */
const SECONDS = [
  0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

export class Metrics {
  readonly observer: Observer;
  readonly #registry = new Registry();
  readonly #readers: (() => readonly Reading[])[] = [];
  readonly #requests: Counter<'route' | 'method' | 'status'>;
  readonly #turnedAway: Counter<'code'>;

  constructor({ monotonicMs, version }: MetricsOptions) {
    const registers = [this.#registry];
    new Gauge({ name: 'palisade_info', help: 'This gateway.', labelNames: ['version'], registers }).set(
      { version },
      1,
    );
    const calls = new Counter({
      name: 'palisade_calls_total',
      help: 'Calls that have ended, by door and code.',
      labelNames: ['door', 'status', 'code'] as const,
      registers,
    });
    const seconds = new Histogram({
      name: 'palisade_call_seconds',
      help: 'How long calls took, from door to receipt.',
      labelNames: ['door', 'status'] as const,
      buckets: SECONDS,
      registers,
    });
    const steps = new Histogram({
      name: 'palisade_step_seconds',
      help: 'How long each step of the line took.',
      labelNames: ['step'] as const,
      buckets: SECONDS,
      registers,
    });
    this.#requests = new Counter({
      name: 'palisade_http_requests_total',
      help: 'Requests by route and status.',
      labelNames: ['route', 'method', 'status'] as const,
      registers,
    });
    this.#turnedAway = new Counter({
      name: 'palisade_http_turned_away_total',
      help: 'Requests that the door turned away, by code.',
      labelNames: ['code'] as const,
      registers,
    });
    this.observer = ({ door: named }) => {
      const door = DOORS.has(named) ? named : 'other';
      return watchOf(monotonicMs, {
        step: (step, took) => steps.observe({ step }, took),
        ended: ({ status, code }, took) => {
          calls.inc({ door, status, code });
          seconds.observe({ door, status }, took);
        },
      });
    };
  }

  /** Counts a request; the route is that of the table, never the address. */
  request(route: string, method: string, status: number): void {
    this.#requests.inc({ route, method, status });
  }

  turnedAway(code: string): void {
    this.#turnedAway.inc({ code });
  }

  read(reader: () => readonly Reading[]): void {
    this.#readers.push(reader);
  }

  async text(): Promise<string> {
    const read = this.#readers.flatMap((reader) => reader()).map(readingText);
    return `${await this.#registry.metrics()}${read.join('')}`;
  }
}

function readingText({ name, help, kind, value }: Reading): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`;
}

type Sink = {
  readonly step: (name: LineStep, seconds: number) => void;
  readonly ended: (outcome: Parameters<CallWatch['ended']>[0], seconds: number) => void;
};

function watchOf(monotonicMs: () => number, sink: Sink): CallWatch {
  const startedMs = monotonicMs();
  let current: { readonly name: LineStep; readonly sinceMs: number } | null = null;
  const endStep = (nowMs: number) => {
    if (current !== null) sink.step(current.name, (nowMs - current.sinceMs) / 1_000);
  };
  return {
    step: (name) => {
      const nowMs = monotonicMs();
      endStep(nowMs);
      current = { name, sinceMs: nowMs };
    },
    ended: (outcome) => {
      const nowMs = monotonicMs();
      endStep(nowMs);
      sink.ended(outcome, (nowMs - startedMs) / 1_000);
    },
  };
}

/** One observer that forwards everything to all of them. */
export function together(observers: readonly Observer[]): Observer {
  return (call) => {
    const watches = observers.map((observer) => observer(call));
    return {
      step: (name) => {
        for (const watch of watches) watch.step(name);
      },
      ended: (outcome, usage) => {
        for (const watch of watches) watch.ended(outcome, usage);
      },
    };
  };
}
