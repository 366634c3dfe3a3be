import type { ByteCounts } from '../../../egress/fetch/outcome.ts';
import type { Invocation } from '../verb.ts';

const EVERY_MS = 5_000;
const MB = 1e6;

/** Says every few seconds how much was transferred, to standard error; nothing with --json. */
export async function withTransfer<T>(
  { print, edge }: Invocation,
  what: string,
  act: (onProgress: (counts: ByteCounts) => void) => Promise<T>,
): Promise<T> {
  let bytes = 0;
  const startedMs = edge.clock.monotonicMs();
  const timer = setInterval(() => {
    if (print.json) return;
    const seconds = Math.round((edge.clock.monotonicMs() - startedMs) / 1_000);
    print.note(what, 'dim', `  ${seconds} s  ${(bytes / MB).toFixed(1)} MB`);
  }, EVERY_MS);
  try {
    return await act(({ bytesIn, bytesOut }) => {
      bytes = bytesIn + bytesOut;
    });
  } finally {
    clearInterval(timer);
  }
}
