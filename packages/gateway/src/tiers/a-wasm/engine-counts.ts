/** Counts of the engines and calls of a gateway. */

export type Census = {
  readonly size: number;
  readonly most: number;
  readonly idle: number;
  readonly busy: number;
  /** Busy engines whose guest is waiting for an answer. */
  readonly paused: number;
  readonly starting: number;
  readonly waiting: number;
  /** Since the gateway was opened. */
  readonly started: number;
  readonly ended: number;
};

export type Metric = {
  readonly name: string;
  readonly help: string;
  /** A counter only grows; a gauge is a current value. */
  readonly kind: 'counter' | 'gauge';
  readonly value: number;
};

/** Why the pool or the tier ends an engine; every other reason is a fault. */
export const ENDS = {
  retired: 'it has run enough',
  evicted: 'it made room for another tenant',
  stopped: 'the call was ended',
  closing: 'the gateway is closing',
} as const;

type EndReason = keyof typeof ENDS | 'fault';

const REASONS = new Map<string, EndReason>(
  (Object.entries(ENDS) as [keyof typeof ENDS, string][]).map(([reason, why]) => [why, reason]),
);

const ENDED_HELP: Readonly<Record<EndReason, string>> = {
  retired:
    'Engine processes of tier A that ended by their age, their calls, or because they were not needed.',
  evicted: 'Engine processes of tier A that made room for one of another tenant.',
  stopped:
    'Engine processes of tier A that were ended with their call: its time was over, or it was cancelled.',
  closing: 'Engine processes of tier A that ended with the gateway.',
  fault: 'Engine processes of tier A that died, said what makes no sense, or never began.',
};

export class EngineCounts {
  calls = 0;
  started = 0;
  failedStarts = 0;
  waitedMs = 0;
  mostWaitedMs = 0;
  readonly ended: Record<EndReason, number> = { retired: 0, evicted: 0, stopped: 0, closing: 0, fault: 0 };

  onCall(waitedMs: number): void {
    this.calls += 1;
    this.waitedMs += waitedMs;
    this.mostWaitedMs = Math.max(this.mostWaitedMs, waitedMs);
  }

  onEnd(why: string): void {
    this.ended[REASONS.get(why) ?? 'fault'] += 1;
  }

  get endedInAll(): number {
    return Object.values(this.ended).reduce((sum, count) => sum + count, 0);
  }

  metrics({ idle, busy, paused, starting, waiting }: Census): readonly Metric[] {
    const { calls, started, failedStarts, ended, waitedMs, mostWaitedMs } = this;
    return [
      metric('idle', 'Engine processes of tier A that no call is in.', idle),
      metric('busy', 'Engine processes of tier A with a call in them.', busy),
      metric('paused', 'Of the busy engine processes those whose guest waits for an answer.', paused),
      metric('starting', 'Engine processes of tier A that are being started.', starting),
      metric('waiting_calls', 'Calls of modules that wait for an engine process.', waiting),
      metric('calls_total', 'Calls of modules that were given an engine process.', calls),
      metric('started_total', 'Engine processes of tier A that were started.', started),
      metric('failed_starts_total', 'Engine processes of tier A that could not be started.', failedStarts),
      ...Object.entries(ENDED_HELP).map(([reason, help]) =>
        metric(`ended_${reason}_total`, help, ended[reason as EndReason]),
      ),
      metric(
        'waited_seconds_total',
        'What all calls of modules have waited for an engine.',
        waitedMs / 1_000,
      ),
      metric('waited_seconds_max', 'The longest that such a call has waited.', mostWaitedMs / 1_000),
    ];
  }
}

function metric(name: string, help: string, value: number): Metric {
  const kind = name.endsWith('_total') ? 'counter' : 'gauge';
  return { name: `palisade_engine_${name}`, help, kind, value };
}
