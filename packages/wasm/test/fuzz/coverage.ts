/** Which code of this program has run, asked of V8: a guide to inputs that reach something new. */
import { Session } from 'node:inspector';

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type Report = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
};

/** Starts counting for the script with this address. `news` tells how much ran for the first time since the last call. */
export function watchCoverage(url: string): { readonly news: () => number } {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  const seen = new Set<string>();
  const news = () => {
    const before = seen.size;
    session.post('Profiler.takePreciseCoverage', (error, report) => {
      if (error === null) for (const key of reachedIn(report, url)) seen.add(key);
    });
    return seen.size - before;
  };
  return { news };
}

/** Ranges that ran, each with those inside it that did not. */
function* reachedIn({ result }: Report, url: string): Generator<string> {
  for (const script of result) {
    if (script.url !== url) continue;
    for (const { ranges } of script.functions) {
      for (const { startOffset, endOffset, count } of ranges)
        yield `${startOffset} ${endOffset} ${count > 0}`;
    }
  }
}
